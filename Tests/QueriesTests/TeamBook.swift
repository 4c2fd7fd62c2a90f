import Platform

@testable import AppStoreSimulator

/// What is true of a team of the simulated App Store right after its last notification.
struct TeamBook {
  /// A purchase of the period: its price in milliunits, and how many of its seats were refunded.
  typealias Bought = (id: String, price: Int64, refundedSeats: Int64)

  let notifications: [SimulatedNotification]
  let originalTransactionId: String
  /// Milliseconds since 1970.
  let time: Int64
  let hasAccess: Bool
  /// Those that are paid for and not refunded.
  let seats: Int64
  let purchases: [Bought]

  private init?(_ customer: Customer) {
    guard let team = customer.team, let current = customer.current else { return nil }
    notifications = customer.notifications.sorted(by: SimulatedNotification.precedes)
    originalTransactionId = current.originalId
    time = max(customer.now, customer.lastSigned, current.purchaseDate) + 1
    let paid = customer.paidSeats(at: time)
    hasAccess = !paid.isEmpty
    seats = paid.reduce(0) { $0 + $1.quantity - ($1.seats?.refunded ?? 0) }
    purchases = team.purchases.map {
      let refunded = $0.revocation == nil ? $0.seats?.refunded ?? 0 : $0.quantity
      return ($0.id, $0.seats?.total ?? 0, refunded)
    }
  }

  /// Teams that buy, add, give back and renew seats.
  static func all(_ count: Int, seed: UInt64, endingAt end: Int64) -> [TeamBook] {
    (0..<count).compactMap { index in
      var generator = SeededGenerator(seed: seed ^ 0x7465_616D, stream: UInt64(index))
      let start = end - generator.number(in: 45...200) * CivilTime.day
      var customer = Customer(app: SimulatedApp(), seed: seed, number: index, now: start)
      customer.perform(
        .buySeats(
          .proMonthly, generator.number(in: 2...9), generator.pick([.apple, .developer])))
      for _ in 0..<generator.number(in: 1...12) where customer.now < end - 40 * CivilTime.day {
        if let picked = customer.team?.purchases { customer.newest = generator.pick(picked) }
        customer.perform(step(&generator))
        // A refund is dated in whole seconds: it must not seem to be before what it follows.
        customer.now = max(customer.now, customer.lastSigned) + 1_000
        customer.perform(.wait(days: generator.number(in: 0...4)))
      }
      return TeamBook(customer)
    }
  }

  private static func step(_ generator: inout SeededGenerator) -> Step {
    let count = generator.number(in: 1...4)
    return switch generator.number(in: 0...99) {
    case ..<32: .addSeats(count)
    case ..<50: .renew
    case ..<62: .refund(percentage: 100_000)
    case ..<78: .refundSeats(count)
    case ..<84: .reverseRefund
    case ..<90: .dropSeats(count)
    case ..<96: .unclaimSeats(count)
    default: .assign
    }
  }
}
