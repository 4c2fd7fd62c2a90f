public import Platform

/// The journal's writer: one per folder, on one thread.
///
/// Promises kept here and in `Append`:
/// 1. `append` returns after its SQL transaction is synced (`synchronous=FULL` in WAL mode).
/// 4. `notification_uuid` is unique for ever.
/// 5. Rows never change (triggers), and `ChainHash` makes any change visible.
/// 10. It opens only under the folder's lock.
public final class Journal {
  /// 16 random bytes made with the journal; projections name the journal they came from by them.
  public let journalId: [UInt8]
  /// The newest event. Kept in memory, read again after any error.
  public internal(set) var head: Head

  let codec: BodyCodec
  private let dictionary: SharedDictionary
  var apps: [[String]: Int64] = [:]
  var kinds: [[String?]: Int64] = [:]
  var foreignCount = 0
  /// What came again since counts were last written, by seq.
  var redeliveries: [Int64: Redeliveries] = [:]
  private let live: SQLiteConnection
  private var ending: StoreError?

  /// Pages in the -wal past which `checkpointIfNeeded` copies them into the file, 16 MB. A page of
  /// an index is written again and again meanwhile, and copied once.
  package static let checkpointPages = 4_000

  /// Opens the folder's journal, or makes one where there is none. See `StartUp` for the order of
  /// checks; a refusal leaves every byte of every file as it was.
  ///
  /// - Parameters:
  ///   - lock: this folder's lock; the caller keeps it as long as the journal lives.
  ///   - now: milliseconds since 1970 UTC, for the record of migrations.
  ///   - dictionary: where those find it who pack bodies ahead of this writer.
  public static func open(
    _ folder: DataFolder, lock: borrowing FolderLock, now: Int64,
    sharing dictionary: SharedDictionary = SharedDictionary()
  ) throws(StoreError) -> Journal {
    precondition(lock.path == folder.lockFile, "the lock of another folder")
    try StartUp.prepare(folder, now: now)
    let connection = try SQLiteConnection.open(folder.journal, .write)
    // From here on, also in a failure: only `close` closes it, since a file that is marked as open
    // is refused without its -wal (`StartUp`, 3).
    try connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
    try Migrator.apply(connection, now: now)
    let journal = try Journal(connection, dictionary)
    try journal.markOpen()
    try platform { () throws(PlatformError) in try DurableFile.syncFolder(of: folder.journal) }
    return journal
  }

  private init(
    _ connection: SQLiteConnection, _ dictionary: SharedDictionary
  ) throws(StoreError) {
    live = connection
    self.dictionary = dictionary
    journalId = try Meta(connection: connection).bytes(.journalId) ?? []
    codec = BodyCodec(shelf: DictionaryStore(connection))
    head = try Self.readHead(connection)
    foreignCount = try Self.readForeignCount(connection)
  }

  /// From here on a file without its -wal is a torn copy: the flag is in the file itself, and the
  /// -wal stays non-empty, since a passive checkpoint never shortens it.
  private func markOpen() throws(StoreError) {
    try live.atomically { () throws(StoreError) in
      try Meta(connection: live).set(.open, 1)
      try sign(live)
    }
    try live.checkpointPassive()
  }

  /// Puts the page with the journal's id and a growing number into the -wal. Done in the first SQL
  /// transaction of each -wal, so that one of another journal, or an older one of this, is known.
  private func sign(_ connection: SQLiteConnection) throws(StoreError) {
    let meta = Meta(connection: connection)
    try meta.set(.generation, (try meta.int(.generation) ?? 0) + 1)
  }

  /// Tells who packs ahead what is on the disk now.
  func shareDictionary() { dictionary.publish(codec.settled) }

  /// Every write: one SQL transaction, synced when this returns, or nothing and the error.
  func write<Result>(
    _ body: (SQLiteConnection) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let connection = try connection()
    do {
      return try connection.atomically { () throws(StoreError) in
        // SQLite starts the -wal over in the first commit after everything in it was copied.
        if connection.walPages == 0 { try sign(connection) }
        return try body(connection)
      }
    } catch {
      recover(from: error)
      throw error
    }
  }

  /// The connection, unless a failure or `close` has ended this journal.
  func connection() throws(StoreError) -> SQLiteConnection {
    if let ending { throw ending }
    return live
  }

  /// After an error nothing in memory is trusted. A failing disk ends the journal: after a failed
  /// fsync the kernel may drop pages and answer success the next time, so no later commit could
  /// keep promise 1.
  private func recover(from error: StoreError) {
    if error.isFatal { ending = error }
    apps.removeAll()
    kinds.removeAll()
    codec.forget()
    guard ending == nil else { return }
    do throws(StoreError) {
      head = try Self.readHead(live)
      foreignCount = try Self.readForeignCount(live)
    } catch {
      ending = error
    }
  }

  /// Copies the -wal into the file once it has grown, without waiting for readers. Call between
  /// batches; it syncs the file.
  public func checkpointIfNeeded() throws(StoreError) {
    let connection = try connection()
    guard connection.walPages > Self.checkpointPages else { return }
    do {
      try connection.checkpointPassive()
    } catch {
      recover(from: error)
      throw error
    }
  }

  /// Ends well: the flag is cleared, the -wal is copied and removed. Later calls throw.
  ///
  /// Readers that still look at the -wal are no error; it then stays for the next start.
  public func close() throws(StoreError) {
    let connection = try connection()
    ending = .sql("the journal is closed")
    try connection.atomically { () throws(StoreError) in
      try write(redeliveries, connection)
      try Meta(connection: connection).set(.open, 0)
    }
    do throws(StoreError) {
      try connection.checkpointTruncate()
    } catch {
      if error != .busy { throw error }
    }
    connection.close()
  }

  /// hash[seq]; nil past the head.
  public func hash(at seq: Int64) throws(StoreError) -> [UInt8]? {
    if seq == 0 { return ChainHash.origin }
    return try connection().statement("SELECT hash FROM event WHERE seq = ?").bind(1, seq)
      .first { $0.bytes(0) }
  }

  static func readHead(_ connection: SQLiteConnection) throws(StoreError) -> Head {
    let head =
      try connection.statement(
        "SELECT seq, hash, received_at_ms FROM event ORDER BY seq DESC LIMIT 1"
      ).first { Head(seq: $0.int(0), hash: $0.bytes(1), receivedAt: $0.int(2)) } ?? .empty
    // Dense from 1, no journal gets there; and from here on a place has a next one.
    guard head.seq < 1 << 60 else { throw .corrupt("the last event's seq is beyond all bounds") }
    return head
  }

  private static func readForeignCount(_ connection: SQLiteConnection) throws(StoreError) -> Int {
    try connection.statement("SELECT count(*) FROM quarantine WHERE is_foreign = 1")
      .first { Int($0.int(0)) } ?? 0
  }
}
