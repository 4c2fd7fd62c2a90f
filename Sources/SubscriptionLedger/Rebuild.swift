import Entitlements
public import JournalStore
import Platform

/// Folds the whole journal into a new projection beside the live one.
public enum Rebuild {
  public struct Report: Sendable {
    public let events: Int64
    public let rows: Int
    /// `RowsDigest` of the new rows.
    public let digest: String
  }

  /// Where a projection is built before it becomes the live one.
  public static func buildingPath(_ folder: DataFolder) -> String {
    folder.buildingProjection(RowsBuilder.foldVersion)
  }

  /// Builds the projection at `buildingPath`, whether a daemon runs or not. The live one is not
  /// touched; `makeLive`, or the daemon, takes over what was built.
  ///
  /// - Parameter progress: last seq folded and the head, after every piece; false stops.
  /// - Returns: nil where it was stopped; nothing is left behind then.
  /// - Throws: `locked` where another rebuild is under way.
  public static func build(
    _ folder: DataFolder, progress: (Int64, Int64) -> Bool
  ) throws(StoreError) -> Report? {
    let lock = try folder.lockRebuild()
    defer { withExtendedLifetime(lock) {} }
    let path = buildingPath(folder)
    let journal = try JournalReader.open(folder)
    let projection = try Projection.create(
      path, RowsFold.identity(journalId: try journal.journalId()))
    var isStopped = false
    try RowsFold(projection).catchUp(journal) { seq, head in
      isStopped = !progress(seq, head)
      return !isStopped
    }
    let events = projection.foldedThrough
    try projection.close()
    if isStopped {
      try ProjectionFile.remove(path)
      return nil
    }
    let (digest, rows) = try RowsDigest.compute(try ProjectionReader.open(folder, path: path))
    return Report(events: events, rows: rows, digest: digest)
  }

  /// Makes what was built live where no daemon holds the folder.
  ///
  /// - Throws: `locked` where one does: it is to be asked to take it over.
  public static func makeLive(_ folder: DataFolder) throws(StoreError) {
    let lock = try folder.lock()
    defer { withExtendedLifetime(lock) {} }
    try ProjectionFile.goLive(
      buildingPath(folder), as: folder.projection(RowsBuilder.foldVersion))
  }
}
