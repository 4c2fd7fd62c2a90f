import JournalStore
import Support
import Testing

@testable import LedgerEngine

/// Promise 9: an event that cannot be read marks its own row, and stops nothing else.
@Suite struct ProjectionFolderTests {
  private static let app = (environment: "Production", bundleId: TestLedger.bundleId)

  private static func key(_ id: String) -> StreamKey {
    StreamKey(
      environment: app.environment, bundleId: app.bundleId, originalTransactionId: id)
  }

  @Test func whatCannotBeReadMarksItsRow() throws {
    let trial = try TestLedger()
    try trial.atRest {
      let journal = try JournalReader.open(trial.folder)
      let path = trial.folder.projection(
        named: try #require(try ProjectionList.read(trial.folder).live))
      let fold = ProjectionFolder(try Projection.open(path))
      let steps = (Int64(1)...3).map { seq in
        ProjectionFolder.Step(stream: Self.key(seq == 2 ? "7001" : "7000"), seq: seq, event: nil)
      }
      let hash = [UInt8](repeating: 1, count: 32)
      try fold.fold(Array(steps), through: 3, hash: hash, journal: journal)
      let first = try fold.projection.row(of: Self.key("7000"))
      let second = try fold.projection.row(of: Self.key("7001"))
      #expect(first?.broken == "the body of seq 1 cannot be read")
      #expect(second?.broken == "the body of seq 2 cannot be read")
      #expect(fold.projection.foldedThrough == 3)
    }
  }

  /// Whoever is let go of is read back: the same rows with room for three as for all (promise 6).
  @Test func howManyAreKeptInMemoryChangesNothing() throws {
    let trial = try TestLedger()
    // Of twenty streams, now and then the same again.
    for number in (0..<120).sorted(by: { $0 * $0 % 113 < $1 * $1 % 113 }) {
      let body = try AppStoreStandIn.sign(DamagedRowTests.notification(number))
      try trial.take(body, at: DamagedRowTests.start)
    }
    try trial.atRest {
      let journal = try JournalReader.open(trial.folder)
      try #require(try journal.head().seq == 120)
      let live = trial.folder.projection(
        named: try #require(try ProjectionList.read(trial.folder).live))
      let expected = try Projection.open(live)
      for maximum in [1, 3, 7, 200] {
        let other = trial.folder.path + "/kept-\(maximum)"
        let identity = FoldIdentity.of(journalId: try journal.journalId())
        let fold = ProjectionFolder(try Projection.create(other, identity), keeping: maximum)
        for seq in 1...Int64(120) { try fold.catchUp(journal, through: seq) }
        #expect(fold.projection.digest == expected.digest, "\(maximum)")
        try fold.projection.close()
      }
      try expected.close()
      journal.close()
    }
  }
}
