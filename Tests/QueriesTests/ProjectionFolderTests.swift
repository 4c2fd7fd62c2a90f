import AppStore
import Entitlements
import Queries
import Store
import StrictJSON
import Support
import Testing

@testable import Ledger

/// Folding into a projection: damaged events (promise 9) and bounded memory (promise 6).
@Suite struct ProjectionFolderTests {
  private static let app = (environment: Environment.production, bundleId: TestLedger.bundleId)

  private static func key(_ id: String) -> StreamKey {
    StreamKey(
      environment: app.environment, bundleId: app.bundleId, originalTransactionId: id)
  }

  @Test func `an event that cannot be read marks its own row only`() throws {
    let testLedger = try TestLedger()
    try testLedger.whileStopped {
      let journal = try JournalReader.open(testLedger.folder)
      let path = testLedger.folder.projection(
        named: try #require(try ProjectionList.read(testLedger.folder).live))
      let fold = ProjectionFolder(try Projection.open(path))
      let steps = (Int64(1)...3).map { seq in
        ProjectionFolder.Step(stream: Self.key(seq == 2 ? "7001" : "7000"), seq: seq, event: nil)
      }
      let hash = [UInt8](repeating: 1, count: 32)
      try fold.fold(Array(steps), through: 3, hash: hash, journal: journal)
      let first = try fold.projection.stream(Self.key("7000"))
      let second = try fold.projection.stream(Self.key("7001"))
      #expect(first?.broken == "the body of seq 1 cannot be read")
      #expect(second?.broken == "the body of seq 2 cannot be read")
      #expect(fold.projection.foldedThrough == 3)
    }
  }

  /// States that were evicted are read back from the projection.
  @Test func `the number of states in memory does not change the digest`() throws {
    let testLedger = try TestLedger()
    // 20 streams whose events are interleaved.
    for number in (0..<120).sorted(by: { $0 * $0 % 113 < $1 * $1 % 113 }) {
      let body = try SharedAuthority.sign(DamagedRowTests.notification(number))
      try testLedger.ingest(body, at: DamagedRowTests.start)
    }
    try testLedger.whileStopped {
      let journal = try JournalReader.open(testLedger.folder)
      try #require(try journal.head().seq == 120)
      let live = testLedger.folder.projection(
        named: try #require(try ProjectionList.read(testLedger.folder).live))
      let expected = try Projection.open(live)
      for maximum in [1, 3, 7, 200] {
        let other = testLedger.folder.path + "/folded-\(maximum)"
        let identity = Fold.current.identity(of: try journal.journalId())
        let fold = ProjectionFolder(try Projection.create(other, identity), cacheCapacity: maximum)
        for seq in 1...Int64(120) { try fold.catchUp(journal, through: seq) }
        #expect(fold.projection.digest == expected.digest, "\(maximum)")
        try fold.projection.close()
      }
      try expected.close()
      journal.close()
    }
  }

  /// Of what is older than 170 hours, one sum is kept.
  @Test func `a rebuild counts by hour what folding event by event did`() throws {
    let testLedger = try TestLedger()
    let hour: Int64 = 3_600_000
    for number in 0..<60 {
      let (sent, time) = (
        DamagedRowTests.notification(number), DamagedRowTests.start + Int64(number) * 5 * hour
      )
      let body = try SharedAuthority.sign(
        number % 9 < 8 ? sent : sent.setting("notificationType", .string("TEST")))
      try testLedger.ingest(body, at: time)
    }
    let live = try #require(try LedgerReader(testLedger.ledger).hours())
    #expect(live.through == 60 && live.counts.map(\.count).reduce(0, +) == 60)
    #expect(live.counts.first?.hour == 0 && live.counts.count > 34)
    _ = try Rebuild.build(testLedger.folder) { _, _ in true }
    let built = try ProjectionReader.open(
      testLedger.folder, path: Rebuild.buildingPath(testLedger.folder))
    #expect(try built.hours() == live.counts)
  }
}
