import JournalStore
import Testing
import TrialLedger

@testable import SubscriptionLedger

/// Promise 9: an event that cannot be read marks its own row, and stops nothing else.
@Suite struct RowsFoldTests {
  private static let app = (environment: "Production", bundleId: TrialLedger.bundleId)

  private static func key(_ id: String) -> StreamKey {
    StreamKey(
      environment: app.environment, bundleId: app.bundleId, originalTransactionId: id)
  }

  @Test func whatCannotBeReadMarksItsRow() throws {
    let trial = try TrialLedger()
    try trial.atRest {
      let journal = try JournalReader.open(trial.folder)
      let path = trial.folder.projection(
        named: try #require(try ProjectionList.read(trial.folder).live))
      let fold = RowsFold(try Projection.open(path))
      let steps = (Int64(1)...3).map { seq in
        RowsFold.Step(stream: Self.key(seq == 2 ? "7001" : "7000"), seq: seq, event: nil)
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
}
