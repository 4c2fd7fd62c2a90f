"""Measures what asking Apple costs, with a local App Store Server API: the memory of `recover` and of
the daemon while each recovers NOTIFICATIONS from Apple's history at half of Apple's limits, how fast
the daemon answers notifications meanwhile, and how long an import of customers takes.

    python3 .ci/bench-asking.py BINARY [--notifications N] [--import N] [--share S]

Prints a line for each figure, and exits with 1 if a bound is exceeded.
"""
import argparse, base64, http.client, json, os, pathlib, subprocess, sys, tempfile, time

DAY = 86_400_000
DAYS = 170
MISSED = []


def report(name, value, bound=None):
    if bound is not None and value > bound:
        MISSED.append(name)
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    print(f"{name:66} {text:>10}" + (f"   at most {bound}" if bound is not None else ""), flush=True)


def payload(jws):
    part = jws.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


class Process:
    """A child of which the peak of resident memory is known at its end."""

    def __init__(self, arguments, output=subprocess.DEVNULL, errors=subprocess.DEVNULL, nice=0):
        self.child = subprocess.Popen(
            ["nice", "-n", str(nice), *arguments], stdout=output, stderr=errors)

    def memory(self, name="VmRSS"):
        """In MB; 0 if it has ended."""
        try:
            text = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
        except OSError:
            return 0
        found = [line.split()[1] for line in text.splitlines() if line.startswith(name + ":")]
        return int(found[0]) / 1000 if found else 0

    def wait(self):
        """The exit code and the peak in MB."""
        _, status, usage = os.wait4(self.child.pid, 0)
        self.child.returncode = os.waitstatus_to_exitcode(status)
        return self.child.returncode, usage.ru_maxrss / 1000

    def end(self):
        if self.child.poll() is None:
            self.child.terminate()
            self.wait()


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.authority = self.folder / "authority"
        self.simulate("ca", str(self.authority))
        self.customers = options.notifications * 10 // 35
        self.store = None

    def simulate(self, *arguments):
        subprocess.run([self.options.binary, "simulate", *arguments], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def serve_store(self):
        began = time.monotonic()
        self.store = Process(
            [self.options.binary, "simulate", "serve", "--authority", str(self.authority),
             "--customers", str(self.customers), "--days", str(DAYS), "--seed", "5"],
            output=subprocess.PIPE, nice=19)  # Apple's is another machine
        self.line = json.loads(self.store.child.stdout.readline())
        report("the App Store's customers", self.customers)
        report("seconds until the App Store listens", time.monotonic() - began)

    def control(self, document=None):
        address = self.line["production"].removeprefix("http://")
        connection = http.client.HTTPConnection(address, timeout=600)
        connection.request("POST" if document else "GET", "/control",
                           json.dumps(document) if document else None)
        return json.loads(connection.getresponse().read())

    def configure(self, name, recover):
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        access = {key: self.line[key]
                  for key in ("issuerId", "keyId", "keyFile", "production", "sandbox")}
        file = folder / "config.json"
        file.write_text(json.dumps({
            "listen": "127.0.0.1:0", "data": str(folder / "data"),
            "apps": [{"bundleId": self.line["bundleId"], "appAppleId": self.line["appAppleId"],
                      "environments": ["Production"]}],
            "trustRoots": [self.line["root"]],
            "appStore": {**access, "recover": recover, "limitShare": self.options.share}}))
        return str(file)

    def daemon(self, config):
        """A daemon that listens, its log and its port."""
        log = open(str(config) + ".log", "w+")
        process = Process([self.options.binary, "serve", "--config", config], errors=log)
        for _ in range(600):
            for line in pathlib.Path(log.name).read_text().splitlines():
                entry = json.loads(line)
                if entry.get("event") == "listening":
                    return process, log.name, entry["port"]
            time.sleep(0.1)
        raise SystemExit("the daemon did not listen")

    # Answers

    def notifications(self):
        """New notifications, signed by the same authority."""
        file = self.folder / "posts.ndjson"
        self.simulate("run", "--fleet", "2500", "--days", "400", "--seed", "77", "--authority",
                      str(self.authority), "--output", str(file))
        with open(file, "rb") as lines:
            yield from (line.strip() for line in lines)

    def post(self, port, bodies, isEnded):
        """Posts fifty a second until the end; the milliseconds of each answer."""
        times, connection = [], http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        due = time.monotonic()
        while not isEnded(len(times)):
            body = next(bodies, None)
            if body is None:
                raise SystemExit("no notifications are left")
            due = max(due + 0.02, time.monotonic())
            time.sleep(max(0, due - time.monotonic()))
            began = time.monotonic()
            connection.request("POST", "/v1/notifications", body,
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            times.append((time.monotonic() - began) * 1000)
            if answer.status != 200:
                raise SystemExit(f"answered with {answer.status}")
        return sorted(times)

    # What is measured

    def measure_command(self):
        config = self.configure("command", "off")
        idle = Process([self.options.binary, "serve", "--config", config])
        time.sleep(3)
        resident = idle.memory()
        idle.end()
        began = time.monotonic()
        command = Process(
            [self.options.binary, "recover", "--config", config, "--json"], output=subprocess.PIPE)
        app = json.loads(command.child.stdout.read())["apps"][0]
        code, peak = command.wait()
        if code not in (0, 1) or app["error"]:
            raise SystemExit(f"recover: {code} {app['error']}")
        seconds = time.monotonic() - began
        report("recover: notifications", app["recovered"]["events"])
        report("recover: seconds", seconds)
        report("recover: resident memory at most, MB", peak)
        report("recover: above a daemon that idles, MB", peak - resident, 100)

    def measure_daemon(self):
        config = self.configure("daemon", "off")
        bodies = self.notifications()
        process, _, port = self.daemon(config)
        time.sleep(2)
        idle = process.memory()
        self.post(port, bodies, lambda count: count >= 200)  # what the first ones cost
        alone = self.post(port, bodies, lambda count: count >= 1500)
        report("daemon: idle, MB", idle)
        report("daemon: after 1,700 posts, MB", process.memory())
        process.end()
        self.configure("daemon", "automatic")
        # Last alive as long ago as there are customers.
        beat = {"at": int(time.time() * 1000) - (DAYS + 1) * DAY, "journal_id": "00", "seq": 0,
                "hash": "00"}
        (self.folder / "daemon" / "data" / "heartbeat.json").write_text(json.dumps(beat))
        process, log, port = self.daemon(config)
        ended = []

        def isEnded(count):
            if count % 50 == 0 and '"recovery_ended"' in pathlib.Path(log).read_text():
                ended.append(json.loads(next(
                    line for line in pathlib.Path(log).read_text().splitlines()
                    if '"recovery_ended"' in line)))
            return bool(ended)

        began = time.monotonic()
        meanwhile = self.post(port, bodies, isEnded)
        report("daemon: notifications recovered by itself", ended[0]["recovered"])
        report("daemon: seconds", time.monotonic() - began)
        report("daemon: resident memory at most, MB", process.memory("VmHWM"))
        report("daemon: above idle, MB", process.memory("VmHWM") - idle, 100)
        process.end()
        for name, share in (("half", 0.5), ("slowest hundredth", 0.99)):
            before, during = (times[int(len(times) * share)] for times in (alone, meanwhile))
            report(f"answer, {name}: alone, ms", before)
            report(f"answer, {name}: while it recovers, ms ({len(meanwhile)})", during)
        report("answer, slowest hundredth: ratio", during / before, 1.5)

    def identifiers(self):
        """An original transaction id of each of the App Store's first customers."""
        file, found = self.folder / "customers.ndjson", {}
        self.simulate("run", "--fleet", str(self.options.customers), "--days", str(DAYS), "--seed",
                      "5", "--end", "now", "--authority", str(self.authority), "--output", str(file))
        for line in open(file, "rb"):
            part = payload(json.loads(line)["signedPayload"]).get("data", {})
            if signed := part.get("signedTransactionInfo"):
                id = payload(signed)["originalTransactionId"]
                found.setdefault(int(id) // 1000, id)
        return list(found.values())

    def measure_import(self):
        found = self.identifiers()
        file = self.folder / "ids"
        file.write_text("\n".join(found))
        config = self.configure("import", "off")
        began = time.monotonic()
        command = Process([self.options.binary, "import", str(file), "--json", "--config", config],
                          output=subprocess.PIPE)
        result = json.loads(command.child.stdout.read().splitlines()[-1])
        code, peak = command.wait()
        if code not in (0, 1) or result["failed"]["count"]:
            raise SystemExit(f"import: {code} {result}")
        seconds = time.monotonic() - began
        report("import: customers", sum(result["found"].values()))
        report("import: events", result["journaled"])
        report("import: seconds", seconds)
        report("import: customers a second", len(found) / seconds)
        report("import: minutes for 50,000", 50_000 / len(found) * seconds / 60, 75)
        report("import: resident memory at most, MB", peak)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--notifications", type=int, default=100_000)
    parser.add_argument("--import", dest="customers", type=int, default=2_000)
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--only", choices=["recover", "daemon", "import"], action="append")
    options = parser.parse_args()
    options.binary = str(pathlib.Path(options.binary).resolve())
    chosen = options.only or ["recover", "daemon", "import"]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        try:
            bench.serve_store()
            report("notifications that it lists", bench.control()["production"]["notifications"])
            if "recover" in chosen:
                bench.measure_command()
            if "daemon" in chosen:
                bench.measure_daemon()
            if "import" in chosen:
                bench.measure_import()
            limits = bench.control()["production"]["limits"]
            report("requests past Apple's limits", sum(each["refused"] for each in limits.values()),
                   0)
        finally:
            if bench.store:
                bench.store.end()
    if MISSED:
        print("exceeded: " + ", ".join(MISSED))
        sys.exit(1)


main()
