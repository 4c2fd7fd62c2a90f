import AppStore
import Entitlements
import LedgerQueries
public import Platform

/// What `ResourceSampler` found last.
public struct ResourceReadings: Sendable {
  /// Bytes; 0 if there is no such file.
  public var journalBytes: Int64 = 0
  public var walBytes: Int64 = 0
  /// Nil if the file system did not answer.
  public var disk: DiskSpace?
  /// Nil until the rows are counted for the first time, and if they could not be read.
  var rows: RowCount.Result?

  public init() {}
}

extension ResourceReadings {
  /// The rows by environment and status, the number of rows whose fold failed, and the time of the
  /// count in milliseconds since 1970; nil if there is no count.
  public var rowCounts:
    (at: Int64, rows: [(environment: String, status: String, count: Int64)], broken: Int64)?
  {
    guard let rows else { return nil }
    var counts: [String: [String: Int64]] = [:]
    for (app, statuses) in rows.byStatus {
      for (status, count) in statuses {
        counts[app.environment.rawValue, default: [:]][status.rawValue, default: 0] += count
      }
    }
    let sorted = counts.sorted { $0.key < $1.key }.flatMap { environment, statuses in
      statuses.sorted { $0.key < $1.key }.map {
        (environment: environment, status: $0.key, count: $0.value)
      }
    }
    return (rows.at, sorted, rows.broken.values.reduce(0, +))
  }
}
