/// Whether a folder's journal is a journal of its own or a copy of a shared one.
extension Journal {
  /// Checks that the journal is what its opener takes it for.
  ///
  /// - Parameter sharedId: as in `open`.
  /// - Returns: whether it is a copy.
  static func requireRole(
    of connection: SQLiteConnection, _ sharedId: (([UInt8]) throws(StoreError) -> [UInt8])?
  ) throws(StoreError) -> Bool {
    let meta = Meta(connection: connection)
    let isCopy = try meta.int(.shared) == 1
    guard let sharedId else {
      if isCopy { throw .copyWithoutSharedJournal }
      return false
    }
    guard isCopy else {
      throw .foreign(
        "the folder holds a journal of its own; upload it with `subledger shared-journal init "
          + "--from FOLDER`, or give an empty --data")
    }
    let own = try meta.bytes(.journalId) ?? []
    guard try sharedId(own) == own else {
      throw .foreign("the folder is a copy of another shared journal")
    }
    return true
  }
}
