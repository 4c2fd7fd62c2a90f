import Clients
import Foundation
import Platform
import Store
import Support
import Testing

@testable import SharedJournal

/// What counts as committed, and what does not.
@Suite struct CommitTests {
  let fixture: JournalFixture
  let journal: PostgresJournal

  init() throws {
    fixture = try JournalFixture()
    journal = try fixture.journal()
  }

  private func shipment() -> Shipment {
    var made = MadeShipment(after: .origin)
    made.addEvent()
    return made.shipment
  }

  /// Has COMMIT run a function's body before it commits.
  private func whenCommitting(_ body: String) throws {
    try fixture.sql(
      """
      CREATE FUNCTION disturb() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        \(body); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER disturb AFTER UPDATE ON head DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION disturb();
      """)
  }

  private func commit(within milliseconds: Int64 = 10_000) throws {
    _ = try journal.begin(after: .origin, by: fixture.soon)
    try journal.commit(shipment(), by: Deadline(milliseconds: milliseconds))
  }

  private func eventCount() throws -> String { try fixture.sql("SELECT count(*) FROM event") }

  @Test func `a warning at COMMIT makes the outcome unknown, although it is committed`() throws {
    try whenCommitting("RAISE WARNING 'secret-4711'")
    #expect(throws: LedgerError.sharedUnknown(state: "WARNING 01000")) { try commit() }
    #expect(try eventCount() == "1")
  }

  @Test func `a notice at COMMIT says nothing about the outcome`() throws {
    try whenCommitting("RAISE NOTICE 'secret-4711'")
    try commit()
    #expect(try eventCount() == "1")
  }

  @Test func `a deadline that passes after COMMIT was sent makes the outcome unknown`() throws {
    try whenCommitting("PERFORM pg_sleep(6)")
    #expect(throws: LedgerError.sharedUnknown(state: "timeout")) { try commit(within: 3_000) }
    // The server goes on, and commits.
    try wait(60) { try eventCount() == "1" }
    let tail = try journal.begin(after: .origin, by: fixture.soon)
    #expect(tail.events.count == 1)
  }

  @Test func `a session that is ended after COMMIT was sent makes the outcome unknown`() throws {
    try whenCommitting("PERFORM pg_terminate_backend(pg_backend_pid())")
    #expect(throws: LedgerError.sharedUnknown(state: "57P01")) { try commit() }
    #expect(try eventCount() == "0")
  }

  @Test func `an error at COMMIT is known to have committed nothing`() throws {
    try whenCommitting("RAISE EXCEPTION 'no' USING ERRCODE = '40001'")
    #expect(throws: LedgerError.sharedNotNow(state: "40001")) { try commit() }
    #expect(try eventCount() == "0")
    try fixture.sql("DROP TRIGGER disturb ON head")
    try commit()
    #expect(try eventCount() == "1")
  }

  /// As where a pooler lost the SQL transaction that locked it.
  @Test func `a head that is not where it was found is not moved`() throws {
    try commit()
    let connection = try fixture.connect(user: fixture.daemon)
    var made = MadeShipment(after: JournalPosition.origin)
    made.addNote()
    let statements =
      [PostgresStatement("BEGIN")]
      + ShipmentStatements(JournalSQL(fixture.schema)).statements(made.shipment)
    do throws(PipelineError) {
      _ = try connection.pipeline(statements, by: fixture.soon)
      Issue.record("it was committed")
    } catch {
      #expect(FailurePolicy.afterCommit(error.error) == .sharedDiverged)
    }
    #expect(try fixture.sql("SELECT seq, notes FROM head") == "1|0")
    #expect(try fixture.sql("SELECT count(*) FROM note") == "0")
  }

  @Test func `a commit sent too late is not sent`() throws {
    _ = try journal.begin(after: .origin, by: fixture.soon)
    #expect(throws: LedgerError.sharedNotNow(state: "timeout")) {
      try journal.commit(shipment(), by: Deadline(milliseconds: 0))
    }
    #expect(try eventCount() == "0")
    try commit()
  }

  @Test func `a session that was ended while idle is replaced by the next one`() throws {
    _ = try journal.begin(after: .origin, by: fixture.soon)
    journal.abandon()
    try fixture.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '\(fixture.daemon)'")
    #expect(throws: LedgerError.sharedNotNow(state: "57P01")) {
      try journal.begin(after: .origin, by: fixture.soon)
    }
    try commit()
    #expect(try eventCount() == "1")
  }

  @Test func `one who stops with the head is ended by the server`() throws {
    _ = try journal.begin(after: .origin, by: fixture.soon)
    let other = try fixture.journal()
    try wait(9) {
      (try? other.begin(after: .origin, by: Deadline(milliseconds: 500))) != nil
    }
    #expect(throws: LedgerError.self) { try journal.commit(shipment(), by: fixture.soon) }
    #expect(try eventCount() == "0")
  }

  @Test func `one who stops inside the second round trip is ended by the next one`() throws {
    // No timeout of the server applies to a session that is not idle in its SQL transaction, which
    // this one stands for.
    let stuck = try fixture.connect(user: fixture.daemon)
    _ = try stuck.pipeline(
      [
        PostgresStatement("BEGIN"),
        PostgresStatement("SELECT 1 FROM \(fixture.schema.name).head FOR UPDATE"),
      ], by: fixture.soon)
    let unblocked = Flag()
    let other = PostgresJournal(
      try fixture.settings(onUnblocked: { count in if count == 1 { unblocked.set() } }))
    let start = Date()
    try wait(60) { (try? other.begin(after: .origin, by: Deadline(milliseconds: 8_000))) != nil }
    #expect(Date().timeIntervalSince(start) > 8)
    #expect(unblocked.isSet)
    #expect(throws: PostgresError.self) { try stuck.execute("SELECT 1", by: fixture.soon) }
  }

  private func wait(_ seconds: Double, _ holds: () throws -> Bool) throws {
    let end = Date(timeIntervalSinceNow: seconds * RunningCommand.waitFactor)
    while try !holds() {
      guard Date() < end else { throw TestFailure("it does not hold after \(seconds) s") }
      usleep(20_000)
    }
  }
}
