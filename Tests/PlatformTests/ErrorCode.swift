import Platform

/// The errno of the `LedgerError` that `body` throws; nil if it throws nothing.
func errorCode(_ body: () throws(LedgerError) -> Void) -> Int32? {
  do throws(LedgerError) {
    try body()
    return nil
  } catch {
    return error.number
  }
}
