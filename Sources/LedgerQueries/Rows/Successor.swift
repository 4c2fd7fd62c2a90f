import AppStore
import Entitlements
import JournalStore
import LedgerEngine

extension LedgerReader {
  /// The original transaction id of the stream that names this one as its predecessor (MIGRATION);
  /// of several, the one whose last event Apple signed last. Nil if there is none.
  ///
  /// While rows are built and none can be read, only successors that were named since the process
  /// started are known.
  ///
  /// - Parameter opened: the projection that this answer reads.
  func successor(
    of key: StreamKey, _ question: Question, _ opened: Opened?
  ) throws(Failure) -> String? {
    guard maySucceed(key.originalTransactionId) else { return nil }
    var candidates = try candidates(key, question, opened)
    if !isFollowing {
      for other in knownSuccessors(of: key.originalTransactionId) where candidates[other] == nil {
        candidates[other] = try journaledRow(of: other, question)
      }
    }
    var newest: (signed: Int64, id: String)?
    for (other, row) in candidates
    where other.environment == key.environment && other.bundleId == key.bundleId {
      guard row.previousOriginalTransactionId == key.originalTransactionId,
        let signed = row.lastEvent?.signedDate
      else { continue }
      let found = (signed, other.originalTransactionId)
      if newest.map({ $0 < found }) ?? true { newest = found }
    }
    return newest?.id
  }

  /// The streams that the projection, or a later event, knows to name this one.
  private func candidates(
    _ key: StreamKey, _ question: Question, _ opened: Opened?
  ) throws(Failure) -> [StreamKey: EntitlementRow] {
    var found: [StreamKey: EntitlementRow] = [:]
    guard let opened else { return found }
    let rows =
      rows { () throws(StoreError) in
        try opened.reader.rows(withPreviousOriginalTransactionId: key.originalTransactionId)
      } ?? []
    let isCurrent = !question.isAboutThePast && opened.isOwn && isFollowing
    for row in rows {
      found[row.key] = isCurrent ? row.row : try journaledRow(of: row.key, question)
    }
    return found
  }
}
