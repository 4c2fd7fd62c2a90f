"""The 300 notifications of the differential test. Each case is a name, a signedPayload and, where
the two sides differ, the name of the difference in the table of differential.py.
"""
import base64, hashlib, hmac, json

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa, utils
from cryptography.x509.oid import ExtendedKeyUsageOID
from differential_signing import (
    ABSENT, APP, APPLE_ID, CERTIFIES, CHAIN, DAY, INTERMEDIATE, INTERMEDIATE_MARKER, LEAF,
    LEAF_MARKER, NO_AUTHORITY, NOW, ORDER, PICK, ROOT, SANDBOX_APP, SIGNS, Holder, authority, chain,
    chain_under, decode, encode, flipped, in_front, jws, key_usage, marker, new_intermediate,
    new_key, new_leaf, new_root, other, payload, resigned, text_of, with_nested, with_signature)

TYPES = """SUBSCRIBED/INITIAL_BUY SUBSCRIBED/RESUBSCRIBE DID_RENEW/ DID_RENEW/BILLING_RECOVERY
DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED DID_CHANGE_RENEWAL_PREF/DOWNGRADE EXPIRED/VOLUNTARY
DID_FAIL_TO_RENEW/GRACE_PERIOD GRACE_PERIOD_EXPIRED/ OFFER_REDEEMED/UPGRADE REFUND/ REVOKE/
PRICE_INCREASE/PENDING REFUND_REVERSED/ ONE_TIME_CHARGE/ CONSUMPTION_REQUEST/
RENEWAL_EXTENDED/ METADATA_UPDATE/ NEW_TYPE/NEW_SUBTYPE""".split()


def genuine():
    for number, both in enumerate(TYPES):
        kind, subtype = both.split("/")
        root = {"notificationType": kind, "subtype": subtype or ABSENT}
        yield f"type {both}", jws(payload(("Production", "Sandbox")[number % 2], root))
    for name, value in {"kid": "1", "typ": "JWT", "cty": "JSON", "x5t": "abc", "iat": 0,
                        "x5t#S256": [1], "unknown": {"a": [None, 1.5]}}.items():
        yield f"header {name}", jws(payload(), header={name: value})
    yield "header kid path", jws(payload(), header={"kid": "../../key"})
    yield "header order", jws(payload(), header=b'{ "x5c" : %s ,\r\n\t"alg":"ES256" }')
    yield "header escapes", jws(payload(), header=b'{"\\u0061lg":"ES25\\u0036","x5c":%s}')
    yield "member order", jws(dict(reversed(payload().items())))
    yield "white space", jws(json.dumps(payload(), indent=3).replace("\n", "\r\n\t ").encode())
    yield "escaped bundle id", jws(text_of(payload()).replace(b'"com.', b'"\\u0063om.'))
    odd = {"a": [1, {"b": None}], "é€😀": "\u2028é😀", "-": -0, "n": 10**40, "f": 1.5e-7, "": ""}
    yield "unknown members", jws(payload(root=odd, data=odd, transaction=odd, renewal=odd))
    yield "many unknown members", jws(payload(root={f"x{n}": n for n in range(200)}))
    deep = 1
    for _ in range(25):
        deep = [deep]
    yield "deep unknown member", jws(payload(root={"deep": deep}))
    for version in ("1.0", "3.0", ABSENT):
        yield f"version {version}", jws(payload(root={"version": version}))
    test = {"signedTransactionInfo": ABSENT, "signedRenewalInfo": ABSENT, "status": ABSENT}
    for environment in ("Production", "Sandbox"):
        app = {"environment": environment, "appAppleId": APPLE_ID, "bundleId": APP}
        yield f"TEST {environment}", jws(payload(environment, {"notificationType": "TEST"}, test))
        yield f"summary {environment}", jws(other("summary", {
            **app, "requestIdentifier": "r", "succeededCount": 5, "failedCount": 0}))
        app_transaction = jws({"bundleId": APP, "appAppleId": APPLE_ID, "receiptType": environment,
                               "receiptCreationDate": NOW * 1000, "appTransactionId": "71"})
        yield f"appData {environment}", jws(other("appData", {
            **app, "signedAppTransactionInfo": app_transaction},
            notificationType="RESCIND_CONSENT"))
        yield f"external token {environment}", jws(other("externalPurchaseToken", {
            "externalPurchaseId": "SANDBOX_1" if environment == "Sandbox" else "1",
            "bundleId": APP, "appAppleId": APPLE_ID, "tokenCreationDate": NOW * 1000}))
    yield "appData alone", jws(other("appData", app))
    yield "transaction alone", jws(payload(renewal=ABSENT))
    yield "renewal info alone", jws(payload(transaction=ABSENT))
    yield "Sandbox without app id", jws(payload("Sandbox", data={"appAppleId": ABSENT}))
    yield "Sandbox with another app id", jws(payload("Sandbox", data={"appAppleId": 1}))
    yield "second app", jws(payload("Sandbox", data={"bundleId": SANDBOX_APP}))
    strange = {"price": -1, "quantity": 0, "expiresDate": 1, "offerType": 99, "type": "New"}
    yield "strange values", jws(payload(data={"status": 9}, transaction=strange))
    yield "transaction without ids", jws(payload(transaction={
        "transactionId": ABSENT, "originalTransactionId": ABSENT, "purchaseDate": ABSENT}))
    yield "nested without dates", jws(payload(
        transaction={"signedDate": ABSENT}, renewal={"signedDate": ABSENT}))
    yield "signed in an hour", jws(payload(root={"signedDate": (NOW + 3600) * 1000}))
    yield "signed five years ago", jws(
        payload(root={"signedDate": (NOW - 1800 * DAY) * 1000}), chain(days=(-2000, -1000)))
    yield "nested leaf expired since", jws(payload(
        transaction={"signedDate": (NOW - 1800 * DAY) * 1000}, renewal=ABSENT,
        signed=lambda value: jws(value, chain(days=(-2000, -1000)))))
    yield "nested chain of another intermediate", jws(payload(
        signed=lambda value: jws(value, chain_under(new_intermediate(ROOT)))))
    yield "leaf without keyUsage", jws(payload(), chain({"usage": ABSENT}))
    yield "leaf without constraints", jws(payload(), chain({"constraints": ABSENT}))
    yield "third entry is the leaf", jws(payload(), (*CHAIN[:2], LEAF))
    yield "third entry is no base64", jws(payload(), header={"x5c": [
        base64.b64encode(holder.der).decode() for holder in CHAIN[:2]] + ["?"]})
    high = with_signature(jws(payload()), lambda s: s[:32] + max(
        s[32:], (ORDER - int.from_bytes(s[32:], "big")).to_bytes(32, "big")))
    yield "high s", high
    yield "signed in the last second", jws(payload(root={"signedDate": (NOW + 60 * DAY) * 1000}))


def unusual():
    """Genuine notifications of which one side declines some."""
    for name, value in {"exp": 1, "nbf": 2**40, "iat": 2**40, "aud": "x", "sub": 5}.items():
        yield f"claim {name}", jws(payload(root={name: value})), "JWT members"
    yield "numeric kid", jws(payload(), header={"kid": 5}), "JWT members"
    for name in ("authority", "subject"):
        intermediate = new_intermediate(ROOT, {name: ABSENT})
        yield f"intermediate without {name} key id", jws(
            payload(), chain_under(intermediate)), "key identifiers"
    yield "leaf without authority key id", jws(
        payload(), chain({"authority": ABSENT})), "key identifiers"
    yield "status x", jws(payload(data={"status": "x"})), "types of other members"
    yield "price x", jws(payload(transaction={"price": "x"})), "types of other members"
    yield "commitmentInfo 1", jws(payload(transaction={"commitmentInfo": 1})), (
        "types of other members")
    yield "undated transaction", jws(payload(transaction={"signedDate": "1"})), "unusable date"
    yield "app transaction of another app id", jws(other("appData", {
        "bundleId": APP, "appAppleId": APPLE_ID, "environment": "Production",
        "signedAppTransactionInfo": jws({"bundleId": APP, "appAppleId": 1,
                                         "receiptType": "Production"})}))
    for name in ("notificationUUID", "notificationType", "signedDate"):
        yield f"without {name}", jws(payload(root={name: ABSENT})), "required members"
    yield "notificationUUID x", jws(payload(root={"notificationUUID": "x"})), "required members"
    yield "token without id", jws(other("externalPurchaseToken", {
        "bundleId": APP, "appAppleId": APPLE_ID})), "required members"
    yield "appAppleId in a text", jws(payload(data={"appAppleId": str(APPLE_ID)})), (
        "converted types")
    yield "signedDate in a text", jws(payload(root={"signedDate": str(NOW * 1000)})), (
        "converted types")
    yield "null as renewal info", jws(payload(data={"signedRenewalInfo": None}))
    yield "null as summary", jws(payload(root={"summary": None}))
    yield "data and summary", jws(payload(root={"summary": {"bundleId": APP}})), "two contents"
    yield "other ids inside", jws(payload(renewal={"originalTransactionId": "5"})), "parts disagree"
    for name, identifier in {"long id": "1" * 129, "NUL in an id": "1\0"}.items():
        ids = {"originalTransactionId": identifier}
        yield name, jws(payload(transaction=ids, renewal=ids)), name
    yield "300 KB", jws(payload(root={"x": "x" * 300_000})), "size"
    many = {f"x{n}": n for n in range(129)}
    yield "129 members, leaf expired since", jws(payload(
        root={**many, "signedDate": (NOW - 1800 * DAY) * 1000}),
        chain(days=(-2000, -1000)))
    yield "129 members, signed at 1", jws(payload(root={**many, "signedDate": 1}))


def random_genuine():
    kind, subtype = PICK.choice(TYPES).split("/")
    value = payload(PICK.choice(("Production", "Sandbox")), {
        "notificationType": kind, "subtype": subtype or ABSENT, PICK.randbytes(4).hex(): [subtype]})
    members = list(value.items())
    PICK.shuffle(members)
    return jws(json.dumps(dict(members), indent=PICK.choice((None, 0, 1, 5))).encode(),
               PICK.choice((CHAIN, chain())), {PICK.randbytes(3).hex(): PICK.random()})


def foreign():
    rogue = new_root()  # The names of the trusted chain, other keys.
    key_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(ROOT.key.public_key())
    twin = new_intermediate(rogue, {"authority": (key_id, False)})
    apple = new_root("Apple Root CA - G3")
    rogue_intermediate = new_intermediate(rogue)
    rogue_leaf = new_leaf(rogue_intermediate)
    identity = {
        "another app id": {"appAppleId": 1}, "no app id": {"appAppleId": ABSENT},
        "another bundle id": {"bundleId": "com.example.foreign"},
        "bundle id in capitals": {"bundleId": "COM.example.app"},
        "bundle id with NUL": {"bundleId": APP + "\0"},
        "bundle id with a dot": {"bundleId": APP + "."}, "second app": {"bundleId": SANDBOX_APP}}
    for name, data in identity.items():
        yield f"identity: {name}", jws(payload(data=data))
    for environment in ("Xcode", "LocalTesting", "production", "PROD", ""):
        yield f"environment {environment}", jws(payload(environment))
    for environment, wrong in (("Production", "Sandbox"), ("Sandbox", "Production")):
        for part in ("transaction", "renewal"):
            yield f"{part} of {wrong}", jws(payload(environment, **{part: {"environment": wrong}}))
        yield f"appData of {wrong}", jws(other("appData", {
            "bundleId": APP, "appAppleId": APPLE_ID, "environment": environment,
            "signedAppTransactionInfo": jws({"bundleId": APP, "receiptType": wrong,
                "appAppleId": APPLE_ID})}))
    yield "environment that the app lacks", jws(payload("Production", data={
        "bundleId": SANDBOX_APP, "appAppleId": 1}))
    for bundle_id in ("com.example.foreign", SANDBOX_APP, ABSENT):
        yield f"transaction of app {bundle_id}", jws(
            payload("Sandbox", transaction={"bundleId": bundle_id}))
    app = {"bundleId": APP, "appAppleId": APPLE_ID, "environment": "Production"}
    foreign_app = {"bundleId": "com.example.foreign", "appAppleId": 1}
    for member in ("summary", "appData", "externalPurchaseToken"):
        yield f"{member} of another app", jws(other(member, {
            **app, **foreign_app, "externalPurchaseId": "1"}))
    yield "app transaction of another app", jws(other("appData", {
        **app, "signedAppTransactionInfo": jws({**foreign_app, "receiptType": "Production"})}))
    chains = {
        "another root": (rogue_leaf, rogue_intermediate, rogue),
        "another root, ours written": (rogue_leaf, rogue_intermediate, ROOT),
        "our intermediate, foreign leaf": (rogue_leaf, INTERMEDIATE, ROOT),
        "our leaf, foreign intermediate": (LEAF, rogue_intermediate, ROOT),
        "self-signed three times": (rogue, rogue, rogue),
        "self-signed leaf": (Holder("Leaf", new_key(), None, {"marker": LEAF_MARKER}), *CHAIN[1:]),
        "reversed": (ROOT, INTERMEDIATE, LEAF), "swapped": (INTERMEDIATE, LEAF, ROOT),
        "leaf twice": (LEAF, LEAF, ROOT), "root twice": (LEAF, ROOT, ROOT),
        "length 1": (LEAF,), "length 2": (LEAF, INTERMEDIATE), "length 4": (*CHAIN, ROOT),
        "length 4 with a leaf": (LEAF, *CHAIN), "length 5": (*CHAIN, ROOT, ROOT),
        "leaf without marker": chain({"marker": ABSENT}),
        "leaf with the intermediate's marker": chain({"marker": INTERMEDIATE_MARKER}),
        "marker in the name": chain({"marker": ABSENT}, name="1.2.840.113635.100.6.11.1"),
        "critical marker": chain({"marker": marker("6.11.1", True)}),
        "unknown critical extension": chain({"unknown": marker("6.99", True)}),
        "signed by a leaf": (new_leaf(LEAF), LEAF, ROOT),
        "another root's subordinate": chain_under(new_intermediate(INTERMEDIATE)),
        "leaf under the root": (new_leaf(ROOT), INTERMEDIATE, ROOT),
        "expired leaf": chain(days=(-900, -800)), "future leaf": chain(days=(5, 60)),
        "P-384 leaf": chain(key=new_key(ec.SECP384R1())),
        "secp256k1 leaf": chain(key=new_key(ec.SECP256K1())),
        "RSA leaf": chain(key=rsa.generate_private_key(65537, 2048)),
        "another root, our key id": chain_under(twin, rogue),
        "another root, Apple's name": chain_under(new_intermediate(apple), apple)}
    for name, extensions in {
            "without marker": {"marker": ABSENT}, "with the leaf's marker": {"marker": LEAF_MARKER},
            "without constraints": {"constraints": ABSENT}, "no authority": {
                "constraints": NO_AUTHORITY}, "without keyUsage": {"usage": ABSENT},
            "without keyCertSign": {"usage": SIGNS}}.items():
        chains[f"intermediate {name}"] = chain_under(new_intermediate(ROOT, extensions))
    chains["expired intermediate"] = chain_under(new_intermediate(ROOT, days=(-900, -800)))
    for name, signers in chains.items():
        yield f"chain: {name}", jws(payload(), signers)
    for name in ("another root", "leaf without marker", "expired leaf", "length 2"):
        yield f"nested chain: {name}", jws(payload(
            signed=lambda value: jws(value, chains[name])))
    expired = chain(days=(-90, -30))
    for name, second in (("before", -91 * DAY), ("after", -29 * DAY), ("in 9999", 2 * 10**11),
                         ("at 0", -NOW)):
        yield f"signed {name}", jws(payload(root={"signedDate": (NOW + second) * 1000}), expired)
    yield "transaction as notification", jws({"bundleId": APP, "environment": "Production"})
    lax = {
        "authority as leaf": chain({"constraints": authority(None), "usage": CERTIFIES}),
        "leaf for keyAgreement": chain({"usage": key_usage("key_agreement")}),
        "leaf for TLS": chain({"purpose": (
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)}),
        "uncritical constraints": chain_under(new_intermediate(
            ROOT, {"constraints": (authority(0)[0], False)}))}
    for name, signers in lax.items():
        yield f"chain: {name}", jws(payload(), signers), "certificate use"


def random_foreign():
    rogue = new_root()
    intermediate = PICK.choice((INTERMEDIATE, new_intermediate(rogue), new_intermediate(ROOT)))
    leaf = new_leaf(intermediate, {"marker": PICK.choice((LEAF_MARKER, ABSENT))})
    signers = leaf, intermediate, PICK.choice((ROOT, rogue, leaf))
    number = PICK.getrandbits(24)
    wrong = PICK.choice(({"bundleId": f"com.example.app{number}"}, {"appAppleId": number}))
    return jws(payload(data=wrong), PICK.choice((CHAIN, signers)))


def damages():
    """Changes of a JWS text, by name, that both sides must refuse."""
    def segments(change):
        return lambda text: ".".join(change(*text.split(".")))

    def payload_changed(header, body, last):
        changed_body = decode(body).replace(b"pro.", b"max.").replace(b"RENEW", b"RENEV")
        return header, encode(changed_body), last

    def sized(change):
        return lambda text: with_signature(text, change)

    def der(value):
        return utils.encode_dss_signature(
            int.from_bytes(value[:32], "big"), int.from_bytes(value[32:], "big"))

    size = ORDER.to_bytes(32, "big")
    return {
        "bit of the header": segments(lambda a, b, c: (encode(flipped(decode(a))), b, c)),
        "bit of the payload": segments(lambda a, b, c: (a, encode(flipped(decode(b))), c)),
        "bit of the signature": sized(flipped), "payload changed": segments(payload_changed),
        "no signature": sized(lambda s: b""), "short signature": sized(lambda s: s[:63]),
        "one byte": sized(lambda s: s[:1]), "trailing zero": sized(lambda s: s + b"\0"),
        "leading zero": sized(lambda s: b"\0" + s), "DER signature": sized(der),
        "zeros": sized(lambda s: bytes(64)), "s = 0": sized(lambda s: s[:32] + bytes(32)),
        "r = n": sized(lambda s: size + s[32:]), "r, s = n": sized(lambda s: size * 2),
        "all ones": sized(lambda s: b"\xff" * 64), "swapped": sized(lambda s: s[32:] + s[:32]),
        "another key": lambda text: resigned(text, new_key()),
        "truncated": lambda text: text[:PICK.randrange(len(text))],
        "last character missing": lambda text: text[:-1],
        "two segments": segments(lambda a, b, c: (a, b)), "empty payload": segments(
            lambda a, b, c: (a, "", c)), "empty header": segments(lambda a, b, c: ("", b, c)),
        "four segments": lambda text: text + ".e30", "leading dot": lambda text: "." + text,
        "JSON form": segments(lambda a, b, c: (text_of(
            {"protected": a, "payload": b, "signature": c}).decode(),)),
        "empty": lambda text: "", "word": lambda text: "abc"}


def damaged():
    for name, damage in damages().items():
        yield f"outer: {name}", damage(jws(payload()))
    for name in ("bit of the header", "bit of the payload", "payload changed", "no signature",
                 "another key", "truncated", "empty"):
        for member in ("signedTransactionInfo", "signedRenewalInfo"):
            yield f"{member}: {name}", jws(with_nested(member, damages()[name]))
    yield "nested alg none", jws(payload(signed=lambda value: jws(value, header={"alg": "none"})))
    yield "app transaction changed", jws(other("appData", {
        "bundleId": APP, "environment": "Sandbox", "signedAppTransactionInfo": damages()[
            "bit of the payload"](jws({"bundleId": APP, "receiptType": "Sandbox"}))}))
    public = LEAF.key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    text = jws(payload(), header={"alg": "HS256"}).rsplit(".", 1)[0]
    mac = hmac.new(public, text.encode(), hashlib.sha256).digest()
    yield "MAC with the public key", text + "." + encode(mac)
    for alg in ("none", "RS256", "ES384", "ES256K", "es256", None, ["ES256"], ABSENT):
        yield f"alg {alg}", jws(payload(), header={"alg": alg})
    certificates = [base64.b64encode(holder.der).decode() for holder in CHAIN]
    leaf = certificates[0]
    for name, first in {"number": 1, "no base64": leaf[:40] + "?" + leaf[40:], "no DER": "AAAA",
                        "PEM": f"-----BEGIN CERTIFICATE-----\n{leaf}", "cut": leaf[:400]}.items():
        yield f"x5c entry: {name}", jws(payload(), header={"x5c": [first, *certificates[1:]]})
    for name, x5c in {"absent": ABSENT, "a text": leaf, "empty": []}.items():
        yield f"x5c {name}", jws(payload(), header={"x5c": x5c})
    yield "crit", jws(payload(), header={"crit": ["exp"], "exp": 2**40})
    yield "b64 false", jws(payload(), header={"b64": False, "crit": ["b64"]})
    for body in (b"", b"[]", b'"x"', b'{"a":1,}', b"\xff{}"):
        yield f"payload {body}", jws(body)
    for content in ([], "x", {}, ABSENT):
        yield f"data {content}", jws(payload(root={"data": content}))
    for member in ("bundleId", "environment"):
        for value in (ABSENT, [APP]):
            yield f"{member} {value}", jws(payload(data={member: value}))
    # From here on, signed by a trusted leaf in a form that only one side reads.
    yield "padded signature", jws(payload()) + "==", "base64url"
    body = text_of(payload())
    header, body, last = jws(body + b" " * ((1 - len(body)) % 3)).split(".")
    yield "padded payload", resigned(f"{header}.{body}==.{last}"), "base64url"
    escaped = text_of(payload()).replace(b'Info":"ey', b'Info":"\\u0065y')
    yield "nested JWS with an escape", jws(escaped), "escapes in a JWS"
    trailing = base64.b64encode(LEAF.der + b"\0").decode()
    for name, x5c in {"byte behind the leaf": [trailing, *certificates[1:]],
                      "null as third": [*certificates[:2], None]}.items():
        yield f"x5c: {name}", jws(payload(), header={"x5c": x5c}), "x5c entries"
    for name in ("zip", "enc", "epk", "jwk", "jku", "x5u", "b64"):
        yield f"header with {name}", jws(payload(), header={name: True}), "header members"
    twice = b'{"alg":"none","x5c":%s,"alg":"ES256"}'
    yield "alg twice", jws(payload(), header=twice), "strict JSON"
    for name, members in {
            "member twice": b'"signedDate":1', "NaN": b'"x":NaN', "lone surrogate":
            b'"x":"\\ud800"', "1e999": b'"x":1e999', "40 levels": b'"x":' + b"[" * 40 + b"]" * 40,
            }.items():
        yield name, jws(in_front(payload(), members)), "strict JSON"
    yield "byte order mark", jws(b"\xef\xbb\xbf" + text_of(payload())), "strict JSON"
    yield "UTF-16", jws(text_of(payload()).decode().encode("utf-16-le")), "strict JSON"


def random_damaged():
    damage = PICK.choice(list(damages().values()))
    member = PICK.choice((None, "signedTransactionInfo", "signedRenewalInfo"))
    return jws(with_nested(member, damage)) if member else damage(jws(payload()))


def all_cases():
    """A hundred cases of each class, with random ones behind the named ones."""
    for kind, named, another in (
            ("genuine", [*genuine(), *unusual()], random_genuine),
            ("foreign", list(foreign()), random_foreign),
            ("damaged", list(damaged()), random_damaged)):
        assert len(named) <= 100, (kind, len(named))
        for name, text, *difference in named:
            yield kind, name, text, *(difference or [None])
        for number in range(100 - len(named)):
            yield kind, f"random {number}", another(), None
