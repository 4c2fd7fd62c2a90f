"""Compares two verdicts on 300 signed notifications: that of Apple's App Store Server Library and
that of the daemon. Run by .ci/differential, with the daemon's binary as argument.

The library takes a notification if it verifies the signedPayload and everything signed that is
nested in it. The daemon takes it with 200; 422 is genuine but not admitted, and 400, 401 and 413
are refused. The daemon must take what the library takes and nothing else, except in the cases of a
named difference, which must differ as the table says.
"""
import collections, importlib.metadata, json, pathlib, subprocess, sys, tempfile, time
import urllib.error, urllib.request

from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier
from differential_cases import all_cases
from differential_signing import APP, APPLE_ID, ROOT, SANDBOX_APP, SEED

DAEMON, LIBRARY = "the daemon", "the library"
# Where the signedPayload of an unexpected verdict is stored.
FOUND = pathlib.Path(".build/differential/found")

# Name: (which side declines, why).
DIFFERENCES = {
    # Not admitted: 422, and the notification stays in quarantine.
    "required members": (DAEMON, "an event needs its UUID, type, date and app; the library only "
                         "decodes and returns None"),
    "converted types": (DAEMON, "a number in a text is not the number; the library converts it"),
    "two contents": (DAEMON, "it is unclear which app and customer is meant; the library reads the "
                     "first that it knows"),
    "parts disagree": (DAEMON, "transaction and renewal info of two customers; the library "
                       "verifies each part alone"),
    "long id": (DAEMON, "ids over 128 bytes fit no route; the library has no limit"),
    "escapes in a JWS": (DAEMON, "no character of a JWS needs an escape (RFC 7515 section 7.1)"),
    # Refused: 400, 401 or 413.
    "strict JSON": (DAEMON, "what two parsers read in two ways is refused (RFC 8259 sections 4, 6 "
                    "and 8); Python's parser takes it. In a proven payload: 422"),
    "base64url": (DAEMON, "base64url has no padding (RFC 7515 section 2), else one JWS has several "
                  "texts; PyJWT removes it"),
    "header members": (DAEMON, "they offer another key or change what is signed (RFC 7515, 7516, "
                       "7797); PyJWT ignores them"),
    "x5c entries": (DAEMON, "entries are texts of exact DER (RFC 7515 section 4.1.6); the library "
                    "reads neither a third entry nor bytes behind a certificate"),
    "certificate use": (DAEMON, "an authority, a key for other purposes and uncritical constraints "
                        "of an authority are refused; OpenSSL 4 does not ask"),
    "size": (DAEMON, "a body has at most 256 KiB (limits.bodyBytes); the library has no limit"),
    "NUL in an id": (DAEMON, "SQL functions and tools may cut a text at NUL, so the notification is "
                     "quarantined; the library returns it"),
    # Taken by the daemon, although the library declines. All of them are signed by a proven chain.
    "JWT members": (LIBRARY, "PyJWT checks members of RFC 7519, which Apple does not sign, and "
                    "that kid is a text; unknown members are ignored (RFC 7515 section 4)"),
    "key identifiers": (LIBRARY, "OpenSSL's strict flag requires them in certificates; no forgery "
                        "follows from their absence"),
    "types of other members": (LIBRARY, "the library decodes every member that it knows; what "
                               "is proven is journaled, and the fold ignores the value"),
    "unusable date": (LIBRARY, "the chain of a part whose signedDate is not a number must be valid "
                      "now; the library converts texts, here to 1970"),
}


# MARK: Apple's library

VERIFIERS = [
    SignedDataVerifier([ROOT.der], False, Environment.PRODUCTION, APP, APPLE_ID),
    SignedDataVerifier([ROOT.der], False, Environment.SANDBOX, APP, APPLE_ID),
    SignedDataVerifier([ROOT.der], False, Environment.SANDBOX, SANDBOX_APP)]


def verify(verifier, text):
    """Verifies a notification and all that is nested in it, or raises."""
    decoded = verifier.verify_and_decode_notification(text)
    if decoded.data and decoded.data.signedTransactionInfo is not None:
        verifier.verify_and_decode_signed_transaction(decoded.data.signedTransactionInfo)
    if decoded.data and decoded.data.signedRenewalInfo is not None:
        verifier.verify_and_decode_renewal_info(decoded.data.signedRenewalInfo)
    if decoded.appData and decoded.appData.signedAppTransactionInfo is not None:
        verifier.verify_and_decode_app_transaction(decoded.appData.signedAppTransactionInfo)


def judge_by_library(text):
    """None if the library takes it for an app and environment of ours, else why it does not."""
    reasons = []
    for verifier in VERIFIERS:
        try:
            return verify(verifier, text)
        # The library also lets exceptions of other packages out.
        except Exception as error:
            reasons.append(f"{error} {error.__cause__ or ''}".strip())
    return "; ".join(dict.fromkeys(reasons))


# MARK: The daemon


class Daemon:
    """The daemon on a free loopback port, with a data folder of its own."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        (folder / "root.der").write_bytes(ROOT.der)
        (folder / "config.json").write_text(json.dumps({
            "apps": [{"bundleId": APP, "appAppleId": APPLE_ID,
                      "environments": ["Production", "Sandbox"]},
                     {"bundleId": SANDBOX_APP, "environments": ["Sandbox"]}],
            "trustRoots": ["root.der"]}))
        self.files = ["--config", folder / "config.json", "--data", folder / "data"]
        with open(folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                [binary, "serve", "--listen", "127.0.0.1:0", *self.files], stderr=log)
        # No proxy: the daemon is on loopback.
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def wait_for_port(self):
        for _ in range(200):
            for line in (self.folder / "log").read_text().splitlines():
                if '"event":"listening"' in line:
                    self.url = f"http://127.0.0.1:{json.loads(line)['port']}/v1/notifications"
                    return
            time.sleep(0.1)
        sys.exit((self.folder / "log").read_text())

    def judge(self, text):
        """The status of the daemon's answer, and its outcome or code."""
        body = json.dumps({"signedPayload": text}).encode()
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        try:
            with self.opener.open(request, timeout=60) as answer:
                return answer.status, json.load(answer)["outcome"]
        except urllib.error.HTTPError as answer:
            return answer.code, json.load(answer)["code"]
        except OSError as error:
            return 0, str(error)

    def run(self, *arguments):
        return subprocess.run([self.binary, *arguments, "--json", *self.files],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


# MARK: Comparison


def fault_of(difference, reason, status, outcome):
    """What is wrong with the two verdicts on a case; None if they are as they must be."""
    takes = status == 200
    if status not in (200, 400, 401, 413, 422) or takes and outcome != "accepted":
        return "unexpected answer"
    if (reason is None) == takes:
        return "the sides should differ" if difference else None
    if difference not in DIFFERENCES:
        return "not in the table"
    declines = LIBRARY if takes else DAEMON
    return None if declines == DIFFERENCES[difference][0] else "the other side declines"


def compare(daemon):
    """Returns the faults, and how often each verdict and each difference occurred."""
    faults, verdicts, differences = [], collections.Counter(), collections.Counter()
    for kind, name, text, difference in all_cases():
        reason = judge_by_library(text)
        status, outcome = daemon.judge(text)
        verdicts[kind, "taken" if reason is None else "declined", status] += 1
        fault = fault_of(difference, reason, status, outcome)
        if fault:
            FOUND.mkdir(exist_ok=True)
            (FOUND / f"{len(faults)}.jws").write_text(text)
            faults.append(f"{kind}: {name}: {fault}; difference: {difference}; {LIBRARY}: "
                          f"{reason or 'taken'}; {DAEMON}: {status} {outcome}; "
                          f"stored in {FOUND / f'{len(faults)}.jws'}")
        elif difference:
            differences[difference] += 1
    faults += [f"difference that never occurred: {name}" for name in DIFFERENCES
               if name not in differences]
    return faults, verdicts, differences


def check_storage(daemon, verdicts):
    """What was taken must be in the journal, and what was not admitted in quarantine."""
    statuses = collections.Counter()
    for (_, _, status), number in verdicts.items():
        statuses[status] += number
    report = json.loads(daemon.run("verify"))
    rows = len(daemon.run("quarantine", "list", "--limit", "500").splitlines())
    print(f"journal: {report['events']} events, {report['finding_count']} findings; "
          f"quarantine: {rows}")
    stored = report["events"], report["finding_count"], rows
    expected = statuses[200], 0, statuses[422]
    return [] if stored == expected else [f"stored: {stored}, but expected: {expected}"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(sys.argv[1], pathlib.Path(folder))
        try:
            daemon.wait_for_port()
            version = importlib.metadata.version("app-store-server-library")
            print(f"differential: seed {SEED}, app-store-server-library {version}")
            faults, verdicts, differences = compare(daemon)
        finally:
            daemon.stop()
        for (kind, verdict, status), number in sorted(verdicts.items()):
            print(f"{number:5}  {kind:8}  {LIBRARY}: {verdict:9}  {DAEMON}: {status}")
        for name, number in differences.items():
            print(f"{number:5}  {DIFFERENCES[name][0]} declines, {name}: {DIFFERENCES[name][1]}")
        faults += check_storage(daemon, verdicts)
    for fault in faults:
        print("FAULT:", fault)
    sys.exit(1 if faults else 0)


main()
