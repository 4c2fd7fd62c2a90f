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

  /// The longest name, in bytes of UTF-8.
  public static let maximumLength = 128
}
