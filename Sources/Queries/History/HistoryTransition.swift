import Entitlements
public import StrictJSON

/// A time in a timeline at which the passing of time alone changed status, access or product.
public struct HistoryTransition: Sendable {
  private let before: Entitlement
  private let after: Entitlement
  /// Fields of the row that differ before and after.
  public let changes: [HistoryEntry.Change]

  /// Whether another stream replaced this one when it was revoked.
  private let isReplacement: Bool

  init(
    before: Entitlement, after: Entitlement, changes: [HistoryEntry.Change], isReplacement: Bool
  ) {
    (self.before, self.after, self.changes) = (before, after, changes)
    self.isReplacement = isReplacement
  }

  /// Milliseconds since 1970 UTC.
  public var at: Int64 { after.asOf }
  /// Whether there is access since then; nil if that did not change.
  public var access: Bool? { before.givesAccess == after.givesAccess ? nil : after.givesAccess }

  /// What happened, in plain English.
  public var description: String {
    switch (before.status, after.status) {
    case (.active, .active): "next product began"
    case (_, .active): "period began"
    case (_, .gracePeriod): "period ended, grace period began"
    case (_, .revoked): isReplacement ? "replacement took effect" : "revocation took effect"
    case (.active, _): "period ended"
    case (.gracePeriod, _): "grace period ended"
    case (.billingRetry, _): "billing retry ended"
    case (.expired, _), (.revoked, _): "status changed"
    }
  }

  var json: JSONValue { Self.object.json(self) }

  public static let object = JSONObject<HistoryTransition>(
    "HistoryTransition",
    [
      .type("transition"),
      JSONMember(
        "at", .time("When status, access or product changed by the passing of time alone.")
      ) { $0.at },
      JSONMember("words", .words) { $0.description },
      JSONMember("changes", .changes) { $0.changes.json },
    ])
}
