"""Measures what a shared journal costs: `bench-shared-journal.py BINARY [--turns N] [--seconds S]`.

1. Notifications with three signatures over 64 kept-alive connections of Debian's wrk: to a daemon
   with a folder alone, to one with a shared journal, and to two of them, half each. In turns within
   one run, each on new folders and a new database: how many a second, and the processor time of
   daemons and PostgreSQL for one.
2. The time to the answer at 40 notifications a second, to one and to two daemons.

PostgreSQL is the machine's (Debian's postgresql-15), with a cluster of its own that syncs to the
disk. Needs Debian's python3-cryptography and wrk. Everything stays on the loopback interface.
"""

import argparse
import http.client
import json
import os
import pathlib
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from bench_common import TOKEN, Daemon, Signer, bodies, post, warming

RATE = 40
KINDS = {"a folder alone": 1, "shared, one daemon": 1, "shared, two daemons": 2}


class Postgres:
    """A cluster of its own. PostgreSQL refuses to run as root."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        user = pwd.getpwnam("postgres") if os.getuid() == 0 else None
        if user:
            os.chown(folder, user.pw_uid, user.pw_gid)
        self.user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        self.programs = sorted(pathlib.Path("/usr/lib/postgresql").iterdir())[-1] / "bin"
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.run("initdb", "-D", folder / "data", "-U", "postgres", "--auth=trust",
                 "--no-instructions")
        self.process = subprocess.Popen(
            [self.programs / "postgres", "-D", folder / "data", "-k", folder, "-p", str(self.port),
             "-c", "listen_addresses=127.0.0.1"], cwd=folder, stdout=subprocess.DEVNULL,
            stderr=open(folder / "log", "w"), **self.user)
        for _ in range(300):
            if subprocess.run([self.programs / "pg_isready", "-q", "-h", folder, "-p",
                               str(self.port)], **self.user).returncode == 0:
                return
            time.sleep(0.1)
        raise SystemExit((folder / "log").read_text())

    def run(self, program, *arguments):
        subprocess.run([self.programs / program, *arguments], check=True, cwd=self.folder,
                       stdout=subprocess.DEVNULL, **self.user)

    def sql(self, text):
        self.run("psql", "-X", "-q", "-h", self.folder, "-p", str(self.port), "-U", "postgres",
                 "-c", text)

    def connection(self, database, user):
        return f"host=127.0.0.1 port={self.port} dbname={database} user={user}"

    def database(self, binary, authority, name):
        """A new database with the tables, and what the daemons' configurations say of it."""
        self.sql(f"CREATE DATABASE {name}")
        # The root certificates that the daemons trust are those of the owner's configuration.
        owner = authority / "owner.json"
        owner.write_text(json.dumps({"trustRoots": [str(authority / "root.der")]}))
        subprocess.run([binary, "shared-journal", "migrate", "--config", owner, "--connection",
                        self.connection(name, "postgres")], check=True, stdout=subprocess.DEVNULL)
        if name == "bench0":
            self.sql("CREATE ROLE bench LOGIN")
            self.sql("GRANT subledger_daemon TO bench")
        return {"sharedJournal": {"connection": self.connection(name, "bench")}}

    def seconds(self):
        """The processor time of the server's processes that live, and of those that ended."""
        total = 0
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(")")[1].split()
            except OSError:
                continue
            number = int(stat.parent.name)
            if number == self.process.pid:
                total += sum(int(field) for field in fields[11:15])
            elif int(fields[1]) == self.process.pid:
                total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


def load(port, work, name, all_bodies, connections):
    """wrk, whose connections are idle once every body was sent."""
    (work / f"{name}.bodies").write_bytes(b"\n".join(all_bodies))
    script = work / f"{name}.lua"
    script.write_text(
        f'local bodies = {{}}\nfor line in io.lines("{work}/{name}.bodies") do\n'
        '  bodies[#bodies + 1] = line\nend\nlocal n, done = 0, 0\n'
        'local headers = { ["Content-Type"] = "application/json" }\n'
        'function request()\n  n = n + 1\n'
        '  return wrk.format("POST", "/v1/notifications", headers, bodies[(n - 1) % #bodies + 1])\n'
        'end\nfunction response(status)\n  if status == 200 then done = done + 1 end\n'
        '  if done >= #bodies then wrk.thread:stop() end\nend\n')
    return subprocess.Popen(
        ["wrk", "-t1", f"-c{connections}", "-d120s", "-s", script, f"http://127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL)


def head(daemon):
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
    connection.request("GET", "/v1/events?limit=1", headers={"Authorization": f"Bearer {TOKEN}"})
    return json.load(connection.getresponse())["head"]


class Ledger:
    """One or two daemons of a kind, on new folders."""

    def __init__(self, binary, authority, postgres, folder, kind, number):
        settings = {}
        if kind != "a folder alone":
            settings = postgres.database(binary, authority, f"bench{number}")
        self.daemons = []
        for index in range(KINDS[kind]):
            (folder / str(index)).mkdir(parents=True)
            self.daemons.append(Daemon(binary, folder / str(index), authority, settings))

    def seconds(self):
        return sum(daemon.seconds() for daemon in self.daemons)

    def stop(self):
        for daemon in self.daemons:
            daemon.stop()


def throughput(binary, authority, postgres, work, turns, number):
    signer = Signer(authority)
    warm, measured = warming(signer), bodies(signer)["outer+both"]
    found = {kind: [] for kind in KINDS}
    for turn in range(turns):
        for kind in random.Random(turn).sample(list(KINDS), len(KINDS)):
            folder = work / f"throughput-{number}"
            ledger = Ledger(binary, authority, postgres, folder, kind, number)
            number += 1
            post(ledger.daemons[0].port, "/v1/notifications", warm)
            time.sleep(1)
            before, server, clock = ledger.seconds(), postgres.seconds(), time.monotonic()
            count = len(ledger.daemons)
            # A customer's notifications go to one daemon.
            running = [load(daemon.port, work, f"part-{index}", measured[index::count], 64 // count)
                       for index, daemon in enumerate(ledger.daemons)]
            while any(head(daemon) < len(warm) + len(measured) for daemon in ledger.daemons):
                assert time.monotonic() - clock < 120
                time.sleep(0.02)
            seconds = time.monotonic() - clock
            own, theirs = ledger.seconds() - before, postgres.seconds() - server
            for process in running:
                process.kill()
                process.wait()
            each = 1e6 / len(measured)
            found[kind].append((len(measured) / seconds, own * each, theirs * each))
            print(f"{kind:20} {found[kind][-1][0]:6.0f}/s; a notification takes "
                  f"{own * each:4.0f} µs of daemons, {theirs * each:4.0f} µs of PostgreSQL")
            ledger.stop()
            shutil.rmtree(folder)
    best = {kind: (max(rate for rate, _, _ in all), min(own + server for _, own, server in all),
                   min(own for _, own, _ in all)) for kind, all in found.items()}
    alone, one, two = (best[kind] for kind in KINDS)
    print(f"processor time of the daemon, shared : alone = {one[2] / alone[2]:.2f}; with "
          f"PostgreSQL's {one[1] / alone[1]:.2f}")
    print(f"rate, one shared : alone = {one[0] / alone[0]:.2f}, two shared : alone = "
          f"{two[0] / alone[0]:.2f}")
    return number


def latency(binary, authority, postgres, work, seconds, number):
    measured = bodies(Signer(authority))["outer+both"]
    for kind in KINDS:
        folder = work / f"latency-{number}"
        ledger = Ledger(binary, authority, postgres, folder, kind, number)
        number += 1
        took, lock, begin = [], threading.Lock(), time.monotonic() + 0.5
        places = iter(range(RATE * seconds))

        def run(daemon):
            connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
            while True:
                with lock:
                    place = next(places, None)
                if place is None:
                    return
                time.sleep(max(0, begin + place / RATE - time.monotonic()))
                start = time.monotonic()
                connection.request("POST", "/v1/notifications", measured[place],
                                   {"Content-Type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 200, answer.status
                with lock:
                    took.append((time.monotonic() - start) * 1000)

        threads = [threading.Thread(target=run, args=(ledger.daemons[n % len(ledger.daemons)],))
                   for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(took) == RATE * seconds
        took.sort()
        print(f"{kind:20} at {RATE}/s: median {took[len(took) // 2]:5.1f} ms, 99 of 100 under "
              f"{took[len(took) * 99 // 100]:5.1f} ms, slowest {took[-1]:5.1f} ms")
        ledger.stop()
        shutil.rmtree(folder)


parser = argparse.ArgumentParser()
parser.add_argument("binary", type=pathlib.Path)
parser.add_argument("--turns", type=int, default=3)
parser.add_argument("--seconds", type=int, default=25)
options = parser.parse_args()
binary = str(options.binary.resolve())
with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    work.chmod(0o755)
    authority = work / "authority"
    subprocess.run([binary, "simulate", "ca", authority], check=True, stdout=subprocess.DEVNULL)
    server = Postgres(work / "postgres")
    try:
        used = throughput(binary, authority, server, work, options.turns, 0)
        latency(binary, authority, server, work, options.seconds, used)
    finally:
        server.stop()
