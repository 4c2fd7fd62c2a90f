import AppStore
public import Entitlements
public import Store

extension Fold {
  /// A fold with three other rules and the same number: a grace period is reported as a billing
  /// retry (access is lost), a billing retry as a grace period (access is gained), and what was
  /// revoked gives access, with the same status.
  public static let changed = {
    var fold = Fold.current
    (fold.grace, fold.retry) = (fold.retry, fold.grace)
    fold.access.append(.revoked)
    return fold
  }()
}

/// What `Fold.changed` answers, told without it from the rows of `Fold.current`.
public enum ChangedFold {
  /// A status by the changed fold.
  public static func status(_ status: Entitlement.Status) -> Entitlement.Status {
    switch status {
    case .gracePeriod: .billingRetry
    case .billingRetry: .gracePeriod
    default: status
    }
  }

  /// Whether a row gives access by the changed fold.
  ///
  /// - Parameters:
  ///   - status: by the changed fold.
  ///   - type: of the product, which is told of most.
  public static func givesAccess(_ status: Entitlement.Status, _ type: String?) -> Bool {
    [.active, .gracePeriod, .revoked].contains(status) && type != "Consumable"
  }

  /// The customers whose answer the fold changes, computed from the rows of the old fold only,
  /// without folding and without comparing projections.
  public struct Forecast {
    public struct Change: Hashable {
      public let reason: String
      public let productId: String

      public init(reason: String, productId: String) {
        self.reason = reason
        self.productId = productId
      }
    }

    public var rows = 0
    /// Customers who lose access, by original transaction id.
    public var lost: [String: Change] = [:]
    public var gained: [String: Change] = [:]
    /// All customers whose answer changes at some time.
    public var changed: Set<String> = []
    /// Their spans by the changed fold.
    public var spans: [String: [EntitlementRow.Span]] = [:]
  }

  public static func forecast(_ folder: DataFolder, at time: Int64) throws -> Forecast {
    var forecast = Forecast()
    try ProjectionReader.open(folder).forEach { stream in
      forecast.rows += 1
      let id = stream.key.originalTransactionId
      let spans = stream.row.spans
      let after = spans.map { span in
        var other = span
        other.status = status(span.status)
        other.givesAccess = givesAccess(
          other.status, span.purchase.flatMap { stream.row.purchases[$0].productType })
        return other
      }
      guard after != spans else { return true }
      forecast.changed.insert(id)
      forecast.spans[id] = after
      guard let index = spans.lastIndex(where: { $0.from <= time }) else { return true }
      let (one, two) = (spans[index], after[index])
      let change = Forecast.Change(
        reason: "\(one.status.rawValue) → \(two.status.rawValue)",
        productId: one.productId ?? "")
      if one.givesAccess && !two.givesAccess { forecast.lost[id] = change }
      if !one.givesAccess && two.givesAccess { forecast.gained[id] = change }
      return true
    }
    return forecast
  }

  /// The spans of the rows that were made live last, by original transaction id.
  public static func spans(_ folder: DataFolder) throws -> [String: [EntitlementRow.Span]] {
    var spans: [String: [EntitlementRow.Span]] = [:]
    try ProjectionReader.open(folder).forEach { stream in
      spans[stream.key.originalTransactionId] = stream.row.spans
      return true
    }
    return spans
  }
}
