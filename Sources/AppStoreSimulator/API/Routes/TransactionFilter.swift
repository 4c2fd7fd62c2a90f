import Platform
import StrictJSON

/// The parameters of Get Transaction History: those of one name are alternatives, those of
/// different names must all hold.
struct TransactionFilter {
  private let start: Int64?
  private let end: Int64?
  private let products: [String]
  private let kinds: [String]
  private let groups: [String]
  private let ownership: String?
  private let revoked: Bool?
  let isAscending: Bool

  /// The names of Apple's product types in a query, and in a transaction.
  private static let kindNames = [
    "AUTO_RENEWABLE": "Auto-Renewable Subscription", "NON_RENEWABLE": "Non-Renewing Subscription",
    "CONSUMABLE": "Consumable", "NON_CONSUMABLE": "Non-Consumable",
  ]

  /// - Throws: `APIError` for the first parameter that Apple refuses.
  init(_ query: QueryItems) throws(APIError) {
    start = try Self.date(query.first("startDate"), .invalidStartDate)
    end = try Self.date(query.first("endDate"), .invalidEndDate)
    products = query.all("productId")
    if products.contains("") { throw .invalidProductId }
    var kinds: [String] = []
    for name in query.all("productType") {
      guard let kind = Self.kindNames[name] else { throw .invalidProductType }
      kinds.append(kind)
    }
    self.kinds = kinds
    groups = query.all("subscriptionGroupIdentifier")
    if groups.contains(where: { Int64($0) == nil }) { throw .invalidGroup }
    ownership = query.first("inAppOwnershipType")
    if let ownership, !["PURCHASED", "FAMILY_SHARED", "ASSIGNED"].contains(ownership) {
      throw .invalidOwnership
    }
    let sort = query.first("sort") ?? "ASCENDING"
    guard ["ASCENDING", "DESCENDING"].contains(sort) else { throw .invalidSort }
    isAscending = sort == "ASCENDING"
    let excludes = try Self.flag(query.first("excludeRevoked"), .invalidExcludeRevoked)
    revoked =
      try Self.flag(query.first("revoked"), .invalidRevoked)
      ?? (excludes == true ? false : nil)
  }

  private static func date(_ text: String?, _ error: APIError) throws(APIError) -> Int64? {
    guard let text else { return nil }
    guard let date = Int64(text), date >= 0 else { throw error }
    return date
  }

  /// In any case of letters, because Apple's library for Python sends `True`.
  private static func flag(_ text: String?, _ error: APIError) throws(APIError) -> Bool? {
    guard let text else { return nil }
    guard let flag = Bool(text.lowercased()) else { throw error }
    return flag
  }

  func matches(_ transaction: JSONValue) -> Bool {
    let purchased = transaction.number("purchaseDate") ?? 0
    let isRevoked = transaction.number("revocationDate") != nil
    return purchased >= start ?? 0 && purchased < end ?? .max
      && Self.matches(products, transaction.text("productId"))
      && Self.matches(kinds, transaction.text("type"))
      && Self.matches(groups, transaction.text("subscriptionGroupIdentifier"))
      && (ownership == nil || ownership == transaction.text("inAppOwnershipType"))
      && (revoked == nil || revoked == isRevoked)
  }

  private static func matches(_ wanted: [String], _ value: String?) -> Bool {
    wanted.isEmpty || value.map(wanted.contains) == true
  }
}
