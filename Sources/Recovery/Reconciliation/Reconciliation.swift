public import AppStore
import Clients
public import Entitlements
import Ledger
public import Queries
public import Store
public import StrictJSON

/// Compares what Apple says now of one customer with the row, before and after Apple's answer is
/// journaled.
public struct Reconciliation: Sendable {
  /// A member of the row on which the row before, Apple and the row after do not all agree.
  public struct Field: Sendable {
    public let name: String
    public let before: JSONValue
    /// Nil if Apple says nothing about it.
    public let apple: JSONValue?
    public let after: JSONValue

    /// Whether Apple said something else than the row before.
    var differed: Bool { apple.map { $0.bytes != before.bytes } ?? false }
    /// Whether Apple says something else than the row after, with everything that Apple signed.
    public var remains: Bool { apple.map { $0.bytes != after.bytes } ?? false }
    var isChanged: Bool { before.bytes != after.bytes }
  }

  public let stream: StreamKey
  /// Apple's status, which it does not sign; nil if it has no subscription with this id.
  public let appleStatus: String?
  /// In the order of the row's members.
  public let fields: [Field]
  public let journaled: Int
  /// Codes of what was not taken.
  public let refused: [String]

  /// Whether Apple said something else than the row before.
  public var differed: Bool { fields.contains(where: \.differed) }
  /// Whether Apple still says something else, or something of its answer was not taken.
  public var remains: Bool { !refused.isEmpty || fields.contains(where: \.remains) }
  /// Whether what Apple signed changed the row.
  public var isChanged: Bool { fields.contains(where: \.isChanged) }

  /// - Parameters:
  ///   - before: the row before the answer was journaled; nil: none.
  ///   - after: the row after that.
  ///   - outcomes: what became of the answer's lines.
  ///   - time: that of both rows, milliseconds since 1970.
  ///   - durations: those of the app.
  public init(
    _ stream: StreamKey, _ answer: CustomerAnswer, before: RowDocument?, after: RowDocument?,
    _ outcomes: [Outcome], at time: Int64, durations: Durations,
    by fold: Fold
  ) {
    self.stream = stream
    let apple = AnsweredRow(stream, answer, outcomes, at: time, durations: durations, by: fold)
    appleStatus = apple.status
    fields = Self.fields(before, apple, after)
    journaled = outcomes.count { if case .accepted = $0 { true } else { false } }
    refused = outcomes.compactMap(\.refusal?.code)
  }

  /// Members that say nothing about the entitlement.
  private static let ignored: Set<String> = [
    "as_of", "known_at", "event_count", "last_event", "confirmed_at",
  ]

  private static func fields(
    _ before: RowDocument?, _ apple: AnsweredRow, _ after: RowDocument?
  ) -> [Field] {
    func members(_ row: RowDocument?) -> [(String, JSONValue)] {
      if case .object(let members)? = row?.json { members } else { [] }
    }
    let (old, new) = (members(before), members(after))
    let (oldByName, newByName) = (
      Dictionary(old, uniquingKeysWith: { $1 }), Dictionary(new, uniquingKeysWith: { $1 })
    )
    // A row without a value has all members but `anomaly`, which is absent unless it is true.
    let added = new.map(\.0).filter { oldByName[$0] == nil }
    var names = old.map(\.0) + added
    if names.isEmpty { names = apple.members.keys.sorted() }
    return names.filter { !ignored.contains($0) }.compactMap { name in
      let field = Field(
        name: name, before: oldByName[name] ?? .null, apple: apple.members[name],
        after: newByName[name] ?? .null)
      return field.isChanged || field.differed || field.remains ? field : nil
    }
  }

  public var json: JSONValue {
    .object([
      ("object", .string("reconciliation")), ("environment", .string(stream.environment.rawValue)),
      ("bundle_id", .string(stream.bundleId)),
      ("original_transaction_id", .string(stream.originalTransactionId)),
      ("apple_status", .optional(appleStatus)), ("agreed", .boolean(!remains)),
      ("journaled", .integer(Int64(journaled))),
      ("refused", .array(refused.map(JSONValue.string))),
      ("fields", .object(fields.map { ($0.name, $0.json) })),
    ])
  }
}

extension Reconciliation.Field {
  /// Without `apple` if Apple says nothing about the field.
  var json: JSONValue {
    .object(
      [("before", before)] + (apple.map { [("apple", $0)] } ?? []) + [("after", after)])
  }
}
