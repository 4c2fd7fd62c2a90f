public import AppStore
import Entitlements
public import Platform
import Store

/// What time alone changes (promise 8: a row follows from signed facts and the time).
public struct Turn: Sendable, Hashable {
  /// Milliseconds since 1970.
  public let at: Int64
  /// The stream's id in the journal.
  public let stream: Int64
  public let key: StreamKey
}

extension LedgerReader {
  /// Whether `turns` has an answer now.
  public var knowsTurns: Bool {
    guard let opened = readable() else { return false }
    return opened.isOwn && isFollowing
  }

  /// The first moments after a time, through another, at which the answers of rows may change by
  /// time alone, in order of time. Nil while the live projection lacks events or is of another
  /// fold: what it says then need not be so.
  ///
  /// - Parameters:
  ///   - after: milliseconds since 1970, as `last` is.
  ///   - limit: how many at most.
  /// - Throws: what SQLite reports.
  public func turns(
    after time: Int64, through last: Int64, limit: Int
  ) throws(LedgerError) -> [Turn]? {
    guard let opened = readable(), opened.isOwn, isFollowing else { return nil }
    defer { endSnapshot() }
    let projected = rows { () throws(LedgerError) in
      try beginSnapshot()
      return try opened.reader.turns(after: time, through: last, limit: limit)
    }
    guard let projected else { return nil }
    var found: [Turn] = []
    for turn in projected {
      // The rows may be newer than the state of the journal that is read.
      guard let stream = try journal.streamId(of: turn.key) else { return nil }
      found.append(Turn(at: turn.at, stream: stream, key: turn.key))
    }
    return found
  }

  /// The rows of a stream right before and at a moment, and the last event that is folded in: from
  /// the events that were received by then. Nil if time alone changes nothing then, or an event
  /// that came later says otherwise.
  ///
  /// The answer is the same whenever it is asked for, as long as the fold stays the same and no
  /// event overtakes the moment.
  ///
  /// - Parameter time: milliseconds since 1970.
  /// - Throws: as `rows(around:of:at:)`.
  public func rows(
    turningAt time: Int64, of key: StreamKey
  ) throws(LedgerError) -> (rows: EventRows, seq: Int64)? {
    guard let (row, seq, successor) = try folded(receivedBy: time, of: key) else { return nil }
    guard turns(row, at: time, key) else { return nil }
    let last = try journal.lastSeq(of: key)
    if let last, last > seq {
      let present = try folds.row(through: last, of: key, since: time - 1, journal)
      guard turns(present, at: time, key) else { return nil }
    }
    let rows = EventRows(
      before: document(key, row, at: time - 1, successor),
      after: document(key, row, at: time, successor),
      next: row.transitions(after: time, durations: durations[key]).first)
    return (rows, seq)
  }

  private func turns(_ row: EntitlementRow, at time: Int64, _ key: StreamKey) -> Bool {
    !row.transitions(after: time - 1, through: time, durations: durations[key]).isEmpty
  }

  /// The row of a stream at a time, from the events that were received by then, and the last of
  /// them. Nil if there was none.
  ///
  /// - Parameter time: milliseconds since 1970.
  /// - Throws: as `rows(around:of:at:)`.
  public func row(
    knownAt time: Int64, of key: StreamKey
  ) throws(LedgerError) -> (rows: EventRows, seq: Int64)? {
    guard let (row, seq, successor) = try folded(receivedBy: time, of: key) else { return nil }
    let after = document(key, row, at: time, successor)
    let next = row.transitions(after: time, durations: durations[key]).first
    return (EventRows(before: after, after: after, next: next), seq)
  }

  /// A stream folded through the events that were received by a time, as of right before it; the
  /// last of them, and what replaced the stream. Nil if there was none.
  private func folded(
    receivedBy time: Int64, of key: StreamKey
  ) throws(LedgerError) -> (row: EntitlementRow, seq: Int64, successor: String?)? {
    guard let opened = readable() else { throw .notReady(state) }
    let known = try journal.lastSeq(of: key, receivedThrough: time)
    guard let seq = known else { return nil }
    let row = try folds.row(through: seq, of: key, since: time - 1, journal)
    var question = Question(now: time)
    question.through = seq
    return (row, seq, try successor(of: key, question, opened))
  }
}
