"""Makes signed notifications of the App Store's form under a root of its own, for the cases of the
differential test. All choices and keys follow from the seed, but the RSA key and the dates.
"""
import base64, datetime, json, os, random, time, uuid

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from cryptography.x509.oid import NameOID

SEED = int(os.environ.get("SUBLEDGER_SEED", time.time_ns() % 10**9))
PICK = random.Random(SEED)
NOW = int(time.time())
DAY = 86_400
# The order of P-256 (FIPS 186-4, D.1.2.3).
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
APP, APPLE_ID, SANDBOX_APP = "com.example.app", 123456789, "com.example.sandbox"


class Absent:
    def __repr__(self):
        return "absent"


ABSENT = Absent()


def changed(members, changes):
    """The members with the changes; a member that is changed to ABSENT is left out."""
    return {k: v for k, v in {**members, **changes}.items() if v is not ABSENT}


# MARK: Certificates


def new_key(curve=ec.SECP256R1()):
    return ec.derive_private_key(PICK.getrandbits(250) + 1, curve)


def marker(number, critical=False):
    identifier = x509.ObjectIdentifier(f"1.2.840.113635.100.{number}")
    return x509.UnrecognizedExtension(identifier, b"\x05\x00"), critical


def key_usage(*uses):
    every = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
             "key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only")
    return x509.KeyUsage(**{use: use in uses for use in every}), True


LEAF_MARKER, INTERMEDIATE_MARKER = marker("6.11.1"), marker("6.2.1")
SIGNS, CERTIFIES = key_usage("digital_signature"), key_usage("key_cert_sign", "crl_sign")
NO_AUTHORITY = x509.BasicConstraints(False, None), True


def authority(path_length):
    return x509.BasicConstraints(True, path_length), True


class Holder:
    """A certificate with its private key."""

    def __init__(self, name, key, issuer, extensions, days=(-60, 60)):
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.key = key
        issuer = issuer or self
        public = key.public_key()
        keys = {
            "subject": (x509.SubjectKeyIdentifier.from_public_key(public), False),
            "authority": (
                x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key()), False)}
        start, end = (
            datetime.datetime.fromtimestamp(NOW + day * DAY, datetime.timezone.utc) for day in days)
        builder = x509.CertificateBuilder(
            issuer.name, self.name, public, PICK.getrandbits(100) + 1, start, end)
        for extension, critical in changed(keys, extensions).values():
            builder = builder.add_extension(extension, critical)
        self.der = builder.sign(
            issuer.key, hashes.SHA256(), ecdsa_deterministic=True).public_bytes(
            serialization.Encoding.DER)


def new_root(name="Root CA"):
    return Holder(name, new_key(ec.SECP384R1()), None, {
        "constraints": authority(None), "usage": CERTIFIES, "authority": ABSENT}, (-4000, 4000))


def new_intermediate(root, extensions={}, days=(-3000, 3000)):
    return Holder("Intermediate CA", new_key(ec.SECP384R1()), root, {
        "constraints": authority(0), "usage": CERTIFIES, "marker": INTERMEDIATE_MARKER,
        **extensions}, days)


def new_leaf(issuer, extensions={}, days=(-60, 60), key=None, name="Leaf"):
    return Holder(name, key or new_key(), issuer, {
        "constraints": NO_AUTHORITY, "usage": SIGNS, "marker": LEAF_MARKER, **extensions},
        days)


ROOT = new_root()
INTERMEDIATE = new_intermediate(ROOT)
LEAF = new_leaf(INTERMEDIATE)
CHAIN = (LEAF, INTERMEDIATE, ROOT)


def chain(extensions={}, **options):
    """A chain under the trusted root with another leaf."""
    return new_leaf(INTERMEDIATE, extensions, **options), INTERMEDIATE, ROOT


def chain_under(intermediate, root=ROOT):
    return new_leaf(intermediate), intermediate, root


# MARK: Signatures


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return base64.urlsafe_b64decode(text + "==")


def text_of(value):
    return value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()


def signature(key, signed):
    """The signature of RFC 7518 for the kind of the key."""
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(signed, padding.PKCS1v15(), hashes.SHA256())
    size = (key.curve.key_size + 7) // 8
    scheme = ec.ECDSA(hashes.SHA256(), deterministic_signing=True)
    r, s = utils.decode_dss_signature(key.sign(signed, scheme))
    return r.to_bytes(size, "big") + s.to_bytes(size, "big")


def jws(payload, signers=CHAIN, header={}, key=None):
    """A compact JWS. A header in bytes is used as it is, with CHAIN written at %s."""
    x5c = [base64.b64encode(signer.der).decode() for signer in signers]
    if isinstance(header, bytes):
        header = header.replace(b"%s", text_of(x5c))
    else:
        header = changed({"alg": "ES256", "x5c": x5c}, header)
    signed = encode(text_of(header)) + "." + encode(text_of(payload))
    return signed + "." + encode(signature(key or signers[0].key, signed.encode()))


def resigned(text, key=LEAF.key):
    """The JWS with its first segments as they are and a new signature."""
    signed = text.rsplit(".", 1)[0]
    return signed + "." + encode(signature(key, signed.encode()))


def with_signature(text, change):
    signed, last = text.rsplit(".", 1)
    return signed + "." + encode(change(decode(last)))


# MARK: Notifications


def payload(environment="Production", root={}, data={}, transaction={}, renewal={}, signed=jws):
    """The payload of a renewal with changes at each level; `signed` signs the nested parts."""
    now = NOW * 1000 - PICK.randrange(1, 20 * DAY) * 1000
    otid = str(2 * 10**15 + PICK.randrange(10**9))
    bundle_id = data.get("bundleId", APP)
    nested = {"originalTransactionId": otid, "productId": "pro.monthly", "signedDate": now,
              "environment": environment, "appTransactionId": "7" + otid}
    content = {
        "environment": environment, "appAppleId": APPLE_ID, "bundleId": bundle_id, "status": 1,
        "bundleVersion": "42",
        "signedTransactionInfo": ABSENT if transaction is ABSENT else signed(changed({
            **nested, "transactionId": "9" + otid, "bundleId": bundle_id, "purchaseDate": now - 700,
            "expiresDate": now + 30 * DAY * 1000, "type": "Auto-Renewable Subscription",
            "inAppOwnershipType": "PURCHASED", "quantity": 1, "price": 9990, "currency": "USD"},
            transaction)),
        "signedRenewalInfo": ABSENT if renewal is ABSENT else signed(changed({
            **nested, "autoRenewProductId": "pro.monthly", "autoRenewStatus": 1,
            "renewalDate": now + 30 * DAY * 1000}, renewal))}
    return changed({
        "notificationType": "DID_RENEW", "version": "2.0", "signedDate": now,
        "notificationUUID": str(uuid.UUID(int=PICK.getrandbits(128), version=4)),
        "data": changed(content, data)}, root)


def other(member, content, **root):
    """The payload of a notification with another content object in place of `data`."""
    return payload(root={"data": ABSENT, member: content, **root})


def with_nested(name, change):
    """A payload in which `change` was applied to the text of a nested JWS."""
    value = payload()
    value["data"][name] = change(value["data"][name])
    return value


def in_front(value, members):
    """The payload in bytes, with the text of further members before its own."""
    return b"{" + members + b"," + text_of(value)[1:]


def flipped(data):
    place = PICK.randrange(len(data) * 8)
    return data[:place // 8] + bytes([data[place // 8] ^ 1 << place % 8]) + data[place // 8 + 1:]
