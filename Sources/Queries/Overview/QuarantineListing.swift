public import Ledger
public import Platform
public import Store

extension LedgerReader {
  /// Rows of quarantine that are read at a time: without bodies, and with them.
  private static let quarantineBatch = (plain: 1000, raw: 100)

  /// Up to `limit` quarantined notifications that match and that a token may see, from an id
  /// downwards, and the id of the last of them; nil at the end. Notifications that name no app are
  /// only shown to a token without lists.
  ///
  /// A page is full, or the last one. For that, all that a token may not see is read at most: of
  /// other apps that is 20,000 rows, because there are no more (design, section 6).
  ///
  /// - Parameter isRaw: whether to add the decoded payloads.
  /// - Throws: what SQLite reports.
  public func quarantine(
    through id: Int64, _ filter: QuarantineFilter, limit: Int, isRaw: Bool,
    for token: Configuration.ReadToken
  ) throws(LedgerError) -> (items: [QuarantinedEntry], next: Int64?) {
    let size = isRaw ? Self.quarantineBatch.raw : Self.quarantineBatch.plain
    var items: [QuarantinedEntry] = []
    var last: Int64?
    var place = id
    while true {
      let through = place
      let batch = try journal.quarantined(through: through, limit: size, filter, bodies: isRaw)
      for item in batch {
        guard token.covers(environment: item.environment, bundleId: item.bundleId) else {
          continue
        }
        if items.count == limit { return (items, last) }
        items.append(QuarantinedEntry(item, isRaw: isRaw))
        last = item.id
      }
      guard batch.count == size, let read = batch.last else { return (items, nil) }
      place = read.id - 1
    }
  }
}
