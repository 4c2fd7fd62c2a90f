import Entitlements
import Support

/// Plays the life of a product that is bought once: bought, refunded at times, and given back at
/// times.
struct OneTimePlayer {
  static let passDays: Int64 = 30
  /// What the owner configures for non-renewing subscriptions, in milliseconds.
  static let durations = ["pass": passDays * Catalog.day]

  private static let products = [
    ("lifetime", "Non-Consumable"), ("coins", "Consumable"), ("pass", "Non-Renewing Subscription"),
  ]

  static func play(seed: UInt64) -> Life {
    var chance = SplitMix64(seed: seed)
    var life = Life()
    life.isSubscription = false
    let (product, type) = chance.pick(products)
    life.productType = type
    var now = SubscriptionPlayer.startOf2024 + chance.below(300 * Catalog.day) / 1000 * 1000
    let end = type == "Non-Renewing Subscription" ? now + passDays * Catalog.day : nil
    var state = State(at: now)
    state.purchases = [
      Purchase(
        product: product, begins: now, expires: nil, charged: now, isRenewal: false, covers: now,
        ends: end ?? .max, extended: end)
    ]
    func tell(_ type: String, _ versionOne: [String]) {
      state.at = now
      life.states.append(state)
      life.steps.append(
        Life.Step(at: now, type: type, purchase: 0, versionOne: versionOne))
    }
    tell("ONE_TIME_CHARGE", [])
    for _ in 0..<chance.below(3) {
      now += 1 + chance.below(20 * Catalog.day)
      let refund = now - min(1, chance.below(3))
      state.purchases[0].revoked = refund
      state.purchases[0].ends = min(end ?? .max, refund)
      tell("REFUND", ["REFUND"])
      now += 1 + chance.below(20 * Catalog.day)
      if chance.once(in: 2) { break }
      state.purchases[0].revoked = nil
      state.purchases[0].ends = end ?? .max
      tell("REFUND_REVERSED", [])
    }
    return life
  }
}
