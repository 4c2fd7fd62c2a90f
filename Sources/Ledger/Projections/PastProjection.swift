import Entitlements
public import Platform
import SignedData
public import Store

/// A projection of what had been received by a moment: what a daemon of this fold had then.
///
/// It is a file of the folder that is never written again, and disposable as every projection is.
/// While the value exists, no other process makes or removes one, so that it can be opened.
public struct PastProjection: ~Copyable {
  public let path: String
  /// The last event that had been received.
  public let seq: Int64
  private let lock: FolderLock

  /// Kept for the next question: so many, in at most this part of the free space of the disk.
  private static let (keptCount, keptPart): (Int, Int64) = (3, 10)

  /// Finds the projection of a moment, or builds it with the threads of a rebuild.
  ///
  /// - Parameters:
  ///   - time: our time, in milliseconds since 1970 UTC.
  ///   - progress: called after every batch with the number of events folded and of all that are to
  ///     be; false stops.
  /// - Returns: nil if it was stopped. Nothing is left of what was not finished.
  /// - Throws: `LedgerError.unavailable` while another process has them, `.foreign` for a backup,
  ///   `.otherOwner`, `.full`; else what SQLite or the file system reports.
  public static func find(
    _ folder: DataFolder, knownAt time: Int64, _ plan: Rebuild.Plan,
    progress: (Int64, Int64) -> Bool
  ) throws(LedgerError) -> PastProjection? {
    let lock = try folder.lockPasts()
    let journal = try JournalReader.open(folder)
    defer { journal.close() }
    let seq = try journal.firstSeq(receivedFrom: time + 1) - 1
    let durations = try journal.durations(configured: plan.durations).known(by: time)
    let digest = Hexadecimal.encode(Array(SHA256.hash(Array(durations.text.utf8)).prefix(4)))
    let path = folder.past(named: "\(seq)-\(digest)")
    let condition = try ProjectionChoice.condition(path, journal, readOnlyIn: folder)
    if condition != .usable(foldedThrough: seq) {
      // What a crash left may be of another moment.
      try ProjectionFile.remove(folder.buildingPast)
      let isBuilt = try clearing(folder) { () throws(LedgerError) in
        try Rebuild.build(
          folder, plan, at: folder.buildingPast, through: seq, durations: durations,
          progress: progress) != nil
      }
      guard isBuilt else { return nil }
      try ProjectionFile.keep(folder.buildingPast, as: path)
    }
    return PastProjection(path: path, seq: seq, lock: lock)
  }

  /// Removes what is not built whole.
  private static func clearing(
    _ folder: DataFolder, _ build: () throws(LedgerError) -> Bool
  ) throws(LedgerError) -> Bool {
    var isBuilt = false
    defer { if !isBuilt { try? ProjectionFile.remove(folder.buildingPast) } }
    isBuilt = try build()
    return isBuilt
  }

  /// Removes the oldest of those that are too many or too large; one that is open is read on. Does
  /// nothing while another process has them, which does so.
  ///
  /// - Throws: what the file system reports.
  public static func limitKept(_ folder: DataFolder) throws(LedgerError) {
    guard let lock = try? folder.lockPasts() else { return }
    defer { withExtendedLifetime(lock) {} }
    let kept = try folder.pasts().map { path throws(LedgerError) in
      (path, size: try DurableFile.size(path) ?? 0, made: try FileIdentity.of(path).modified)
    }.sorted { $0.made > $1.made }
    let total = kept.reduce(0) { $0 + $1.size }
    let most = (try DiskSpace.of(folder.path).free + total) / Self.keptPart
    var size: Int64 = 0
    for (index, file) in kept.enumerated() {
      size += file.size
      if index >= Self.keptCount || size > most { try ProjectionFile.remove(file.0) }
    }
  }

  /// Removes this one, which is damaged.
  ///
  /// - Throws: what the file system reports.
  public static func discard(_ path: String) throws(LedgerError) { try ProjectionFile.remove(path) }
}
