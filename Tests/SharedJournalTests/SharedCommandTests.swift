import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

/// `shared-journal`, and what `doctor` and `serve` say of one, from outside.
@Suite struct SharedCommandTests {
  @Test func `migrate makes the tables once and prints them with --sql`() throws {
    let shared = try SharedInstallations(1)
    let again = try shared.migrate()
    #expect(again.code == 0 && again.output.contains("is up to date"), "\(again)")
    let printed = try shared.installations[0].run("shared-journal", "migrate", "--sql")
    #expect(printed.code == 0 && printed.output.contains("CREATE SCHEMA \"subledger\""))
    let other = try shared.server.makeDatabase()
    // The role belongs to the whole server: another test may have made it.
    try shared.server.sql(
      printed.output.replacing("subledger", with: "c_\(other)"), in: other)
    #expect(try shared.server.sql("SELECT seq FROM c_\(other).head", in: other) == "0")
  }

  @Test func `try writes as the configured role or another one, and leaves nothing behind`() throws
  {
    let shared = try SharedInstallations(1)
    let installation = shared.installations[0]
    let daemon = try installation.startWithoutProjection()
    #expect(daemon.client().post(try installation.sign(Sample.notification(1)))?.status == 200)
    let before = try shared.sharedRows()
    let tried = try installation.run("shared-journal", "try")
    #expect(tried.code == 0 && tried.output.contains("0 findings"), "\(tried)")
    #expect(try shared.sharedRows() == before && shared.sql("SELECT seq FROM head") == "1")
    #expect(daemon.client().post(try installation.sign(Sample.notification(2)))?.status == 200)
    #expect(try daemon.stop().code == 0)
    let owner = [
      "shared-journal", "try", "--json", "--connection", shared.server.address(shared.database),
    ]
    let named = try installation.run(owner + ["--schema", shared.schema])
    #expect(try named.code == 0 && named.lines().last?["failure"]?.kind == .null, "\(named)")
    let missing = try installation.run(owner)
    #expect(missing.code == 1 && missing.output.contains("refuses"), "\(missing)")
    try shared.sql("REVOKE INSERT ON event FROM \(shared.schema)_daemon")
    let refused = try installation.run("shared-journal", "try")
    #expect(refused.code == 1 && refused.output.contains("1 finding"), "\(refused)")
    try shared.sql(
      """
      GRANT INSERT ON event TO \(shared.schema)_daemon;
      CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        NEW.body = 'other'; RETURN NEW; END $$;
      CREATE TRIGGER change BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION change();
      """)
    let changed = try installation.run("shared-journal", "try")
    #expect(changed.code == 1 && changed.output.contains("read as it was"), "\(changed)")
    #expect(try shared.sql("SELECT max(seq) = count(*) AND count(*) = 2 FROM event") == "t")
  }

  @Test(arguments: [
    ([], "say what to do"), (["vacuum"], "unknown: vacuum"),
    (["migrate"], "--connection is missing"),
    (["migrate", "--connection", "host=db.example.com"], "sslmode must be verify-full"),
    (["migrate", "--connection", "host=/run password=hidden-4711"], "--password-file"),
    (["migrate", "--schema", "A;B", "--sql"], "--schema takes"),
    (["try", "--connection", "host=/run", "extra"], "unexpected argument 'extra'"),
    (["try"], "no \"sharedJournal\""),
    (["status"], "no \"sharedJournal\""),
  ])
  func `a wrong use is refused and says what to do`(
    arguments: [String], expected: String
  ) throws {
    let installation = try Installation()
    let result = try installation.run(["shared-journal"] + arguments)
    #expect(result.code == 2 && result.errors.contains(expected), "\(result)")
    #expect(!result.errors.contains("4711"))
  }

  @Test func `a server that is away is unavailable, not a defect`() throws {
    let installation = try Installation()
    let result = try installation.run(
      "shared-journal", "migrate", "--connection", "host=127.0.0.1 port=1 dbname=a user=b")
    #expect(result.code == 3 && result.errors.contains("127.0.0.1"), "\(result)")
  }

  @Test func `doctor and status tell of the shared journal`() throws {
    let shared = try SharedInstallations(1)
    let installation = shared.installations[0]
    let daemon = try installation.startWithoutProjection()
    #expect(daemon.client().post(try installation.sign(Sample.notification(1)))?.status == 200)
    let status = try installation.run("shared-journal", "status", "--json").lines()
    #expect(status.last?["seq"]?.integer == 1 && status.last?["copy_seq"]?.integer == 1)
    let doctor = try installation.run("doctor", "--offline")
    #expect(doctor.output.contains("the role may append and nothing else"), "\(doctor)")
    #expect(doctor.output.contains("this copy has seq 1 of 1"), "\(doctor)")
    try shared.server.sql("ALTER ROLE \(shared.role) SET statement_timeout = '2s'")
    try shared.server.sql("ALTER ROLE \(shared.role) CREATEROLE")
    let found = try installation.run("doctor", "--offline")
    #expect(found.code == 1 && found.output.contains("cancels statements after 2000 ms"))
    #expect(found.output.contains("more rights than it needs"), "\(found)")
    #expect(try daemon.stop().code == 0)
  }

  @Test func `every metric of a shared journal that a rule or the dashboard names is printed`()
    throws
  {
    let installation = try SharedInstallations(1).installations[0]
    let daemon = try installation.startWithoutProjection()
    let page = MetricsText(daemon.client().get("/metrics")?.text ?? "")
    let names = try MonitoringFiles.metrics().filter { $0.hasPrefix("subledger_shared_journal_") }
    #expect(names.count == 3 && MonitoringFiles.missing(names, in: page) == [])
    #expect(try daemon.stop().code == 0)
  }

  @Test func `the owner says which roots every daemon trusts, and another one does not start`()
    throws
  {
    let shared = try SharedInstallations(2)
    let (first, stranger) = (shared.installations[0], shared.installations[1])
    let other = try SimulatedAuthority.make()
    try Data(other.root).write(to: stranger.root)
    let refused = try stranger.run("serve")
    #expect(refused.code == 2 && refused.errors.contains("here alone: "), "\(refused)")
    #expect(refused.errors.contains("shared-journal trust"))
    let doctor = try stranger.run("doctor", "--offline")
    #expect(doctor.output.contains("names other root certificates"), "\(doctor)")
    // One that trusts another root as well appended what that signed, while none were set.
    try shared.sql("DELETE FROM trust_root")
    let unset = try first.run("doctor", "--offline")
    #expect(unset.output.contains("names no root certificates"), "\(unset)")
    let attacker = try stranger.startWithoutProjection()
    let forged = try other.sign(notification: Sample.notification(1, otid: "6660"))
    #expect(attacker.client().post(forged)?.status == 200)
    let daemon = try first.start()
    #expect(daemon.client().get("/v1/entitlements/6660")?.status == 404)
    #expect(daemon.client().get("/readyz")?.text.contains(#""unproven_events":1"#) == true)
    #expect(
      daemon.client().post(try first.sign(Sample.notification(2, otid: "6660")))?.status == 200)
    #expect(daemon.client().get("/v1/entitlements/6660")?.status == 200)
    let status = try first.run("shared-journal", "status")
    #expect(status.output.contains("not believed  1 unproven event"), "\(status)")
    #expect(try attacker.stop().code == 0)
    #expect(try daemon.stop().code == 0)
    let verified = try first.run("verify")
    #expect(verified.code == 1 && verified.output.contains("not proven"), "\(verified)")
    let set = try first.run(
      "shared-journal", "trust", "--connection", shared.server.address(shared.database),
      "--schema", shared.schema)
    #expect(set.code == 0, "\(set)")
    #expect(try stranger.run("serve").code == 2)
  }

  @Test func `what a peer emptied is a fault of every new copy, and of the server`() throws {
    let shared = try SharedInstallations(3)
    let (first, second, third) = (
      shared.installations[0], shared.installations[1], shared.installations[2]
    )
    let daemon = try first.startWithoutProjection()
    for number in 1...2 {
      let foreign = Sample.notification(number, bundleId: "com.example.foreign")
      #expect(daemon.client().post(try first.sign(foreign))?.status == 422)
    }
    // What is removed leaves a note of that: nothing is missing.
    let dropped = try first.run("quarantine", "drop", "1")
    #expect(dropped.code == 0, "\(dropped)")
    let copied = try second.startWithoutProjection()
    #expect(copied.client().get("/readyz")?.text.contains("skipped_notes") == false)
    #expect(try copied.stop().code == 0)
    #expect(try second.run("verify").code == 0)
    // A schema of before the trigger, and a peer's role.
    try shared.sql(
      "DROP TRIGGER IF EXISTS note_cleared ON note; SET ROLE \(shared.role); "
        + "UPDATE note SET body = '' WHERE subject = 'quarantine/2'")
    let late = try third.startWithoutProjection()
    try late.logged("shared_journal_faults", #""skipped_notes":1"#)
    #expect(late.client().get("/readyz")?.text.contains(#""skipped_notes":1"#) == true)
    #expect(try late.stop().code == 0)
    let verified = try third.run("verify")
    #expect(verified.code == 1 && verified.output.contains("quarantine/2"), "\(verified)")
    // A copy that has it hears of it too.
    let doctor = try first.run("doctor", "--offline")
    #expect(doctor.output.contains("lack what was emptied: 1 note"), "\(doctor)")
    #expect(try daemon.stop().code == 0)
  }

  @Test func `a copy is served with its shared journal alone`() throws {
    let shared = try SharedInstallations(1)
    let installation = shared.installations[0]
    #expect(try installation.startWithoutProjection().stop().code == 0)
    try installation.configure()
    let refused = try installation.run("serve")
    #expect(refused.code == 2 && refused.errors.contains("shared"), "\(refused)")
  }

  @Test func `a journal is uploaded with its places, copied by others, and detached again`() throws
  {
    let shared = try SharedInstallations(2)
    let (first, second) = (shared.installations[0], shared.installations[1])
    let shares = (
      "sharedJournal", shared.settings(shared.server.address(shared.database, user: shared.role))
    )
    try first.configure()
    let bodies = try (0..<30).map { try first.sign(Sample.notification($0, otid: "60\($0 % 7)")) }
    let alone = try first.start()
    for body in bodies { #expect(alone.client().post(body)?.status == 200) }
    #expect(try alone.stop().code == 0)
    let before = try SharedInstallations.rows(of: first)
    try first.configure(with: [shares])
    let uploaded = try first.run("shared-journal", "init")
    #expect(uploaded.code == 0, "\(uploaded)")
    #expect(try shared.sharedRows() == before)
    #expect(try first.run("shared-journal", "init").code != 0, "it is a copy already")
    let group = try DaemonGroup(shared)
    group.traffic.send(try group.bodies(100..<120), connections: 4)
    try group.settle()
    try group.expectNothingLostOrTwice()
    #expect(try SharedInstallations.rows(of: second).prefix(30) == before[...])
    let detached = try second.run("shared-journal", "detach")
    #expect(detached.code == 0 && detached.output.contains("of its own now"), "\(detached)")
    try second.configure()
    let daemon = try second.start()
    #expect(daemon.client().post(try second.sign(Sample.notification(999)))?.status == 200)
    #expect(try daemon.stop().code == 0)
    #expect(try second.run("verify").code == 0)
  }
}
