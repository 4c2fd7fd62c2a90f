"""What the benches in Python share: signed notifications, daemons, and the machine's processors."""

import base64
import hashlib
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time
import uuid

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

CUSTOMERS, PERIODS, CONNECTIONS, WARM = 1500, 4, 16, 1000
START, MONTH = 1_767_225_600_000, 30 * 86_400_000
TOKEN = "token-of-the-bench"
PRODUCT = "pro.monthly"


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Signer:
    """Signs as the authority in a folder that `simulate ca` made."""

    def __init__(self, folder):
        self.key = serialization.load_pem_private_key(
            (folder / "leaf.key.pem").read_bytes(), None)
        chain = []
        for name in ["leaf.pem", "intermediate.pem", "root.pem"]:
            lines = (folder / name).read_text().strip().splitlines()
            chain.append("".join(lines[1:-1]))
        self.header = b64(json.dumps({"alg": "ES256", "x5c": chain}).encode())

    def sign(self, payload):
        text = self.header + "." + b64(json.dumps(payload).encode())
        signature = self.key.sign(text.encode(), ec.ECDSA(hashes.SHA256()))
        r, s = utils.decode_dss_signature(signature)
        return text + "." + b64(r.to_bytes(32, "big") + s.to_bytes(32, "big"))


def parts(number, period, signed):
    """A transaction and its renewal information."""
    shared = {"originalTransactionId": str(70_000_000 + number), "productId": PRODUCT,
              "environment": "Production", "signedDate": signed}
    begins = START + period * MONTH
    transaction = shared | {
        "transactionId": f"{80_000_000 + number}{period}", "bundleId": "com.example.app",
        "purchaseDate": begins, "expiresDate": begins + MONTH, "quantity": 1,
        "originalPurchaseDate": START, "type": "Auto-Renewable Subscription",
        "inAppOwnershipType": "PURCHASED", "subscriptionGroupIdentifier": "21400001",
        "transactionReason": "RENEWAL" if period else "PURCHASE", "storefront": "USA",
        "storefrontId": "143441", "price": 9990, "currency": "USD",
        "appTransactionId": str(704_000_000_000 + number)}
    renewal = shared | {"autoRenewStatus": 1, "autoRenewProductId": PRODUCT,
                        "renewalDate": begins + MONTH, "recentSubscriptionStartDate": START}
    return transaction, renewal


def warming(signer):
    """Notifications of other customers: what a journal has before an app hands anything over."""
    made = []
    for number in range(CUSTOMERS, CUSTOMERS + WARM):
        transaction, renewal = parts(number, 0, START)
        payload = {"notificationType": "SUBSCRIBED", "notificationUUID": str(uuid.uuid4()),
                   "version": "2.0", "signedDate": START,
                   "data": {"bundleId": "com.example.app", "appAppleId": 123456789,
                            "environment": "Production", "status": 1,
                            "signedTransactionInfo": signer.sign(transaction),
                            "signedRenewalInfo": signer.sign(renewal)}}
        made.append(json.dumps({"signedPayload": signer.sign(payload)}).encode())
    return made


def bodies(signer):
    """For each kind its bodies, in the order of the customers' periods."""
    found = {name: [] for name in ["test", "outer+transaction", "outer+both", "transaction",
                                   "transaction+renewal"]}
    for period in range(PERIODS):
        for number in range(CUSTOMERS):
            signed = START + period * MONTH + 5_000 + number
            transaction, renewal = parts(number, period, signed)
            texts = signer.sign(transaction), signer.sign(renewal)

            def notification(kind, data):
                payload = {"notificationType": kind, "notificationUUID": str(uuid.uuid4()),
                           "version": "2.0", "signedDate": signed + 50,
                           "data": {"bundleId": "com.example.app", "appAppleId": 123456789,
                                    "environment": "Production"} | data}
                return json.dumps({"signedPayload": signer.sign(payload)}).encode()

            status = {"status": 1, "signedTransactionInfo": texts[0]}
            found["test"].append(notification("TEST", {}))
            found["outer+transaction"].append(notification("DID_RENEW", status))
            found["outer+both"].append(
                notification("DID_RENEW", status | {"signedRenewalInfo": texts[1]}))
            found["transaction"].append(json.dumps({"signedTransaction": texts[0]}).encode())
            found["transaction+renewal"].append(json.dumps(
                {"signedTransaction": texts[0], "signedRenewalInfo": texts[1]}).encode())
    return found


class Daemon:
    def __init__(self, binary, folder, authority, settings=None):
        """settings: members that are added to the configuration."""
        self.folder = folder
        digest = hashlib.sha256(TOKEN.encode()).hexdigest()
        (folder / "config.json").write_text(json.dumps({
            "listen": "127.0.0.1:0", "data": str(folder / "data"),
            "apps": [{"bundleId": "com.example.app", "appAppleId": 123456789}],
            "entitlements": {"pro": ["pro.*"], "basic": ["basic.*", "student.*"],
                             "extras": ["unlock.*", "season.*"]},
            "trustRoots": [str(authority / "root.der")], "limits": {"connectionsPerAddress": 256},
            "readTokens": [{"name": "b", "sha256": digest, "may": ["read", "submit"]}],
        } | (settings or {})))
        self.log = open(folder / "log", "w")
        self.process = subprocess.Popen(
            [binary, "serve", "--config", str(folder / "config.json")], stderr=self.log)
        while not (found := re.search(r'"event":"listening".*"port":(\d+)',
                                      (folder / "log").read_text())):
            assert self.process.poll() is None, (folder / "log").read_text()
            time.sleep(0.01)
        self.port = int(found.group(1))
        time.sleep(0.5)

    def seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")")[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait() == 0


def post(port, path, requests):
    """Sends the requests over some connections, each in its order; all must be accepted."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    faults = []

    def run(share):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for body in share:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200 or b'"outcome":"accepted"' not in text:
                faults.append((answer.status, text[:200]))

    threads = [threading.Thread(target=run, args=(requests[n::CONNECTIONS],))
               for n in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults[:3]


def idle():
    """Jiffies of the machine: idle, all."""
    numbers = [int(n) for n in open("/proc/stat").readline().split()[1:9]]
    return numbers[3] + numbers[4], sum(numbers)
