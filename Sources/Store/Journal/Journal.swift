import AppStore
public import Entitlements
public import Platform

/// The journal's writer: one per folder, on one thread.
///
/// It guarantees, together with `Append`:
/// 1. `append` returns after its SQL transaction is synced (`synchronous=FULL` in WAL mode).
/// 4. `notification_uuid` is unique for ever.
/// 5. Events never change (triggers), and `ChainHash` makes any change detectable.
/// 10. A journal is only opened under the folder's lock.
public final class Journal {
  /// 16 random bytes made with the journal. A projection names its journal by them.
  public let journalId: [UInt8]
  private let folder: DataFolder
  let fold: Fold
  /// The newest event. Cached, and read again after any error.
  public internal(set) var head: Head

  let codec: BodyCodec
  private let dictionary: SharedDictionary
  /// Set on a copy of a shared journal.
  var copy: CopyState?
  /// The hashes of bodies that are followed.
  let followedBodies = BodyHash()
  /// Proves what is followed; nil only where a test follows what nobody signed.
  public var followedProof: FollowedProof?
  /// What the copy followed and does not take for what it says.
  public internal(set) var faults = CopyFaults.none
  /// Whether something personal was removed since `emptyWAL`, which is to be called then. Stored in
  /// the SQL transaction that removes it, so that a crash does not leave its bytes in the files.
  public internal(set) var hasErased = false
  /// Ids of rows in `app` and `kind`, as far as they were used since the start.
  var apps: [AppKey: Int64] = [:]
  var kinds: [Kind: Int64] = [:]

  struct Kind: Hashable {
    let notificationType: String
    let subtype: String?
  }

  /// How many pieces of evidence are held.
  public internal(set) var heldCount: Int64 = 0
  /// The stream through which held evidence is judged by this fold, in the order of ids; `.max`
  /// once all is.
  var judgedThrough: Int64 = 0
  /// The streams that wait to be judged, the first first.
  var waitingStreams = WaitingStreams()
  /// The stream that is being judged in turns, if one is.
  var judging: StreamJudging?
  /// How many statements about customers are journaled.
  public internal(set) var statementCount: Int64 = 0
  /// The seq of the last mapping of products to names; 0 if there is none.
  public internal(set) var lastMapping: Int64 = 0
  /// The batch that is appended, or was appended last.
  var batch = Batch(start: 0)
  /// The evidence that the last `append` journaled although it had been held, in order of seq.
  public var released: [ReleasedEvidence] { batch.released }
  let decodeForFold: FoldEventDecoder

  /// What is known while a batch is appended.
  struct Batch {
    /// The head's seq before.
    let start: Int64
    /// What rows say of streams as of the events before.
    var known: (StreamKey) -> StreamState? = { _ in nil }
    /// Whether there is time to judge held evidence.
    var isJudging: () -> Bool = { true }
    var released: [ReleasedEvidence] = []
    /// The stream about which evidence was journaled last, and what it says; nil if other events
    /// were appended since.
    var judged: (stream: StreamKey, state: StreamState)?
    /// The seqs of the events that do not name their app (`RunningDigest.v1Apps`), and of those
    /// that were not posted.
    var unnamed: [Int64] = []
    var arrived: [Int64] = []
  }
  /// How many notifications of each owner are in quarantine.
  var quarantineSizes: [NewQuarantine.Owner: Int] = [:]
  /// Milliseconds since 1970: a later receive time is lowered to this one. In a copy of a shared
  /// journal, for which one clock counts.
  public var receiveLimit = Int64.max
  /// Counted but not written yet.
  var waiting = WaitingCounts()
  private let live: SQLiteConnection
  /// Set once a failure or `close` has ended this journal.
  private var closingError: LedgerError?
  /// Nil only while the journal is being opened.
  private var files: JournalFiles?

  /// The size of the -wal, in pages, above which `checkpointIfNeeded` copies it into the file:
  /// 16 MB. An index page that changed many times since the last checkpoint is copied only once.
  package static let checkpointPages = 4_000

  /// Opens the folder's journal, or makes one if there is none. `StartUp` lists the checks in
  /// order.
  ///
  /// - Parameters:
  ///   - lock: this folder's lock, which must outlive the journal.
  ///   - now: milliseconds since 1970 UTC, recorded with each applied migration.
  ///   - dictionary: receives the dictionary with which a `BodyPacker` may pack bodies.
  ///   - decode: decides, with the fold, which evidence is journaled; needed to append any.
  ///   - sharedId: the id of the shared journal that the folder is a copy of, given the folder's
  ///     own; nil for a journal of its own.
  /// - Throws: `LedgerError.foreign`, `.newer`, `.missingWAL`, `.brokenTail` or `.frozenMigration`
  ///   when a check of `StartUp` fails: every byte of every file is then unchanged. Otherwise what
  ///   SQLite or the file system reports.
  public static func open(
    _ folder: DataFolder, lock: borrowing FolderLock, now: Int64,
    sharing dictionary: SharedDictionary = SharedDictionary(),
    decodingWith decode: @escaping FoldEventDecoder = { _ in nil },
    sharedId: ((_ own: [UInt8]) throws(LedgerError) -> [UInt8])? = nil
  ) throws(LedgerError) -> Journal {
    precondition(lock.path == folder.lockFile, "the lock of another folder")
    try StartUp.prepare(folder, now: now, sharedId: sharedId)
    let connection = try SQLiteConnection.open(folder.journal, .write)
    let isCopy = try requireRole(of: connection, sharedId)
    // From here on only `close` may close the connection, also after a failure: closing removes the
    // -wal, and a file that is marked as open is refused without its -wal (`StartUp`, 3).
    // The durable place of a copy's events is the shared journal (T1).
    let synchronous = isCopy ? "NORMAL" : "FULL"
    try connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=\(synchronous)")
    try Migrator.apply(connection, now: now)
    let journal = try Journal(connection, folder, dictionary, decode)
    if isCopy { try journal.beginRecording() }
    try journal.markOpen()
    journal.files = try JournalFiles(connection)
    if journal.faults.skippedNotes > 0 {
      try journal.transact { (connection) throws(LedgerError) in
        try journal.applySkipped(.newer, connection)
      }
    }
    try journal.emptyOwedWAL()
    try DurableFile.syncFolder(of: folder.journal)
    return journal
  }

  private init(
    _ connection: SQLiteConnection, _ folder: DataFolder, _ dictionary: SharedDictionary,
    _ decode: @escaping FoldEventDecoder
  ) throws(LedgerError) {
    live = connection
    (self.folder, fold) = (folder, folder.fold)
    decodeForFold = decode
    self.dictionary = dictionary
    journalId = try Meta(connection: connection).bytes(.journalId) ?? []
    codec = BodyCodec(
      dictionaries: DictionaryStore(connection), receipts: ReceiptStore(connection))
    head = try Self.readHead(connection)
    try readCounts(connection)
  }

  /// Sets the open flag. From then on a file without its -wal is recognized as an incomplete copy:
  /// the flag is in the file itself, and a passive checkpoint never shortens the -wal.
  private func markOpen() throws(LedgerError) {
    try live.atomically { () throws(LedgerError) in
      try Meta(connection: live).set(.open, 1)
      try RunningDigest.start(live, head: head.seq)
      try V1Filing.start(live, head: head.seq)
      judgedThrough = try beginJudging(live)
      try writeGeneration(live)
    }
    try live.checkpointPassive()
  }

  /// Increments the generation, which puts the page with it and the journal's id into the -wal.
  /// Done in the first SQL transaction of each -wal, so that a -wal of another journal or an older
  /// -wal of this journal can be recognized.
  private func writeGeneration(_ connection: SQLiteConnection) throws(LedgerError) {
    let meta = Meta(connection: connection)
    let generation = try meta.int(.generation) ?? 0
    // It counts from 0, so only a damaged file has another one. Below, the sum cannot overflow.
    guard (0..<1 << 60).contains(generation) else {
      throw .corrupt("the generation of the journal is impossible")
    }
    try meta.set(.generation, generation + 1)
    // A program that does not know them writes the generation alone.
    for known in [Meta.Key.v1FiledGeneration, .judgedGeneration, .digestsGeneration] {
      try meta.set(known, generation + 1)
    }
  }

  /// Publishes the trained dictionary. Only called after it was committed.
  func shareDictionary() { dictionary.publish(codec.trainedEntry) }

  /// Runs `body` in one SQL transaction that is synced when this returns. Every write of this type
  /// goes through here. After an error nothing was written.
  ///
  /// In a copy of a shared journal all that was written is collected here and handed to `ship`
  /// before the commit, so that no write can stay behind; without `ship` nothing can be written.
  func write<Result>(
    shipping ship: Shipper<Result>?, _ body: (SQLiteConnection) throws(LedgerError) -> Result
  ) throws(LedgerError) -> Result {
    guard let copy else { return try transact(body) }
    guard let ship else { throw .copyWithoutSharedJournal }
    var next = copy
    let recorded = position
    copy.changes.clear()
    let result = try transact { (connection) throws(LedgerError) in
      let result = try body(connection)
      let shipment = try ChangeRecorder(connection: connection, before: recorded)
        .shipment(copy.changes.rows, head: head, values: copy.values)
      (next.notes, next.notesHash) = (shipment.head.notes, shipment.head.notesHash)
      next.dictionary = shipment.head.dictionary
      next.values = try CopyState.values(connection)
      if !shipment.notes.isEmpty { try next.write(connection) }
      try ship(shipment, result)
      return result
    }
    self.copy = next
    return result
  }

  /// Runs `body` in one SQL transaction. After an error nothing was written.
  func transact<Result>(
    _ body: (SQLiteConnection) throws(LedgerError) -> Result
  ) throws(LedgerError) -> Result {
    let connection = try connection()
    let before = head
    do {
      let result = try connection.atomically { () throws(LedgerError) in
        // After a complete checkpoint SQLite begins a new -wal in the next commit.
        if connection.walPages == 0 { try writeGeneration(connection) }
        let result = try body(connection)
        try waitingStreams.store(connection)
        return result
      }
      try files?.requireInPlace()
      return result
    } catch {
      head = before
      recover(from: error)
      throw error
    }
  }

  /// The connection, unless a failure or `close` has ended this journal.
  func connection() throws(LedgerError) -> SQLiteConnection {
    if let closingError { throw closingError }
    return live
  }

  /// Discards everything cached, and ends the journal after a fatal error: after a failed fsync the
  /// kernel may drop pages and report success the next time, so no later commit could keep
  /// promise 1.
  private func recover(from error: LedgerError) {
    // The shared journal's failures say nothing about this file.
    if error.isFatal, error != .sharedDiverged { closingError = error }
    codec.forget()
    judging = nil
    guard closingError == nil else { return }
    do throws(LedgerError) {
      head = try Self.readHead(live)
      try readCounts(live)
      try copy?.read(live)
    } catch {
      closingError = error
    }
  }

  /// Reads again what is cached of the tables beside events.
  func readCounts(_ connection: SQLiteConnection) throws(LedgerError) {
    apps.removeAll()
    kinds.removeAll()
    heldCount = try Self.countHeld(connection)
    waitingStreams = try WaitingStreams(connection)
    statementCount = try Self.countStatements(connection)
    lastMapping = try Self.lastMapping(connection)
    quarantineSizes = try Self.quarantineSizes(connection)
    hasErased = try Meta(connection: connection).int(.erasureDue) == 1
    try readFaults(connection)
  }

  /// Stores that the -wal is to be emptied.
  func recordErasure(_ connection: SQLiteConnection) throws(LedgerError) {
    try Meta(connection: connection).set(.erasureDue, 1)
    hasErased = true
  }

  /// Copies the -wal into the file if it has grown beyond `checkpointPages`, without waiting for
  /// readers, and syncs the file. Call between batches.
  ///
  /// - Throws: what SQLite reports. A fatal error ends the journal.
  public func checkpointIfNeeded() throws(LedgerError) {
    let connection = try connection()
    guard connection.walPages > Self.checkpointPages else { return }
    do {
      try connection.checkpointPassive()
    } catch {
      recover(from: error)
      throw error
    }
  }

  /// Copies the -wal into the file and empties it, so that no deleted byte is left in it. The file
  /// is marked as closed meanwhile, because one that is marked as open is refused without its -wal
  /// (`StartUp`, 3).
  ///
  /// - Throws: `LedgerError.busy` when a reader still uses the -wal, or a former journal cannot be
  ///   removed yet; and what SQLite reports.
  public func emptyWAL() throws(LedgerError) {
    let connection = try connection()
    do {
      try connection.atomically { () throws(LedgerError) in
        try Meta(connection: connection).set(.open, 0)
      }
      let emptied = Result { () throws(LedgerError) in try connection.checkpointTruncate() }
      // A page in memory is written again with what is in its gap.
      connection.forgetPages()
      try markOpen()
      try emptied.get()
      guard hasErased else { return }
      try removeFormerFiles()
      try connection.atomically { () throws(LedgerError) in
        try Meta(connection: connection).set(.erasureDue, 0)
      }
      hasErased = false
    } catch {
      recover(from: error)
      throw error
    }
  }

  /// - Throws: `LedgerError.busy` whatever hinders it: a descriptor may be missing for a while.
  private func removeFormerFiles() throws(LedgerError) {
    do throws(LedgerError) {
      for path in try folder.formerJournals() + folder.pasts() { try DurableFile.remove(path) }
    } catch {
      throw .busy
    }
  }

  /// Empties the -wal if that is owed. One that a reader uses is emptied later.
  private func emptyOwedWAL() throws(LedgerError) {
    guard hasErased else { return }
    do throws(LedgerError) {
      try emptyWAL()
    } catch {
      guard error.code == .busy else { throw error }
    }
  }

  /// Looks whether another program removed, replaced or cut a file. Every commit does so too.
  ///
  /// - Throws: `LedgerError.lostFile`, which ends the journal, and what the file system reports.
  public func checkFiles() throws(LedgerError) {
    _ = try connection()
    do throws(LedgerError) { try files?.requireInPlace() } catch {
      recover(from: error)
      throw error
    }
  }

  /// Clears the open flag, copies the -wal into the file, removes it and closes. Later calls throw.
  /// If readers still use the -wal, it remains for the next start; this is no error.
  ///
  /// - Throws: the error that has already ended the journal, or what SQLite reports.
  public func close() throws(LedgerError) {
    let connection = try connection()
    closingError = .sql("the journal is closed")
    try connection.atomically { () throws(LedgerError) in
      // A copy writes nothing that the shared journal does not have: as in a crash, they are lost.
      if copy == nil { try waiting.write(connection) }
      try Meta(connection: connection).set(.open, 0)
    }
    do throws(LedgerError) {
      try connection.checkpointTruncate()
    } catch {
      if error != .busy { throw error }
    }
    connection.close()
  }

  /// hash[seq], or nil if seq is past the head.
  ///
  /// - Throws: the error that has ended the journal, or what SQLite reports.
  public func hash(at seq: Int64) throws(LedgerError) -> [UInt8]? {
    if seq == 0 { return ChainHash.origin }
    return try connection().statement("SELECT hash FROM event WHERE seq = ?").bind(1, seq)
      .first { $0.bytes(0) }
  }

  /// Records what changes from now on, as a copy of a shared journal.
  private func beginRecording() throws(LedgerError) {
    let state = try CopyState(live)
    live.report(to: state.changes)
    copy = state
  }

  static func readHead(_ connection: SQLiteConnection) throws(LedgerError) -> Head {
    let head =
      try connection.statement(
        "SELECT seq, hash, received_at_ms FROM event ORDER BY seq DESC LIMIT 1"
      ).first { Head(seq: $0.int(0), hash: $0.bytes(1), receivedAt: $0.int(2)) } ?? .empty
    // seq is dense from 1, so only a damaged file has this one. Below, seq + 1 cannot overflow.
    guard head.seq < 1 << 60 else { throw .corrupt("the last event's seq is impossibly large") }
    return head
  }
}
