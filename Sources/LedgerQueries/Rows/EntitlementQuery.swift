public import AppStore
import Entitlements
import JournalStore
import LedgerEngine

/// The row of one customer.
extension LedgerReader {
  /// The row of an original transaction id; nil if there is none that may be shown.
  ///
  /// - Throws: `Failure.ambiguous` if several apps have the id; `Failure.notReady` while the
  ///   projection is built for the first time; `Failure.store` if a file cannot be read, or if an
  ///   answer about the past would lack an event whose body is damaged.
  public func entitlement(
    _ originalTransactionId: String, environment: Environment, bundleId: String?,
    _ question: Question
  ) throws(Failure) -> RowDocument? {
    // One projection for the whole answer, even if another one becomes live meanwhile.
    let projection = try projection()
    if question.isAboutThePast {
      return try pastEntitlement(originalTransactionId, environment, bundleId, question)
    }
    // The row and its successor are read from one state of the file.
    try beginSnapshot()
    defer { if !reusesSnapshot { endSnapshot() } }
    let all = try store { () throws(StoreError) in
      try projection.rows(withOriginalTransactionId: originalTransactionId)
    }
    let found = all.filter { Self.isAskedFor($0.key, environment, bundleId, question) }
    if let row = try Self.only(found) { return try document(row, question) }
    guard let live, !live.isMaintained else { return nil }
    // The stream may have begun after the projection was folded.
    return try pastEntitlement(originalTransactionId, environment, bundleId, question)
  }

  private func pastEntitlement(
    _ originalTransactionId: String, _ environment: Environment, _ bundleId: String?,
    _ question: Question
  ) throws(Failure) -> RowDocument? {
    let keys = try keys(originalTransactionId, environment, bundleId, question)
    guard let key = try Self.only(keys) else { return nil }
    return try document(key, try pastRow(of: key, question), question)
  }

  /// The streams of an original transaction id in the journal that may be shown.
  func keys(
    _ originalTransactionId: String, _ environment: Environment?, _ bundleId: String?,
    _ question: Question
  ) throws(Failure) -> [StreamKey] {
    let all = try store { () throws(StoreError) in
      try journal.streams(withOriginalTransactionId: originalTransactionId)
    }
    return all.filter { Self.isAskedFor($0, environment, bundleId, question) }
  }

  private static func isAskedFor(
    _ key: StreamKey, _ environment: Environment?, _ bundleId: String?, _ question: Question
  ) -> Bool {
    (environment.map { $0 == key.environment } ?? true)
      && (bundleId.map { $0 == key.bundleId } ?? true) && question.covers(key)
  }

  /// The element of an array that has one; nil if it is empty.
  static func only<Element>(_ found: [Element]) throws(Failure) -> Element? {
    guard found.count <= 1 else { throw .ambiguous }
    return found.first
  }

  // MARK: From a row to its document

  /// The document of a projected row; nil if there is no entitlement at the time asked about.
  func document(_ row: ProjectedRow, _ question: Question) throws(Failure) -> RowDocument? {
    try document(row.key, try self.row(row, question), question)
  }

  /// As `document(_:_:)`, of a row that was decoded or folded.
  func document(
    _ key: StreamKey, _ row: EntitlementRow, _ question: Question
  ) throws(Failure) -> RowDocument? {
    guard let entitlement = row.entitlement(at: question.time, durations: durations) else {
      return nil
    }
    return RowDocument(
      key: key, entitlement: entitlement, eventCount: row.eventCount, lastEvent: row.lastEvent,
      succeededBy: try successor(of: key, question), knownAt: question.knownAt)
  }

  /// Decodes a projected row. The projection is never trusted over the journal: if its bytes are
  /// damaged, or the stream has later events, the row is folded from the journal.
  func row(_ row: ProjectedRow, _ question: Question) throws(Failure) -> EntitlementRow {
    guard try !isBehind(row.key),
      let decoded = EntitlementRow(decoding: row.state, lastSeq: row.lastSeq)
    else { return try pastRow(of: row.key, question) }
    return decoded
  }
}
