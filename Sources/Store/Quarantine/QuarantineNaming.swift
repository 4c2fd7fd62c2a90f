public import Platform

/// Fills in the original transaction id of notifications that were quarantined before the schema
/// had that column.
extension Journal {
  /// The greatest id of quarantine whose original transaction id is still to be read from the body,
  /// or 0 if there is none.
  ///
  /// - Throws: the error that has ended the journal, or what SQLite reports.
  public func unnamedThrough() throws(LedgerError) -> Int64 {
    try Meta(connection: connection()).int(.unnamedThrough) ?? 0
  }

  /// Stores original transaction ids that were found, and the progress in one SQL transaction. Ids
  /// of quarantine are processed in descending order.
  ///
  /// - Parameters:
  ///   - unnamedThrough: the greatest id that is still to be processed.
  ///   - ship: needed in a copy of a shared journal.
  /// - Throws: what SQLite reports. A fatal error ends the journal.
  public func setOriginalTransactionIds(
    _ found: [(id: Int64, originalTransactionId: String)], unnamedThrough: Int64,
    shipping ship: Shipper<Void>? = nil
  ) throws(LedgerError) {
    try write(shipping: ship) { (connection) throws(LedgerError) in
      for item in found {
        try connection.statement("UPDATE quarantine SET original_transaction_id = ? WHERE id = ?")
          .bind(1, item.originalTransactionId).bind(2, item.id).run()
      }
      try Meta(connection: connection).set(.unnamedThrough, unnamedThrough)
    }
  }
}

extension JournalReader {
  /// The original transaction ids of quarantined notifications, by id, as far as they were read
  /// from the bodies. An id with a body that names none is there with nil.
  ///
  /// - Throws: what SQLite reports.
  public func originalTransactionIds(
    of ids: ClosedRange<Int64>
  ) throws(LedgerError) -> [Int64: String?] {
    guard try hasHistory() else { return [:] }
    let unnamed = try Meta(connection: connection).int(.unnamedThrough) ?? 0
    let found = try connection.statement(
      "SELECT id, original_transaction_id FROM quarantine WHERE id > ? AND id BETWEEN ? AND ?"
    ).bind(1, unnamed).bind(2, ids.lowerBound).bind(3, ids.upperBound)
      .all { ($0.int(0), $0.optionalText(1)) }
    return Dictionary(found, uniquingKeysWith: { $1 })
  }
}
