public import AppStore
public import Entitlements
import JournalStore

/// Counts the rows of the live projection by app and status at one time, in small batches.
///
/// A status changes by the passing of time alone, so counts cannot be maintained by the writer.
/// Counting millions of rows takes minutes at the rate that leaves the processor to others, so each
/// result says which time it is of.
public final class RowCount {
  /// An app in one environment.
  public struct App: Hashable, Sendable {
    public let environment: Environment
    let bundleId: String
  }

  public struct Result: Sendable {
    /// The time that the rows were evaluated at, milliseconds since 1970.
    public let at: Int64
    /// The number of rows by app and status.
    public var byStatus: [App: [Entitlement.Status: Int64]] = [:]
    /// Rows whose fold failed (promise 9).
    public var broken: [App: Int64] = [:]
    /// The last seq in the projection when the count began.
    var foldedThrough: Int64 = 0
  }

  private let reader: LedgerReader
  private var projection: ProjectionReader?
  private var last: Int64 = 0
  private var result: Result

  /// Rows of a batch.
  private static let batchSize = 500

  /// - Parameter now: the time at which rows are evaluated, milliseconds since 1970.
  public init(_ reader: LedgerReader, at now: Int64) {
    self.reader = reader
    result = Result(at: now)
  }

  /// Counts one batch, which takes a few milliseconds. Starts again if another projection became
  /// live.
  ///
  /// - Returns: the result once all rows are counted; nil before.
  /// - Throws: as `LedgerReader.projection`, and `Failure.store` if the file cannot be read.
  public func advance() throws(LedgerReader.Failure) -> Result? {
    let live = try reader.projection()
    let batch: [ProjectionReader.NumberedRow]
    do throws(StoreError) {
      if live !== projection {
        (projection, last, result) = (live, 0, Result(at: result.at))
        result.foldedThrough = try live.foldedThrough()
      }
      batch = try live.numberedRows(after: last, limit: Self.batchSize)
    } catch {
      throw .store(error)
    }
    for row in batch { count(row) }
    last = batch.last?.id ?? last
    return batch.count < Self.batchSize ? result : nil
  }

  private func count(_ row: ProjectionReader.NumberedRow) {
    let app = App(environment: row.key.environment, bundleId: row.key.bundleId)
    let decoded = EntitlementRow(decoding: row.state, lastSeq: nil)
    if row.isBroken || decoded == nil { result.broken[app, default: 0] += 1 }
    guard let entitlement = decoded?.entitlement(at: result.at, durations: reader.durations) else {
      return
    }
    result.byStatus[app, default: [:]][entitlement.status, default: 0] += 1
  }
}
