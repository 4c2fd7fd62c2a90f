import Entitlements
import JournalStore
import Platform

/// Live rows by environment and status at one moment, counted in small pieces.
///
/// A status changes with time alone, so nothing can be counted along; millions of rows take
/// minutes at the pace that disturbs nobody, which is why what is counted says how old it is.
final class RowCount {
  struct Result: Sendable {
    struct Key: Hashable, Sendable {
      let environment: String
      let status: String
    }

    /// Milliseconds since 1970: the moment the count is of.
    let at: Int64
    var rows: [Key: Int64] = [:]
    /// Rows whose fold failed (promise 9).
    var broken: Int64 = 0
  }

  private let reader: LedgerReader
  private var projection: ProjectionReader?
  private var last: StreamKey?
  private var result: Result

  private static let piece = 500

  init(_ reader: LedgerReader, at now: Int64) {
    self.reader = reader
    result = Result(at: now)
  }

  /// Counts one piece, some milliseconds' worth.
  ///
  /// - Returns: the whole count once there is nothing left.
  func advance() throws(LedgerReader.Failure) -> Result? {
    let live = try reader.rows()
    if live !== projection {
      // Others are live now: from the start.
      (projection, last, result) = (live, nil, Result(at: result.at))
    }
    let piece: [ProjectedRow]
    do throws(StoreError) {
      piece = try live.rows(after: last, limit: Self.piece)
    } catch {
      throw .store(error)
    }
    for row in piece { count(row) }
    last = piece.last?.key ?? last
    return piece.count < Self.piece ? result : nil
  }

  private func count(_ row: ProjectedRow) {
    let known = EntitlementRow(decoding: row.state, lastSeq: row.lastSeq)
    if row.broken != nil || known == nil { result.broken += 1 }
    guard let answer = known?.entitlement(at: result.at, durations: reader.durations) else {
      return
    }
    let key = Result.Key(environment: row.key.environment, status: answer.status.rawValue)
    result.rows[key, default: 0] += 1
  }
}
