import Synchronization

/// Which commit to the live projection wrote rows last, by a hash of the ids that find them: so a
/// reader may keep rows in memory and still show every answered event (promise 1).
public final class RowChanges: Sendable {
  /// Ids that share a hash only make a reader read a row again.
  private let commits = Mutex([Int](repeating: 0, count: 1 << 16))

  init() {}

  /// - Parameter commit: the number that `LiveProjection.commits` has from then on.
  func record(_ ids: [String], at commit: Int) {
    let indices = ids.map { Self.index($0.hashValue) }
    commits.withLock { commits in
      for index in indices { commits[index] = commit }
    }
  }

  /// Whether no commit has written a row that an id finds, after a number that
  /// `LiveProjection.commits` had before the rows were read.
  ///
  /// - Parameter hash: the id's `hashValue`. It is seeded in every process, so that nobody can
  ///   choose ids that share one.
  func areUnchanged(_ hash: Int, since commit: Int) -> Bool {
    commits.withLock { $0[Self.index(hash)] <= commit }
  }

  private static func index(_ hash: Int) -> Int { hash & (1 << 16 - 1) }
}
