import AppStore
import Entitlements
import Store

/// The type of a message, for filters and receivers.
public enum MessageType {
  /// A message without content, which tries a sink.
  static let test = "subledger.test"

  /// Every type that this program knows, with what a message of it says. Types that Apple adds flow
  /// by themselves.
  public static let all: [(name: String, meaning: String)] =
    TypeDescriptions.all.filter { !RefundStatement.types.contains($0.type) }.map {
      (name($0.type, $0.subtype, isOwners: owners[$0.type] != nil), $0.description)
    } + RefundNews.allCases.map { (of($0), $0.meaning) }
    + MessageKind.allCases.map(\.words).filter { !$0.name.isEmpty } + [
      (test, "tries a sink; has no content")
    ]

  static func of(_ event: MessageEvent) -> String {
    name(event.notificationType, event.subtype, isOwners: event.source.isOwners)
  }

  static func of(_ news: RefundNews) -> String { "refund_request.\(news.rawValue)" }

  private static func name(_ type: String, _ subtype: String?, isOwners: Bool) -> String {
    if isOwners { return "subledger." + (owners[type] ?? type.lowercased()) }
    return "app_store." + [type, subtype].compactMap { $0?.lowercased() }.joined(separator: ".")
  }

  /// What the owner says.
  private static let owners = [
    "ACCOUNT_CLAIM": "account_claimed", "ACCOUNT_RELEASE": "account_released",
    "GRANT": "granted", "GRANT_REVOKE": "grant_revoked",
    "CATALOG": "catalog_changed", "REFUND_CONSENT": "refund_consent",
  ]
}

extension RefundNews {
  fileprivate var meaning: String {
    switch self {
    case .opened: "Apple asks about a refund, and waits for twelve hours"
    case .due: "three hours are left, and nothing is decided"
    case .answered: "Apple took what it was told of a request for a refund"
    case .missed: "the deadline of a request for a refund passed before Apple took anything"
    case .closed: "Apple decided about a request for a refund"
    }
  }
}
