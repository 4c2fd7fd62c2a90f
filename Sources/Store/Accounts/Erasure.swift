public import Platform

/// Forgets accounts.
extension Journal {
  /// Deletes an account's name with its key, and every byte of both in the files. The statements
  /// about it stay in the journal, under a mac that nobody can compute again, so that the chain
  /// stays whole (promise 5).
  ///
  /// - Parameter ship: needed in a copy of a shared journal. The other copies forget the account
  ///   when they follow.
  /// - Returns: whether the account was known.
  /// - Throws: `LedgerError.busy` if the account is deleted, but a reader still uses the
  ///   write-ahead log that has its name: the call is to be repeated. Otherwise what SQLite
  ///   reports.
  public func erase(
    account name: String, shipping ship: Shipper<Bool>? = nil
  ) throws(LedgerError) -> Bool {
    let isKnown = try forget(account: name, shipping: ship)
    try emptyWAL()
    return isKnown
  }

  /// Deletes an account, and stores that its bytes are to be removed from the -wal.
  func forget(
    account name: String, shipping ship: Shipper<Bool>? = nil
  ) throws(LedgerError) -> Bool {
    try write(shipping: ship) { (connection) throws(LedgerError) in
      try connection.statement("DELETE FROM account WHERE kind = 'account' AND name = ?")
        .bind(1, name).run()
      let isKnown = connection.changes > 0
      if isKnown { try recordErasure(connection) }
      return isKnown
    }
  }
}
