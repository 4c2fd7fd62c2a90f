/// A product of the simulated app: one subscription group with two levels, and one product of each
/// kind that is bought once.
public struct Product: Sendable, Equatable {
  /// Apple's values of `type`.
  public enum Kind: String, Sendable {
    case autoRenewable = "Auto-Renewable Subscription"
    case consumable = "Consumable"
    case nonConsumable = "Non-Consumable"
    case nonRenewing = "Non-Renewing Subscription"
  }

  /// The length of a billing period, as an ISO 8601 duration.
  enum Period: String, Sendable {
    case week = "P1W"
    case month = "P1M"
    case year = "P1Y"
  }

  let id: String
  let kind: Kind
  /// Nil if the product does not renew.
  let period: Period?
  /// Milliunits of US dollars.
  let price: Int64

  /// The id of the subscription group.
  static let group = "21400001"

  static let basicWeekly = renewing("basic.weekly", .week, 1_990)
  static let basicMonthly = renewing("basic.monthly", .month, 4_990)
  static let basicYearly = renewing("basic.yearly", .year, 39_990)
  /// On the level of `basicMonthly`, so that a change between the two is a crossgrade.
  static let studentMonthly = renewing("student.monthly", .month, 3_990)
  static let proMonthly = renewing("pro.monthly", .month, 9_990)
  static let proYearly = renewing("pro.yearly", .year, 79_990)
  static let coins = Product(id: "coins.100", kind: .consumable, period: nil, price: 990)
  static let lifetime = Product(
    id: "unlock.lifetime", kind: .nonConsumable, period: nil, price: 149_990)
  static let season = Product(id: "season.pass", kind: .nonRenewing, period: nil, price: 19_990)

  private static func renewing(_ id: String, _ period: Period, _ price: Int64) -> Product {
    Product(id: id, kind: .autoRenewable, period: period, price: price)
  }
}

/// An offer: a price below the usual one for one period (Apple's offerType, offerDiscountType,
/// offerPeriod).
public struct Offer: Sendable, Equatable {
  enum Kind: Int64, Sendable {
    case introductory = 1
    case promotional, code, winBack, retention
  }

  let kind: Kind
  /// Absent for introductory offers.
  let identifier: String?
  let discount: String
  /// The length of the offer's own period; nil keeps the product's.
  let freeDays: Int64?
  let period: String
  /// Percent of the usual price.
  let percent: Int64

  static let freeWeek = Offer(
    kind: .introductory, identifier: nil, discount: "FREE_TRIAL", freeDays: 7, period: "P1W",
    percent: 0)
  static let halfMonth = Offer(
    kind: .promotional, identifier: "loyal.half", discount: "PAY_AS_YOU_GO", freeDays: nil,
    period: "P1M", percent: 50)
  static let spring = Offer(
    kind: .code, identifier: "SPRING", discount: "PAY_UP_FRONT", freeDays: nil, period: "P1M",
    percent: 70)
  static let comeBack = Offer(
    kind: .winBack, identifier: "come.back", discount: "PAY_UP_FRONT", freeDays: nil,
    period: "P1M", percent: 60)
  static let stay = Offer(
    kind: .retention, identifier: "stay", discount: "PAY_AS_YOU_GO", freeDays: nil, period: "P1M",
    percent: 50)
}

/// One country's App Store and its currency.
struct Storefront: Sendable, Equatable {
  /// Three letters, and two as in reports (ISO 3166-1).
  let country, code: String
  let id: String
  let currency: String
  /// Hundredths of the currency's unit for one US dollar.
  let rate: Int64

  static let all: [(weight: Int, item: Storefront)] = [
    (50, Storefront(country: "USA", code: "US", id: "143441", currency: "USD", rate: 100)),
    (12, Storefront(country: "GBR", code: "GB", id: "143444", currency: "GBP", rate: 80)),
    (12, Storefront(country: "DEU", code: "DE", id: "143443", currency: "EUR", rate: 100)),
    (8, Storefront(country: "FRA", code: "FR", id: "143442", currency: "EUR", rate: 100)),
    (8, Storefront(country: "JPN", code: "JP", id: "143462", currency: "JPY", rate: 15_000)),
    (6, Storefront(country: "CAN", code: "CA", id: "143455", currency: "CAD", rate: 135)),
    (4, Storefront(country: "BRA", code: "BR", id: "143503", currency: "BRL", rate: 500)),
  ]

  /// Milliunits of the currency for milliunits of US dollars, rounded up to a usual price: in yen
  /// to a hundred, else to .99.
  func price(_ dollars: Int64) -> Int64 {
    guard dollars > 0 else { return 0 }
    let exact = dollars * rate / 100
    guard currency == "JPY" else { return (exact + 999) / 1000 * 1000 - 10 }
    return (exact + 99_999) / 100_000 * 100_000
  }
}
