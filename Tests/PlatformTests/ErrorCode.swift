import Platform

/// The errno of the `PlatformError` that `body` throws; nil if it throws nothing.
func errorCode(_ body: () throws(PlatformError) -> Void) -> Int32? {
  do throws(PlatformError) {
    try body()
    return nil
  } catch {
    switch error {
    case .system(_, let code): return code
    }
  }
}
