public import Platform

/// Why a query has no result. The description says what to do about it.
public enum QueryError: Error, Sendable, Equatable {
  /// The SQL is wrong, or it asks for something that a query must not do. The text may contain
  /// parts of the SQL.
  case refused(String)
  /// The view belongs to the projection, and the folder has none.
  case noProjection(view: String)
  /// The query took longer than allowed.
  case timeLimit(seconds: Int64)
  /// The query needs more memory than it may have.
  case memoryLimit
  /// The user asked the query to stop.
  case interrupted
  /// A process began to write to files that were read as files at rest.
  case filesChanged
  case store(LedgerError)
}

extension QueryError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .refused(let reason): reason
    case .noProjection(let view):
      "no rows were built yet, so \(view) cannot be read; start `subledger serve`, or run "
        + "`subledger rebuild --apply`"
    case .timeLimit(let seconds):
      "the query took longer than \(seconds) s; allow more with --limit-seconds N, or ask for less"
    case .memoryLimit:
      "the query needs more than \(QueryReader.maximumMemory >> 20) MiB of memory, or has a row of "
        + "more than \(QueryReader.maximumRow >> 20) MiB; ask for less"
    case .interrupted: "stopped"
    case .filesChanged:
      "a daemon was started on the folder while it was read; run the query again"
    case .store(let error): error.description
    }
  }
}
