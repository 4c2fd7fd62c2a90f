import JournalStore
import Platform
import Support
import Testing

@testable import LedgerEngine
@testable import LedgerQueries

/// A reader that is asked many questions in a row keeps a snapshot of the rows between them: none
/// may hide what was answered before the question (promise 1).
@Suite struct RoundsTests {
  private static func take(_ number: Int, _ trial: TestLedger) throws {
    let body = try AppStoreStandIn.sign(DamagedRowTests.notification(number))
    guard case .accepted = try trial.take(body, at: DamagedRowTests.start) else {
      throw StoreError.sql("notification \(number) was not accepted")
    }
  }

  /// The events in the row of the stream that every twentieth notification is about.
  private static func count(_ reader: LedgerReader) throws -> Int64? {
    try reader.entitlement(
      "700", environment: "Production", bundleId: nil, LedgerReader.Question(now: 0))?.eventCount
  }

  @Test func aSnapshotHidesNothingThatWasAnswered() throws {
    let trial = try TestLedger()
    try Self.take(0, trial)
    let reader = try LedgerReader(trial.ledger, durations: [:], isInRounds: true)
    for number in 1...5 {
      #expect(try Self.count(reader) == Int64(number))
      try Self.take(number * 20, trial)
    }
    #expect(try Self.count(reader) == 6)
    #expect(try reader.foldedThrough() == 6)
    reader.eventLoopIterationEnded()
    #expect(try Self.count(reader) == 6)
  }

  /// Nor the rows that were made live meanwhile.
  @Test func aSnapshotEndsWithItsRows() throws {
    let trial = try TestLedger()
    try Self.take(0, trial)
    let reader = try LedgerReader(trial.ledger, durations: [:], isInRounds: true)
    #expect(try Self.count(reader) == 1)
    _ = try Rebuild.build(trial.folder) { _, _ in true }
    let adopted = BoundedQueue<Ledger.ProjectionOutcome>(capacity: 1)
    trial.ledger.adopt(keeping: 1) { _ = adopted.put($0) }
    guard case .done = adopted.take() else { throw StoreError.sql("the rows were not adopted") }
    try Self.take(20, trial)
    #expect(try Self.count(reader) == 2)
    #expect(try reader.digest() == trial.digest())
  }

  /// After a round the rows' -wal can be begun anew, and before its end it cannot.
  @Test func whatIsKeptEndsWithTheRound() throws {
    let trial = try TestLedger()
    try Self.take(0, trial)
    let reader = try LedgerReader(trial.ledger, durations: [:], isInRounds: true)
    #expect(try Self.count(reader) == 1)
    let path = trial.folder.projection(
      named: try #require(try ProjectionList.read(trial.folder).live))
    #expect(throws: StoreError.busy) { try Self.truncate(path) }
    reader.eventLoopIterationEnded()
    try Self.truncate(path)
  }

  private static func truncate(_ path: String) throws(StoreError) {
    let connection = try SQLiteConnection.open(path, .write)
    defer { connection.close() }
    try connection.execute("PRAGMA busy_timeout=0")
    try connection.checkpointTruncate()
  }
}
