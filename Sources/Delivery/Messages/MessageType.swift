import AppStore
import Store

/// The type of a message, for filters and receivers.
public enum MessageType {
  /// What time alone changes.
  static let statusChanged = "entitlement.status_changed"
  /// What another fold changes, once the operator announced it.
  static let recalculated = "entitlement.recalculated"
  /// What a customer has by name.
  static let entitlementChanged = "customer.entitlement_changed"
  /// A message without content, which tries a sink.
  static let test = "subledger.test"

  /// Every type that this program knows, with what a message of it says. Types that Apple adds flow
  /// by themselves.
  public static let all: [(name: String, meaning: String)] =
    TypeDescriptions.all.map {
      (name($0.type, $0.subtype, isOwners: owners[$0.type] != nil), $0.description)
    } + [
      (statusChanged, "time alone began or ended access, or changed the status"),
      (recalculated, "another fold changed the answer, and its operator announced it"),
      (entitlementChanged, "what a customer has by name changed"),
      (test, "tries a sink; has no content"),
    ]

  static func of(_ event: MessageEvent) -> String {
    name(event.notificationType, event.subtype, isOwners: event.source.isOwners)
  }

  private static func name(_ type: String, _ subtype: String?, isOwners: Bool) -> String {
    if isOwners { return "subledger." + (owners[type] ?? type.lowercased()) }
    return "app_store." + [type, subtype].compactMap { $0?.lowercased() }.joined(separator: ".")
  }

  /// What the owner says.
  private static let owners = [
    "ACCOUNT_CLAIM": "account_claimed", "ACCOUNT_RELEASE": "account_released",
    "GRANT": "granted", "GRANT_REVOKE": "grant_revoked",
    "CATALOG": "catalog_changed",
  ]
}
