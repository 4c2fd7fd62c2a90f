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

  /// True or absent, at the end.
  private static let anomaly = "anomaly"
  private static let members = RowField.members.filter { $0.name != anomaly }

  /// The JSON object: members in the contract's order, times in milliseconds since 1970.
  public var json: JSONValue {
    var members: [(String, JSONValue)] = [("object", .string("entitlement"))]
    for member in Self.members {
      if member.name == "event_count" {
        members += [("as_of", .integer(entitlement.asOf)), ("known_at", .optional(knownAt))]
      }
      members.append((member.name, answer.json(member)))
    }
    if let periodEndsAt { members.append(("period_ends_at", .optional(periodEndsAt))) }
    if let confirmedAt { members.append(("confirmed_at", .integer(confirmedAt))) }
    if accountCount > 0 {
      members += [
        ("accounts", .array(accounts.map(JSONValue.string))),
        ("account_count", .integer(Int64(accountCount))),
      ]
    }
    if accountCount > 1 { members.append(("shared_by_accounts", .boolean(true))) }
    if entitlement.hasAnomaly { members.append((Self.anomaly, .boolean(true))) }
    return .object(members)
  }
}

extension RowAnswer {
  fileprivate func json(_ member: RowField.Member) -> JSONValue {
    guard member.isObject else { return member.fields[0].field.value(self).json }
    if case .none = member.fields[0].field.value(self) { return .null }
    return .object(member.fields.map { ($0.name, $0.field.value(self).json) })
  }
}

extension RowField.Value {
  fileprivate var json: JSONValue {
    switch self {
    case .none: .null
    case .text(let text): .string(text)
    case .integer(let number): .integer(number)
    case .flag(let flag): .boolean(flag)
    case .uuid(let uuid): .string(uuid.description)
    }
  }
}
