public import AppStore
import Entitlements
import Store
public import StrictJSON

/// A row that differs between two projections.
public struct RowDifference: Sendable {
  /// Whether both projections have the row, or only the built (`added`) or the live one (`gone`).
  public enum Kind: String, Sendable, CaseIterable {
    case changed, added, gone
  }

  /// How the customer's access changes, at the time of the comparison.
  public enum Access: String, Sendable, CaseIterable {
    case lost, gained, same
  }

  public let key: StreamKey
  public let kind: Kind
  let before: RowDocument?
  let after: RowDocument?
  let hasOtherTransactions: Bool

  public var access: Access {
    switch (before?.entitlement.givesAccess ?? false, after?.entitlement.givesAccess ?? false) {
    case (true, false): .lost
    case (false, true): .gained
    default: .same
    }
  }

  /// The change of status, as `active → expired`; `none` stands for a missing row.
  public var reason: String { "\(Self.status(before)) → \(Self.status(after))" }

  /// The product of the built row; if there is none, of the live one.
  public var productId: String? { (after ?? before)?.entitlement.productId }

  /// Members of the row that differ at the time of the comparison, and `transactions` if those do;
  /// empty if the rows only differ at other times.
  public var fields: [String] {
    guard case .object(let old) = before?.json, case .object(let new) = after?.json else {
      return []
    }
    return zip(old, new).filter { $0.1 != $1.1 }.map(\.0.0)
      + (hasOtherTransactions ? ["transactions"] : [])
  }

  /// The members whose values differ at the time of the comparison, but for those that name the
  /// last event; each with its two values.
  public var changes: [HistoryEntry.Change] {
    RowMembers(after?.json).changes(since: RowMembers(before?.json))
  }

  /// Whether the row of the live projection gives access at the time of the comparison.
  public var hadAccess: Bool { before?.entitlement.givesAccess ?? false }

  private static func status(_ row: RowDocument?) -> String {
    row?.entitlement.status.rawValue ?? "none"
  }

  // MARK: Output

  /// Names of the columns of `csv`.
  public static let columns =
    "environment,bundle_id,original_transaction_id,change,access,status_before,status_after,"
    + "product_before,product_after,expires_before,expires_after,fields"

  /// One line (RFC 4180) without its line end. Times are milliseconds since 1970.
  public var csv: String {
    let values: [String?] = [
      key.environment.rawValue, key.bundleId, key.originalTransactionId, kind.rawValue,
      access.rawValue,
      Self.status(before), Self.status(after), before?.entitlement.productId,
      after?.entitlement.productId, before?.entitlement.expiresAt.map(String.init),
      after?.entitlement.expiresAt.map(String.init), fields.joined(separator: " "),
    ]
    return CSV.line(values)
  }

  /// The difference with both rows, as the API shows them.
  public var json: JSONValue { Self.object.json(self) }

  public static let object = JSONObject<RowDifference>(
    "Difference",
    [
      .type("difference"), JSONMember("environment", .environment) { $0.key.environment.rawValue },
      JSONMember("bundle_id", .bundleId) { $0.key.bundleId },
      JSONMember("original_transaction_id", .text()) { $0.key.originalTransactionId },
      JSONMember("change", .oneOf(Kind.allCases.map(\.rawValue))) { $0.kind.rawValue },
      JSONMember("access", .oneOf(Access.allCases.map(\.rawValue))) { $0.access.rawValue },
      JSONMember(
        "fields", .list(.text("The members of the row that differ; transactions if those do."))
      ) { $0.fields },
      JSONMember("before", RowDocument.object) { $0.before },
      JSONMember("after", RowDocument.object) { $0.after },
    ])
}
