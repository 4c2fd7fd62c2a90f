import AppStore
import Audit
import Ledger
import Platform
import Queries
import SignedData
import Store
import StrictJSON
import Support
import Testing

/// Version 1 bodies that name no stream at the top: those that are journaled now, and those that a
/// build before fold 3 filed under the newest transaction.
@Suite struct FilingTests {
  private static let older = V1Fixtures.entry(
    "1000", "pro.m", "19-11-22", "19-12-22",
    ["web_order_line_item_id": "91000", "cancellation_date_ms": "\(V1Fixtures.ms("19-12-01"))"])
  private static let newer = V1Fixtures.entry(
    "1100", "other.y", "19-11-23", "20-11-23", otid: "1100", ["web_order_line_item_id": "91100"])

  /// The refund of the older of two subscriptions.
  private static let refund = V1Fixtures.body(
    "CANCEL", [newer, older],
    [V1Fixtures.pending("other.y", "1", otid: "1100"), V1Fixtures.pending("pro.m", "0")],
    top: ["original_transaction_id": nil, "latest_expired_receipt_info": older])

  private static let time = V1Fixtures.ms("19-12-02")

  private static func status(_ ledger: TestLedger, _ id: String) throws -> String? {
    try ledger.row(id, asOf: time).map { Row($0).description }
  }

  /// Journals the refund in a stopped ledger as a former build did.
  private static func fileFormerly(_ ledger: TestLedger, then sql: String) throws {
    let body = V1Body(try JSONDocument(parsing: Array(refund.utf8)).root)
    let notification = try V1Notification(try JSONDocument(parsing: body.bytes).root, of: "1100")
    try ledger.whileStopped {
      let lock = try ledger.folder.lock()
      let journal = try Journal.open(ledger.folder, lock: lock, now: time)
      let event = NewEvent(
        envelope: EventEnvelope(
          notificationUUID: body.uuid, source: .v1, environment: .production,
          bundleId: TestLedger.bundleId, notificationType: "CANCEL", subtype: nil,
          originalTransactionId: "1100", signedDate: notification.evidenceDate, receivedAt: time),
        body: .bytes(body.bytes), bodySHA256: SHA256.hash(body.bytes))
      _ = try journal.append([.event(event)])
      try journal.close()
      let connection = try SQLiteConnection.open(ledger.folder.journal, .write)
      try connection.execute(sql)
      try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }
  }

  /// What a build that knows nothing of filing leaves in `meta`.
  private static let forgotten = """
    DROP TRIGGER meta_delete;
    DELETE FROM meta WHERE key LIKE 'v1_filed%';
    CREATE TRIGGER meta_delete BEFORE DELETE ON meta
    BEGIN SELECT raise(ABORT, 'a journal keeps its id'); END;
    """
  private static let reopened = "UPDATE meta SET value = value + 1 WHERE key = 'generation'"

  private static func doctor(_ ledger: TestLedger) -> [String] {
    Doctor.examine(ledger.configuration, file: nil, at: time).map(\.what)
      .filter { $0.contains("filed under another") }
  }

  @Test func `a refund is filed under the purchase that it is about`() throws {
    let ledger = try V1Fixtures.ledger()
    #expect(try ledger.ingest(Self.refund, at: Self.time) == .accepted(1))
    #expect(try ledger.events().map(\.originalTransactionId) == ["1000"])
    #expect(try Self.status(ledger, "1000")?.hasPrefix("revoked pro.m") == true)
    #expect(try Self.status(ledger, "1100") == nil)
    #expect(try ledger.verify().findings.isEmpty && Self.doctor(ledger).isEmpty)
  }

  @Test(arguments: [forgotten, reopened])
  func `an event stays where a former build filed it`(_ sql: String) throws {
    let ledger = try V1Fixtures.ledger()
    try Self.fileFormerly(ledger, then: sql)
    #expect(try ledger.events().map(\.originalTransactionId) == ["1100"])
    #expect(try Self.status(ledger, "1100")?.hasPrefix("active other.y") == true)
    #expect(try Self.status(ledger, "1000") == nil)
    #expect(try ledger.verify().findings.isEmpty)
    #expect(try ledger.history("1100")?.entries.map(\.transactionId) == ["1100"])
    let found = Self.doctor(ledger)
    #expect(found.count == 1 && found.first?.hasPrefix("1 version 1 event") == true)
    #expect(try ledger.ingest(Self.refund, at: Self.time + 1) == .duplicate(1))
  }

  @Test func `an event that this build files otherwise is a finding`() throws {
    let ledger = try V1Fixtures.ledger()
    try Self.fileFormerly(ledger, then: "")
    #expect(
      try ledger.verify().findings.map(\.what) == [
        "column original_transaction_id differs from the body"
      ])
  }

  @Test func `ingested into a new folder, a former build's event is filed anew`() throws {
    let ledger = try V1Fixtures.ledger()
    try Self.fileFormerly(ledger, then: Self.forgotten)
    var lines: [UInt8] = []
    _ = try Export.run(ledger.folder) { (bytes) throws(LedgerError) in
      lines += bytes
    } progress: { _, _ in
      true
    }
    let secret = "\"body\":{\"password\":\"\(V1Fixtures.secret)\","
    let line = String(decoding: lines, as: UTF8.self).replacing("\"body\":{", with: secret)
    let other = try V1Fixtures.ledger()
    #expect(
      other.ingest(lines: [Array(line.dropLast().utf8)], at: Self.time) == [.accepted(seq: 1)])
    let (before, after) = (try ledger.events(), try other.events())
    #expect(before.map(\.hash) == after.map(\.hash))
    #expect(after.map(\.originalTransactionId) == ["1000"])
    #expect(try other.verify().findings.isEmpty)
  }

  @Test func `the id of a quarantined body may be that which a former build read`() throws {
    let body = Self.refund.replacing("\"\(TestLedger.bundleId)\"", with: "\"com.example.other\"")
    let ledger = try V1Fixtures.ledger()
    #expect(try ledger.ingest(body, at: 1) == .quarantined("other_app"))
    for (id, count) in [("1000", 0), ("1100", 0), ("1200", 1)] {
      let report = try ledger.whileStopped {
        let connection = try SQLiteConnection.open(ledger.folder.journal, .write)
        try connection.execute("UPDATE quarantine SET original_transaction_id = '\(id)'")
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return try ledger.verify()
      }
      #expect(report.findings.count == count, "\(id)")
    }
  }
}
