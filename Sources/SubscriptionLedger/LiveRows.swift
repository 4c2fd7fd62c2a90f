import JournalStore
import Synchronization

/// Which projection is live, for the readers of this process: whether there is one, and a number
/// that grows with every swap so that they open the new file.
public final class LiveRows: Sendable {
  private let generation = Mutex<Int?>(nil)
  let folder: DataFolder

  init(folder: DataFolder) { self.folder = folder }

  /// Nil while rows are being built for the first time, or lag behind what was answered.
  public var current: Int? { generation.withLock { $0 } }

  /// Opens the live projection; nil while there is none. No swap happens meanwhile.
  func open(foldVersion: Int) throws(StoreError) -> (reader: ProjectionReader, generation: Int)? {
    let opened = generation.withLock {
      generation -> Result<(ProjectionReader, Int)?, StoreError> in
      guard let generation else { return .success(nil) }
      do throws(StoreError) {
        return .success((try ProjectionReader.open(folder, foldVersion: foldVersion), generation))
      } catch {
        return .failure(error)
      }
    }
    return try opened.get().map { (reader: $0.0, generation: $0.1) }
  }

  /// Runs a change of the live file; no reader opens it meanwhile. Readers are live afterwards.
  func swap(_ change: () throws(StoreError) -> Void) throws(StoreError) {
    let outcome = generation.withLock { generation -> Result<Void, StoreError> in
      do throws(StoreError) {
        try change()
        generation = (generation ?? 0) + 1
        return .success(())
      } catch {
        generation = nil
        return .failure(error)
      }
    }
    try outcome.get()
  }

  /// Reads answer 503 until the next swap.
  func close() { generation.withLock { $0 = nil } }
}
