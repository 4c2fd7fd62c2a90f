public import Configuration
import JournalStore

extension LedgerReader {
  /// Rows of quarantine that are read at a time.
  private static let quarantineBatch = 1000

  /// Up to `limit` quarantined notifications that a token may see, from an id downwards, and the id
  /// of the last of them; nil at the end. Notifications that name no app are only shown to a
  /// token without lists.
  ///
  /// A page is full, or the last one. For that, all that a token may not see is read at most: of
  /// other apps that is 20,000 rows, because there are no more (design, section 6).
  ///
  /// - Throws: `Failure.store` if the journal cannot be read.
  public func quarantine(
    through id: Int64, limit: Int, for token: Configuration.ReadToken
  ) throws(Failure) -> (items: [QuarantinedEntry], next: Int64?) {
    var items: [QuarantinedEntry] = []
    var last: Int64?
    var place = id
    while true {
      let through = place
      let batch = try store { () throws(StoreError) in
        try journal.quarantined(through: through, limit: Self.quarantineBatch, bodies: false)
      }
      for item in batch {
        let shown = QuarantinedEntry(item, isRaw: false)
        guard token.covers(environment: shown.environment, bundleId: shown.bundleId) else {
          continue
        }
        if items.count == limit { return (items, last) }
        items.append(shown)
        last = item.id
      }
      guard batch.count == Self.quarantineBatch, let read = batch.last else { return (items, nil) }
      place = read.id - 1
    }
  }
}
