"""Asks a running daemon with the generated client: `generated_client.py BASE TOKEN`."""

import pathlib
import re
import sys
import time

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

# The guide's own code, which asks with the generated client.
guide = pathlib.Path("Sources/subledger/subledger.docc/operating/backends.md").read_text()
code = re.search(r"```python\n(.*?)```", guide, re.DOTALL).group(1)
scope = {}
exec(compile(code, "Backends.md", "exec"), scope)


class Generated(scope["Entitlements"]):
    away = False
    asked = 0

    def ask(self, user):
        self.asked += 1
        if self.away:
            raise ConnectionError("the daemon is away")
        answer = get_customer.sync(user, client=client)
        if isinstance(answer, Problem):
            raise type("Refused", (OSError,), {"code": answer.status})(answer.title)
        return answer.to_dict() | {"later": 1}


def outcome(guide, user, name):
    try:
        return guide.has(user, name)
    except OSError as error:
        return getattr(error, "code", 503)


for seconds, calls in (0, 2), (60, 1):
    guided = Generated("", "", seconds=seconds)
    for token, customer in zip(tokens, customers):
        for name, entitlement in customer.entitlements.additional_properties.items():
            assert guided.has(token, name) is entitlement.active, (token, name)
    assert guided.asked == calls * len(tokens), guided.asked
guided.seconds = 0
assert outcome(guided, "0d9a3f0e-7c1b-4f52-9d7e-2f1c0a5b6e4d", "pro") is None
assert outcome(guided, "42", "pro") == 400
guided.away = True
assert outcome(guided, "0d9a3f0e-7c1b-4f52-9d7e-2f1c0a5b6e4e", "pro") == 503
ending = 0
for token, customer in zip(tokens, customers):
    for name, entitlement in customer.entitlements.additional_properties.items():
        assert guided.has(token, name) is entitlement.active, (token, name)
        change = guided.last[token][1]["entitlements"][name]["next"]
        if change:
            assert change["at"] > time.time() * 1000 and change["active"] is not entitlement.active
            change["at"] = 1
            assert guided.has(token, name) is change["active"], (token, name)
            ending += 1
assert ending > 0

print(f"{len(tokens)} customers, {active} active entitlements: the generated client agrees")
print(f"the guide's code agrees with it, and applies {ending} changes while the daemon is away")
