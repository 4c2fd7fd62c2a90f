import AppStore
import Platform
import Store

/// Reads the rows of a projection in key order, in batches.
struct ProjectionCursor {
  private let projection: ProjectionReader
  private var batch: ArraySlice<FoldedStream> = []
  private var last: StreamKey?

  /// Rows of a batch.
  private static let batchSize = 500

  init(_ projection: ProjectionReader) { self.projection = projection }

  /// The next row; nil at the end.
  mutating func next() throws(LedgerError) -> FoldedStream? {
    if batch.isEmpty { batch = try projection.streams(after: last, limit: Self.batchSize)[...] }
    guard let row = batch.popFirst() else { return nil }
    last = row.key
    return row
  }
}
