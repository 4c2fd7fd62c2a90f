import Entitlements
import Support

/// Plays the life of one auto-renewable subscription by Apple's rules: every step is one that
/// Apple's documentation describes or that developers have seen.
///
/// Source: developer.apple.com/documentation/appstoreservernotifications/notificationtype (its
/// tables of use cases), developer.apple.com/documentation/storekit/handling-subscriptions-billing
/// (a renewal is charged up to 24 hours ahead; 60 days of retries) and
/// developer.apple.com/documentation/storekit/reducing-involuntary-subscriber-churn (grace).
struct SubscriptionPlayer {
  var chance: SplitMix64
  var now: Int64
  var life = Life()
  var state: State
  /// The purchase in force.
  var current = 0
  /// The life may go on only by a new purchase.
  var isOver = false

  static let startOf2024: Int64 = 1_704_067_200_000

  static func play(seed: UInt64) -> Life {
    var chance = SplitMix64(seed: seed)
    let start = startOf2024 + chance.below(300 * Catalog.day) / 1000 * 1000
    var player = SubscriptionPlayer(chance: chance, now: start, state: State(at: start))
    player.play()
    return player.life
  }

  private mutating func play() {
    if chance.once(in: 12) { life.ownership = "FAMILY_SHARED" }
    buy(chance.pick(Catalog.plans).id, as: ("SUBSCRIBED", "INITIAL_BUY"), ["INITIAL_BUY"])
    for _ in 0..<2 + chance.below(6) {
      if isOver {
        if life.ownership == "FAMILY_SHARED" || chance.hits(45) { return }
        resubscribe()
      } else {
        playPeriod()
      }
    }
  }

  /// What happens while the purchase in force runs, and how its period ends.
  private mutating func playPeriod() {
    let start = max(now, state.purchases[current].begins)
    let moments = (0..<chance.below(3)).map { _ in start + chance.below(30 * Catalog.day) }
    for moment in moments.sorted() where moment > now && moment < chargingBegins && !isOver {
      now = moment
      act()
    }
    if !isOver { endPeriod() }
  }

  // MARK: The purchase in force

  var end: Int64 { state.purchases[current].ends }
  /// Before it no renewal is charged.
  private var chargingBegins: Int64 { end - Catalog.day }
  var isFamily: Bool { life.ownership == "FAMILY_SHARED" }

  /// Takes what happened now into the life, and has Apple tell of it.
  mutating func tell(
    _ type: String, _ subtype: String? = nil, about purchase: Int? = nil, status: Int64? = nil,
    v1 versionOne: [String] = []
  ) {
    state.at = now
    life.states.append(state)
    life.steps.append(
      Life.Step(
        at: now, type: type, subtype: subtype, purchase: purchase ?? newest, status: status,
        versionOne: versionOne))
  }

  /// The purchase that Apple names when an event is about none: the one charged last that was
  /// neither replaced nor refunded before it began.
  var newest: Int {
    state.purchases.indices.last { state.purchases[$0].everBegins } ?? current
  }

  mutating func change(_ index: Int, _ edit: (inout Purchase) -> Void) {
    edit(&state.purchases[index])
  }

  mutating func renew(_ edit: (inout Renewal) -> Void) {
    guard var renewal = state.renewal else { return }
    edit(&renewal)
    state.renewal = renewal
  }

  // MARK: Purchases

  /// A purchase by the customer, now.
  mutating func buy(
    _ product: String, as event: (type: String, subtype: String), _ versionOne: [String]
  ) {
    let begins = now
    // Apple signs some seconds after the purchase.
    now += chance.below(3 * Catalog.second)
    let isTrial = state.purchases.isEmpty && chance.once(in: 4)
    let expires = begins + (isTrial ? 7 : Catalog.plan(product).days) * Catalog.day
    state.purchases.append(
      Purchase(
        product: product, begins: begins, expires: expires, charged: begins, isRenewal: false,
        covers: begins, ends: expires, hasSecondId: chance.once(in: 8), isTrial: isTrial))
    current = state.purchases.count - 1
    state.renewal = Renewal(product: product, next: product, renewalDate: expires)
    state.failure = nil
    isOver = false
    tell(event.type, event.subtype, v1: versionOne)
  }

  private mutating func resubscribe() {
    now = max(now, end) + 1 + chance.below(chance.once(in: 2) ? Catalog.day : 100 * Catalog.day)
    let product = chance.pick(Catalog.plans).id
    let isSame = product == state.purchases[current].product
    buy(
      product, as: ("SUBSCRIBED", "RESUBSCRIBE"),
      isSame
        ? ["DID_CHANGE_RENEWAL_STATUS"] : ["INTERACTIVE_RENEWAL", "DID_CHANGE_RENEWAL_STATUS"])
  }

  /// An upgrade, or a change to another product of the same rank and duration: at once.
  ///
  /// - Parameter ahead: the next period, if it was charged already; Apple has marked such ones as
  ///   upgraded, and has left them unmarked.
  mutating func replace(by product: String, ahead: Int? = nil) {
    change(current) { [now] in ($0.ends, $0.isUpgraded) = (now, true) }
    if let ahead {
      let isMarked = chance.once(in: 2)
      change(ahead) { [now] in ($0.ends, $0.isUpgraded) = (now, isMarked) }
    }
    buy(
      product, as: ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"),
      ["DID_CHANGE_RENEWAL_STATUS", "INTERACTIVE_RENEWAL"])
  }
}
