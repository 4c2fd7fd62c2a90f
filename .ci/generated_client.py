"""Asks a running daemon with the generated client: `generated_client.py BASE TOKEN`."""

import sys

from subledger_client import AuthenticatedClient
from subledger_client.api.customers import get_customer, query_customers
from subledger_client.api.entitlements import get_entitlement, get_history, list_entitlements
from subledger_client.api.ledger import get_overview, list_quarantine
from subledger_client.models import Customer, CustomerQuery, Problem

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])

page = list_entitlements.sync(client=client, limit=500)
rows = page.items
assert len(rows) >= 20 and page.next_page is None
tokens = sorted({row.app_account_token for row in rows if row.app_account_token})
customers = query_customers.sync(client=client, body=CustomerQuery(ids=tokens)).items
assert len(customers) == len(tokens) and all(customer.known for customer in customers)
active = 0
for token, listed in zip(tokens, customers):
    customer = get_customer.sync(token, client=client)
    found = customer.entitlements.additional_properties
    assert set(found) == {"pro", "basic"}
    assert customer.entitlements == listed.entitlements
    own = [row for row in rows if row.app_account_token == token]
    for name, entitlement in found.items():
        stems = ("pro.",) if name == "pro" else ("basic.", "student.")
        gives = any(row.gives_access and row.product_id.startswith(stems) for row in own)
        assert entitlement.active == gives, (token, name)
        active += entitlement.active
    # Members that a later version adds break nothing, at any level.
    later = customer.to_dict()
    later["later"] = {"a": [1]}
    later["entitlements"]["pro"]["later"] = 5
    for row in later["subscriptions"] + later["purchases"]:
        row["later"] = None
    assert Customer.from_dict(later).entitlements.additional_properties["basic"] == found["basic"]
assert active > 0

unknown = get_customer.sync("0d9a3f0e-7c1b-4f52-9d7e-2f1c0a5b6e4d", client=client)
assert unknown.known is False
wrong = get_customer.sync("42", client=client)
assert isinstance(wrong, Problem) and wrong.code == "query" and wrong.parameter == "id"
row = get_entitlement.sync(rows[0].original_transaction_id, client=client)
assert row.product_id == rows[0].product_id
assert get_history.sync(rows[0].original_transaction_id, client=client).items
assert get_overview.sync(client=client).rows.total == len(rows)
assert list_quarantine.sync(client=client).items == []
print(f"{len(tokens)} customers, {active} active entitlements: the generated client agrees")
