import Entitlements
import Support

/// Asks what the ledger answers for a life told in some way, and compares with the truth.
enum Questions {
  /// Every tenth life is of a one-time product.
  static func life(_ seed: UInt64) -> Life {
    seed % 10 == 0 ? OneTimePlayer.play(seed: seed) : SubscriptionPlayer.play(seed: seed)
  }

  /// The times to ask about: random ones, and those around what was told and what ends.
  static func times(_ life: Life, _ facts: [Fact], _ chance: inout SplitMix64) -> [Int64] {
    let ends = life.states.last?.purchases.map(\.ends).filter { $0 < .max } ?? []
    let marks = facts.map(\.date) + ends
    return (0..<12).map { _ in
      chance.once(in: 2) || marks.isEmpty
        ? life.begins + chance.below(life.ends - life.begins + 100 * Catalog.day)
        : chance.pick(marks) + chance.pick([-1, 0, 1, chance.below(2 * Catalog.day)])
    }
  }

  static func ask(_ seed: UInt64, _ delivery: Delivery, _ answers: inout WrongAnswers) throws {
    let life = life(seed)
    var chance = SplitMix64(seed: seed ^ 0x7E57)
    let facts = try delivery.facts(of: life, &chance)
    for time in times(life, facts, &chance) {
      guard let knowable = Knowable(life, facts, at: time) else { continue }
      var state = StreamState()
      for fact in facts where fact.date <= time { state.evolve(fact.event) }
      let answer = Entitlement(
        state, at: time, durations: Durations(milliseconds: OneTimePlayer.durations))
      for field in Knowable.Field.allCases where knowable.fields.contains(field) {
        let said = answer.map { Self.said($0, field) } ?? "no row"
        let isWrong = !knowable.isRight(said, field)
        answers.count(delivery, field, isWrong: isWrong) {
          "\(delivery.rawValue), seed \(seed), at \(time): \(field) is \(said),"
            + " true is \(knowable.true(field)) (\(knowable.truth))"
        }
      }
    }
  }

  static func said(_ answer: Entitlement, _ field: Knowable.Field) -> String {
    switch field {
    case .access: "\(answer.givesAccess)"
    case .status: answer.status.rawValue
    case .product: answer.productId ?? "none"
    case .expires: answer.expiresAt.map { "\($0)" } ?? "none"
    case .autoRenew: answer.autoRenew.map { "\($0)" } ?? "unknown"
    case .pending: answer.pendingProductId ?? "none"
    }
  }
}

extension Knowable {
  func `true`(_ field: Field) -> String {
    switch field {
    case .access: "\(truth.hasAccess)"
    case .status: truth.status.rawValue
    case .product: truth.product
    case .expires: truth.expires.map { "\($0)" } ?? "none"
    case .autoRenew: truth.autoRenew.map { "\($0)" } ?? "unknown"
    case .pending: truth.pending ?? "none"
    }
  }

  func isRight(_ said: String, _ field: Field) -> Bool {
    said == `true`(field) || (field == .autoRenew && autoRenewMayBeUnknown && said == "unknown")
  }
}
