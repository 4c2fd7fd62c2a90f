import CSQLite
import Glibc
import Platform

/// What a projection was folded by, and from what. Two that differ here are not comparable.
public struct ProjectionIdentity: Sendable, Equatable {
  public let foldVersion: Int
  /// Whatever else the rows depend on, as a text of the fold's own.
  public let fingerprint: String
  /// The journal's id, 16 bytes.
  public let journalId: [UInt8]

  public init(foldVersion: Int, fingerprint: String, journalId: [UInt8]) {
    self.foldVersion = foldVersion
    self.fingerprint = fingerprint
    self.journalId = journalId
  }
}

/// Whether a projection's file can be gone on with. Rows are never trusted over the journal: what
/// is neither usable nor another fold's is put aside and folded again.
public enum ProjectionCondition: Sendable, Equatable {
  case absent
  /// Complete up to this seq; catch up from there.
  case usable(foldedThrough: Int64)
  /// Complete, and not to be gone on with: another fold's rows, to be read until others are live.
  case otherFold(foldedThrough: Int64)
  /// Of this fold and journal, and cut off while it was built.
  case unfinished
  /// Not readable as a projection.
  case damaged
  case otherJournal
  /// Folded further than the journal goes, as after a restore.
  case ahead(foldedThrough: Int64)
  /// Folded from another history of the same journal.
  case diverged(foldedThrough: Int64)
}

/// The files of projections, as files. What changes them is called only under the folder's lock, or
/// on one that is being built under that lock.
public enum ProjectionFile {
  /// `SUBE`: says in the file's header that it is a projection.
  static let mark: UInt32 = 0x5355_4245
  static let schema = 2
  /// A -journal is there where a crash cut off the making of the file: before anything is in it, it
  /// is no write-ahead log that SQLite writes. Left behind, it would be rolled back into the next.
  private static let companions = ["", "-wal", "-shm", "-journal"]

  /// - Parameters:
  ///   - folder: for who only looks at a folder's live rows, and leaves no file beside them.
  ///   - hashAt: hash[seq] by the journal, nil past its head.
  public static func examine(
    _ path: String, _ identity: ProjectionIdentity, onlyLookingAt folder: DataFolder? = nil,
    hashAt: (Int64) throws(StoreError) -> [UInt8]?
  ) throws(StoreError) -> ProjectionCondition {
    guard try platform({ () throws(PlatformError) in try DurableFile.size(path) }) != nil else {
      return .absent
    }
    let found: Facts?
    do throws(StoreError) {
      found = try Facts(path, try folder?.readingMode(path) ?? .read)
    } catch {
      switch error {
      // SQLITE_READONLY_ROLLBACK: its making was cut off, and who only reads cannot take it back.
      case .io(SQLITE_READONLY | 3 << 8): found = nil
      case .busy, .locked, .full, .io: throw error
      // What the system could not do now says nothing about the file; that it is a folder does.
      case .platform(_, let code) where code != EISDIR: throw error
      default: found = nil
      }
    }
    guard let found else { return .damaged }
    guard found.identity.journalId == identity.journalId else { return .otherJournal }
    if let build = found.build {
      let boot = try platform { () throws(PlatformError) in try Boot.id() }
      guard build.boot == boot else { return .damaged }
      guard let expected = try hashAt(build.through) else {
        return .ahead(foldedThrough: build.through)
      }
      guard expected == build.hash else { return .diverged(foldedThrough: build.through) }
      return found.identity == identity ? .unfinished : .damaged
    }
    guard let expected = try hashAt(found.foldedThrough) else {
      return .ahead(foldedThrough: found.foldedThrough)
    }
    guard expected == found.hash else { return .diverged(foldedThrough: found.foldedThrough) }
    return found.identity == identity
      ? .usable(foldedThrough: found.foldedThrough) : .otherFold(foldedThrough: found.foldedThrough)
  }

  /// What a projection says of itself.
  private struct Facts {
    let identity: ProjectionIdentity
    let foldedThrough: Int64
    let hash: [UInt8]
    let build: Projection.Build?

    /// Nil where something of it is missing, or the layout is another.
    init?(_ path: String, _ mode: SQLiteConnection.Mode) throws(StoreError) {
      let connection = try SQLiteConnection.open(path, mode)
      guard try connection.requireOurs(path, mark: mark, known: schema) == schema else {
        return nil
      }
      let meta = Meta(connection: connection)
      guard let through = try meta.int(.foldedThrough), let hash = try meta.bytes(.hash),
        try meta.bytes(.digest)?.count == 32
      else { return nil }
      identity = try meta.identity()
      foldedThrough = through
      self.hash = hash
      build = try Projection.Build(meta)
    }
  }

  /// Syncs what was built; where that fails, the file is removed, to be built anew.
  static func sync(_ path: String) throws(StoreError) {
    do throws(PlatformError) {
      try DurableFile.sync(path)
    } catch {
      try remove(path)
      throw StoreError(error)
    }
  }

  /// Removes a projection and its companions; a missing one is no error.
  public static func remove(_ path: String) throws(StoreError) {
    try platform { () throws(PlatformError) in
      for suffix in companions { try DurableFile.remove(path + suffix) }
    }
  }

  /// Renames a projection and its companions to `<path>.aside`, over an older one put aside. The
  /// -wal goes first: a file without its -wal is only older, a -wal without its file is nothing.
  public static func putAside(_ path: String) throws(StoreError) {
    let aside = path + ".aside"
    try remove(aside)
    try platform { () throws(PlatformError) in
      try DurableFile.remove(path + "-shm")
      for suffix in ["-wal", ""] where try DurableFile.size(path + suffix) != nil {
        try DurableFile.rename(path + suffix, to: aside + suffix)
      }
    }
  }

  /// Makes a built projection the live one: first its name, then the list that says so, each by one
  /// atomic rename; the second decides. The one that was live is kept as it is, and readers of it
  /// keep reading it until they open anew. Closed before by everyone who writes.
  ///
  /// - Parameter kept: how many of those that were live stay for a rollback.
  /// - Returns: the path of what is live now.
  @discardableResult
  public static func goLive(
    _ building: String, in folder: DataFolder, foldVersion: Int, keeping kept: Int
  ) throws(StoreError) -> String {
    let list = try ProjectionList.read(folder)
    let name = list.freshName(foldVersion: foldVersion)
    let path = folder.projection(named: name)
    try platform { () throws(PlatformError) in
      if let left = try DurableFile.size(building + "-wal"), left > 0 {
        throw .system("make \(building) live before it was closed", 16)
      }
    }
    try sync(building)
    try platform { () throws(PlatformError) in
      // No list names what lies here; its -wal would be taken for the new file's.
      for suffix in companions.dropFirst() {
        try DurableFile.remove(building + suffix)
        try DurableFile.remove(path + suffix)
      }
      try DurableFile.rename(building, to: path)
    }
    try list.with(live: name).write(folder)
    try prune(folder, keeping: kept)
    return path
  }

  /// Makes the one live again that was before, and keeps the one that was live.
  ///
  /// - Returns: its path; nil where none is kept.
  public static func rollBack(_ folder: DataFolder) throws(StoreError) -> String? {
    let list = try ProjectionList.read(folder)
    guard let before = list.kept.first else { return nil }
    let path = folder.projection(named: before)
    guard try platform({ () throws(PlatformError) in try DurableFile.size(path) }) != nil else {
      try list.without(before).write(folder)
      return try rollBack(folder)
    }
    try list.with(live: before, isHeld: true).write(folder)
    return path
  }

  /// Removes the kept ones past the first so many, the oldest.
  ///
  /// - Returns: the names of what was removed.
  @discardableResult
  public static func prune(
    _ folder: DataFolder, keeping kept: Int
  ) throws(StoreError) -> [String] {
    let list = try ProjectionList.read(folder)
    let removed = Array(list.kept.dropFirst(kept))
    guard !removed.isEmpty else { return [] }
    // Named no longer, then gone: a name in the list is a file that is there.
    try list.keeping(kept).write(folder)
    for name in removed { try remove(folder.projection(named: name)) }
    return removed
  }
}
