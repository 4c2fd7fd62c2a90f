import Entitlements
public import JournalStore
public import StrictJSON

/// One customer of whom two projections say different things.
public struct RowDifference: Sendable {
  public enum Kind: String, Sendable {
    case changed, added, gone
  }

  /// What it does to the customer's access at the moment that was asked about.
  public enum Access: String, Sendable {
    case lost, gained, same
  }

  public let key: StreamKey
  public let kind: Kind
  let before: RowDocument?
  let after: RowDocument?

  public var access: Access {
    switch (before?.entitlement.givesAccess ?? false, after?.entitlement.givesAccess ?? false) {
    case (true, false): .lost
    case (false, true): .gained
    default: .same
    }
  }

  /// From which status to which; `none` where there is no row.
  public var reason: String { "\(Self.status(before)) → \(Self.status(after))" }

  /// The product that the customer has, or had.
  public var productId: String? { (after ?? before)?.entitlement.productId }

  /// Members of the row that differ at that moment. None: the rows differ at another one.
  public var fields: [String] {
    guard case .object(let old) = before?.json, case .object(let new) = after?.json else {
      return []
    }
    return zip(old, new).filter { $0.1.text != $1.1.text }.map(\.0.0)
  }

  private static func status(_ row: RowDocument?) -> String {
    row?.entitlement.status.rawValue ?? "none"
  }

  // MARK: As data

  /// Names of the columns of `csv`.
  public static let columns =
    "environment,bundle_id,original_transaction_id,change,access,status_before,status_after,"
    + "product_before,product_after,expires_before,expires_after,fields"

  /// One line (RFC 4180), without its end. Times are milliseconds since 1970.
  public var csv: String {
    let values: [String?] = [
      key.environment, key.bundleId, key.originalTransactionId, kind.rawValue, access.rawValue,
      Self.status(before), Self.status(after), before?.entitlement.productId,
      after?.entitlement.productId, before?.entitlement.expiresAt.map(String.init),
      after?.entitlement.expiresAt.map(String.init), fields.joined(separator: " "),
    ]
    return values.map { Self.quoted($0 ?? "") }.joined(separator: ",")
  }

  private static func quoted(_ text: String) -> String {
    let needsQuotes = text.utf8.contains { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }
    guard needsQuotes else { return text }
    let doubled = text.split(separator: "\"", omittingEmptySubsequences: false)
    return "\"" + doubled.joined(separator: "\"\"") + "\""
  }

  /// With the whole row before and after, as the API shows it.
  public var json: JSONValue {
    .object([
      ("object", .string("difference")), ("environment", .string(key.environment)),
      ("bundle_id", .string(key.bundleId)),
      ("original_transaction_id", .string(key.originalTransactionId)),
      ("change", .string(kind.rawValue)), ("access", .string(access.rawValue)),
      ("fields", .array(fields.map(JSONValue.string))),
      ("before", before?.json ?? .null), ("after", after?.json ?? .null),
    ])
  }
}
