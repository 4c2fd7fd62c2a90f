import AppStore
import Entitlements

/// One customer's subscription or one-time product as Apple has it: what is true.
///
/// A life is played by `SubscriptionPlayer` or `OneTimePlayer` and knows everything about itself.
/// The ledger knows what is told of it (`Telling`). Times are milliseconds since 1970.
struct Life {
  /// What Apple does at a moment, and tells by notification.
  struct Step {
    var at: Int64
    var type: String
    var subtype: String?
    /// The purchase that the notification is about.
    var purchase: Int
    /// The status that the notification carries; nil: that of the moment.
    var status: Int64?
    /// What version 1 sends for it; empty for nothing.
    var versionOne: [String]
  }

  /// In the order of time: what is true from `at` on.
  var states: [State] = []
  var steps: [Step] = []
  var isSubscription = true
  /// All products of one stream have the same type.
  var productType = "Auto-Renewable Subscription"
  var ownership = "PURCHASED"

  /// What was true at a moment; nil before the first purchase.
  func state(at time: Int64) -> State? { states.last { $0.at <= time } }

  var begins: Int64 { states.first?.at ?? 0 }
  var ends: Int64 { states.last?.at ?? 0 }
}

/// Everything that is true at a moment.
struct State {
  var at: Int64
  /// In the order in which they were charged; the index names a purchase.
  var purchases: [Purchase] = []
  var renewal: Renewal?
  var failure: Failure?

  /// A charge that failed.
  struct Failure: Equatable {
    /// The purchase that was to be renewed.
    var purchase: Int
    var graceEnd: Int64?
    /// Whether Apple says when the grace period ends.
    var isDated: Bool
  }
}

/// One purchase or renewal.
struct Purchase {
  var product: String
  /// Apple's purchaseDate.
  var begins: Int64
  /// Apple's expiresDate; nil for a one-time product.
  var expires: Int64?
  /// When it was charged, and so signed first: up to 24 hours before it begins.
  var charged: Int64
  var isRenewal: Bool
  /// When it begins to cover: before `begins` by the seconds that Apple leaves between periods, if
  /// it was charged ahead.
  var covers: Int64
  /// When it really ended or will end.
  var ends: Int64
  /// Its end by renewalDate alone, if Apple extended it and left expiresDate.
  var extended: Int64?
  var isUpgraded = false
  var revoked: Int64?
  /// Whether it has a second transaction id.
  var hasSecondId = false
  var isTrial = false

  /// Until when it is paid, whatever happened to it since.
  var paidThrough: Int64? { extended ?? expires }
  /// False for a purchase that was replaced or refunded before it began.
  var everBegins: Bool { ends > begins }

  /// What a transaction says that can change.
  func saysTheSame(as other: Purchase) -> Bool {
    product == other.product && begins == other.begins && expires == other.expires
      && revoked == other.revoked && isUpgraded == other.isUpgraded
  }
}

/// Apple's renewal information.
struct Renewal: Equatable {
  var product: String
  /// The product of the next renewal.
  var next: String
  var isOn = true
  var renewalDate: Int64
  var isRetrying: Bool?
  var graceEnd: Int64?
  var intent: Int64?
  var priceIncrease: Int64?

  /// What version 1 says of it too.
  func saysTheSameInVersionOne(as other: Renewal) -> Bool {
    product == other.product && next == other.next && isOn == other.isOn
      && isRetrying == other.isRetrying && graceEnd == other.graceEnd
  }
}

/// The products that lives are about. Those of a higher rank replace others at once.
enum Catalog {
  static let second: Int64 = 1_000
  static let minute = 60 * second
  static let hour = 60 * minute
  static let day = 24 * hour

  static let plans: [(id: String, rank: Int, days: Int64)] = [
    ("basic.w", 1, 7), ("basic.m", 1, 30), ("plus.m", 1, 30), ("basic.y", 1, 365),
    ("pro.m", 2, 30), ("pro.y", 2, 365),
  ]

  static func plan(_ id: String) -> (id: String, rank: Int, days: Int64) {
    plans.first { $0.id == id } ?? plans[1]
  }

  /// Whether a change of product takes effect at once: to a higher rank, or to another product of
  /// the same rank and duration.
  static func isImmediate(from one: String, to other: String) -> Bool {
    let (old, new) = (plan(one), plan(other))
    return new.rank > old.rank || (new.rank == old.rank && new.days == old.days)
  }
}
