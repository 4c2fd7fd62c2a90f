import AppStore
import Entitlements
import Glibc
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

  /// The processor time of this thread (clock_gettime(2)).
  private static func nanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }

  /// The processor time of one evaluation, in nanoseconds.
  private static func cost(_ state: StreamState) -> Int {
    let costs = (0..<7).map { _ in
      let start = nanoseconds()
      _ = EntitlementRow(state)
      return nanoseconds() - start
    }
    return costs.min() ?? 0
  }

  /// For 8 times the transactions sorting takes about 11 times the work, and up to three times that
  /// where other work takes the caches; quadratic work is 64 times.
  @Test func `eight times the transactions cost less than forty times as much`() {
    for kind in Kind.allCases {
      let few = Self.cost(Self.state(500, kind))
      let many = Self.cost(Self.state(4000, kind))
      #expect(many < 40 * few, "\(kind): 500 in \(few) ns, 4,000 in \(many) ns")
    }
  }
}
