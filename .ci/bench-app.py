"""Measures what apps and backends cause: `bench-app.py BINARY [--turns N] [--seconds S]`.

1. The processor time of `POST /v1/transactions` against that of notifications, in turns within one
   run: each turn starts a daemon on a new folder for each kind of body. All bodies tell of the same
   purchases; they differ in what is signed.
2. Reads of a customer against reads of a row, with Debian's wrk over 64 kept-alive connections:
   how many a second, and the daemon's processor time for one.

Needs Debian's python3-cryptography and wrk. Everything stays on the loopback interface.
"""

import argparse
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile

from bench_common import CUSTOMERS, PERIODS, TOKEN, Daemon, Signer, bodies, idle, post, warming


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
