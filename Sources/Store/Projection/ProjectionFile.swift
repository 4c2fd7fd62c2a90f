import Entitlements
import Migrations
public import Platform

/// Operations on the files of projections. Functions that change files are only called under the
/// folder's lock, or on a file that is being built under that lock.
public enum ProjectionFile {
  /// `SUBE`: the application_id of a projection.
  static let applicationId: UInt32 = 0x5355_4245
  static let schema = 19
  /// The tables and views of an empty projection.
  static let tables = Migrations.projection([
    ("{purchase}", RowLayout.purchaseColumns), ("{terms}", RowLayout.termColumns),
    ("{line}", LineTable.definitions), ("{request}", RefundTable.definitions),
    ("{entitlement}", SQLView.selected), ("{transaction}", SQLView.selectedLine),
    ("{is_replaced}", SQLView.isReplaced), ("{refund_request}", SQLView.selectedRequest),
  ])
  /// Finds rows by their present answer, what time alone changes by its time, and purchases by
  /// their ids. A build makes these at its end, from sorted keys.
  static let answerIndexes = """
    CREATE INDEX entitlement_answer
      ON entitlement (app_id, answer_product_id, answer_status, original_transaction_id);
    CREATE INDEX entitlement_until ON entitlement (answer_until_ms)
      WHERE answer_until_ms IS NOT NULL;
    CREATE INDEX entitlement_span_turn ON entitlement_span (from_ms) WHERE is_turn;
    CREATE INDEX transaction_line_id ON transaction_line (transaction_id);
    CREATE INDEX transaction_line_others ON transaction_line (entitlement_id)
      WHERE other_transaction_ids IS NOT NULL;
    CREATE INDEX transaction_line_refund ON transaction_line (entitlement_id)
      WHERE refunds IS NOT NULL;
    """
  /// The suffixes of SQLite's files. A -journal exists after a crash while the file was made,
  /// because SQLite writes the first pages before the file is in WAL mode. If it remained, SQLite
  /// would roll it back into the next file of that name.
  private static let suffixes = ["", "-wal", "-shm", "-journal"]

  /// Compares a projection with the fold and the journal that it must belong to.
  ///
  /// - Parameters:
  ///   - folder: set by a caller that only reads the live projection: no file is then created
  ///     beside it.
  ///   - isOfAnyLayout: for a caller that reads its views alone, of whichever program it is.
  ///   - hashAt: hash[seq] of the journal, nil past its head.
  /// - Throws: `LedgerError.busy`, `.locked` and `.full` for a temporary error, which says nothing
  ///   about the file; and what `hashAt` throws.
  public static func examine(
    _ path: String, _ identity: ProjectionIdentity, readOnlyIn folder: DataFolder? = nil,
    isOfAnyLayout: Bool = false, hashAt: (Int64) throws(LedgerError) -> [UInt8]?
  ) throws(LedgerError) -> ProjectionCondition {
    guard try DurableFile.size(path) != nil else {
      return .absent
    }
    let found: Facts?
    do throws(LedgerError) {
      found = try Facts(
        path, try folder?.readingMode(path) ?? .read, isOfAnyLayout: isOfAnyLayout)
    } catch {
      switch error.code {
      case .newer: return .otherLayout
      case .busy, .locked, .full: throw error
      // Also a file that cannot be opened or read: a disposable file must not stop anything, and
      // building it again shows whether the disk is at fault.
      default: found = nil
      }
    }
    guard let found else { return .damaged }
    guard found.identity.journalId == identity.journalId else { return .otherJournal }
    if let build = found.build {
      let boot = try Boot.id()
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

  /// What a projection's table `meta` says.
  private struct Facts {
    let identity: ProjectionIdentity
    let foldedThrough: Int64
    let hash: [UInt8]
    let build: Projection.Build?

    /// Returns nil if a member is missing.
    ///
    /// - Throws: `LedgerError.newer` for any other schema, which another program reads, unless it
    ///   is of any layout.
    init?(
      _ path: String, _ mode: SQLiteConnection.Mode, isOfAnyLayout: Bool
    ) throws(LedgerError) {
      let connection = try SQLiteConnection.open(path, mode)
      let found = try connection.requireOurs(
        path, applicationId: applicationId, known: isOfAnyLayout ? .max : schema)
      guard found == schema || isOfAnyLayout else { throw .newer(found: found, known: schema) }
      // A daemon may fold meanwhile: seq and hash are of one state of the file.
      try connection.beginSnapshot()
      defer { connection.endSnapshot() }
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

  /// Syncs a projection that was built. If this fails, the file is removed and must be built again.
  static func sync(_ path: String) throws(LedgerError) {
    do throws(LedgerError) {
      try DurableFile.sync(path)
    } catch {
      try remove(path)
      throw error
    }
  }

  /// Removes a projection with its -wal and -shm. A missing file is no error.
  ///
  /// - Throws: what the file system reports.
  public static func remove(_ path: String) throws(LedgerError) {
    for suffix in suffixes { try DurableFile.remove(path + suffix) }
  }

  /// Renames a projection and its -wal to `<path>.aside`, which replaces an older one put aside,
  /// and removes its name from the folder's list. The -wal is renamed first, because a file without
  /// its -wal is still an older projection, while a -wal without its file is useless.
  ///
  /// - Throws: what the file system reports.
  public static func putAside(_ path: String, in folder: DataFolder) throws(LedgerError) {
    let aside = path + ".aside"
    let list = try ProjectionList.read(folder)
    // First: what cannot be renamed, such as a folder in the place of a file, is then let alone.
    if let name = list.names.first(where: { folder.projection(named: $0) == path }) {
      try list.without(name).write(folder)
    }
    try remove(aside)
    try DurableFile.remove(path + "-shm")
    for suffix in ["-wal", ""] where try DurableFile.size(path + suffix) != nil {
      try DurableFile.rename(path + suffix, to: aside + suffix)
    }
  }

  /// Copies the -wal that a failure or a crash left to a fresh inode. A checkpoint overwrites rows,
  /// so an interrupted one can only be repeated if the whole -wal is on the disk. No reader may
  /// have the file open: it would read the old -wal on.
  ///
  /// - Throws: what the file system reports.
  public static func copyWAL(_ path: String) throws(LedgerError) {
    if try DurableFile.size(path + "-wal") ?? 0 > 0 {
      try DurableFile.copyToFreshInode(path + "-wal")
    }
  }

  /// Makes a built projection the live one: it is renamed, then the list is replaced, each by one
  /// atomic rename. The second rename decides. The previous live projection is retained unchanged,
  /// and its readers continue to read it until they open the live one. The writers of both must
  /// have closed them.
  ///
  /// - Returns: the path of the live projection.
  /// - Throws: `LedgerError.system` when the built projection is not closed, otherwise what the
  ///   file system reports.
  @discardableResult
  public static func goLive(
    _ building: String, in folder: DataFolder
  ) throws(LedgerError) -> String {
    let list = try ProjectionList.read(folder)
    let name = try list.freshName(foldVersion: Int(folder.fold.version)) {
      (name) throws(LedgerError) in
      let path = folder.projection(named: name)
      return try DurableFile.isPlain(path) == false
    }
    let path = folder.projection(named: name)
    if let left = try DurableFile.size(building + "-wal"), left > 0 {
      throw .system("make \(building) live before it was closed", 16)
    }
    try sync(building)
    // A file left under the new name is in no list. SQLite would use its -wal with the new file.
    for suffix in suffixes.dropFirst() {
      try DurableFile.remove(building + suffix)
      try DurableFile.remove(path + suffix)
    }
    try DurableFile.rename(building, to: path)
    try makeLive(name, in: folder)
    return path
  }

  /// Gives a built projection of the past its name. It is never written again, and readers make no
  /// files beside it.
  ///
  /// - Throws: what SQLite or the file system reports.
  public static func keep(_ building: String, as path: String) throws(LedgerError) {
    let connection = try SQLiteConnection.open(building, .write)
    try connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()
    try remove(path)
    try DurableFile.rename(building, to: path)
  }

  /// Names the live projection in the list. The one that was live before stays, for the program of
  /// its fold; those before that one are removed.
  ///
  /// - Throws: what the file system reports.
  public static func makeLive(_ name: String, in folder: DataFolder) throws(LedgerError) {
    let before = try ProjectionList.read(folder)
    let list = before.with(live: name)
    // First, so that every name in the list is an existing file.
    try list.write(folder)
    for name in before.names where !list.names.contains(name) {
      try remove(folder.projection(named: name))
    }
  }
}
