import Synchronization

/// Which commit to the live projection wrote rows last, by a hash of the ids that find them: so a
/// reader may keep rows in memory and still show every answered event (promise 1).
public final class RowChanges: Sendable {
  private struct Commits {
    /// The last one that may have written any row.
    var ofAll = 0
    /// The last one that wrote a row with an id of each hash. Ids that share one only make a reader
    /// read a row again.
    var byHash = [Int](repeating: 0, count: 1 << 14)
  }

  private let commits = Mutex(Commits())

  init() {}

  /// - Parameter commit: the number that `LiveProjection.commits` has from then on.
  func record(_ ids: [String], at commit: Int) {
    commits.withLock { commits in
      for id in ids { commits.byHash[Self.index(id.hashValue)] = commit }
    }
  }

  func recordAll(at commit: Int) { commits.withLock { $0.ofAll = commit } }

  /// Whether no commit has written a row that an id finds, after a number that
  /// `LiveProjection.commits` had before the rows were read.
  ///
  /// - Parameter hash: the id's `hashValue`. It is seeded in every process, so that nobody can
  ///   choose ids that share one.
  public func areUnchanged(_ hash: Int, since commit: Int) -> Bool {
    commits.withLock { $0.ofAll <= commit && $0.byHash[Self.index(hash)] <= commit }
  }

  private static func index(_ hash: Int) -> Int { hash & (1 << 14 - 1) }
}
