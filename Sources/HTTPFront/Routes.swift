/// The one table of routes: what is asked for is matched raw, never decoded or normalised.
enum Route: Equatable {
  case notifications
  case entitlements
  case entitlement(String)
  case history(String)
  case healthz, readyz, metrics, version
  /// Only over the unix socket in the data folder.
  case controlIngest
  case controlRows(RowsOrder)
  case controlQuarantine(id: Int64, isAdmission: Bool)

  /// What to do with the projections of the folder.
  enum RowsOrder: String { case adopt, rollback, refold, prune }

  static let notificationsPath = "/v1/notifications"

  private static let fixed: [String: Route] = [
    notificationsPath: .notifications, "/v1/entitlements": .entitlements,
    "/healthz": .healthz, "/readyz": .readyz, "/metrics": .metrics, "/version": .version,
    "/control/ingest": .controlIngest,
  ]

  init?(_ path: String) {
    if let route = Self.fixed[path] {
      self = route
      return
    }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    switch (parts.count, parts.dropFirst().prefix(2)) {
    case (4, ["v1", "entitlements"]) where Self.isIdentifier(parts[3]):
      self = .entitlement(parts[3])
    case (5, ["v1", "entitlements"]) where Self.isIdentifier(parts[3]) && parts[4] == "history":
      self = .history(parts[3])
    case (4, ["control", "rows"]):
      guard let order = RowsOrder(rawValue: parts[3]) else { return nil }
      self = .controlRows(order)
    case (5, ["control", "quarantine"]) where parts[4] == "admit" || parts[4] == "drop":
      guard let id = Int64(parts[3]) else { return nil }
      self = .controlQuarantine(id: id, isAdmission: parts[4] == "admit")
    default: return nil
    }
  }

  /// Apple's identifiers are digits; what else is asked for by path must need no encoding.
  private static func isIdentifier(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }

  var methods: [String] {
    switch self {
    case .notifications, .controlIngest, .controlRows, .controlQuarantine: ["POST"]
    default: ["GET", "HEAD"]
    }
  }

  /// Whether it may be asked for only by a process on this machine that may open the socket.
  var isLocal: Bool {
    switch self {
    case .controlIngest, .controlRows, .controlQuarantine: true
    default: false
    }
  }

  /// Whether it shows data, and so needs a read token.
  var needsToken: Bool {
    switch self {
    case .entitlements, .entitlement, .history, .metrics: true
    default: false
    }
  }
}
