import Glibc
public import Platform

/// The data folder: one journal, its projections, one lock, one control socket. Mode 0700.
public struct DataFolder: Sendable, Hashable {
  /// Without a slash at the end.
  public let path: String

  public init(path: String) {
    var path = path
    while path.count > 1 && path.last == "/" { path.removeLast() }
    self.path = path
  }

  public var journal: String { path + "/journal.sqlite" }
  public var journalWAL: String { journal + "-wal" }
  public var lockFile: String { path + "/lock" }
  public var controlSocket: String { path + "/control.sock" }
  /// The private key that anchors are signed with.
  public var anchorKey: String { path + "/anchor.key" }
  /// Says what a backup is of; in no data folder.
  public var backupManifest: String { path + "/" + Self.backupManifestName }
  public static let backupManifestName = "backup.json"

  /// A projection of this folder, by its file's name.
  public func projection(named name: String) -> String { "\(path)/\(name)" }

  /// Where this fold version's rows are built, beside the live ones.
  public func buildingProjection(_ foldVersion: Int) -> String {
    "\(path)/entitlements-\(foldVersion).sqlite.building"
  }

  /// Says which projection is live: `ProjectionList`.
  public var projectionList: String { path + "/projections" }

  /// What the last comparison of built rows with live ones said.
  public var comparison: String { path + "/comparison.json" }

  /// Makes the folder with mode 0700 where there is none, durably.
  public func create() throws(StoreError) {
    guard mkdir(path, 0o700) != 0 else {
      try platform { () throws(PlatformError) in try DurableFile.syncFolder(of: path) }
      return
    }
    guard errno == EEXIST else { throw StoreError(.last("make the folder \(path)")) }
  }

  public func exists() throws(StoreError) -> Bool {
    try platform { () throws(PlatformError) in try DurableFile.size(path) } != nil
  }

  /// Whether there is a journal in it.
  ///
  /// - Throws: `foreign` where something else than a file has its name: SQLite would open a pipe,
  ///   and wait for who writes to it.
  public func hasJournal() throws(StoreError) -> Bool {
    let isFile = try platform { () throws(PlatformError) in try DurableFile.isPlain(journal) }
    guard let isFile else { return false }
    guard isFile else { throw .foreign("\(journal) is no plain file") }
    return true
  }

  /// Takes the folder for this process, until the value ends (promise 10).
  ///
  /// - Throws: `locked` when another process has it, `foreign` for a backup, which stays as it was
  ///   made; nothing was touched then.
  public func lock() throws(StoreError) -> FolderLock {
    try requireNoBackup()
    let lock = try platform { () throws(PlatformError) in try FolderLock.take(lockFile) }
    guard let lock else { throw .locked }
    return lock
  }

  /// Takes the right to build rows beside the live ones, until the value ends.
  ///
  /// - Throws: `locked` when another process is building, `foreign` for a backup.
  public func lockRebuild() throws(StoreError) -> FolderLock {
    try requireNoBackup()
    let lock = try platform { () throws(PlatformError) in
      try FolderLock.take(path + "/rebuild.lock")
    }
    guard let lock else { throw .locked }
    return lock
  }

  /// - Throws: `foreign` for a backup.
  public func requireNoBackup() throws(StoreError) {
    let kind = try platform { () throws(PlatformError) in try FileKind.of(backupManifest) }
    guard kind == nil else {
      throw .foreign("\(path) is a backup, to be restored: `subledger restore \(path) --data NEW`")
    }
  }

  /// Whether a process holds the folder now. Creates nothing.
  public func isLocked() throws(StoreError) -> Bool {
    try platform { () throws(PlatformError) in try FolderLock.isHeld(lockFile) }
  }

  /// How to open a file of this folder for reading without creating anything beside it: while a
  /// daemon runs, or a crash left a -wal, through the -wal; otherwise as a file at rest.
  func readingMode(_ file: String) throws(StoreError) -> SQLiteConnection.Mode {
    if try isLocked() { return .read }
    let wal = try platform { () throws(PlatformError) in try DurableFile.size(file + "-wal") }
    return (wal ?? 0) > 0 ? .read : .immutable
  }
}
