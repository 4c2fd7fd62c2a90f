import AppStore
import Store

/// The type of a message, for filters and receivers.
public enum MessageType {
  /// A message without content, which tries a sink.
  static let test = "subledger.test"

  /// Every type that this program knows, with what a message of it says. Types that Apple adds flow
  /// by themselves.
  public static let all: [(name: String, meaning: String)] =
    TypeDescriptions.all.map {
      (name($0.type, $0.subtype, isOwners: owners[$0.type] != nil), $0.description)
    } + MessageKind.allCases.map(\.words).filter { !$0.name.isEmpty } + [
      (test, "tries a sink; has no content")
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
    "CATALOG": "catalog_changed", "REFUND_WORD": "refund_word",
    "REFUND_WITHHELD": "refund_withheld", "REFUND_SENDING": "refund_sending",
    "REFUND_ANSWER": "refund_answer", "REFUND_CONSENT": "refund_consent",
  ]
}
