"""What the states of alerts.py are made of: scrapes, daemons, receivers, and PostgreSQL."""

import base64
import dataclasses
import hashlib
import http.client
import http.server
import json
import os
import pathlib
import pwd
import re
import signal
import socket
import sqlite3
import subprocess
import threading
import time

TOKEN = "token-of-the-alerts"
APP = {"bundleId": "com.example.app", "appAppleId": 123456789}
MAPPING = {"pro": ["pro.*"], "basic": ["basic.*", "student.*"], "extras": ["unlock.*", "season.*"]}
DAY = 86_400_000
# A clock that is an hour ahead, for LD_PRELOAD.
AHEAD = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
  long found = syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += 3600;
  return (int)found;
}
"""


class Unready(Exception):
    """A state was not reached in time."""


class Page:
    """One scrape: when, and the value of each series."""

    def __init__(self, text, at=None):
        self.at = at or time.time()
        lines = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        self.values = {name: float(value) for name, value in lines}

    def __getitem__(self, name):
        return self.values.get(name, 0)

    def sum(self, metric):
        return sum(value for name, value in self.values.items() if name.split("{")[0] == metric)

    def changed(self, **values):
        """The same with other values of some metrics."""
        page = Page("", self.at)
        page.values = self.values | {f"subledger_{name}": each for name, each in values.items()}
        return page

    def unprovoked(self, why, **values):
        return Case(self, [self.changed(**values)], why=why)


@dataclasses.dataclass
class Case:
    """Scrapes of a daemon before and in a state. None is a scrape that failed."""
    before: Page
    after: list
    # How many samples each scrape in the state stands for, how many hours the one before does, and
    # what else must fire.
    each: int = 1
    hours: float = 6
    beside: tuple = ()
    # Why the state was not provoked, and what else is to be said.
    why: str = ""
    note: str = ""
    # Minutes between two evaluations, and a metric that is the time until then.
    evaluated: int = 5
    grows: str = ""


class World:
    """A temporary folder, and the processes in it."""

    def __init__(self, binary, folder):
        self.binary, self.folder, self.running, self.mounted = binary, folder, [], []
        for name in "authority", "stranger":
            self.run("simulate", "ca", folder / name)
        self.ours = self.fleet("ours", "--fleet", "60", "--days", "90")

    def fleet(self, name, *arguments, authority="authority"):
        """Notifications, one a line."""
        path = self.folder / f"{name}.ndjson"
        self.run("simulate", "run", "--authority", self.folder / authority, "--output", path,
                 *arguments)
        return path

    def run(self, *arguments, check=True):
        return subprocess.run(
            [self.binary, *arguments], check=check, capture_output=True, text=True)

    def spawn(self, arguments, **options):
        process = subprocess.Popen(arguments, **options)
        self.running.append(process)
        return process

    def end(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait()
        for folder in self.mounted:
            subprocess.run(["umount", "-l", folder])


class Daemon:
    def __init__(self, world, name, ingested=None, start=True, data=None, **settings):
        self.world, self.folder = world, world.folder / name
        self.folder.mkdir()
        self.data = data or self.folder / "data"
        self.settings = {
            "listen": "127.0.0.1:0", "data": str(self.data), "apps": [APP],
            "entitlements": MAPPING, "trustRoots": [str(world.folder / "authority/root.der")],
            "readTokens": [{"name": "a", "sha256": hashlib.sha256(TOKEN.encode()).hexdigest()}]}
        self.configure(**settings)
        if ingested:
            self.run("ingest", ingested)
        if start:
            self.start()

    def configure(self, **settings):
        self.settings |= settings
        (self.folder / "config.json").write_text(json.dumps(self.settings))

    def run(self, *arguments, check=True):
        return self.world.run(*arguments, "--config", self.folder / "config.json", check=check)

    def start(self, **environment):
        log = self.folder / "log"
        with open(log, "w") as file:
            self.process = self.spawn(file, **environment)
        wait("the daemon to listen", lambda: self.listens(log.read_text()))

    def spawn(self, log, **environment):
        return self.world.spawn(
            [self.world.binary, "serve", "--config", self.folder / "config.json"], stderr=log,
            env=os.environ | environment)

    def listens(self, log):
        if self.process.poll() is not None:
            raise Unready(f"the daemon ended: {log[-500:]}")
        if found := re.search(r'"event":"listening".*?"port":(\d+),', log):
            self.port = int(found.group(1))
        return found

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(30) == 0

    def reload(self, **settings):
        self.configure(**settings)
        self.process.send_signal(signal.SIGHUP)

    def page(self, connection=None):
        connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        return Page(connection.getresponse().read().decode())

    def until(self, what, holds, seconds=60):
        """The first scrape that is so. Some values are counted behind a scrape."""
        return wait(what, lambda: (page := self.page()) and holds(page) and page, seconds)

    def healthy(self):
        """A scrape after the counts of the first ones."""
        self.page()
        return self.until("the rows", lambda page: "subledger_rows_age_seconds" in page.values
                          and page["subledger_rows_live"] == 1)

    def post(self, path, count=1 << 30):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        statuses = []
        for line in path.read_bytes().splitlines()[:count]:
            connection.request("POST", "/v1/notifications", line,
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)
        return statuses


class Receiver(http.server.BaseHTTPRequestHandler):
    """Answers what its server's `judge` says of a message."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(self.server.judge(body))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def receiver(world, judge, **settings):
    """A receiver, and the value of `sinks` that sends to it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.judge, server.daemon_threads = judge, True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    secret = world.folder / f"secret-{server.server_port}"
    secret.write_text(world.run("sink", "secret").stdout)
    secret.chmod(0o600)
    return server, [{"name": "a", "kind": "webhook", "privateNetwork": True, "from": "start",
                     "url": f"http://127.0.0.1:{server.server_port}/",
                     "secretFile": str(secret)} | settings]


def wait(what, holds, seconds=60):
    end = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > end:
            raise Unready(f"waited in vain for {what}")
        time.sleep(0.1)
    return found


def customer(line):
    """The original transaction id of a notification."""
    def decoded(text):
        part = text.split(".")[1]
        return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    data = decoded(json.loads(line)["signedPayload"])["data"]
    return decoded(data["signedTransactionInfo"])["originalTransactionId"]


def at(lines, milliseconds):
    """The same lines, received so much later or earlier than now."""
    path = lines.with_suffix(f".{milliseconds}")
    moment = int(time.time() * 1000) + milliseconds
    path.write_text("".join(json.dumps({"received_at_ms": moment, "body": json.loads(line)}) + "\n"
                            for line in lines.read_text().splitlines()))
    return path


def locked(connection):
    try:
        return connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        return None


def asking(world, name):
    """A daemon that asks a simulated Apple, and what makes Apple refuse it."""
    store = world.spawn(
        [world.binary, "simulate", "serve", "--authority", world.folder / "authority", "--seed",
         "2", "--customers", "5"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    line = json.loads(store.stdout.readline())
    ended = world.fleet(name, "--fleet", "60", "--days", "90", "--end",
                        str(int(time.time() * 1000) - 3 * DAY))
    keys = "issuerId", "keyId", "keyFile", "production", "sandbox"
    daemon = Daemon(world, name, ended, appStore={key: line[key] for key in keys})

    def refuse(path):
        fault = {"kind": "unauthenticated", "count": 1000, "path": path}
        connection = http.client.HTTPConnection(line["production"].removeprefix("http://"))
        connection.request("POST", "/control", json.dumps({"faults": [fault]}))
        assert connection.getresponse().status == 200
    return daemon, refuse


def failing(daemon, name):
    count = f"subledger_{name}_failures_total"
    return [daemon.until("a failure", lambda page: page[count] >= number, 100)
            for number in (1, 2)]


class Postgres:
    """A cluster of its own. PostgreSQL refuses to run as root."""

    def __init__(self, world):
        self.world, self.folder = world, world.folder / "postgres"
        self.programs = sorted(pathlib.Path("/usr/lib/postgresql").iterdir())[-1] / "bin"
        self.folder.mkdir()
        user = pwd.getpwnam("postgres") if os.getuid() == 0 else None
        if user:
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        self.user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.run("initdb", "-D", self.folder / "data", "-U", "postgres", "--auth=trust",
                 "--no-instructions", "--no-sync")
        self.start()

    def run(self, program, *arguments):
        subprocess.run([self.programs / program, *arguments], check=True, cwd=self.folder,
                       stdout=subprocess.DEVNULL, **self.user)

    def start(self):
        self.process = self.world.spawn(
            [self.programs / "postgres", "-D", self.folder / "data", "-k", self.folder, "-p",
             str(self.port), "-c", "listen_addresses=127.0.0.1"], cwd=self.folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.user)
        ready = [self.programs / "pg_isready", "-q", "-h", self.folder, "-p", str(self.port)]
        wait("PostgreSQL", lambda: subprocess.run(ready, **self.user).returncode == 0)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)

    def sql(self, text, database="postgres"):
        self.run("psql", "-X", "-q", "-h", self.folder, "-p", str(self.port), "-U", "postgres",
                 "-d", database, "-c", text)

    def connection(self, user):
        return f"host=127.0.0.1 port={self.port} dbname=ledger user={user}"
