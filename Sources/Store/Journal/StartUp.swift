import Platform
import SignedData

/// The checks of the files before a writer changes them, in this order:
///
/// 1. The file's first 100 bytes (sqlite.org/fileformat.html): it is a journal, and its schema is
///    not newer.
/// 2. The journal's id and the open flag, read from the file without its -wal.
/// 3. If the open flag is set and there is no -wal, the file is an incomplete copy: refused.
/// 4. The -wal is copied to a fresh inode, because its cached pages may differ from the disk.
/// 5. Read through the -wal: the same journal, no older -wal, the same migrations, a tail whose
///    hashes chain, and for a writer no tables of Litestream.
///
/// Up to the end of step 5 the files are only read, except that the copy has the same bytes, and no
/// further file appears.
enum StartUp {
  /// `SUBJ`: the application_id of a journal.
  static let journalApplicationId: UInt32 = 0x5355_424A
  /// The number of last events that each start checks.
  static let tailLength: Int64 = 1_000

  /// Checks the journal for a writer, or makes one if there is none.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970 UTC.
  ///   - sharedId: as in `Journal.open`. A new journal becomes a copy.
  static func prepare(
    _ folder: DataFolder, now: Int64,
    sharedId: (([UInt8]) throws(LedgerError) -> [UInt8])? = nil
  ) throws(LedgerError) {
    guard try folder.hasJournal() else { return try create(folder, now: now, sharedId) }
    let (hasWAL, identity) = try readFile(folder)
    if hasWAL {
      try DurableFile.copyToFreshInode(folder.journalWAL)
    }
    try checkThroughWAL(folder, hasWAL: hasWAL, identity, isWriting: true)
  }

  /// The same checks for a reader, while no daemon holds the folder. Changes no file.
  ///
  /// - Returns: whether the file must be read together with its -wal.
  static func examine(_ folder: DataFolder) throws(LedgerError) -> Bool {
    let (hasWAL, identity) = try readFile(folder)
    try checkThroughWAL(folder, hasWAL: hasWAL, identity, isWriting: false)
    return hasWAL
  }

  /// Steps 1 to 3.
  private static func readFile(
    _ folder: DataFolder
  ) throws(LedgerError) -> (hasWAL: Bool, identity: Identity?) {
    let header = try FileHeader.read(folder.journal)
    try header.check(applicationId: journalApplicationId, known: Migrator.known)
    let hasWAL = try checkWAL(folder, header)
    return (hasWAL, try readIdentity(folder, hasWAL: hasWAL))
  }

  /// Whether there is a -wal with contents. Throws `LedgerError.foreign` for one with another
  /// format or page size.
  private static func checkWAL(_ folder: DataFolder, _ header: FileHeader) throws(LedgerError)
    -> Bool
  {
    let bytes = try firstBytes(folder.journalWAL, limit: WALHeader.size)
    // A loss of power may leave the file its length but only zeros: nothing in it was synced.
    guard bytes.count == WALHeader.size, bytes.contains(where: { $0 != 0 }) else { return false }
    guard header.isWAL, WALHeader(bytes)?.pageSize == header.pageSize else {
      throw .foreign("journal.sqlite-wal does not belong to journal.sqlite")
    }
    return true
  }

  /// Empty if there is no such file.
  private static func firstBytes(_ path: String, limit: Int) throws(LedgerError) -> [UInt8] {
    try DurableFile.size(path) == nil ? [] : DurableFile.read(path, limit: limit)
  }

  /// Which journal a file is, and the number of -wal files it has had.
  private struct Identity {
    let journalId: [UInt8]?
    let generation: Int64

    init(_ connection: SQLiteConnection) throws(LedgerError) {
      let meta = Meta(connection: connection)
      journalId = try meta.bytes(.journalId)
      generation = try meta.int(.generation) ?? 0
    }
  }

  /// The identity in the file without its -wal. Returns nil if the file can only be read through
  /// its -wal, as after a crash during a checkpoint.
  private static func readIdentity(
    _ folder: DataFolder, hasWAL: Bool
  ) throws(LedgerError) -> Identity? {
    do throws(LedgerError) {
      let connection = try SQLiteConnection.open(folder.journal, .immutable)
      let isOpen = try Meta(connection: connection).int(.open) == 1
      if isOpen && !hasWAL { throw .missingWAL }
      return try Identity(connection)
    } catch {
      guard error.code == .corrupt, hasWAL else { throw error }
      return nil
    }
  }

  /// Step 5.
  private static func checkThroughWAL(
    _ folder: DataFolder, hasWAL: Bool, _ alone: Identity?, isWriting: Bool
  ) throws(LedgerError) {
    let connection = try SQLiteConnection.open(folder.journal, hasWAL ? .inspection : .immutable)
    defer { connection.close() }
    let found = try Identity(connection)
    if let alone {
      guard found.journalId == alone.journalId else {
        throw .foreign("journal.sqlite-wal belongs to another journal")
      }
      guard found.generation >= alone.generation else {
        throw .foreign("journal.sqlite-wal is older than journal.sqlite")
      }
    }
    try Migrator.check(connection)
    try checkTail(try JournalReader(connection, folder.fold))
    if isWriting { try refuseLitestream(connection) }
  }

  /// Litestream is not supported: it adds tables, so that `verify` finds a changed schema, copies
  /// the -wal back by itself, and may hold a -wal open that a start has replaced.
  private static func refuseLitestream(_ connection: SQLiteConnection) throws(LedgerError) {
    let found = try connection.statement(
      "SELECT 1 FROM sqlite_schema WHERE name IN ('_litestream_seq', '_litestream_lock')"
    ).first { _ in true }
    guard found == nil else {
      throw .foreign(
        "journal.sqlite has tables of Litestream, which copies the -wal beside the daemon and is "
          + "not supported; stop it, run `DROP TABLE _litestream_seq; DROP TABLE _litestream_lock` "
          + "with sqlite3, and use `subledger backup`")
    }
  }

  /// Checks bodies, their hashes and the chain of the last events, which changed last (promise 5).
  static func checkTail(_ reader: JournalReader) throws(LedgerError) {
    let head = try reader.head()
    let first = max(1, head.seq - tailLength + 1)
    guard var previous = try reader.hash(at: first - 1) else { throw .brokenTail(seq: first - 1) }
    var next = first
    let hash = BodyHash()
    // Another daemon wrote them so.
    let broken = first <= head.seq ? try reader.faultySeqs(in: first...head.seq).broken : []
    try reader.forEachRaw(from: first, through: head.seq) { raw in
      let isIntact = broken.contains(raw.event.seq) || raw.isBodyIntact(hash)
      guard raw.event.seq == next, isIntact, raw.isChained(after: previous) else { return false }
      previous = raw.event.hash
      next += 1
      return true
    }
    guard next == head.seq + 1 else { throw .brokenTail(seq: next) }
  }

  /// Makes a journal under another name and renames it when it is complete and synced.
  private static func create(
    _ folder: DataFolder, now: Int64, _ sharedId: (([UInt8]) throws(LedgerError) -> [UInt8])?
  ) throws(LedgerError) {
    var random = SystemRandomNumberGenerator()
    let random16: [UInt8] = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
    let journalId = try sharedId.map { (shared) throws(LedgerError) in try shared(random16) }
    guard try firstBytes(folder.journalWAL, limit: 1).isEmpty else {
      throw .foreign("journal.sqlite is missing and its -wal is there")
    }
    // `restore` uses this name until the journal is complete.
    let partial = try FileKind.of(folder.journal + ".partial")
    guard partial == nil else {
      throw .foreign(
        "a restore into \(folder.path) was interrupted: empty the folder and restore again")
    }
    let building = folder.journal + ".building"
    for suffix in ["", "-wal", "-shm", "-journal"] { try DurableFile.remove(building + suffix) }
    try DurableFile.create(building)
    let connection = try SQLiteConnection.open(building, .write)
    try connection.execute("PRAGMA journal_mode=WAL; PRAGMA application_id=\(journalApplicationId)")
    try Migrator.apply(connection, now: now)
    try connection.atomically { () throws(LedgerError) in
      let meta = Meta(connection: connection)
      try meta.set(.journalId, journalId ?? random16)
      if journalId != nil { try meta.set(.shared, 1) }
      try meta.set(.open, 0)
      try meta.set(.foreignOverflow, 0)
    }
    // Syncs the file, because `synchronous` is FULL by default.
    try connection.checkpointTruncate()
    connection.close()
    try DurableFile.rename(building, to: folder.journal)
  }
}
