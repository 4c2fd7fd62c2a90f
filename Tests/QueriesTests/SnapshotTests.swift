import Platform
import Store
import Support
import Testing

@testable import Ledger
@testable import Queries

/// A reader that is asked again must not hide an event that was answered before the question
/// (promise 1).
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

  @Test func `no snapshot hides an event that was answered before the question`() throws {
    let testLedger = try TestLedger()
    try Self.accept(0, testLedger)
    let reader = try LedgerReader(testLedger.ledger)
    for number in 1...5 {
      #expect(try Self.count(reader) == Int64(number))
      try Self.accept(number * 20, testLedger)
    }
    #expect(try Self.count(reader) == 6)
    #expect(try reader.foldedThrough() == 6)
  }

  @Test func `a reader goes on with another projection that becomes live`() throws {
    let testLedger = try TestLedger()
    try Self.accept(0, testLedger)
    let reader = try LedgerReader(testLedger.ledger)
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
  @Test func `no snapshot stays open behind a question`() throws {
    let testLedger = try TestLedger()
    try Self.accept(0, testLedger)
    let reader = try LedgerReader(testLedger.ledger)
    #expect(try Self.count(reader) == 1)
    let path = testLedger.folder.projection(
      named: try #require(try ProjectionList.read(testLedger.folder).live))
    let connection = try SQLiteConnection.open(path, .write)
    defer { connection.close() }
    try connection.execute("PRAGMA busy_timeout=0")
    try connection.checkpointTruncate()
  }
}
