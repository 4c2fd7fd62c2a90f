public import AppStore
import Migrations
import Platform

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
  private var closingError: StoreError?
  private var apps: [AppKey: Int64] = [:]

  /// Opens a projection that `ProjectionFile.examine` found usable or unfinished.
  ///
  /// If a failure or a crash left a -wal, it is copied to a fresh inode first. A checkpoint
  /// overwrites rows, so an interrupted one can only be repeated if the whole -wal is on the disk.
  ///
  /// - Throws: `StoreError.corrupt` when the digest is damaged, otherwise what SQLite or the file
  ///   system reports.
  public static func open(_ path: String) throws(StoreError) -> Projection {
    try mapError(StoreError.init) { () throws(PlatformError) in
      if try DurableFile.size(path + "-wal") ?? 0 > 0 {
        try DurableFile.copyToFreshInode(path + "-wal")
      }
    }
    let connection = try SQLiteConnection.open(path, .write)
    try connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
    let projection = try Projection(path, connection)
    try syncFolder(of: path)
    if projection.build != nil { try connection.execute("PRAGMA synchronous=OFF") }
    return projection
  }

  /// Makes an empty projection and replaces any file with its name.
  ///
  /// - Parameter build: the events to be folded into it; nil for a projection that is complete
  ///   while the journal is empty.
  /// - Throws: what SQLite or the file system reports.
  public static func create(
    _ path: String, _ identity: ProjectionIdentity, toBuild build: Build? = nil
  ) throws(StoreError) -> Projection {
    try ProjectionFile.remove(path)
    try mapError(StoreError.init, try DurableFile.create(path))
    let connection = try SQLiteConnection.open(path, .write)
    try connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
    try connection.execute("PRAGMA application_id=\(ProjectionFile.applicationId)")
    try connection.atomically { () throws(StoreError) in
      try connection.execute(String(decoding: Migrations.projection, as: UTF8.self))
      try connection.execute("PRAGMA user_version=\(ProjectionFile.schema)")
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
    return try Projection(path, connection)
  }

  /// Syncs the folder, so that the name of a new -wal is on the disk. SQLite does this as well, but
  /// ignores an error.
  private static func syncFolder(of path: String) throws(StoreError) {
    try mapError(StoreError.init, try DurableFile.syncFolder(of: path))
  }

  private init(_ path: String, _ connection: SQLiteConnection) throws(StoreError) {
    self.path = path
    live = connection
    let meta = Meta(connection: connection)
    foldedThrough = try meta.int(.foldedThrough) ?? 0
    guard let digest = SetDigest(try meta.bytes(.digest) ?? []) else {
      throw .corrupt("the digest of \(path)")
    }
    self.digest = digest
    build = try Build(meta)
  }

  func connection() throws(StoreError) -> SQLiteConnection {
    if let closingError { throw closingError }
    return live
  }

  /// The row of a stream, or nil if there is none.
  ///
  /// - Throws: the error of `close`, or what SQLite reports.
  public func row(of key: StreamKey) throws(StoreError) -> StoredRow? {
    let connection = try connection()
    guard let app = try appId(key, connection, adding: false) else { return nil }
    return try connection.statement(
      """
      SELECT state, last_seq, broken, id, tokens FROM entitlement
      WHERE original_transaction_id = ? AND app_id = ?
      """
    ).bind(1, key.originalTransactionId).bind(2, app).first {
      let state = $0.bytes(0)
      return StoredRow(
        state: state, lastSeq: $0.optionalInt(1), broken: $0.optionalText(2),
        reference: RowReference(
          id: $0.int(3), tokens: $0.bytes(4), share: SetDigest(key: key, state: state)))
    }
  }

  /// The part of a row that the fold reads, and a reference for overwriting it.
  public struct StoredRow: Sendable {
    public let state: [UInt8]
    public let lastSeq: Int64?
    public let broken: String?
    public let reference: RowReference
  }

  /// What `write` needs to know of a row in order to overwrite it without reading it. Valid until
  /// the row is written again or a write fails.
  public struct RowReference: Sendable {
    fileprivate let id: Int64
    fileprivate let tokens: [UInt8]
    /// The row's share of the digest.
    fileprivate let share: SetDigest
  }

  /// Runs `body`, which reads and writes rows, and stores `foldedThrough`, in one SQL transaction.
  ///
  /// - Parameter hash: hash[foldedThrough] of the journal.
  /// - Throws: what SQLite reports, and what `body` throws. Nothing was written then.
  public func commit(
    foldedThrough: Int64, hash: [UInt8], _ body: () throws(StoreError) -> Void
  ) throws(StoreError) {
    try atomically { (_, meta) throws(StoreError) in
      try body()
      try meta.set(.foldedThrough, foldedThrough)
      try meta.set(.hash, hash)
    }
    self.foldedThrough = foldedThrough
  }

  /// Overwrites one row and does not change `foldedThrough`.
  ///
  /// - Throws: the error of `close`, or what SQLite reports. Nothing was written then.
  public func replace(_ row: ProjectedRow) throws(StoreError) {
    try atomically { (_, _) throws(StoreError) in
      try write(row, over: try self.row(of: row.key)?.reference)
    }
  }

  /// Runs `body` in one SQL transaction that also stores the digest. After an error the digest and
  /// the file are unchanged.
  func atomically(
    _ body: (SQLiteConnection, Meta) throws(StoreError) -> Void
  ) throws(StoreError) {
    let connection = try connection()
    let before = digest
    do {
      try connection.atomically { () throws(StoreError) in
        let meta = Meta(connection: connection)
        try body(connection, meta)
        if digest != before { try meta.set(.digest, digest.bytes) }
      }
    } catch {
      digest = before
      apps.removeAll()
      throw error
    }
  }

  /// Writes a row within `commit`.
  ///
  /// - Parameter reference: the row to overwrite; nil if the stream has none yet.
  /// - Returns: the reference for the next write of this row.
  /// - Throws: `StoreError.corrupt` when the row to overwrite is missing, otherwise what SQLite
  ///   reports.
  @discardableResult
  public func write(
    _ row: ProjectedRow, over reference: RowReference?
  ) throws(StoreError) -> RowReference {
    let connection = try connection()
    let tokens = row.lists.allSatisfy(\.isEmpty) ? nil : row.tokens
    let id: Int64
    if let reference {
      try connection.statement(
        """
        UPDATE entitlement SET state = ?1, tokens = ?2, broken = ?3, last_seq = ?4 WHERE id = ?5
        """
      ).bind(1, row.state).bind(2, tokens).bind(3, row.broken).bind(4, row.lastSeq)
        .bind(5, reference.id).run()
      guard connection.changes == 1 else { throw .corrupt("a row of \(path) is missing") }
      digest.remove(reference.share)
      id = reference.id
    } else {
      try connection.statement(
        """
        INSERT INTO entitlement (state, tokens, broken, last_seq, app_id, original_transaction_id)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        """
      ).bind(1, row.state).bind(2, tokens).bind(3, row.broken).bind(4, row.lastSeq)
        .bind(5, try appId(row.key, connection, adding: true))
        .bind(6, row.key.originalTransactionId).run()
      id = connection.lastRowId
    }
    let written = RowReference(
      id: id, tokens: tokens ?? [], share: SetDigest(key: row.key, state: row.state))
    digest.add(written.share)
    if reference?.tokens ?? [] != written.tokens {
      let old = reference.flatMap { ProjectedRow.lists($0.tokens) }
      try writeTokens(row, replacing: old, id: id, connection)
    }
    return written
  }

  private func writeTokens(
    _ row: ProjectedRow, replacing old: [[String]]?, id: Int64, _ connection: SQLiteConnection
  ) throws(StoreError) {
    for (index, list) in (old ?? []).enumerated() {
      for token in list {
        try connection.statement(
          "DELETE FROM token WHERE kind = ? AND value = ? AND entitlement_id = ?"
        ).bind(1, Int64(index + 1)).bind(2, token).bind(3, id).run()
      }
    }
    for (index, list) in row.lists.enumerated() {
      for token in list {
        try connection.statement(
          "INSERT OR IGNORE INTO token (kind, value, entitlement_id) VALUES (?, ?, ?)"
        ).bind(1, Int64(index + 1)).bind(2, token).bind(3, id).run()
      }
    }
  }

  private func appId(
    _ key: StreamKey, _ connection: SQLiteConnection, adding: Bool
  ) throws(StoreError) -> Int64? {
    let app = AppKey(environment: key.environment, bundleId: key.bundleId)
    if let id = apps[app] { return id }
    var id = try connection.statement("SELECT id FROM app WHERE environment = ? AND bundle_id = ?")
      .bind(1, key.environment.rawValue).bind(2, key.bundleId).first { $0.int(0) }
    if id == nil && adding {
      try connection.statement("INSERT INTO app (environment, bundle_id) VALUES (?, ?)")
        .bind(1, key.environment.rawValue).bind(2, key.bundleId).run()
      id = connection.lastRowId
    }
    if let id { apps[app] = id }
    return id
  }

  /// The size of the -wal, in pages, above which `checkpointIfNeeded` copies it into the file: 4
  /// MB. The pages are synced only then, and the writer waits for that.
  private static let checkpointPages = 1_000

  /// Copies the -wal into the file if it has grown beyond `checkpointPages`. Call between batches.
  ///
  /// - Throws: the error of `close`, or what SQLite reports.
  public func checkpointIfNeeded() throws(StoreError) {
    let connection = try connection()
    if connection.walPages > Self.checkpointPages { try connection.checkpointPassive() }
  }

  /// Copies the -wal into the file, removes it and closes. Later calls throw.
  ///
  /// - Parameter waitsForReaders: whether to wait up to 10 s for readers that still use the -wal.
  /// - Throws: `StoreError.busy` when a reader still uses the -wal; the file is closed
  ///   nevertheless. After any other error the -wal is unchanged, and `open` will copy it.
  public func close(waitsForReaders: Bool = true) throws(StoreError) {
    let connection = try connection()
    closingError = .sql("the projection is closed")
    do throws(StoreError) {
      if !waitsForReaders { try connection.execute("PRAGMA busy_timeout=0") }
      try connection.checkpointTruncate()
    } catch {
      if error == .busy { connection.close() }
      throw error
    }
    connection.close()
  }
}
