import AppStore
import Entitlements
import Support
import Testing

@testable import Audit
@testable import Store

/// The sums that `verify` adds up a second time.
@Suite struct AmountTests {
  private let key = StreamKey(
    environment: .production, bundleId: "app", originalTransactionId: "1")

  @Test func `sums are those of the transactions, and another amount is found`() throws {
    var changed = 0
    for seed in 1...400 {
      var chance = SplitMix64(seed: UInt64(seed))
      let stream = FoldedStream(key, RandomEvent.state(&chance))
      #expect(AmountCheck.isRight(stream), "seed \(seed)")
      for column in ["price_milliunits", "refunded_milliunits"] {
        guard let line = stream.lines.first(where: { $0.integer(column).map { $0 != 0 } ?? false })
        else { continue }
        let values = zip(TransactionField.all, line.values).map { field, value in
          field.column == column ? FieldValue.integer(line.integer(column) == 5 ? 7 : 5) : value
        }
        let other = TransactionLine(
          key, stored: Array(values.dropFirst(TransactionField.keyCount)))
        let lines = stream.lines.map { $0 == line ? other : $0 }
        let wrong = try #require(FoldedStream(stream.projected, lines, state: stream.state))
        #expect(!AmountCheck.isRight(wrong), "seed \(seed): \(column)")
        changed += 1
      }
    }
    #expect(changed > 100)
  }
}
