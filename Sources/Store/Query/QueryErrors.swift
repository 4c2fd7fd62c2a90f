public import Platform

// Why a query has no result. `LedgerError.usage` says that the SQL is wrong, or asks for something
// that a query must not do: its text may contain parts of the SQL.

extension LedgerError {
  /// The view belongs to a file that the folder does not have.
  package static func missing(view: String) -> LedgerError {
    guard view == SQLView.customerEntitlement.name else {
      return .unavailable(
        "no rows were built yet, so \(view) cannot be read; start `subledger serve`, or run "
          + "`subledger rebuild --apply`")
    }
    return .unavailable(
      "\(view) cannot be read yet: the daemon makes it where `entitlements` is configured; start "
        + "`subledger serve`")
  }

  /// The view is not known as it was.
  static func ofNow(view: String) -> LedgerError {
    .usage(
      view == SQLView.customerEntitlement.name
        ? "\(view) is of now alone; `subledger customer ID --known-at T` answers for one customer"
        : "\(view) is of now alone: nothing tells what it was at a moment of the past")
  }

  /// The query took longer than allowed.
  public static func timeLimit(seconds: Int64) -> LedgerError {
    .unavailable(
      "the query took longer than \(seconds) s; allow more with --limit-seconds N, or ask for less")
  }

  /// The query needs more memory than it may have.
  package static let memoryLimit = unavailable(
    "the query needs more than \(QueryReader.maximumMemory >> 20) MiB of memory, or has a row of "
      + "more than \(QueryReader.maximumRow >> 20) MiB; ask for less")

  /// A process began to write to files that were read as files at rest.
  package static let filesChanged = unavailable(
    "a daemon was started on the folder while it was read; run the query again")
}
