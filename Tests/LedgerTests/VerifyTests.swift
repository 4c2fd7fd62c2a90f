import Audit
import Ledger
import Store
import Support
import Testing

/// `verify` on V1 events: their secret is not stored, but the columns must follow from the body.
@Suite struct VerifyTests {
  private func ledger() throws -> TestLedger {
    let ledger = try V1Fixtures.ledger()
    for name in ["modern", "older-renewal", "older-cancel", "canonical"] {
      guard case .accepted = try ledger.ingest(try V1Fixtures.fixture(name + ".json"), at: 1) else {
        Issue.record("\(name) was not accepted")
        continue
      }
    }
    return ledger
  }

  @Test func `unchanged V1 events have no findings`() throws {
    let report = try ledger().verify()
    #expect(report.events == 4 && report.rows == 3 && report.findings.isEmpty)
  }

  @Test(arguments: [
    "UPDATE event SET signed_date_ms = signed_date_ms + 1 WHERE seq = 2",
    "UPDATE event SET notification_uuid = zeroblob(16) WHERE seq = 2",
    "UPDATE event SET kind_id = (SELECT kind_id FROM event WHERE seq = 3) WHERE seq = 2",
    "UPDATE event SET stream_id = (SELECT stream_id FROM event WHERE seq = 1) WHERE seq = 2",
    "UPDATE event SET source = 'v2' WHERE seq = 2",
    "UPDATE event SET received_at_ms = 2 WHERE seq = 2",
    "UPDATE app SET environment = 'Sandbox'",
  ]) func `a changed column is found`(_ edit: String) throws {
    let ledger = try ledger()
    let report = try ledger.whileStopped {
      let connection = try SQLiteConnection.open(ledger.folder.journal, .write)
      try connection.execute("DROP TRIGGER event_update; DROP TRIGGER app_update; " + edit)
      try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      return try ledger.verify()
    }
    #expect(report.findings.count > 0)
  }
}
