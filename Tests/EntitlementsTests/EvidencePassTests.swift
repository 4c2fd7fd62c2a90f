import AppStore
import Entitlements
import Support
import Testing

/// One customer must not keep the writer busy: what is held is judged in one pass by date, in steps
/// that can be interrupted (promises 6 and 9).
@Suite struct EvidencePassTests {
  /// One purchase of a year as told at a minute.
  private static func event(_ type: String, at minute: Int, revokedAt: Int64? = nil) -> FoldEvent {
    let isEvidence = type == "TRANSACTION_INFO"
    var transaction = Transaction()
    transaction.transactionId = "1000"
    transaction.productId = "basic"
    transaction.purchaseDate = 0
    transaction.expiresDate = 365 * TestDate.day
    transaction.signedDate = Int64(minute) * 60_000
    transaction.transactionReason = "PURCHASE"
    transaction.revocationDate = revokedAt
    return FoldEvent(
      seq: 0,
      uuid: NotificationUUID(
        high: isEvidence ? 1 : 2, low: UInt64(bitPattern: Int64(minute))),
      notificationType: type, subtype: nil, signedDate: transaction.signedDate,
      source: isEvidence ? .transaction : .v2, status: isEvidence ? nil : 1,
      transactions: [transaction])
  }

  /// The purchase was handed over `count` times.
  private static func held(_ count: Int) -> [FoldEvent] {
    (1...count).map { event("TRANSACTION_INFO", at: 10 * $0) }
  }

  private static func refund(amid count: Int) -> FoldEvent {
    event("REFUND", at: 5 * count + 1, revokedAt: 60_000)
  }

  private static func judged(_ events: [FoldEvent], _ held: [FoldEvent]) -> EvidencePass {
    var pass = EvidencePass(events: events, pieces: held, by: .current)
    while !pass.advance(while: { true }) {}
    return pass
  }

  private static let bought = event("SUBSCRIBED", at: 0)

  @Test(arguments: [500, 1_000, 2_000, 4_000])
  func `a late refund takes steps in proportion to what is held, and few pieces`(count: Int) {
    let pass = Self.judged([Self.bought, Self.refund(amid: count)], Self.held(count))
    #expect(pass.steps < 5 * count, "\(pass.steps) steps")
    #expect(pass.released.count < 5)
  }

  @Test(arguments: [500, 1_000, 2_000, 4_000])
  func `so does a refund before a reversal that came in time`(count: Int) {
    let reversal = Self.event("REFUND_REVERSED", at: 10 * count + 5)
    let pass = Self.judged(
      [Self.bought, reversal, Self.refund(amid: count)], Self.held(count))
    #expect(pass.steps < 5 * count, "\(pass.steps) steps")
    #expect(pass.released.count < 5)
  }

  /// Each transaction has a snapshot of its own; a row costs more the more there are.
  @Test func `many purchases take no more steps than one`() {
    func pass(_ purchases: Int) -> EvidencePass {
      let told = (1...400).map { number in
        var event = Self.event("TRANSACTION_INFO", at: 10 * number)
        event.transactions[0].transactionId = "\(number % purchases)"
        return event
      }
      let known = (0..<purchases).map { number in
        var event = Self.event("SUBSCRIBED", at: -number)
        event.transactions[0].transactionId = "\(number)"
        return event
      }
      return Self.judged(known + [Self.event("REFUND", at: 1_995, revokedAt: 60_000)], told)
    }
    let (one, many) = (pass(1).steps, pass(100).steps)
    #expect(many < 2 * one, "\(one) and \(many) steps")
  }

  @Test func `a pass ends after each step that it may not go on behind`() {
    let events = [Self.bought, Self.refund(amid: 50)]
    var pass = EvidencePass(events: events, pieces: Self.held(50), by: .current)
    var (turns, last) = (1, 0)
    while !pass.advance(while: { false }) {
      #expect(pass.steps - last < 12)
      (turns, last) = (turns + 1, pass.steps)
    }
    #expect(turns > 50)
    #expect(pass.released == Self.judged(events, Self.held(50)).released)
  }
}
