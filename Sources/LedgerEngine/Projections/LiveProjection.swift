public import JournalStore
import Synchronization

/// Which projection is live, for the readers of this process: where it is, and a number that grows
/// with every switch so that they open the new file.
public final class LiveProjection: Sendable {
  private struct Live {
    var generation = 0
    /// Nil while rows are being built for the first time, or lag behind what was answered.
    var path: String?
    /// Whether the writer folds every event into them before it answers.
    var isFollowed = false
  }

  /// Live rows, opened by one reader.
  public struct Opened {
    public let reader: ProjectionReader
    public let generation: Int
    public let isFollowed: Bool

    public init(reader: ProjectionReader, generation: Int, isFollowed: Bool) {
      (self.reader, self.generation, self.isFollowed) = (reader, generation, isFollowed)
    }
  }

  private let live = Mutex(Live())
  private let written = Atomic<Int>(0)
  let folder: DataFolder

  init(folder: DataFolder) { self.folder = folder }

  /// Nil while there are no live rows.
  public var current: Int? {
    live.withLock { live in live.path.map { _ in live.generation } }
  }

  /// How often they were written since the start: a snapshot begun at this number has all that was
  /// answered before it changes.
  public var commits: Int { written.load(ordering: .acquiring) }

  /// To be called after each commit to the live rows, before what it has is answered.
  func noteCommit() { written.add(1, ordering: .releasing) }

  /// Opens the live projection; nil while there is none. No switch happens meanwhile.
  public func open() throws(StoreError) -> Opened? {
    let opened = live.withLock { live -> Result<Opened?, StoreError> in
      guard let path = live.path else { return .success(nil) }
      do throws(StoreError) {
        return .success(
          Opened(
            reader: try ProjectionReader.open(folder, path: path), generation: live.generation,
            isFollowed: live.isFollowed))
      } catch {
        return .failure(error)
      }
    }
    return try opened.get()
  }

  /// Runs a change of what is live; no reader opens it meanwhile.
  ///
  /// - Parameter change: gives the path of what is live then, and whether the writer follows it.
  func switchOver(
    _ change: () throws(StoreError) -> (path: String, isFollowed: Bool)
  ) throws(StoreError) {
    let outcome = live.withLock { live -> Result<Void, StoreError> in
      live.generation += 1
      do throws(StoreError) {
        (live.path, live.isFollowed) = try change()
        return .success(())
      } catch {
        live.path = nil
        return .failure(error)
      }
    }
    try outcome.get()
  }

  /// Reads answer 503 until the next switch.
  func close() { live.withLock { $0.path = nil } }
}
