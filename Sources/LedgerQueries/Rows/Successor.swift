import AppStore
import Entitlements
import JournalStore
import LedgerEngine

extension LedgerReader {
  /// The original transaction id of the stream that names this one as its predecessor (MIGRATION);
  /// of several, the one whose last event Apple signed last. Nil if there is none.
  func successor(of key: StreamKey, _ question: Question) throws(Failure) -> String? {
    let projection: ProjectionReader
    if let live { projection = live.reader } else { projection = try self.projection() }
    let candidates = try store { () throws(StoreError) in
      try projection.rows(withPreviousOriginalTransactionId: key.originalTransactionId)
    }
    var newest: (signed: Int64, id: String)?
    for candidate in candidates
    where candidate.key.environment == key.environment && candidate.key.bundleId == key.bundleId {
      let row =
        question.isAboutThePast
        ? try pastRow(of: candidate.key, question) : try self.row(candidate, question)
      guard row.previousOriginalTransactionId == key.originalTransactionId,
        let signed = row.lastEvent?.signedDate
      else { continue }
      let found = (signed, candidate.key.originalTransactionId)
      if newest.map({ $0 < found }) ?? true { newest = found }
    }
    return newest?.id
  }
}
