public import JournalStore
import Synchronization

/// Which projection is live, for the readers of this process: its path, and a generation that grows
/// with every switch, so that they open the new file.
public final class LiveProjection: Sendable {
  private struct Live {
    var generation = 0
    /// Nil while the first projection is built, and while the projection lacks answered events.
    var path: String?
    /// Whether the writer folds every event into it before it answers.
    var isMaintained = false
  }

  /// The live projection, opened by one reader.
  public struct Opened {
    public let reader: ProjectionReader
    public let generation: Int
    /// Whether it has every answered event. If not, readers fold what it lacks themselves.
    public let isMaintained: Bool

    public init(reader: ProjectionReader, generation: Int, isMaintained: Bool) {
      (self.reader, self.generation, self.isMaintained) = (reader, generation, isMaintained)
    }
  }

  private let live = Mutex(Live())
  private let commitCount = Atomic<Int>(0)
  let folder: DataFolder

  init(folder: DataFolder) { self.folder = folder }

  /// Grows with every switch; nil while no projection is live.
  public var generation: Int? {
    live.withLock { live in live.path.map { _ in live.generation } }
  }

  /// The number of commits to the live projection since the start. A snapshot that was begun at
  /// this number has every event that was answered before the number changes.
  public var commits: Int { commitCount.load(ordering: .acquiring) }

  /// Called after each commit to the live projection, before its events are answered.
  func recordCommit() { commitCount.add(1, ordering: .releasing) }

  /// Opens the live projection; nil while there is none. Waits while it is switched.
  ///
  /// - Throws: what `ProjectionReader.open` throws.
  public func open() throws(StoreError) -> Opened? {
    try live.withLock { (live) throws(StoreError) -> Opened? in
      guard let path = live.path else { return nil }
      return Opened(
        reader: try ProjectionReader.open(folder, path: path), generation: live.generation,
        isMaintained: live.isMaintained)
    }
  }

  /// Changes which projection is live. Readers that open it wait until it has changed.
  ///
  /// - Parameter change: returns the new path, and whether the writer maintains it.
  /// - Throws: what `change` throws; no projection is live then.
  func switchOver(
    _ change: () throws(StoreError) -> (path: String, isMaintained: Bool)
  ) throws(StoreError) {
    try live.withLock { (live) throws(StoreError) in
      live.generation += 1
      live.path = nil
      (live.path, live.isMaintained) = try change()
    }
  }

  /// Reads answer 503 until the next switch.
  func close() { live.withLock { $0.path = nil } }
}
