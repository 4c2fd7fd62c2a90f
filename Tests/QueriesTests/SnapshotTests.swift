import Platform
import Store
import Support
import Testing

@testable import Ledger
@testable import Queries

/// A reader that reuses its snapshot for several questions must not hide an event that was answered
/// before the question (promise 1).
@Suite struct SnapshotTests {
  private static func accept(_ number: Int, _ testLedger: TestLedger) throws {
    let body = try SharedAuthority.sign(DamagedRowTests.notification(number))
    guard case .accepted = try testLedger.ingest(body, at: DamagedRowTests.start) else {
      throw LedgerError.sql("notification \(number) was not accepted")
    }
  }

  /// The event count of stream 700, which every twentieth notification is about.
  private static func count(_ reader: LedgerReader) throws -> Int64? {
    try reader.entitlement(
      "700", environment: "Production", bundleId: nil, LedgerReader.Question(now: 0))?.eventCount
  }

  @Test func `a reused snapshot hides no event that was answered before the question`() throws {
    let testLedger = try TestLedger()
    try Self.accept(0, testLedger)
    let reader = try LedgerReader(testLedger.ledger, reusesSnapshot: true)
    for number in 1...5 {
      #expect(try Self.count(reader) == Int64(number))
      try Self.accept(number * 20, testLedger)
    }
    #expect(try Self.count(reader) == 6)
    #expect(try reader.foldedThrough() == 6)
    reader.endSnapshot()
    #expect(try Self.count(reader) == 6)
  }

  @Test func `a reused snapshot ends when another projection becomes live`() throws {
    let testLedger = try TestLedger()
    try Self.accept(0, testLedger)
    let reader = try LedgerReader(testLedger.ledger, reusesSnapshot: true)
    #expect(try Self.count(reader) == 1)
    _ = try Rebuild.build(testLedger.folder) { _, _ in true }
    let adopted = BoundedQueue<ProjectionOrder.Outcome>(capacity: 1)
    testLedger.ledger.perform(.adoptCurrent) { _ = adopted.enqueue($0) }
    guard case .done = adopted.dequeue() else { throw LedgerError.sql("the rows were not adopted") }
    try Self.accept(20, testLedger)
    #expect(try Self.count(reader) == 2)
    #expect(try reader.digest() == testLedger.digest())
  }

  /// An open snapshot prevents the projection's -wal file from being restarted.
  @Test func `the wal can be truncated after endSnapshot and not before`() throws {
    let testLedger = try TestLedger()
    try Self.accept(0, testLedger)
    let reader = try LedgerReader(testLedger.ledger, reusesSnapshot: true)
    #expect(try Self.count(reader) == 1)
    let path = testLedger.folder.projection(
      named: try #require(try ProjectionList.read(testLedger.folder).live))
    #expect(throws: LedgerError.busy) { try Self.truncate(path) }
    reader.endSnapshot()
    try Self.truncate(path)
  }

  private static func truncate(_ path: String) throws(LedgerError) {
    let connection = try SQLiteConnection.open(path, .write)
    defer { connection.close() }
    try connection.execute("PRAGMA busy_timeout=0")
    try connection.checkpointTruncate()
  }
}
