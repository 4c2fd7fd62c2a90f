"""States of daemons, each with the alert that is for it. Run by alerts.py.

Each function gets a `World` and yields names of alerts with their cases. One by the name `healthy`
is a state without an alert.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import time

from alerts_daemons import (
    AHEAD, DAY, MAPPING, Case, Daemon, Postgres, asking, at, customer, failing, locked, receiver,
    wait)


def silent(world):
    daemon = Daemon(world, "silent")
    daemon.post(world.ours)
    before = daemon.healthy()
    yield "SubledgerSilent", Case(
        before, [before] * 109, hours=15.5 * 24, evaluated=60,
        grows="subledger_last_notification_time_seconds",
        why="its rule needs two weeks of samples; the times before are changed")
    daemon.stop()
    try:
        daemon.page()
    except ConnectionRefusedError:
        yield "SubledgerDown", Case(before, [None])


def starts(world):
    daemon = Daemon(world, "starts", world.ours)
    before, after = daemon.healthy(), []
    for _ in range(4):
        daemon.stop()
        daemon.start()
        after.append(daemon.healthy())
    yield "SubledgerRestarts", Case(before, after, each=2)
    daemon.stop()
    daemon.configure(limits={"diskBytes": 10 ** 15})
    daemon.start()
    yield "SubledgerNotReady", Case(before, [daemon.healthy()])


def lost_file(world):
    daemon = Daemon(world, "lost-file", world.ours)
    before = daemon.healthy()
    (daemon.data / "journal.sqlite-wal").unlink()
    assert daemon.process.wait(30) == 3
    # It ends within milliseconds: the next start tells of it.
    daemon.start()
    yield "SubledgerJournalFailed", Case(before, [None, daemon.healthy()])


def store_errors(world):
    _, sinks = receiver(world, lambda _: 204)
    daemon = Daemon(world, "store-errors", world.ours, sinks=sinks)
    before = daemon.until("the sink", lambda page: page['subledger_sink_up{sink="a"}'] == 1
                          and page['subledger_sink_lag_events{sink="a"}'] == 0)
    daemon.stop()
    # As on a full disk, SQLite cannot make the file that it shares with readers.
    shared = daemon.data / "sinks.sqlite-shm"
    shared.unlink(missing_ok=True)
    shared.mkdir()
    daemon.start()
    after = daemon.until("an error", lambda page: page.sum("subledger_store_errors_total") > 0)
    yield "SubledgerStoreErrors", Case(before, [after])


def small_disk(world):
    folder = world.folder / "small"
    folder.mkdir()
    if os.getuid() != 0 or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", folder]).returncode:
        before = Daemon(world, "disk", world.ours).healthy()
        size, why = before["subledger_disk_size_bytes"], "a small disk needs root"
        falling = [before.changed(disk_free_bytes=size * (0.45 - n / 100)) for n in range(14)]
        yield "SubledgerDiskFillsUp", Case(before, falling, each=6, why=why)
        yield "SubledgerDiskFull", before.unprovoked(why, disk_full=1)
        return
    world.mounted.append(folder)
    daemon = Daemon(world, "disk", world.ours, data=folder / "data", limits={"diskBytes": 1})
    before, after = daemon.healthy(), []
    with open(folder / "filler", "wb", buffering=0) as filler:
        filler.write(bytes(24 << 20))
        for _ in range(14):
            filler.write(bytes(256 << 10))
            free = after[-1]["subledger_disk_free_bytes"] if after else 1 << 60
            after.append(daemon.until(
                "less", lambda page: page["subledger_disk_free_bytes"] < free))
        yield "SubledgerDiskFillsUp", Case(before, after, each=6)
        try:
            while True:
                filler.write(bytes(4096))
        except OSError:
            pass
    assert 503 in daemon.post(world.fleet("more", "--fleet", "400", "--seed", "5"))
    full = daemon.until("a full disk", lambda page: page["subledger_disk_full"] == 1)
    yield "SubledgerDiskFull", Case(before, [full], beside=("SubledgerStoreErrors",))


def large_wal(world):
    daemon = Daemon(world, "large-wal", world.ours)
    before = daemon.healthy()
    reader = sqlite3.connect(f"file:{daemon.data}/journal.sqlite?mode=ro", uri=True)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM event").fetchone()
    # One after the other: each is a commit of its own.
    daemon.post(world.fleet("many", "--fleet", "3000", "--days", "200", "--seed", "8"), 9000)
    after = daemon.until("the log", lambda page: page["subledger_journal_wal_bytes"] > 1 << 27)
    reader.close()
    yield "SubledgerLargeWAL", Case(before, [after])


def refused(world):
    daemon = Daemon(world, "refused", world.ours)
    before = daemon.healthy()
    foreign = world.fleet("foreign", "--fleet", "2", "--bundle-id", "com.example.foreign")
    assert set(daemon.post(foreign)) == {422}
    after = daemon.until("quarantine", lambda page: page.sum("subledger_quarantined") > 0)
    beside = ("SubledgerOwnerFault",) if after.sum("subledger_owner_faults_total") else ()
    yield "SubledgerQuarantineGrows", Case(before, [after], beside=beside)
    daemon = Daemon(world, "fault", world.ours)
    before = daemon.healthy()
    assert 200 not in daemon.post(world.fleet("forged", "--fleet", "2", authority="stranger"))
    yield "SubledgerOwnerFault", Case(before, [daemon.healthy()])


def mappings(world):
    daemon = Daemon(world, "unmapped", world.ours)
    before = daemon.healthy()
    daemon.reload(entitlements=MAPPING | {"extras": ["unlock.*"], "basic": ["basic.*"]},
                  entitlementLossLimit=None)
    after = daemon.until("unmapped", lambda page: page["subledger_unmapped_products"] > 0)
    yield "SubledgerUnmappedProducts", Case(before, [after])
    # Of the last twelve hours, so that some are nearly over.
    asked = world.fleet("asked", "--fleet", "300", "--days", "20", "--end", "now",
                        "--refunds", "0.9", "--seed", "3")
    daemon = Daemon(world, "refunds", world.ours, refunds={"policies": []})
    before = daemon.healthy()
    daemon.post(asked)
    after = daemon.until(
        "a request", lambda page: 0 < page["subledger_refund_deadline_seconds"] < 10000)
    yield "SubledgerRefundDue", Case(before, [after])
    daemon = Daemon(world, "mapping", world.ours)
    before = daemon.healthy()
    other = daemon.folder / "other.json"
    other.write_text(json.dumps(daemon.settings | {"entitlements": MAPPING | {"all": ["pro.*"]}}))
    daemon.run("entitlements", "--accept", other, check=False)
    after = daemon.until("a difference", lambda page: page["subledger_mapping_differs"] > 0)
    yield "SubledgerMappingDiffers", Case(before, [after])
    daemon.run("entitlements", "--accept", daemon.folder / "config.json", check=False)
    before = daemon.until("no difference", lambda page: page["subledger_mapping_differs"] == 0)
    daemon.reload(entitlements=MAPPING | {"pro": ["pro.yearly.none"], "old": ["pro.*"]})
    after = daemon.until("a refusal", lambda page: page["subledger_mapping_refused"] > 0)
    yield "SubledgerMappingRefused", Case(before, [after])


def clock(world):
    source, library = world.folder / "ahead.c", world.folder / "ahead.so"
    source.write_text(AHEAD)
    daemon = Daemon(world, "ahead", start=False)
    if not shutil.which("cc"):
        daemon.start()
        yield "SubledgerReceivedAhead", daemon.healthy().unprovoked(
            "a clock that is ahead needs a C compiler", received_ahead_seconds=3600)
        return
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    daemon.start(LD_PRELOAD=str(library))
    daemon.post(world.ours)
    before = daemon.healthy()
    daemon.stop()
    daemon.start()
    yield "SubledgerReceivedAhead", Case(before, [daemon.healthy()])


def slow_log(world):
    daemon = Daemon(world, "slow-log", world.ours, start=False)
    end, other = os.pipe()
    daemon.process = daemon.spawn(other)
    os.close(other)
    text = b""
    while not daemon.listens(text.decode()):
        text += os.read(end, 4096)
    before = daemon.healthy()
    # A pipe holds 64 KiB, the daemon some thousand lines; a duplicate has a line of its own.
    lost = lambda: daemon.page()["subledger_log_lines_lost_total"]
    wait("lost lines", lambda: daemon.post(world.ours) and lost(), 90)
    after = daemon.page()
    os.close(end)
    yield "SubledgerLogLinesLost", Case(before, [after])


def rows(world):
    daemon = Daemon(world, "rows", world.ours)
    before = daemon.healthy()
    live = (daemon.data / "entitlements.sqlite").resolve()
    with open(live, "r+b") as file:
        file.write(os.urandom(live.stat().st_size))
    after = daemon.until("damage", lambda page: page["subledger_projection_damaged_total"] > 0)
    yield "SubledgerRowsDamaged", Case(before, [after])
    daemon.until("new rows", lambda page: page["subledger_rows_live"] == 1)
    daemon.stop()
    for path in daemon.data.glob("entitlements*"):
        path.unlink()
    (daemon.data / f"{live.name}.building" / "full").mkdir(parents=True)
    daemon.start()
    after = daemon.until("missing rows", lambda page: page["subledger_rows_live"] == 0)
    yield "SubledgerRowsMissing", Case(before, [after])


def broken_rows(world):
    daemon = Daemon(world, "broken", world.ours)
    before = daemon.healthy()
    journal = sqlite3.connect(daemon.data / "journal.sqlite")
    trigger, id = (journal.execute(text).fetchone()[0] for text in (
        "SELECT sql FROM sqlite_schema WHERE name = 'event_update'",
        "SELECT original_transaction_id FROM journal_v1 WHERE seq = 50"))
    journal.execute("DROP TRIGGER event_update")
    journal.execute("UPDATE event SET body = zeroblob(length(body)) WHERE seq = 50")
    journal.execute(trigger)
    journal.commit()
    journal.close()
    daemon.run("rebuild", "--only", id)
    after = daemon.until("a broken row", lambda page: page["subledger_rows_broken"] > 0)
    yield "SubledgerRowsBroken", Case(before, [after])


def rows_behind(world):
    daemon = Daemon(world, "rows-behind", world.ours)
    before = daemon.healthy()
    other = sqlite3.connect(daemon.data / "entitlements.sqlite", isolation_level=None)
    wait("the lock", lambda: locked(other))
    daemon.run("ingest", world.fleet("crowd", "--fleet", "3500", "--days", "200", "--seed", "9"))
    after = daemon.until("rows behind", lambda page: page["subledger_projection_lag_events"] > 1e4)
    other.close()
    yield "SubledgerRowsBehind", Case(before, [after], beside=("SubledgerStoreErrors",))


def sinks(world):
    server, sinks = receiver(world, lambda _: 204)
    daemon = Daemon(world, "sinks", world.ours, sinks=sinks)
    sink = lambda name: lambda page: page[f'subledger_sink_{name}{{sink="a"}}']
    done = lambda page: sink("up")(page) == 1 and not any(
        sink(name)(page) for name in ("lag_events", "held", "dead"))
    before = daemon.until("the messages", done)
    yield "healthy", Case(before, [], hours=30)
    refused = set()
    server.judge = lambda body: 400 if body.get("subject") in refused else 204
    more = world.fleet("later", "--fleet", "30", "--seed", "4")
    refused.add(customer(more.read_text().splitlines()[0]))
    daemon.post(more)
    after = daemon.until("a held message", sink("held"))
    yield "SubledgerSinkHolds", Case(before, [after])
    held = json.loads(daemon.run("sink", "show", "a", "--json").stdout.splitlines()[0])["held"]
    daemon.run("sink", "skip", "a", str(held[0]["seq"]))
    after = daemon.until("a dead message", sink("dead"))
    yield "SubledgerSinkGaveUp", Case(before, [after])
    server.judge = lambda _: 204
    daemon.run("sink", "retry", "a", "--dead")
    before = daemon.until("all messages", done)
    server.judge = lambda _: 503
    daemon.post(world.fleet("lost", "--fleet", "5", "--seed", "6"))
    after = daemon.until("a sink that is down", lambda page: sink("up")(page) == 0)
    yield "SubledgerSinkDown", Case(before, [after])
    server, sinks = receiver(world, lambda _: time.sleep(1) or 204, order="total")
    daemon = Daemon(world, "late-sink", at(world.ours, -7_200_000), sinks=sinks)
    after = daemon.until("a late sink", lambda page: sink("lag_seconds")(page) > 3600
                         and sink("up")(page) == 1)
    yield "SubledgerSinkBehind", Case(before, [after])


def recovery(world):
    daemon, refuse = asking(world, "recovery")
    time_of_success = "subledger_recovery_success_time_seconds"
    before = daemon.until("a recovery", lambda page: page[time_of_success] > 0)
    yield "healthy", Case(before, [], hours=30)
    daemon.stop()
    refuse("/inApps/v1/notifications")
    daemon.start()
    # For more than three hours, which the daemon must have run; a scrape may come before the first
    # failure, or not.
    first = daemon.page().changed(recovery_failures_total=0)
    yield "SubledgerRecoveryFails", Case(
        before, [first, *failing(daemon, "recovery")], each=14)


def reconciliation(world):
    daemon, refuse = asking(world, "reconciliation")
    before = daemon.healthy()
    wait("a heartbeat", (daemon.data / "heartbeat.json").exists)
    daemon.stop()
    refuse("/inApps/v1/subscriptions")
    beat = daemon.data / "heartbeat.json"
    beat.write_text(json.dumps(
        json.loads(beat.read_text()) | {"reconciled_at": int(time.time() * 1000) - 2 * DAY}))
    daemon.start()
    yield "SubledgerReconciliationFails", Case(before, failing(daemon, "reconciliation"))


def shared(world):
    server = Postgres(world)
    server.sql("CREATE DATABASE ledger")
    owner = Daemon(world, "owner", start=False)
    owner.run("shared-journal", "migrate", "--connection", server.connection("postgres"))
    server.sql("CREATE ROLE daemon LOGIN")
    server.sql("GRANT subledger_daemon TO daemon")
    settings = {"sharedJournal": {"connection": server.connection("daemon")}}
    daemon = Daemon(world, "shared", **settings)
    daemon.post(world.ours)
    daemon.stop()
    # A failover to a server that lacks what was committed last.
    server.stop()
    data, old = server.folder / "data", server.folder / "old"
    subprocess.run(["cp", "-a", data, old], check=True)
    server.start()
    daemon.start()
    before = daemon.healthy()
    yield "healthy", Case(before, [], hours=30)
    assert 200 in daemon.post(world.fleet("forgotten", "--fleet", "3", "--seed", "7"))
    server.stop()
    shutil.rmtree(data)
    old.rename(data)
    server.start()
    daemon.process.wait(60)
    daemon.start()
    after = daemon.until(
        "a regression", lambda page: page["subledger_shared_journal_regressions_total"] > 0)
    yield "SubledgerSharedJournalRegressed", Case(before, [after])
    daemon.stop()
    daemon.start()
    before = daemon.healthy()
    server.stop()
    after = daemon.until(
        "a minute", lambda page: page["subledger_shared_journal_behind_seconds"] > 60, 90)
    yield "SubledgerSharedJournalBehind", Case(
        before, [after], beside=("SubledgerNotReady", "SubledgerStoreErrors"))
    server.start()
    daemon.stop()
    daemon.start()
    before = daemon.healthy()
    # Where the owner names no root certificates, a daemon may trust another one.
    server.sql("DELETE FROM subledger.trust_root", "ledger")
    other = Daemon(world, "other", trustRoots=[
        str(world.folder / name / "root.der") for name in ("authority", "stranger")], **settings)
    other.post(world.fleet("unproven", "--fleet", "2", "--seed", "3", authority="stranger"))
    after = daemon.until("faults", lambda page: page.sum("subledger_shared_journal_faults") > 0)
    yield "SubledgerSharedJournalFaults", Case(before, [after])


STATES = [shared, recovery, reconciliation, large_wal, rows_behind, silent, starts, lost_file,
          store_errors, small_disk, refused, mappings, clock, slow_log, rows, broken_rows, sinks]
