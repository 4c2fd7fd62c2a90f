import Foundation
import Support
import Testing

/// The ledger's answers against the truth: lives that know everything about themselves are told in
/// each kind of delivery, and where an answer could be known (`Knowable`), it must be right.
@Suite struct TruthTests {
  private static let lives = UInt64(TestCount.lives.number)
  private static let firstSeed: UInt64 = 20_270_101

  @Test func `what could be known is answered as it is true`() throws {
    var answers = WrongAnswers()
    for seed in Self.firstSeed..<Self.firstSeed + Self.lives {
      for delivery in Delivery.allCases { try Questions.ask(seed, delivery, &answers) }
    }
    print(answers.table)
    for failure in answers.failures { print(failure) }
    for delivery in Delivery.allCases {
      #expect(
        answers.asked([delivery], .access) > Self.lives, "\(delivery.rawValue) asks too little")
    }
    // Few lives show no rate.
    guard Self.lives >= 1_500 else { return }
    for limit in Set(Delivery.allCases.map(\.limit)) {
      let deliveries = Delivery.allCases.filter { $0.limit == limit }
      let (wrong, asked) = (answers.wrong(deliveries, .access), answers.asked(deliveries, .access))
      #expect(
        wrong * 100_000 <= limit * asked, "access: \(wrong) of \(asked), at most \(limit)/100,000")
    }
  }
}
