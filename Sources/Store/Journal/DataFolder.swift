public import Entitlements
import Glibc
public import Platform

/// The data folder: one journal, its projections, one lock and one control socket. Mode 0700. All
/// that is opened from it answers by `fold`.
public struct DataFolder: Sendable, Hashable {
  /// The path without a trailing slash.
  public let path: String
  /// The rules by which rows are made from the journal.
  public let fold: Fold

  public init(path: String, fold: Fold = .current) {
    self.fold = fold
    var path = path
    while path.count > 1 && path.last == "/" { path.removeLast() }
    self.path = path
  }

  public var journal: String { path + "/journal.sqlite" }
  public var journalWAL: String { journal + "-wal" }
  public var lockFile: String { path + "/lock" }
  public var controlSocket: String { path + "/control.sock" }
  /// The private key that signs anchors.
  public var anchorKey: String { path + "/anchor.key" }
  /// The anchors that the daemon makes by default.
  public var anchors: String { path + "/anchors.ndjson" }
  /// Which parts of an interrupted `recover` are done.
  public var recoveryProgress: String { path + "/recovery.ndjson" }
  /// The lock of the one `recover` that runs.
  public var recoveryLock: String { path + "/recovery.lock" }
  /// When the daemon was last alive, and what it recovered by itself.
  public var heartbeat: String { path + "/heartbeat.json" }
  /// When a write to the journal last failed.
  public var journalFailure: String { path + "/journal.failed" }
  /// What every customer has by name.
  var customers: String { path + "/customers.sqlite" }
  /// How far each sink is.
  public var sinks: String { path + "/sinks.sqlite" }
  /// The names of the sinks that `sinks` ever had: it is disposable, this is not.
  var sinkNames: String { path + "/sinks.names" }
  /// Customers whose answers another fold changed, until the daemon has taken them over.
  public var announcement: String { path + "/sinks.announce" }
  /// Describes a backup. A data folder has no such file.
  var backupManifest: String { path + "/" + Self.backupManifestName }
  public static let backupManifestName = "backup.json"

  /// The path of a projection in this folder, given its file name.
  public func projection(named name: String) -> String { "\(path)/\(name)" }

  /// The path at which a new projection of this fold version is built, beside the live one.
  public var buildingProjection: String {
    "\(path)/entitlements-\(fold.version).sqlite.building"
  }

  /// Where a projection of the past is built before it has its name.
  public var buildingPast: String { path + "/past.building" }

  /// The path of a projection of the past.
  public func past(named name: String) -> String { "\(path)/past-\(name).sqlite" }

  /// The projections of the past that are kept.
  ///
  /// - Throws: what the file system reports.
  public func pasts() throws(LedgerError) -> [String] {
    try FolderListing.names(path).filter { $0.hasPrefix("past-") && $0.hasSuffix(".sqlite") }
      .map { path + "/" + $0 }
  }

  /// The file that names the live projection: `ProjectionList`.
  public var projectionList: String { path + "/projections" }

  /// The link that leads to the live projection.
  public var liveProjection: String { path + "/entitlements.sqlite" }

  /// The result of the last comparison of a built projection with the live one.
  public var comparison: String { path + "/comparison.json" }

  /// Makes the folder with mode 0700 unless it exists, and syncs its parent.
  ///
  /// - Throws: `LedgerError.system` when the folder cannot be made or synced, `LedgerError.full`
  ///   when the disk is full.
  public func create() throws(LedgerError) {
    guard mkdir(path, 0o700) != 0 else {
      try DurableFile.syncFolder(of: path)
      return
    }
    guard errno == EEXIST else { throw .last("make the folder \(path)") }
  }

  /// Whether the folder holds a journal.
  ///
  /// - Throws: `LedgerError.foreign` when `journal.sqlite` is not a plain file: SQLite would open a
  ///   pipe and wait for a writer. Otherwise what the file system reports.
  public func hasJournal() throws(LedgerError) -> Bool {
    let isFile = try DurableFile.isPlain(journal)
    guard let isFile else { return false }
    guard isFile else { throw .foreign("\(journal) is not a plain file") }
    return true
  }

  /// - Throws: `LedgerError.noJournal` when the folder or its journal is missing, otherwise as
  ///   `hasJournal`.
  public func requireJournal() throws(LedgerError) {
    guard try hasJournal() else { throw .noJournal(folder: path) }
  }

  /// Locks the folder for this process for as long as the returned value exists (promise 10).
  ///
  /// - Parameter gives: whether the files are given to the folder's owner afterwards.
  /// - Throws: `LedgerError.locked` when another process holds the folder, `LedgerError.foreign`
  ///   for a backup, which must not change, `LedgerError.otherOwner`. No file was changed then.
  public func lock(thatGives gives: Bool = false) throws(LedgerError) -> FolderLock {
    try requireNoBackup()
    if !gives { try requireOwner() }
    let lock = try FolderLock.acquire(lockFile)
    guard let lock else { throw .locked }
    return lock
  }

  /// Reserves the building of a projection for this process for as long as the returned value
  /// exists.
  ///
  /// - Throws: `LedgerError.locked` when another process is building, `LedgerError.foreign` for a
  ///   backup, `LedgerError.otherOwner`.
  public func lockRebuild() throws(LedgerError) -> FolderLock {
    guard let lock = try lockBuilding("rebuild.lock") else { throw .locked }
    return lock
  }

  /// Reserves the projections of the past for this process, as `lockRebuild` does.
  ///
  /// - Throws: `LedgerError.unavailable` while another process has them; else as `lockRebuild`.
  public func lockPasts() throws(LedgerError) -> FolderLock {
    guard let lock = try lockBuilding("past.lock") else {
      throw .unavailable(
        "rows of the past are being built for another question; ask again when it has ended")
    }
    return lock
  }

  private func lockBuilding(_ name: String) throws(LedgerError) -> FolderLock? {
    try requireNoBackup()
    try requireOwner()
    return try FolderLock.acquire("\(path)/\(name)")
  }

  /// Refuses root to write in another user's folder: the daemon, which runs as that user, could not
  /// write the files that root makes.
  ///
  /// - Throws: `LedgerError.otherOwner`, otherwise what the file system reports.
  public func requireOwner() throws(LedgerError) {
    guard geteuid() == 0, let mode = try FileMode.of(path),
      mode.owner != 0
    else { return }
    throw .otherOwner(folder: path, owner: mode.ownerName ?? String(mode.owner))
  }

  /// The schema of a journal that a start would migrate, by the header of its file, which is not
  /// opened; nil if there is none.
  ///
  /// - Throws: `LedgerError.foreign` for another file, `.newer` for a newer schema, otherwise what
  ///   the file system reports.
  public func olderJournalSchema() throws(LedgerError) -> Int? {
    guard try DurableFile.size(journal) != nil else { return nil }
    let header = try FileHeader.read(journal)
    try header.check(applicationId: StartUp.journalApplicationId, known: Migrator.known)
    return (1..<Migrator.known).contains(header.version) ? header.version : nil
  }

  /// The name of a copy of the journal as it was before a migration begins with this; milliseconds
  /// since 1970 follow, when it was made.
  public static let formerJournal = "journal-before-"

  /// The paths of such copies. An erasure removes them: they have what was erased.
  ///
  /// - Throws: what the file system reports.
  public func formerJournals() throws(LedgerError) -> [String] {
    try FolderListing.names(path).filter { $0.hasPrefix(Self.formerJournal) }
      .map { path + "/" + $0 }
  }

  /// Refuses a folder that is a backup.
  ///
  /// - Throws: `LedgerError.foreign` for a backup, otherwise what the file system reports.
  public func requireNoBackup() throws(LedgerError) {
    let kind = try FileKind.of(backupManifest)
    guard kind == nil else {
      throw .foreign("\(path) is a backup, to be restored: `subledger restore \(path) --data NEW`")
    }
  }

  /// Whether a process holds the folder's lock now. Creates no file.
  ///
  /// - Throws: what the file system reports.
  public func isLocked() throws(LedgerError) -> Bool {
    try FolderLock.isLocked(lockFile)
  }

  /// The mode that reads a file of this folder without creating files beside it: through the -wal
  /// while a daemon runs or after a crash left a -wal, otherwise as a file at rest.
  func readingMode(_ file: String) throws(LedgerError) -> SQLiteConnection.Mode {
    if try isLocked() { return .read }
    let wal = try DurableFile.size(file + "-wal")
    return (wal ?? 0) > 0 ? .read : .immutable
  }
}
