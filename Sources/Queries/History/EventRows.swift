public import AppStore
public import Entitlements
public import Platform
import Store
public import StrictJSON

/// The rows of a stream right before and right after one of its events.
///
/// Both are evaluated at the same time, so that what changed because time passed is not among the
/// changes. They have what the contract calls the row proper: neither `confirmed_at` nor accounts,
/// which later evidence and an erasure would change.
public struct EventRows: Sendable {
  /// Nil: there was no row.
  public let before: RowDocument?
  public let after: RowDocument?
  /// The JSON of `after`, which takes longer to make than to compare.
  public let json: JSONValue?
  /// The next answer by the passing of time alone: the first of `EntitlementRow.transitions`.
  public let next: Entitlement?

  /// The members that the event changed, with their values before and after it.
  public var changes: [HistoryEntry.Change] {
    RowMembers(json).changes(since: RowMembers(before?.json))
  }

  init(before: RowDocument?, after: RowDocument?, next: Entitlement?) {
    (self.before, self.after, self.next) = (before, after, next)
    json = after?.json
  }
}

extension LedgerReader {
  /// The rows around one event, folded from the journal by this program's rules: from the stream's
  /// events before `seq`, and from those through `seq`. The answer is the same whenever it is asked
  /// for, as long as the fold stays the same.
  ///
  /// Folds the stream's earlier events, unless an earlier event of it was asked about last: then
  /// only those since. The evaluation takes time proportional to the stream's transactions, 1.2 ms
  /// for 3,000.
  ///
  /// - Parameters:
  ///   - seq: of an event of the stream.
  ///   - time: when both rows are evaluated, such as the receive time of the event; milliseconds
  ///     since 1970.
  /// - Throws: `LedgerError.notReady` while no projection can be read, because it knows the streams
  ///   that replaced others; what SQLite reports.
  public func rows(
    around seq: Int64, of key: StreamKey, at time: Int64
  ) throws(LedgerError) -> EventRows {
    guard let opened = readable() else { throw .notReady(state) }
    let rows = try folds.rows(around: seq, of: key, since: time, journal)
    var question = Question(now: time)
    question.through = seq
    let successor = try successor(of: key, question, opened)
    return EventRows(
      before: document(key, rows.before, at: time, successor),
      after: document(key, rows.after, at: time, successor),
      next: rows.after.transitions(after: time, durations: durations[key]).first)
  }

  /// The row proper at a time; nil if there is no entitlement then.
  func document(
    _ key: StreamKey, _ row: EntitlementRow, at time: Int64, _ successor: String?
  ) -> RowDocument? {
    let durations = durations[key]
    return row.entitlement(at: time, durations: durations).map { entitlement in
      RowDocument(
        key: key, entitlement: entitlement, eventCount: row.eventCount,
        lastEvent: row.lastEvent, succeededBy: successor,
        periodEndsAt: .some(row.periodEnd(at: time, durations: durations)), knownAt: nil)
    }
  }
}
