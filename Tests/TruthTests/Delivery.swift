import Entitlements
import Support

/// What of a life reaches the ledger, and by which way.
enum Delivery: String, CaseIterable {
  case complete
  case lost5 = "5 % lost"
  case lost25 = "25 % lost"
  case recovered = "outage, recovered"
  case reconciled = "outage, reconciled"
  case late
  case imported
  case appOnly = "app only"
  case versionOne = "V1"
  case versionOneOfOld = "V1 of 2019"
  case versionOneThenTwo = "V1, then V2"
  case both = "V1 and V2"
  case receipts
  case all

  /// How many answers about access may be avoidably wrong, of 100,000: for V1 and receipts what the
  /// fold has on these lives, rounded up.
  var limit: Int {
    switch self {
    case .complete, .lost5, .lost25, .recovered, .reconciled, .late, .imported, .appOnly: 1
    case .both, .receipts, .versionOneThenTwo: 40
    case .versionOne: 60
    case .all: 130
    case .versionOneOfOld: 200
    }
  }

  /// What is told of a life, in the order of arrival.
  func facts(of life: Life, _ chance: inout SplitMix64) throws -> [Fact] {
    var telling = Telling(life: life, chance: SplitMix64(seed: chance.next()))
    let notifications = life.steps.map { telling.notification($0) }
    let moments = Self.moments(in: life, &chance)
    switch self {
    case .complete: return notifications
    // No answer depends on the order; the events of a quarter arrive days later.
    case .late: return notifications.shuffled(using: &chance)
    case .lost5: return Self.lossy(notifications, 5, &chance)
    case .lost25: return Self.lossy(notifications, 25, &chance)
    case .recovered, .reconciled:
      return outage(life, notifications, &telling, &chance)
    case .imported:
      return telling.everything(at: moments[0]) + notifications.filter { $0.moment > moments[0] }
    case .appOnly:
      return moments.flatMap { Self.handOver($0, &telling, &chance) }
    case .versionOne: return try life.steps.flatMap { try telling.versionOne($0) }
    case .versionOneOfOld:
      return try life.steps.flatMap { try telling.versionOne($0, isOld: true) }
    case .versionOneThenTwo:
      let before = life.steps.filter { $0.at < moments[0] }
      return try before.flatMap { try telling.versionOne($0) }
        + notifications.filter { $0.moment >= moments[0] }
    case .both:
      return Self.lossy(
        try life.steps.flatMap { try telling.versionOne($0) } + notifications, 10, &chance)
    case .receipts: return moments.flatMap { telling.receipt(at: $0) }
    case .all:
      let bodies = try life.steps.flatMap { try telling.versionOne($0) }
      return Self.lossy(bodies + notifications, 40, &chance)
        + moments.prefix(2).flatMap { telling.receipt(at: $0) }
        + moments.suffix(2).flatMap { Self.handOver($0, &telling, &chance) }
    }
  }

  private static func lossy(
    _ facts: [Fact], _ percent: Int, _ chance: inout SplitMix64
  ) -> [Fact] {
    facts.filter { _ in !chance.hits(percent) }.shuffled(using: &chance)
  }

  /// Moments of a life, in ascending order: one to five.
  private static func moments(in life: Life, _ chance: inout SplitMix64) -> [Int64] {
    let length = life.ends - life.begins + 40 * Catalog.day
    return (0...chance.below(5)).map { _ in life.begins + 1 + chance.below(length) }.sorted()
  }

  /// Nothing arrives for a time. Then Apple's history is asked, which has all of it; or all
  /// customers are asked about, which tells what is true then.
  private func outage(
    _ life: Life, _ notifications: [Fact], _ telling: inout Telling, _ chance: inout SplitMix64
  ) -> [Fact] {
    let length = life.ends - life.begins + 1
    let from = life.begins + chance.below(length)
    let until = from + 1 + chance.below(90 * Catalog.day)
    let arrived = notifications.filter { $0.moment < from || $0.moment >= until }
    let missed = notifications.filter { $0.moment >= from && $0.moment < until }
    return self == .recovered ? arrived + missed : arrived + telling.everything(at: until)
  }

  /// The app hands over the newest purchase, the renewal information at times, and at times all.
  private static func handOver(
    _ moment: Int64, _ telling: inout Telling, _ chance: inout SplitMix64
  ) -> [Fact] {
    let all = telling.life.state(at: moment)?.purchases.indices.map { $0 } ?? []
    let some = chance.once(in: 3) ? all : Array(all.suffix(1))
    return telling.evidence(at: moment, of: some, withRenewal: chance.hits(60), secondIds: 40)
  }
}
