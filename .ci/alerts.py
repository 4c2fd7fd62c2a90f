"""Provokes the alerts for Prometheus with daemons: `alerts.py BINARY [STATE …] [--rules FILE]`.

Each alert is for a state of a daemon. Daemons in temporary folders are brought into these states
(the functions of alerts_states.py), their /metrics are read before and after, and `promtool test
rules` gets both: hours of the samples before, then those after for as long as the rule waits.
Exactly that alert must fire, and none before. What is not provoked is said, with the reason; its
samples are a real scrape of which one value is changed.

Prints a line for each alert. The exit code is 1 if one does not fire, or if one fires over samples
of healthy daemons. Needs promtool (Debian's prometheus), PostgreSQL (postgresql-15), and for a
small disk root, for a clock that is ahead a C compiler. Everything stays on the loopback interface.
"""

import argparse
import concurrent.futures
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import traceback

import alerts_states
from alerts_daemons import World

RULES = "Sources/subledger/subledger.docc/monitoring/alerts.yml"
# Minutes between two samples and two evaluations of the rules.
STEP = 5
FIRING = 'ALERTS{alertstate="firing"}'


class Rules:
    def __init__(self, path):
        self.path, text = path.resolve(), path.read_text()
        self.metrics = set(re.findall(r"\bsubledger_[a-z_]+", text))
        # By alert, the minutes that it waits.
        self.waits = {}
        for rule in text.split("- alert: ")[1:]:
            found = re.search(r"\n +for: (\d+)([mh])\n", rule)
            self.waits[rule.split()[0]] = found and int(found[1]) * {"m": 1, "h": 60}[found[2]] or 0

    def test(self, name, case):
        """The text of promtool's test."""
        count = int(case.hours * 60 / STEP)
        hold = self.waits.get(name, 0) // STEP
        after = [page for page in case.after for _ in range(case.each)] + case.after[-1:] * hold
        lines = [f"  - {{series: '{key}', values: '{notation(values)}'}}"
                 for key, values in self.series(case, count, [case.before] * count + after)]
        fires = sorted({name, *case.beside}) if case.after else []
        expected = "".join(f"\n      - {{labels: '{{alertname=\"{alert}\"}}', value: 1}}"
                           for alert in fires) or " []"
        before, end = (count - 1) * STEP, (count + len(after) - 1) * STEP
        return "\n".join([
            f"rule_files: ['{self.path}']", f"evaluation_interval: {case.evaluated}m", "tests:",
            f"- interval: {STEP}m", "  input_series:", *lines, "  promql_expr_test:",
            f"  - expr: 'max by (alertname) (max_over_time({FIRING}[{before + 1}m]))'",
            f"    eval_time: {before}m", "    exp_samples: []",
            f"  - expr: 'max by (alertname) ({FIRING})'",
            f"    eval_time: {end}m", f"    exp_samples:{expected}", ""])

    def series(self, case, count, pages):
        """Series with their values. Times are moved, to where the change is in the test."""
        offset = count * STEP * 60 - case.before.at
        yield labelled("up"), [float(page is not None) for page in pages]
        names = {name for page in pages if page for name in page.values}
        for name in sorted(names):
            metric = name.split("{")[0]
            if metric not in self.metrics:
                continue
            values = [page.values.get(name) if page else None for page in pages]
            if metric.endswith("_time_seconds"):
                values = [value + offset if value else value for value in values]
            if metric == case.grows:
                values[:count] = [float(index * STEP * 60) for index in range(count)]
            yield labelled(name), values


def labelled(name):
    own = name[:-1] + "," if name.endswith("}") else name + "{"
    return own + 'instance="a:8080",job="subledger"}'


def notation(values):
    """Values as promtool reads them: a+0x2 is a, a, a. What is not there any more is stale."""
    parts, before = [], None
    for value, run in itertools.groupby(values):
        more = len(list(run)) - 1
        if value is not None:
            parts.append(f"{value!r}+0x{more}")
        else:
            parts.append(f"_x{more + 1}" if before is None else
                         f"stale _x{more}" if more else "stale")
        before = value
    return " ".join(parts)


def play(function, world, rules):
    """Of each alert its name, its case, and what promtool has against it."""
    found = []
    try:
        for name, case in function(world):
            file = world.folder / f"{function.__name__}-{name}.yml"
            file.write_text(rules.test(name, case))
            ran = subprocess.run(
                ["promtool", "test", "rules", file], capture_output=True, text=True)
            text = "\n".join(filter(str.strip, (ran.stdout + ran.stderr).splitlines()))
            found.append((name, case, text if ran.returncode else ""))
    except Exception:
        found.append((function.__name__, None, traceback.format_exc()))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("states", nargs="*")
    parser.add_argument("--rules", type=pathlib.Path, default=RULES)
    options = parser.parse_args()
    rules, began = Rules(pathlib.Path(options.rules)), time.monotonic()
    functions = [each for each in alerts_states.STATES
                 if not options.states or each.__name__ in options.states]
    missing, wrong = set(rules.waits), 0
    with tempfile.TemporaryDirectory(prefix="alerts-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        world = World(options.binary.resolve(), folder)
        try:
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                playing = [pool.submit(play, each, world, rules) for each in functions]
                for each in concurrent.futures.as_completed(playing):
                    for name, case, against in each.result():
                        missing.discard(name)
                        wrong += bool(against)
                        report(name, case, against)
        finally:
            world.end()
    if not options.states:
        for name in sorted(missing):
            print(f"{name:32} no state is for it")
        wrong += len(missing)
    print(f"{time.monotonic() - began:.0f} s; {wrong or 'nothing'} wrong")
    return 1 if wrong else 0


def report(name, case, against):
    if not case:
        text = "was not played"
    elif not case.after:
        text = "an alert fires" if against else "no alert fires"
    else:
        fires = "does not fire alone" if against else ", beside it ".join(["fires", *case.beside])
        text = f"{'changed' if case.why else 'provoked'}: {fires}"
    print(f"{name:32} {text}", flush=True)
    if case and case.note:
        print(f"{name}: {case.note}")
    if case and case.why:
        print(f"not provoked: {name}: {case.why}")
    if against:
        print(against)


sys.exit(main())
