package import AppStore
import Entitlements
import Platform
package import Store
import Synchronization

/// The rows that were read last, until a commit writes one of them: a backend asks about the same
/// users again and again. All readers of a ledger share them, so that each row is kept once.
///
/// Rows are kept with the spans that they were read with, which answer every later time as well.
package final class KeptRows: Sendable {
  /// What rows are asked for.
  package struct Query: Sendable {
    let id: String
    let hash: Int
    private let kind: ProjectionReader.IdKind?
    private let environment: Environment?
    private let bundleId: String?

    /// - Parameter kind: nil for an original transaction id.
    package init(
      _ kind: ProjectionReader.IdKind?, _ id: String, _ environment: Environment? = nil,
      _ bundleId: String? = nil
    ) {
      self.id = id
      hash = id.hashValue
      self.kind = kind
      self.environment = environment
      self.bundleId = bundleId
    }

    /// The rows of a stream: one, or none.
    package init(_ stream: StreamKey) {
      self.init(nil, stream.originalTransactionId, stream.environment, stream.bundleId)
    }

    func isSame(as other: Query) -> Bool {
      hash == other.hash && ByteSearch.areEqual(id, other.id) && kind == other.kind
        && environment == other.environment && ByteSearch.areEqual(bundleId, other.bundleId)
    }
  }

  /// The state of the live projection that rows were read in.
  package struct Version: Sendable {
    fileprivate let generation: Int
    fileprivate let commit: Int

    /// - Parameters:
    ///   - generation: of the file.
    ///   - commit: `LiveProjection.commits` before the rows were read.
    package init(generation: Int, commit: Int) {
      self.generation = generation
      self.commit = commit
    }
  }

  private struct Entry {
    let query: Query
    let rows: [ProjectedRow]
    let since: Int64
    let version: Version
  }

  /// Some of the sets. Each holds two entries, in front the one that was used again last.
  private final class Part: Sendable {
    /// Empty until rows are kept.
    let entries = Mutex<[Entry?]>([])
  }

  /// Each with a lock of its own, which is held for a few comparisons alone, so that readers rarely
  /// meet.
  private let parts = (0..<64).map { _ in Part() }
  private static let setsInPart = 1 << 7
  /// Rows and spans of an entry at most, so that all together take about twenty megabytes: a row
  /// of two spans takes about a kilobyte, and there are 16,384 entries.
  private static let maximumSpans = 8

  package init() {}

  /// The rows; nil unless they were kept, with all spans since that time, and are unchanged.
  ///
  /// - Parameter generation: of the file that is read now.
  package func rows(
    _ query: Query, since time: Int64, generation: Int, _ changes: RowChanges
  ) -> [ProjectedRow]? {
    let (part, front) = place(of: query)
    let found = part.entries.withLock { entries -> Entry? in
      guard !entries.isEmpty else { return nil }
      guard let index = [front, front + 1].first(where: { Self.has(query, entries[$0]) }) else {
        return nil
      }
      if index != front { entries.swapAt(front, index) }
      return entries[front]
    }
    guard let found, found.version.generation == generation, found.since <= time,
      changes.areUnchanged(query.hash, since: found.version.commit)
    else { return nil }
    return found.rows
  }

  /// Does nothing if there are no rows, or many spans.
  package func keep(_ rows: [ProjectedRow], _ query: Query, since time: Int64, _ version: Version) {
    guard !rows.isEmpty, rows.reduce(0, { $0 + 1 + $1.row.spans.count }) <= Self.maximumSpans
    else { return }
    let entry = Entry(query: query, rows: rows, since: time, version: version)
    let (part, front) = place(of: query)
    // The entry that is replaced is released outside the lock.
    let replaced = part.entries.withLock { entries -> Entry? in
      if entries.isEmpty { entries = [Entry?](repeating: nil, count: 2 * Self.setsInPart) }
      // A new one comes second, so that many that are asked for once do not replace the first.
      let index = Self.has(query, entries[front]) ? front : front + 1
      defer { entries[index] = entry }
      return entries[index]
    }
    withExtendedLifetime(replaced) {}
  }

  private static func has(_ query: Query, _ entry: Entry?) -> Bool {
    entry?.query.isSame(as: query) ?? false
  }

  /// Where a query may be kept: the part, and the index of the first of two entries in it.
  private func place(of query: Query) -> (Part, Int) {
    let set = query.hash & (parts.count * Self.setsInPart - 1)
    return (parts[set / Self.setsInPart], 2 * (set % Self.setsInPart))
  }
}
