public import AppStore
public import Entitlements
import Store
public import StrictJSON

/// One row with its entitlement at a time: the `entitlement` object of the public contract.
public struct RowDocument: Sendable {
  let answer: RowAnswer
  /// When Apple last said the same without a notification, milliseconds since 1970; nil: never, as
  /// far as is known. No part of the row proper.
  public let confirmedAt: Int64?
  /// The owner's accounts that have the purchase, in the order in which they claimed it. No part of
  /// the row proper.
  public let accounts: [String]
  /// How many there are, of which `accounts` has the first.
  public let accountCount: Int
  /// The end of the current billing period, milliseconds since 1970; nil: it does not end. The
  /// outer nil: not determined, and the row then does not have the member.
  let periodEndsAt: Int64??
  /// The `known_at` of the question, milliseconds since 1970; nil: all events that we have.
  let knownAt: Int64?

  /// How many accounts a row names.
  static let maximumAccounts = 20

  public init(
    key: StreamKey, entitlement: Entitlement, eventCount: Int64, lastEvent: StreamState.LastEvent?,
    succeededBy: String?, confirmedAt: Int64? = nil,
    accounts: (names: [String], count: Int) = ([], 0), periodEndsAt: Int64?? = nil, knownAt: Int64?
  ) {
    answer = RowAnswer(
      key: key, entitlement: entitlement, eventCount: eventCount, lastEvent: lastEvent,
      succeededBy: succeededBy)
    self.confirmedAt = confirmedAt
    (self.accounts, accountCount) = accounts
    self.periodEndsAt = periodEndsAt
    self.knownAt = knownAt
  }

  public var key: StreamKey { answer.key }
  public var entitlement: Entitlement { answer.entitlement }
  public var eventCount: Int64 { answer.eventCount }
  public var lastEvent: StreamState.LastEvent? { answer.lastEvent }
  public var succeededBy: String? { answer.succeededBy }

  /// The JSON object: members in the contract's order, times in milliseconds since 1970.
  public var json: JSONValue { Self.object.json(self) }

  /// A row of `entitlement_v1` at a time, milliseconds since 1970, with the same members.
  static func json(_ row: ProjectionComparison.Row, at time: Int64) -> JSONValue {
    let fields = RowField.members(of: RowField.all).map { ($0.name, $0.json(of: row)) }
    return .object(
      [("object", .string("entitlement"))]
        + fields.filter { $0.0 != "anomaly" || $0.1 == .boolean(true) }
        + [("as_of", .integer(time)), ("known_at", .null)])
  }

  /// Its fields, `as_of` and `known_at` before the number of events, then what is no part of the
  /// row proper. `anomaly` is true or absent.
  public static let object: JSONObject<RowDocument> = {
    let fields = RowField.members(of: RowField.all).filter { $0.name != "anomaly" }
      .map { field in
        JSONMember<RowDocument>(field.name, field.schema) { field.json(of: $0.answer) }
      }
    let place = fields.firstIndex { $0.name == "event_count" } ?? fields.count
    return JSONObject(
      "Entitlement",
      [.type("entitlement")] + fields[..<place] + times + fields[place...] + others)
  }()

  /// The time that an answer is for. Of customers too.
  static let asOf = JSONSchema.time("The time that this answer is for.")

  private static let times: [JSONMember<RowDocument>] = [
    JSONMember("as_of", asOf) { $0.entitlement.asOf },
    JSONMember(
      "known_at",
      .time(
        "Only what had been received by then is used; null if everything is. It rests on the "
          + "journal's receive times: this machine's clock, except that they never decrease. "
          + "After a clock that was ahead, events keep the time of the last one before them.")
    ) { $0.knownAt },
  ]

  private static let others: [JSONMember<RowDocument>] = [
    .ifAny(
      "period_ends_at",
      .time(
        "The end of the current billing period, where `expires_at` is the end of all that is "
          + "paid for; null if the product does not expire.")
    ) { $0.periodEndsAt },
    .ifAny("confirmed_at", confirmed) { $0.confirmedAt },
    .ifAny(
      "accounts",
      .list(
        .text(
          "An account of yours that has the purchase, the first 20 to claim it. Absent if none "
            + "has."))
    ) { $0.accountCount > 0 ? $0.accounts : nil },
    .ifAny("account_count", .integer("How many accounts have it. Absent if none has.")) {
      $0.accountCount > 0 ? $0.accountCount : nil
    },
    .ifAny("shared_by_accounts", .boolean("More than one account has it. True or absent.")) {
      $0.accountCount > 1 ? true : nil
    },
    .ifAny(
      "anomaly",
      .boolean("A transaction has a date, price or quantity that no purchase has. True or absent.")
    ) { $0.entitlement.hasAnomaly ? true : nil },
  ]

  /// Of the timeline too.
  static let confirmed = JSONSchema.time(
    "When Apple, asked for it, last said the same. Absent if it was not asked.")
}
