import AppStore
import Encoding
import Entitlements
import JournalStore
import LedgerEngine

/// The rows that one reader read last, until a commit writes one of them: a backend asks about the
/// same users again and again.
///
/// Rows are kept with the spans that they were read with, which answer every later time as well.
final class KeptRows {
  /// What rows are asked for.
  struct Query {
    let id: String
    let hash: Int
    private let kind: ProjectionReader.IdKind?
    private let environment: Environment?
    private let bundleId: String?

    /// - Parameter kind: nil for an original transaction id.
    init(
      _ kind: ProjectionReader.IdKind?, _ id: String, _ environment: Environment? = nil,
      _ bundleId: String? = nil
    ) {
      self.id = id
      hash = id.hashValue
      self.kind = kind
      self.environment = environment
      self.bundleId = bundleId
    }

    func isSame(as other: Query) -> Bool {
      hash == other.hash && ByteSearch.areEqual(id, other.id) && kind == other.kind
        && environment == other.environment && bundleId == other.bundleId
    }
  }

  private struct Entry {
    let query: Query
    let rows: [ProjectedRow]
    let since: Int64
    let commit: Int
  }

  /// Two entries for each value of some bits of the hash, the one that was used last in front.
  /// Empty until rows are kept.
  private var entries: [Entry?] = []
  private static let sets = 1 << 12
  /// Rows and spans of an entry at most, so that all together take at most some ten megabytes:
  /// a row of two spans takes about a kilobyte.
  private static let maximumSpans = 8

  /// The rows; nil unless they were kept, with all spans since that time, and are unchanged.
  func rows(_ query: Query, since time: Int64, _ changes: RowChanges) -> [ProjectedRow]? {
    guard !entries.isEmpty else { return nil }
    let front = Self.front(query)
    for index in [front, front + 1] {
      guard let entry = entries[index], entry.query.isSame(as: query) else { continue }
      guard entry.since <= time, changes.areUnchanged(query.hash, since: entry.commit) else {
        return nil
      }
      if index != front { entries.swapAt(front, index) }
      return entry.rows
    }
    return nil
  }

  /// Does nothing if there are no rows, or many spans.
  ///
  /// - Parameter commit: `LiveProjection.commits` before the rows were read.
  func keep(_ rows: [ProjectedRow], _ query: Query, since time: Int64, commit: Int) {
    guard !rows.isEmpty, rows.reduce(0, { $0 + 1 + $1.row.spans.count }) <= Self.maximumSpans
    else { return }
    if entries.isEmpty { entries = [Entry?](repeating: nil, count: 2 * Self.sets) }
    let front = Self.front(query)
    // What is kept of the same query is changed or younger.
    if entries[front]?.query.isSame(as: query) != true { entries.swapAt(front, front + 1) }
    entries[front] = Entry(query: query, rows: rows, since: time, commit: commit)
  }

  private static func front(_ query: Query) -> Int { 2 * (query.hash & (sets - 1)) }

  func removeAll() { entries = [] }
}
