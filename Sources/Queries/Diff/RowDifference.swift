public import AppStore
import Entitlements
import Store
public import StrictJSON

/// A row that differs between two projections.
public struct RowDifference: Sendable {
  /// Whether both projections have the row, or only the second (`added`) or the first one (`gone`).
  public enum Kind: String, Sendable, CaseIterable {
    case changed, added, gone
  }

  /// How the customer's access changes, at the time of the comparison.
  public enum Access: String, Sendable, CaseIterable {
    case lost, gained, same
  }

  /// For when the answers differ: for the time of the comparison; else for earlier times; else for
  /// later ones alone.
  public enum When: String, Sendable, CaseIterable {
    case now, past, later
  }

  public let key: StreamKey
  public let kind: Kind
  /// The rows at the time of the comparison, as the API shows them, of what both projections tell.
  private let before, after: JSONValue?
  private let differing: [HistoryEntry.Change]
  /// Members of the row that differ at earlier times; of its purchases, which all were made before,
  /// `transactions.` and the member, and `transactions` if only one projection has a purchase.
  public let pastFields: [String]
  /// Members of the row that differ at later times.
  public let laterFields: [String]

  /// Nil if no answer differs.
  ///
  /// - Parameter time: the time of the comparison, milliseconds since 1970.
  init?(_ stream: ProjectionComparison.Stream, at time: Int64) {
    key = stream.key
    before = stream.before.row.map { RowDocument.json($0, at: time) }
    after = stream.after.row.map { RowDocument.json($0, at: time) }
    kind = (before == nil) == (after == nil) ? .changed : before == nil ? .added : .gone
    var differing: [HistoryEntry.Change] = []
    for name in Self.members.map(\.name) {
      let (one, other) = (before?[name] ?? .null, after?[name] ?? .null)
      if one != other { differing.append((name, one, other)) }
    }
    self.differing = differing
    if kind == .changed {
      let (past, later) = Self.spans(stream.before.spans, stream.after.spans, at: time)
      pastFields =
        past + Self.transactions(stream.before.transactions, stream.after.transactions)
      laterFields = later
    } else {
      (pastFields, laterFields) = ([], [])
    }
    if differing.isEmpty && pastFields.isEmpty && laterFields.isEmpty { return nil }
  }

  private typealias Row = ProjectionComparison.Row
  private static let members = RowField.members(of: RowField.all)

  /// Which members differ in answers that end by a time, and in those that begin after it.
  private static func spans(
    _ before: [Row], _ after: [Row], at time: Int64
  ) -> (past: [String], later: [String]) {
    var (past, later): (Set<String>, Set<String>) = ([], [])
    for old in before {
      for new in after {
        let from = max(bound(old, "from_ms", .min), bound(new, "from_ms", .min))
        let to = min(bound(old, "to_ms", .max), bound(new, "to_ms", .max))
        guard from < to, to <= time || from > time else { continue }
        let names = members.filter { $0.json(of: old) != $0.json(of: new) }.map(\.name)
        if to <= time { past.formUnion(names) } else { later.formUnion(names) }
      }
    }
    let names = members.map(\.name)
    return (names.filter(past.contains), names.filter(later.contains))
  }

  private static func bound(_ row: Row, _ column: String, _ open: Int64) -> Int64 {
    if case .integer(let time)? = row[column] { time } else { open }
  }

  private static func transactions(_ before: [Row], _ after: [Row]) -> [String] {
    func id(_ row: Row) -> String { row["transaction_id"]?.text ?? "" }
    let old = Dictionary(before.map { (id($0), $0) }) { $1 }
    let new = Dictionary(after.map { (id($0), $0) }) { $1 }
    let names = TransactionField.members(of: TransactionField.all).filter { member in
      old.contains { id, row in new[id].map { member.json(of: $0) != member.json(of: row) } ?? false
      }
    }
    return (Set(old.keys) == Set(new.keys) ? [] : ["transactions"])
      + names.map { "transactions.\($0.name)" }
  }

  public var when: When { !differing.isEmpty ? .now : !pastFields.isEmpty ? .past : .later }

  public var access: Access {
    switch (hadAccess, after?["gives_access"] == .boolean(true)) {
    case (true, false): .lost
    case (false, true): .gained
    default: .same
    }
  }

  /// The change of status, as `active → expired`; `none` stands for a missing row.
  public var reason: String { "\(Self.status(before)) → \(Self.status(after))" }

  /// The product of the second row; if there is none, of the first.
  public var productId: String? { Self.text(after ?? before, "product_id") }

  /// Members of the row that differ at the time of the comparison.
  public var fields: [String] { differing.map(\.field) }

  /// The members whose values differ at the time of the comparison, but for those that name the
  /// last event; each with its two values.
  public var changes: [HistoryEntry.Change] {
    differing.filter { !RowMembers.bookkeeping.contains($0.field) }
  }

  /// Whether the first row gives access at the time of the comparison.
  public var hadAccess: Bool { before?["gives_access"] == .boolean(true) }

  private static func status(_ row: JSONValue?) -> String { text(row, "status") ?? "none" }

  private static func text(_ row: JSONValue?, _ name: String) -> String? {
    switch row?[name] {
    case .string(let text): text
    case .integer(let number): String(number)
    default: nil
    }
  }

  // MARK: Output

  /// Names of the columns of `csv`.
  public static let columns =
    "environment,bundle_id,original_transaction_id,change,access,status_before,status_after,"
    + "product_before,product_after,expires_before,expires_after,fields,when,past_fields,"
    + "later_fields"

  /// One line (RFC 4180) without its line end. Times are milliseconds since 1970.
  public var csv: String {
    let rows = [before, after]
    let values: [String?] =
      [
        key.environment.rawValue, key.bundleId, key.originalTransactionId, kind.rawValue,
        access.rawValue,
      ] + rows.map(Self.status) + rows.map { Self.text($0, "product_id") }
      + rows.map { Self.text($0, "expires_at") }
      + [fields.joined(separator: " "), when.rawValue]
      + [pastFields, laterFields].map { $0.joined(separator: " ") }
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
        "when",
        .oneOf(
          When.allCases.map(\.rawValue),
          "For when the answers differ: for the time of the comparison, else for earlier times, "
            + "else for later times alone.")
      ) { $0.when.rawValue },
      JSONMember(
        "fields", .list(.text("The members of the row that differ at the time of the comparison."))
      ) { $0.fields },
      JSONMember(
        "past_fields",
        .list(
          .text(
            "The members that differ at earlier times; those of purchases begin with "
              + "`transactions.`, and `transactions` is a purchase that one side lacks."))
      ) { $0.pastFields },
      JSONMember(
        "later_fields", .list(.text("The members that differ at later times."))
      ) { $0.laterFields },
      JSONMember("before", .optional(RowDocument.object.schema)) { $0.before },
      JSONMember("after", .optional(RowDocument.object.schema)) { $0.after },
    ])
}
