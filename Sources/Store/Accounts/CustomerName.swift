/// A customer as the owner of the ledger names him, in statements.
public struct CustomerName: Sendable, Hashable {
  /// What the name is.
  public enum Kind: String, Sendable, CaseIterable {
    /// The owner's own user id.
    case account
    /// Apple's appAccountToken, which the app chose.
    case appAccountToken = "app_account_token"
    /// Apple's appTransactionId: one download of the app.
    case appTransactionId = "app_transaction_id"
  }

  public let kind: Kind
  public let name: String

  public init(_ kind: Kind, _ name: String) {
    self.kind = kind
    self.name = name
  }

  /// The longest name, in characters of Unicode.
  static let maximumLength = 128

  /// Whether a text can be a name: not empty, not too long, without control characters.
  public static func isValid(_ name: String) -> Bool {
    let scalars = name.unicodeScalars
    return (1...maximumLength).contains(scalars.count)
      && scalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
  }
}
