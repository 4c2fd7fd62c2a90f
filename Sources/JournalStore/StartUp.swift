import Platform
import SignedData

/// What is asked of the files before a writer touches them, in this order:
///
/// 1. The file's first 100 bytes (sqlite.org/fileformat.html): ours, and no newer schema.
/// 2. The journal's id and the open flag, from the file alone.
/// 3. Open, and no -wal: a torn copy.
/// 4. The -wal is copied to a fresh inode, since its pages in memory may not be those on the disk.
/// 5. Through the -wal: the same journal, the same migrations, and a tail that chains.
///
/// Everything up to the end of 5 only reads (the copy has the same bytes), and no file appears.
enum StartUp {
  /// `SUBJ`: says in the file's header that it is a journal.
  static let journalMark: UInt32 = 0x5355_424A
  /// How many of the last events are checked at each start.
  static let tailLength: Int64 = 1_000

  static func prepare(_ folder: DataFolder, now: Int64) throws(StoreError) {
    guard try folder.hasJournal() else { return try create(folder, now: now) }
    let header = try FileHeader.read(folder.journal)
    try header.check(mark: journalMark, known: Migrator.known)
    let hasWAL = try checkWAL(folder, header)
    let journalId = try readIdentity(folder, hasWAL: hasWAL)
    if hasWAL {
      try platform { () throws(PlatformError) in
        try DurableFile.copyToFreshInode(folder.journalWAL)
      }
    }
    try inspect(folder, hasWAL: hasWAL, journalId: journalId)
  }

  /// Whether there is a -wal with something in it.
  private static func checkWAL(_ folder: DataFolder, _ header: FileHeader) throws(StoreError) -> Bool {
    let bytes = try readFile(folder.journalWAL, limit: WALHeader.size)
    guard bytes.count == WALHeader.size else { return false }
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

  /// The journal's id by the file alone; nil where only the -wal makes the file whole, as after a
  /// crash in the middle of a checkpoint.
  private static func readIdentity(
    _ folder: DataFolder, hasWAL: Bool
  ) throws(StoreError) -> [UInt8]? {
    do throws(StoreError) {
      let meta = Meta(connection: try Connection.open(folder.journal, .immutable))
      let journalId = try meta.bytes(.journalId)
      if try meta.int(.open) == 1, !hasWAL { throw .missingWAL }
      return journalId
    } catch {
      guard case .corrupt = error, hasWAL else { throw error }
      return nil
    }
  }

  private static func inspect(
    _ folder: DataFolder, hasWAL: Bool, journalId: [UInt8]?
  ) throws(StoreError) {
    let connection = try Connection.open(folder.journal, hasWAL ? .inspection : .immutable)
    defer { connection.close() }
    let found = try Meta(connection: connection).bytes(.journalId)
    if let journalId, found != journalId {
      throw .foreign("journal.sqlite-wal belongs to another journal")
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
    try reader.forEachRaw(from: first, through: head.seq) { raw in
      guard raw.event.seq == next, raw.isIntact(after: previous) else { return false }
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
    let building = folder.journal + ".building"
    try platform { () throws(PlatformError) in
      for suffix in ["", "-wal", "-shm", "-journal"] { try DurableFile.remove(building + suffix) }
      try DurableFile.create(building)
    }
    let connection = try Connection.open(building, .write)
    try connection.execute("PRAGMA journal_mode=WAL; PRAGMA application_id=\(journalMark)")
    try Migrator.apply(connection, now: now)
    try connection.atomically { () throws(StoreError) in
      let meta = Meta(connection: connection)
      var random = SystemRandomNumberGenerator()
      try meta.set(.journalId, (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) })
      try meta.set(.open, 0)
      try meta.set(.foreignOverflow, 0)
    }
    try connection.checkpointTruncate()
    connection.close()
    try platform { () throws(PlatformError) in
      try DurableFile.sync(building)
      try DurableFile.rename(building, to: folder.journal)
    }
  }
}
