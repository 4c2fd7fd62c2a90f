"""Measures what apps and backends cause: `bench-app.py BINARY [--turns N] [--seconds S]`.

1. The processor time of `POST /v1/transactions` against that of notifications, in turns within one
   run: each turn starts a daemon on a new folder for each kind of body. All bodies tell of the same
   purchases; they differ in what is signed.
2. Reads of a customer against reads of a row, with Debian's wrk over 64 kept-alive connections:
   how many a second, and the daemon's processor time for one.

Needs Debian's python3-cryptography and wrk. Everything stays on the loopback interface.
"""

import argparse
import base64
import hashlib
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import uuid

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

CUSTOMERS, PERIODS, CONNECTIONS, WARM = 1500, 4, 16, 300
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
    def __init__(self, binary, folder, authority):
        self.folder = folder
        digest = hashlib.sha256(TOKEN.encode()).hexdigest()
        (folder / "config.json").write_text(json.dumps({
            "listen": "127.0.0.1:0", "data": str(folder / "data"),
            "apps": [{"bundleId": "com.example.app", "appAppleId": 123456789}],
            "entitlements": {"pro": ["pro.*"], "basic": ["basic.*", "student.*"],
                             "extras": ["unlock.*", "season.*"]},
            "trustRoots": [str(authority / "root.der")], "limits": {"connectionsPerAddress": 256},
            "readTokens": [{"name": "b", "sha256": digest, "may": ["read", "submit"]}]}))
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


def cost(binary, authority, work, turns):
    kinds, warm = bodies(Signer(authority)), warming(Signer(authority))
    count = CUSTOMERS * PERIODS
    used = {name: [] for name in kinds}
    for turn in range(turns):
        names = list(kinds)
        random.Random(turn).shuffle(names)
        for name in names:
            folder = work / f"{turn}-{name}"
            folder.mkdir()
            daemon = Daemon(binary, folder, authority)
            path = "/v1/transactions" if name.startswith("transaction") else "/v1/notifications"
            # The first are not measured: they fill caches and key tables, and compression learns.
            post(daemon.port, "/v1/notifications", warm)
            post(daemon.port, path, kinds[name][:CUSTOMERS])
            before = daemon.seconds()
            post(daemon.port, path, kinds[name][CUSTOMERS:])
            used[name].append((daemon.seconds() - before) / (count - CUSTOMERS) * 1e6)
            daemon.stop()
            shutil.rmtree(folder)
    least = {name: min(values) for name, values in used.items()}
    for name, values in used.items():
        print(f"{name:22} least {least[name]:6.1f} µs, all "
              + " ".join(f"{value:.0f}" for value in values))
    for one, other, what in [("transaction", "test", "1 signature each; the notification has no row"),
                             ("transaction+renewal", "outer+transaction", "2 signatures each"),
                             ("transaction", "outer+transaction", "1 and 2 signatures, one event"),
                             ("transaction+renewal", "outer+both", "2 and 3 signatures")]:
        print(f"{one} : {other} = {least[one] / least[other]:.2f} ({what})")


def reads(binary, authority, work, seconds, customers):
    fleet = work / "fleet"
    subprocess.run([binary, "simulate", "run", "--authority", authority, "--fleet", str(customers),
                    "--days", "400", "--end", "now", "--output", fleet], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    folder = work / "reads"
    folder.mkdir()
    daemon = Daemon(binary, folder, authority)
    daemon.stop()
    subprocess.run([binary, "ingest", "--config", folder / "config.json", fleet], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    fleet.unlink()
    daemon = Daemon(binary, folder, authority)
    rows, after = [], ""
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
        connection.request("GET", f"/v1/entitlements?limit=500{after}",
                           headers={"Authorization": f"Bearer {TOKEN}"})
        page = json.load(connection.getresponse())
        rows += page["items"]
        if not page["next_page"]:
            break
        after = f"&after={page['next_page']}"
    paths = {
        "a row": [f"/v1/entitlements/{row['original_transaction_id']}" for row in rows],
        "a customer": [f"/v1/customers/{row['app_transaction_id']}?by=app_transaction_id"
                       for row in rows],
        "a customer by token": [f"/v1/customers/{row['app_account_token']}" for row in rows
                                if row["app_account_token"]]}
    scripts = {}
    for name, all_paths in paths.items():
        scripts[name] = work / (name.replace(" ", "-") + ".lua")
        listed = ",".join(f'"{path}"' for path in all_paths)
        scripts[name].write_text(
            f'local paths = {{{listed}}}\nlocal n = 0\n'
            f'local headers = {{ ["Authorization"] = "Bearer {TOKEN}" }}\n'
            'function request()\n  n = n + 1\n'
            '  return wrk.format("GET", paths[n % #paths + 1], headers)\nend\n')
    costs = {name: [] for name in paths}
    for turn in range(3):
        for name in paths:
            before, clock, children = daemon.seconds(), idle(), os.times()
            output = subprocess.run(
                ["wrk", "-t1", "-c64", f"-d{seconds}", "-s", scripts[name],
                 f"http://127.0.0.1:{daemon.port}"], check=True, capture_output=True,
                text=True).stdout
            used, after_clock, ended = daemon.seconds() - before, idle(), os.times()
            assert "Non-2xx" not in output, output
            number = int(re.search(r"(\d+) requests in", output).group(1))
            rate = float(re.search(r"Requests/sec:\s+([\d.]+)", output).group(1))
            all_time = (after_clock[1] - clock[1]) / os.sysconf("SC_CLK_TCK")
            free = (after_clock[0] - clock[0]) / os.sysconf("SC_CLK_TCK")
            wrk = (ended.children_user + ended.children_system
                   - children.children_user - children.children_system)
            costs[name].append((rate, used / number * 1e6))
            print(f"{name:20} {rate:8.0f}/s, {used / number * 1e6:5.1f} µs each; of the machine: "
                  f"daemon {used / all_time:.0%}, wrk {wrk / all_time:.0%}, idle "
                  f"{free / all_time:.0%}, others {(all_time - free - used - wrk) / all_time:.0%}")
    best = {name: min(cost for _, cost in values) for name, values in costs.items()}
    for name in list(paths)[1:]:
        print(f"{name} : a row = {best[name] / best['a row']:.2f} of the processor time; "
              f"at most {max(rate for rate, _ in costs[name]):.0f}/s")
    daemon.stop()


parser = argparse.ArgumentParser()
parser.add_argument("binary", type=pathlib.Path)
parser.add_argument("--turns", type=int, default=4)
parser.add_argument("--seconds", type=int, default=5)
parser.add_argument("--customers", type=int, default=20_000)
parser.add_argument("--only", choices=["cost", "reads"])
options = parser.parse_args()
binary = str(options.binary.resolve())
with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    authority = work / "authority"
    subprocess.run([binary, "simulate", "ca", authority], check=True, stdout=subprocess.DEVNULL)
    if options.only != "reads":
        cost(binary, authority, work, options.turns)
    if options.only != "cost":
        reads(binary, authority, work, options.seconds, options.customers)
