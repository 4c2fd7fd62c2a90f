public import AppStore
public import Entitlements
public import Platform

/// Writes one projection: entitlement rows folded from the journal. One per file, on one thread.
///
/// Commits are not synced (`synchronous=NORMAL`). After a loss of power the rows may be older than
/// the journal; `foldedThrough` is committed with them and says where to continue (promise 7).
public final class Projection {
  public let path: String
  /// The last seq that is folded into the rows; 0 while they are built.
  public internal(set) var foldedThrough: Int64
  /// The digest of all rows.
  public internal(set) var digest: SetDigest
  /// The progress of the build, or nil if the projection is complete.
  public internal(set) var build: Build?

  private let live: SQLiteConnection
  /// Set by `close`.
  private var closingError: LedgerError?
  let reading: RowReading
  public let packer = StatePacker()
  /// The current time in milliseconds since 1970, at which the columns `answer_…` are evaluated.
  public let clock: @Sendable () -> Int64
  /// The latest time that any answer was evaluated at.
  var evaluatedAt: Int64
  /// What counts since `adopt`; nil before it.
  var durations: AppDurations?

  /// Opens a projection that `ProjectionFile.examine` found usable or unfinished.
  ///
  /// - Parameters:
  ///   - copiesWAL: whether `ProjectionFile.copyWAL` is done first; false if readers have it open.
  ///   - clock: the current time, milliseconds since 1970.
  /// - Throws: `LedgerError.corrupt` when the digest is damaged, otherwise what SQLite or the file
  ///   system reports.
  public static func open(
    _ path: String, copiesWAL: Bool = true,
    clock: @escaping @Sendable () -> Int64 = Clock.now
  ) throws(LedgerError) -> Projection {
    if copiesWAL { try ProjectionFile.copyWAL(path) }
    let connection = try SQLiteConnection.open(path, .write)
    try connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
    let projection = try Projection(path, connection, clock)
    try syncFolder(of: path)
    if projection.build != nil { try connection.execute("PRAGMA synchronous=OFF") }
    return projection
  }

  /// Makes an empty projection and replaces any file with its name.
  ///
  /// - Parameters:
  ///   - build: the events to be folded into it; nil for a projection that is complete while the
  ///     journal is empty.
  ///   - clock: the current time, milliseconds since 1970.
  /// - Throws: what SQLite or the file system reports.
  public static func create(
    _ path: String, _ identity: ProjectionIdentity, toBuild build: Build? = nil,
    clock: @escaping @Sendable () -> Int64 = Clock.now
  ) throws(LedgerError) -> Projection {
    try ProjectionFile.remove(path)
    try DurableFile.create(path)
    let connection = try SQLiteConnection.open(path, .write)
    try connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
    try connection.execute("PRAGMA application_id=\(ProjectionFile.applicationId)")
    try connection.atomically { () throws(LedgerError) in
      try connection.execute(ProjectionFile.tables)
      try connection.execute("PRAGMA user_version=\(ProjectionFile.schema)")
      // A build makes them at its end.
      if build == nil { try connection.execute(ProjectionFile.answerIndexes) }
      let meta = Meta(connection: connection)
      try meta.set(.journalId, identity.journalId)
      try meta.set(.foldVersion, Int64(identity.foldVersion))
      try meta.set(.fingerprint, Array(identity.fingerprint.utf8))
      try meta.set(.foldedThrough, 0)
      try meta.set(.hash, ChainHash.origin)
      try meta.set(.digest, SetDigest().bytes)
      if let build { try build.write(meta) }
    }
    try syncFolder(of: path)
    // The application_id must be in the file itself, not only in the -wal.
    try connection.checkpointPassive()
    if build != nil { try connection.execute("PRAGMA synchronous=OFF") }
    return try Projection(path, connection, clock)
  }

  /// Syncs the folder, so that the name of a new -wal is on the disk. SQLite does this as well, but
  /// ignores an error.
  private static func syncFolder(of path: String) throws(LedgerError) {
    try DurableFile.syncFolder(of: path)
  }

  private init(
    _ path: String, _ connection: SQLiteConnection, _ clock: @escaping @Sendable () -> Int64
  ) throws(LedgerError) {
    self.path = path
    live = connection
    self.clock = clock
    reading = RowReading(connection)
    let meta = Meta(connection: connection)
    evaluatedAt = try meta.int(.evaluatedAt) ?? .min
    foldedThrough = try meta.int(.foldedThrough) ?? 0
    guard let digest = SetDigest(try meta.bytes(.digest) ?? []) else {
      throw .corrupt("the digest of \(path)")
    }
    self.digest = digest
    build = try Build(meta)
  }

  func connection() throws(LedgerError) -> SQLiteConnection {
    if let closingError { throw closingError }
    return live
  }

  /// What is stored of a stream, or nil if it has no row.
  ///
  /// - Throws: the error of `close`, `LedgerError.corrupt` when the row is damaged, otherwise what
  ///   SQLite reports.
  public func stream(_ key: StreamKey) throws(LedgerError) -> StoredStream? {
    let connection = try connection()
    guard let app = try reading.values.id(of: AppKey(key), adding: false) else { return nil }
    let found = try connection.statement(Self.selectByKey).bind(1, key.originalTransactionId).bind(
      2, app
    ).first { (row) throws(LedgerError) in
      try reading.stored(row, .none, withState: true)
    }
    guard let found else { return nil }
    let last = found.projected.row.lastEvent
    guard let bytes = packer.unpack(found.state),
      var state = StreamState(decoding: bytes, lastSeq: last?.seq)
    else { throw .corrupt("the state of a row") }
    let lines = try reading.lineSums(of: found.id)
    state.setSeqs(lines.map { ($0.transactionId, $0.firstSeq, $0.lastSeq) })
    let sums = RowSums(found.columns, try reading.spanSums(of: found.id), lines)
    return StoredStream(
      state: state, broken: found.projected.broken,
      reference: RowReference(
        id: found.id, ids: FoldedStream.ids(state), predecessors: state.predecessors,
        share: SetDigest(key: key, content: sums.content, state: bytes), spans: sums.spans,
        lines: lines, hasRequests: found.requestCount > 0))
  }

  private static let selectByKey =
    ProjectionReader.select + "WHERE e.original_transaction_id = ? AND e.app_id = ?"

  /// The part of a row that the fold reads, and a reference for overwriting it.
  public struct StoredStream: Sendable {
    public let state: StreamState
    public let broken: String?
    public let reference: RowReference
  }

  /// What `write` needs to know of a row in order to overwrite it without reading it. Valid until
  /// the row is written again or a write fails.
  public struct RowReference: Sendable {
    let id: Int64
    let ids: [[String]]
    let predecessors: [Predecessor]
    /// The row's share of the digest: equal for the same row and state.
    public let share: SetDigest
    let spans: [RowSums.Span]
    let lines: [LineSum]
    /// Whether it has requests for refunds.
    public let hasRequests: Bool
  }

  /// Runs `body`, which reads and writes rows, and stores `foldedThrough`, in one SQL transaction.
  ///
  /// - Parameter hash: hash[foldedThrough] of the journal.
  /// - Throws: what SQLite reports, and what `body` throws. Nothing was written then.
  public func commit(
    foldedThrough: Int64, hash: [UInt8], _ body: () throws(LedgerError) -> Void
  ) throws(LedgerError) {
    try atomically { (_, meta) throws(LedgerError) in
      try body()
      try meta.set(.foldedThrough, foldedThrough)
      try meta.set(.hash, hash)
    }
    self.foldedThrough = foldedThrough
  }

  /// Calls `body` with every stream that has named a predecessor, and the predecessor's original
  /// transaction id.
  ///
  /// - Throws: the error of `close`, or what SQLite reports.
  public func forEachPredecessor(
    _ body: (StreamKey, String) -> Void
  ) throws(LedgerError) {
    try connection().statement(
      """
      SELECT e.app_id, e.original_transaction_id, t.value
      FROM token t JOIN entitlement e ON e.id = t.entitlement_id WHERE t.kind = 3
      """
    ).forEach { (row) throws(LedgerError) in
      body(StreamKey(try reading.values.app(row.int(0)), row.text(1)), row.text(2))
      return true
    }
  }

  /// Overwrites one row and does not change `foldedThrough`.
  ///
  /// - Parameter reference: the row to overwrite; nil if the stream has none yet.
  /// - Throws: the error of `close`, or what SQLite reports. Nothing was written then.
  public func replace(
    _ stream: PackedStream, over reference: RowReference?
  ) throws(LedgerError) {
    try atomically { (_, _) throws(LedgerError) in
      try write(stream, over: reference, at: clock())
    }
  }

  /// Runs `body` in one SQL transaction that also stores the digest. After an error the digest and
  /// the file are unchanged.
  func atomically(
    _ body: (SQLiteConnection, Meta) throws(LedgerError) -> Void
  ) throws(LedgerError) {
    let connection = try connection()
    let before = digest
    do {
      try connection.atomically { () throws(LedgerError) in
        let meta = Meta(connection: connection)
        let evaluated = evaluatedAt
        try body(connection, meta)
        if evaluatedAt != evaluated { try meta.set(.evaluatedAt, evaluatedAt) }
        if digest != before { try meta.set(.digest, digest.bytes) }
      }
    } catch {
      digest = before
      reading.values.removeAll()
      throw error
    }
  }

  /// Copies the -wal into the file if it has grown long. Call between batches.
  ///
  /// - Throws: the error of `close`, or what SQLite reports.
  public func checkpointIfNeeded() throws(LedgerError) {
    try connection().checkpointIfNeeded()
  }

  /// Copies the -wal into the file, removes it and closes. Later calls throw.
  ///
  /// - Parameter waitsForReaders: whether to wait up to 10 s for readers that still use the -wal.
  /// - Throws: `LedgerError.busy` when a reader still uses the -wal; the file is closed
  ///   nevertheless. After any other error the -wal is unchanged, and `open` will copy it.
  public func close(waitsForReaders: Bool = true) throws(LedgerError) {
    let connection = try connection()
    closingError = .sql("the projection is closed")
    do throws(LedgerError) {
      if !waitsForReaders { try connection.execute("PRAGMA busy_timeout=0") }
      try connection.checkpointTruncate()
    } catch {
      if error.code == .busy { connection.close() }
      throw error
    }
    connection.close()
  }
}
