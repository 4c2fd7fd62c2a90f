import Platform
import SignedData

/// What is asked of the files before a writer touches them, in this order:
///
/// 1. The file's first 100 bytes (sqlite.org/fileformat.html): ours, and no newer schema.
/// 2. The journal's id and the open flag, from the file alone.
/// 3. Open, and no -wal: a torn copy.
/// 4. The -wal is copied to a fresh inode, since its pages in memory may not be those on the disk.
/// 5. Through the -wal: the same journal, no older -wal, the same migrations, a tail that chains.
///
/// Everything up to the end of 5 only reads (the copy has the same bytes), and no file appears.
enum StartUp {
  /// `SUBJ`: says in the file's header that it is a journal.
  static let journalMark: UInt32 = 0x5355_424A
  /// How many of the last events are checked at each start.
  static let tailLength: Int64 = 1_000

  static func prepare(_ folder: DataFolder, now: Int64) throws(StoreError) {
    guard try folder.hasJournal() else { return try create(folder, now: now) }
    let (hasWAL, identity) = try look(folder)
    if hasWAL {
      try platform { () throws(PlatformError) in
        try DurableFile.copyToFreshInode(folder.journalWAL)
      }
    }
    try inspect(folder, hasWAL: hasWAL, identity)
  }

  /// The same questions for who only reads, and while no daemon holds the folder.
  ///
  /// - Returns: whether there is a -wal that the file is to be read with.
  static func examine(_ folder: DataFolder) throws(StoreError) -> Bool {
    let (hasWAL, identity) = try look(folder)
    try inspect(folder, hasWAL: hasWAL, identity)
    return hasWAL
  }

  private static func look(
    _ folder: DataFolder
  ) throws(StoreError) -> (hasWAL: Bool, identity: Identity?) {
    let header = try FileHeader.read(folder.journal)
    try header.check(mark: journalMark, known: Migrator.known)
    let hasWAL = try checkWAL(folder, header)
    return (hasWAL, try readIdentity(folder, hasWAL: hasWAL))
  }

  /// Whether there is a -wal with something in it.
  private static func checkWAL(_ folder: DataFolder, _ header: FileHeader) throws(StoreError)
    -> Bool
  {
    let bytes = try readFile(folder.journalWAL, limit: WALHeader.size)
    // Zeros: a loss of power left the file its length and not its bytes. Nothing in it was synced.
    guard bytes.count == WALHeader.size, bytes.contains(where: { $0 != 0 }) else { return false }
    guard header.isWAL, WALHeader(bytes)?.pageSize == header.pageSize else {
      throw .foreign("journal.sqlite-wal does not belong to journal.sqlite")
    }
    return true
  }

  private static func readFile(_ path: String, limit: Int) throws(StoreError) -> [UInt8] {
    try platform { () throws(PlatformError) in
      try DurableFile.size(path) == nil ? [] : DurableFile.read(path, limit: limit)
    }
  }

  /// Which journal a file is, and how many times its -wal was started.
  private struct Identity {
    let journalId: [UInt8]?
    let generation: Int64

    init(_ connection: SQLiteConnection) throws(StoreError) {
      let meta = Meta(connection: connection)
      journalId = try meta.bytes(.journalId)
      generation = try meta.int(.generation) ?? 0
    }
  }

  /// By the file alone; nil where only the -wal makes the file whole, as after a crash in the
  /// middle of a checkpoint.
  private static func readIdentity(
    _ folder: DataFolder, hasWAL: Bool
  ) throws(StoreError) -> Identity? {
    do throws(StoreError) {
      let connection = try SQLiteConnection.open(folder.journal, .immutable)
      let isOpen = try Meta(connection: connection).int(.open) == 1
      if isOpen && !hasWAL { throw .missingWAL }
      return try Identity(connection)
    } catch {
      guard case .corrupt = error, hasWAL else { throw error }
      return nil
    }
  }

  private static func inspect(
    _ folder: DataFolder, hasWAL: Bool, _ alone: Identity?
  ) throws(StoreError) {
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
    try checkTail(JournalReader(connection))
  }

  /// Promise 5, for what changed last: bodies, their hashes, and the chain.
  static func checkTail(_ reader: JournalReader) throws(StoreError) {
    let head = try reader.head()
    let first = max(1, head.seq - tailLength + 1)
    guard var previous = try reader.hash(at: first - 1) else { throw .brokenTail(seq: first - 1) }
    var next = first
    let hash = BodyHash()
    try reader.forEachRaw(from: first, through: head.seq) { raw in
      guard raw.event.seq == next, raw.isIntact(after: previous, hash) else { return false }
      previous = raw.event.hash
      next += 1
      return true
    }
    guard next == head.seq + 1 else { throw .brokenTail(seq: next) }
  }

  /// Makes a journal beside its name and gives it the name once it is whole and synced.
  private static func create(_ folder: DataFolder, now: Int64) throws(StoreError) {
    guard try readFile(folder.journalWAL, limit: 1).isEmpty else {
      throw .foreign("journal.sqlite is missing and its -wal is there")
    }
    // What is restored has this name until all of it is there.
    let partial = try platform { () throws(PlatformError) in
      try FileKind.of(folder.journal + ".partial")
    }
    guard partial == nil else {
      throw .foreign(
        "a restore into \(folder.path) was cut off: empty the folder and restore again")
    }
    let building = folder.journal + ".building"
    try platform { () throws(PlatformError) in
      for suffix in ["", "-wal", "-shm", "-journal"] { try DurableFile.remove(building + suffix) }
      try DurableFile.create(building)
    }
    let connection = try SQLiteConnection.open(building, .write)
    try connection.execute("PRAGMA journal_mode=WAL; PRAGMA application_id=\(journalMark)")
    try Migrator.apply(connection, now: now)
    try connection.atomically { () throws(StoreError) in
      let meta = Meta(connection: connection)
      var random = SystemRandomNumberGenerator()
      try meta.set(.journalId, (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) })
      try meta.set(.open, 0)
      try meta.set(.foreignOverflow, 0)
    }
    // Syncs the file: synchronous is FULL where nothing else was asked for.
    try connection.checkpointTruncate()
    connection.close()
    try platform { () throws(PlatformError) in
      try DurableFile.rename(building, to: folder.journal)
    }
  }
}
