import AppStore
import Entitlements
import Support
import Testing

/// The time for one customer's row must not grow with the square of its transactions: folding is
/// part of every notification's path, and one customer would delay all others.
@Suite(.serialized) struct LongHistoryTests {
  private enum Kind: CaseIterable {
    case renewed, bought, withoutReason, withGaps, endless, sameDay
  }

  private static func state(_ count: Int64, _ kind: Kind) -> StreamState {
    var state = StreamState()
    let length: Int64 = kind == .sameDay ? 1000 : 5 * TestDate.day
    for number in 0..<count {
      var transaction = Transaction()
      transaction.transactionId = "\(1000 + number)"
      transaction.productId = "basic"
      transaction.purchaseDate = number * length
      transaction.expiresDate = (number + 1) * length - (kind == .withGaps ? TestDate.day : 0)
      if kind == .endless && number == 0 { transaction.expiresDate = .max }
      transaction.signedDate = number * length
      transaction.transactionReason =
        kind == .withoutReason ? nil : kind == .bought || number == 0 ? "PURCHASE" : "RENEWAL"
      state.evolve(
        FoldEvent(
          seq: number, uuid: NotificationUUID(high: 1, low: UInt64(number)),
          notificationType: "DID_RENEW", subtype: nil, signedDate: number * length,
          transactions: [transaction]))
    }
    return state
  }

  private static func seconds(_ state: StreamState) -> Double {
    let best = (0..<7).map { _ in
      ContinuousClock().measure { _ = EntitlementRow(state) }
    }.min()
    return (best ?? .zero) / .seconds(1)
  }

  /// For 4 times the transactions sorting takes about 5 times the work; quadratic work is 16 times.
  @Test func `four times the transactions take less than twelve times as long`() {
    for kind in Kind.allCases {
      let few = Self.seconds(Self.state(1000, kind))
      let many = Self.seconds(Self.state(4000, kind))
      #expect(many < 12 * few, "\(kind): 1,000 in \(few) s, 4,000 in \(many) s")
    }
  }
}
