public import Entitlements
import JournalStore

/// Live rows by app and status at one moment, counted in small pieces.
///
/// A status changes with time alone, so nothing can be counted along; millions of rows take
/// minutes at the pace that disturbs nobody, which is why what is counted says how old it is.
public final class RowCount {
  public struct App: Hashable, Sendable {
    public let environment: String
    let bundleId: String
  }

  public struct Result: Sendable {
    /// Milliseconds since 1970: the moment the count is of.
    public let at: Int64
    public var byStatus: [App: [Entitlement.Status: Int64]] = [:]
    /// Rows whose fold failed (promise 9).
    public var broken: [App: Int64] = [:]
    /// The last seq in the rows when the count began.
    var foldedThrough: Int64 = 0
  }

  private let reader: LedgerReader
  private var projection: ProjectionReader?
  private var last: Int64 = 0
  private var result: Result

  private static let piece = 500

  public init(_ reader: LedgerReader, at now: Int64) {
    self.reader = reader
    result = Result(at: now)
  }

  /// Counts one piece, some milliseconds' worth.
  ///
  /// - Returns: the whole count once there is nothing left.
  public func advance() throws(LedgerReader.Failure) -> Result? {
    let live = try reader.rows()
    let piece: [ProjectionReader.NumberedRow]
    do throws(StoreError) {
      if live !== projection {
        // Others are live now: from the start.
        (projection, last, result) = (live, 0, Result(at: result.at))
        result.foldedThrough = try live.foldedThrough()
      }
      piece = try live.numberedRows(after: last, limit: Self.piece)
    } catch {
      throw .store(error)
    }
    for row in piece { count(row) }
    last = piece.last?.id ?? last
    return piece.count < Self.piece ? result : nil
  }

  private func count(_ row: ProjectionReader.NumberedRow) {
    let app = App(environment: row.key.environment, bundleId: row.key.bundleId)
    let known = EntitlementRow(decoding: row.state, lastSeq: nil)
    if row.isBroken || known == nil { result.broken[app, default: 0] += 1 }
    guard let answer = known?.entitlement(at: result.at, durations: reader.durations) else {
      return
    }
    result.byStatus[app, default: [:]][answer.status, default: 0] += 1
  }
}
