import AppStore
import Entitlements
import Testing

/// One customer with thousands of transactions costs what they cost, and no square of it: one step
/// of the fold is on the path of everybody's notifications.
@Suite(.serialized) struct LongHistoryTests {
  private enum Kind: CaseIterable { case renewed, bought, untold, apart, endless, sameDay }

  private static func state(_ count: Int64, _ kind: Kind) -> StreamState {
    var state = StreamState()
    let length: Int64 = kind == .sameDay ? 1000 : 5 * TestDate.day
    for number in 0..<count {
      var transaction = Transaction()
      transaction.transactionId = "\(1000 + number)"
      transaction.productId = "basic"
      transaction.purchaseDate = number * length
      transaction.expiresDate = (number + 1) * length - (kind == .apart ? TestDate.day : 0)
      if kind == .endless && number == 0 { transaction.expiresDate = .max }
      transaction.signedDate = number * length
      transaction.transactionReason =
        kind == .untold ? nil : kind == .bought || number == 0 ? "PURCHASE" : "RENEWAL"
      state.evolve(
        FoldEvent(
          seq: number, uuid: NotificationUUID(high: 1, low: UInt64(number)),
          notificationType: "DID_RENEW", subtype: nil, signedDate: number * length,
          transactions: [transaction]))
    }
    return state
  }

  private static func seconds(_ state: StreamState) -> Double {
    let best = (0..<3).map { _ in
      ContinuousClock().measure { _ = EntitlementRow(state) }
    }.min()
    return (best ?? .zero) / .seconds(1)
  }

  /// Sixteen times as long: about 22 times the work where it is sorted, 256 where it is squared.
  @Test func sixteenTimesAsLongIsNoSquare() {
    for kind in Kind.allCases {
      let few = Self.seconds(Self.state(250, kind))
      let many = Self.seconds(Self.state(4000, kind))
      #expect(many < 80 * few, "\(kind): 250 in \(few) s, 4000 in \(many) s")
    }
  }
}
