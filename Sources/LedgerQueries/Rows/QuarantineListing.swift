public import Configuration
import JournalStore

extension LedgerReader {
  /// Looked at for one page at most: what a token may not see must not hold a thread.
  private static let quarantineScanLimit = 1000

  /// Up to `limit` in quarantine that a token may see, from this id downwards, and the last id that
  /// was looked at; nil at the end. What does not say of which app it is, is shown to those who may
  /// see everything.
  public func quarantine(
    through id: Int64, limit: Int, for token: Configuration.ReadToken
  ) throws(Failure) -> (items: [QuarantinedEntry], next: Int64?) {
    let piece = try store { () throws(StoreError) in
      try journal.quarantined(through: id, limit: Self.quarantineScanLimit, bodies: false)
    }
    var items: [QuarantinedEntry] = []
    for item in piece {
      let shown = QuarantinedEntry(item, isRaw: false)
      if token.covers(
        environment: shown.environment ?? "", bundleId: shown.bundleId ?? "")
      {
        items.append(shown)
      }
      if items.count == limit { return (items, item.id > 1 ? item.id : nil) }
    }
    return (items, piece.count < Self.quarantineScanLimit ? nil : piece.last?.id)
  }
}
