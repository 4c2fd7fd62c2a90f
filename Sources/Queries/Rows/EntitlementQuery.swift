public import AppStore
import Entitlements
import Ledger
public import Platform
import Store

/// The row of one customer.
extension LedgerReader {
  /// The row of an original transaction id; nil if there is none that may be shown.
  ///
  /// - Throws: `LedgerError.ambiguous` if several apps have the id; what the store throws if the
  ///   journal cannot be read, or if an answer about the past would lack an event whose body is
  ///   damaged.
  public func entitlement(
    _ originalTransactionId: String, environment: Environment, bundleId: String?,
    _ question: Question
  ) throws(LedgerError) -> RowDocument? {
    defer { endSnapshot() }
    let found = try located(
      originalTransactionId, environment, bundleId, question, .since(question.time))
    guard let found else { return nil }
    return try document(found.key, found.row, question, found.opened)
  }

  /// Whether a row with this id has a purchase without an end of its own, which a duration may end
  /// that is configured and was not put in force.
  ///
  /// - Throws: what SQLite reports.
  public func mayLast(
    _ originalTransactionId: String, _ question: Question
  ) throws(LedgerError) -> Bool {
    for key in try keys(originalTransactionId, nil, nil, question) {
      guard durations.said(of: key) == nil else { continue }
      if try journaledRow(of: key, question).lasting != nil { return true }
    }
    return false
  }

  /// A row that was found, and the projection that the rest of the answer reads.
  struct Located {
    let key: StreamKey
    let row: EntitlementRow
    let opened: Opened?
  }

  /// As `entitlement`, before the time is applied. The caller ends the snapshot.
  func located(
    _ originalTransactionId: String, _ environment: Environment, _ bundleId: String?,
    _ question: Question, _ spans: WantedSpans
  ) throws(LedgerError) -> Located? {
    let current = readable()
    guard !question.isAboutThePast, let opened = current, opened.isOwn,
      let found = projected(
        opened.reader, originalTransactionId, environment, bundleId, question, spans)
    else {
      return try journaledEntitlement(
        originalTransactionId, environment, bundleId, question, current)
    }
    let row = try Self.only(found)
    // A stream without a row has events that the projection lacks, or none at all.
    if !isFollowing,
      try row.map({ (row) throws(LedgerError) in try isBehind(row.key, opened) }) ?? true
    {
      return try journaledEntitlement(
        originalTransactionId, environment, bundleId, question, opened)
    }
    return row.map { Located(key: $0.key, row: $0.row, opened: opened) }
  }

  /// The rows with an id that may be shown; nil if the projection cannot be read. That there is
  /// none is confirmed in the journal.
  private func projected(
    _ projection: ProjectionReader, _ originalTransactionId: String, _ environment: Environment,
    _ bundleId: String?, _ question: Question, _ spans: WantedSpans
  ) -> [ProjectedRow]? {
    rows { () throws(LedgerError) in
      // The row and its successor are read from one state of the file.
      try beginSnapshot()
      let found = try projection.rows(withOriginalTransactionId: originalTransactionId, spans)
        .filter { Self.isAskedFor($0.key, environment, bundleId, question) }
      guard found.isEmpty else { return found }
      for key in try keys(originalTransactionId, environment, bundleId, question) {
        if try journal.hasEvents(of: key, through: try projection.foldedThrough()) {
          throw .corrupt("the row of a stream is missing")
        }
      }
      return []
    }
  }

  /// Whether the journal has events of a stream that its row lacks.
  private func isBehind(_ key: StreamKey, _ opened: Opened) throws(LedgerError) -> Bool {
    let through = rows { () throws(LedgerError) in try opened.reader.foldedThrough() } ?? 0
    return try journal.hasEvents(of: key, after: through)
  }

  private func journaledEntitlement(
    _ originalTransactionId: String, _ environment: Environment, _ bundleId: String?,
    _ question: Question, _ opened: Opened?
  ) throws(LedgerError) -> Located? {
    let keys = try keys(originalTransactionId, environment, bundleId, question)
    guard let key = try Self.only(keys) else { return nil }
    return Located(key: key, row: try journaledRow(of: key, question), opened: opened)
  }

  /// The streams of an original transaction id in the journal that may be shown.
  func keys(
    _ originalTransactionId: String, _ environment: Environment?, _ bundleId: String?,
    _ question: Question
  ) throws(LedgerError) -> [StreamKey] {
    let all = try journal.streams(withOriginalTransactionId: originalTransactionId)
    return all.filter { Self.isAskedFor($0, environment, bundleId, question) }
  }

  private static func isAskedFor(
    _ key: StreamKey, _ environment: Environment?, _ bundleId: String?, _ question: Question
  ) -> Bool {
    (environment.map { $0 == key.environment } ?? true)
      && (bundleId.map { ByteSearch.areEqual($0, key.bundleId) } ?? true) && question.covers(key)
  }

  /// The element of an array that has one; nil if it is empty.
  static func only<Element>(_ found: [Element]) throws(LedgerError) -> Element? {
    guard found.count <= 1 else { throw .ambiguous }
    return found.first
  }

  // MARK: From a row to its document

  /// The document of a row; nil if there is no entitlement at the time asked about.
  ///
  /// - Parameter opened: the projection that this answer reads.
  func document(
    _ key: StreamKey, _ row: EntitlementRow, _ question: Question, _ opened: Opened?
  ) throws(LedgerError) -> RowDocument? {
    let durations = durations(question)[key]
    guard let entitlement = row.entitlement(at: question.time, durations: durations) else {
      return nil
    }
    return RowDocument(
      key: key, entitlement: entitlement, eventCount: row.eventCount, lastEvent: row.lastEvent,
      succeededBy: try successor(of: key, question, opened),
      confirmedAt: try confirmedAt(key, question),
      accounts: try accounts(key, question),
      periodEndsAt: .some(row.periodEnd(at: question.time, durations: durations)),
      knownAt: question.knownAt)
  }
}
