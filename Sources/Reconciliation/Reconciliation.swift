public import AppStore
import AppStoreClient
import Entitlements
import JournalStore
public import LedgerEngine
public import LedgerQueries
public import StrictJSON

/// Compares what Apple says now of one customer with the row, before and after Apple's answer is
/// journaled.
public struct Reconciliation: Sendable {
  /// A member of the row that Apple's answer changed.
  public struct Change: Sendable {
    public let field: String
    public let before: JSONValue
    public let after: JSONValue
  }

  public let stream: StreamKey
  /// Apple's status, which it does not sign; nil if it has no subscription with this id.
  public let appleStatus: String?
  public let status: String?
  public let changes: [Change]
  public let journaled: Int
  /// Codes of what was not taken.
  public let refused: [String]

  /// Whether the row, with everything that Apple signed, has another status than Apple.
  public var remains: Bool {
    !refused.isEmpty || (appleStatus.map { $0 != status } ?? false)
  }

  /// developer.apple.com/documentation/appstoreserverapi/status
  private static let statuses: [Int64: Entitlement.Status] = [
    1: .active, 2: .expired, 3: .billingRetry, 4: .gracePeriod, 5: .revoked,
  ]

  /// - Parameters:
  ///   - before: the row before the answer was journaled; nil: none.
  ///   - after: the row after that.
  public init(
    _ stream: StreamKey, _ answer: CustomerAnswer, before: RowDocument?, after: RowDocument?,
    _ dispositions: [Disposition]
  ) {
    self.stream = stream
    let subscription = answer.subscriptions.last {
      $0.originalTransactionId == stream.originalTransactionId
    }
    appleStatus = subscription.map { found in
      Self.statuses[found.status]?.rawValue ?? "status \(found.status)"
    }
    status = after?.entitlement.status.rawValue
    changes = Self.changes(before, after)
    journaled = dispositions.count { if case .accepted = $0 { true } else { false } }
    refused = dispositions.compactMap { disposition in
      if case .refused(let refusal) = disposition { refusal.code } else { nil }
    }
  }

  /// Members that say nothing about the entitlement.
  private static let ignored: Set<String> = [
    "as_of", "known_at", "event_count", "last_event", "confirmed_at",
  ]

  private static func changes(_ before: RowDocument?, _ after: RowDocument?) -> [Change] {
    func members(_ row: RowDocument?) -> [(String, JSONValue)] {
      if case .object(let members)? = row?.json { members } else { [] }
    }
    let old = Dictionary(members(before), uniquingKeysWith: { $1 })
    return members(after).compactMap { name, value in
      let known = old[name] ?? .null
      guard !ignored.contains(name), known.bytes != value.bytes else { return nil }
      return Change(field: name, before: known, after: value)
    }
  }

  public var json: JSONValue {
    .object([
      ("object", .string("reconciliation")), ("environment", .string(stream.environment.rawValue)),
      ("bundle_id", .string(stream.bundleId)),
      ("original_transaction_id", .string(stream.originalTransactionId)),
      ("apple_status", .optional(appleStatus)), ("status", .optional(status)),
      ("agreed", .boolean(!remains)), ("journaled", .integer(Int64(journaled))),
      ("refused", .array(refused.map(JSONValue.string))),
      (
        "changes",
        .object(
          changes.map {
            ($0.field, .object([("before", $0.before), ("after", $0.after)]))
          })
      ),
    ])
  }
}
