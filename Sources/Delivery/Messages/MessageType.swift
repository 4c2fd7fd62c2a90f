import AppStore
import Store

/// The type of a message, for filters and receivers.
enum MessageType {
  /// What time alone changes.
  static let statusChanged = "entitlement.status_changed"
  /// What another fold changes, once the operator announced it.
  static let recalculated = "entitlement.recalculated"
  /// A message without content, which tries a sink.
  static let test = "subledger.test"

  static func of(_ event: MessageEvent) -> String {
    if event.source.isOwners { return "subledger." + owners(event.notificationType) }
    // Types that Apple adds flow by themselves.
    let names = [event.notificationType, event.subtype].compactMap { $0?.lowercased() }
    return "app_store." + names.joined(separator: ".")
  }

  private static func owners(_ type: String) -> String {
    switch type {
    case "ACCOUNT_CLAIM": "account_claimed"
    case "ACCOUNT_RELEASE": "account_released"
    case "GRANT": "granted"
    case "GRANT_REVOKE": "grant_revoked"
    default: type.lowercased()
    }
  }
}
