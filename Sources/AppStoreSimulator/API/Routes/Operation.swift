/// One call of the App Store Server API, as method and path name it.
struct Operation: Sendable {
  /// The raw value is Apple's name.
  enum Kind: String, CaseIterable {
    case notificationHistory = "Get Notification History"
    case requestTest = "Request a Test Notification"
    case testStatus = "Get Test Notification Status"
    case statuses = "Get All Subscription Statuses"
    case history = "Get Transaction History"
    case historyV1 = "Get Transaction History V1"
    case refunds = "Get Refund History"
    case appTransaction = "Get App Transaction Info"
    case transaction = "Get Transaction Info"
    case order = "Look Up Order ID"
    case consumption = "Send Consumption Information"
    case finish = "Finish Transaction"
    case accountToken = "Set App Account Token"
    case extend = "Extend a Subscription Renewal Date"
    case massExtend = "Extend Subscription Renewal Dates for All Active Subscribers"
    case massExtendStatus = "Get Status of Subscription Renewal Date Extensions"

    /// Whether it is refused without a body of JSON.
    var takesJSON: Bool {
      [.notificationHistory, .consumption, .accountToken, .extend, .massExtend].contains(self)
    }

    /// Requests a second in Production; the sandbox has a tenth. The status of extensions is not in
    /// Apple's table.
    ///
    /// Source: developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits.
    var limit: Double {
      switch self {
      case .requestTest, .testStatus, .massExtend, .massExtendStatus: 1
      case .order, .refunds: 10
      case .accountToken, .extend: 20
      default: 50
      }
    }
  }

  let kind: Kind
  /// The segments of the path that name a customer, a transaction, an order, a test, or a product
  /// and a request.
  let ids: [String]
  var id: String { ids.first ?? "" }

  /// The first that fits counts. `*` is the id.
  private static let table: [(method: String, path: [String], kind: Kind)] = [
    ("POST", ["v1", "notifications", "history"], .notificationHistory),
    ("POST", ["v1", "notifications", "test"], .requestTest),
    ("GET", ["v1", "notifications", "test", "*"], .testStatus),
    ("GET", ["v1", "subscriptions", "*"], .statuses),
    ("GET", ["v1", "history", "*"], .historyV1), ("GET", ["v2", "history", "*"], .history),
    ("GET", ["v2", "refund", "lookup", "*"], .refunds),
    ("GET", ["v1", "transactions", "appTransactions", "*"], .appTransaction),
    ("GET", ["v1", "transactions", "*"], .transaction), ("GET", ["v1", "lookup", "*"], .order),
    ("PUT", ["v2", "transactions", "consumption", "*"], .consumption),
    ("POST", ["v1", "transactions", "*", "finish"], .finish),
    ("PUT", ["v1", "transactions", "*", "appAccountToken"], .accountToken),
    ("PUT", ["v1", "subscriptions", "extend", "*"], .extend),
    ("POST", ["v1", "subscriptions", "extend", "mass"], .massExtend),
    ("GET", ["v1", "subscriptions", "extend", "mass", "*", "*"], .massExtendStatus),
  ]

  /// Returns nil if there is no such call.
  init?(_ method: String, _ path: String) {
    let parts = path.split(separator: "/").map { QueryItems.decoded($0) }
    guard parts.first == "inApps" else { return nil }
    let rest = parts.dropFirst()
    let found = Self.table.first { entry in
      entry.method == method && entry.path.count == rest.count
        && zip(entry.path, rest).allSatisfy { $0 == "*" || $0 == $1 }
    }
    guard let found else { return nil }
    kind = found.kind
    ids = zip(found.path, rest).filter { $0.0 == "*" }.map(\.1)
  }
}
