public import Configuration
import JournalStore

extension LedgerReader {
  /// Rows of quarantine that are scanned for one page at most: those that a token may not see must
  /// not occupy a thread.
  private static let quarantineScanLimit = 1000

  /// Up to `limit` quarantined notifications that a token may see, from an id downwards, and the
  /// last id that was scanned; nil at the end. Notifications that name no app are only shown to a
  /// token without lists.
  ///
  /// - Throws: `Failure.store` if the journal cannot be read.
  public func quarantine(
    through id: Int64, limit: Int, for token: Configuration.ReadToken
  ) throws(Failure) -> (items: [QuarantinedEntry], next: Int64?) {
    let batch = try store { () throws(StoreError) in
      try journal.quarantined(through: id, limit: Self.quarantineScanLimit, bodies: false)
    }
    var items: [QuarantinedEntry] = []
    for item in batch {
      let shown = QuarantinedEntry(item, isRaw: false)
      if token.covers(environment: shown.environment, bundleId: shown.bundleId) {
        items.append(shown)
      }
      if items.count == limit { return (items, item.id > 1 ? item.id : nil) }
    }
    return (items, batch.count < Self.quarantineScanLimit ? nil : batch.last?.id)
  }
}
