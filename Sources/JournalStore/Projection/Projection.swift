import Migrations
import Platform

/// Writes one projection: entitlement rows folded from the journal. One per file, one thread.
///
/// Not synced at commit (`synchronous=NORMAL`): after a loss of power rows may lag, and
/// `foldedThrough`, which commits with them, says from where to catch up (promise 7).
public final class Projection {
  public let path: String
  /// The last seq in the rows; 0 while they are being built.
  public internal(set) var foldedThrough: Int64
  /// Of all rows.
  public internal(set) var digest: SetDigest
  /// How far it has been built, where it has not been to the end.
  public internal(set) var build: Build?

  private let live: SQLiteConnection
  private var ending: StoreError?
  private var apps: [[String]: Int64] = [:]

  /// Opens a projection that `ProjectionFile.examine` called usable.
  ///
  /// Its -wal, which a failure or a crash left, is copied to a fresh inode first: a checkpoint
  /// overwrites rows, and is whole only with all of the -wal on the disk.
  public static func open(_ path: String) throws(StoreError) -> Projection {
    try platform { () throws(PlatformError) in
      if try DurableFile.size(path + "-wal") ?? 0 > 0 {
        try DurableFile.copyToFreshInode(path + "-wal")
      }
    }
    let connection = try SQLiteConnection.open(path, .write)
    try connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
    let projection = try Projection(path, connection)
    try syncNames(of: path)
    if projection.build != nil { try connection.execute("PRAGMA synchronous=OFF") }
    return projection
  }

  /// Makes an empty projection, in place of whatever has that name.
  ///
  /// - Parameter build: what is to be built into it; nil for rows that begin with the journal.
  public static func create(
    _ path: String, _ identity: ProjectionIdentity, toBuild build: Build? = nil
  ) throws(StoreError) -> Projection {
    try ProjectionFile.remove(path)
    try platform { () throws(PlatformError) in try DurableFile.create(path) }
    let connection = try SQLiteConnection.open(path, .write)
    try connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
    try connection.execute("PRAGMA application_id=\(ProjectionFile.mark)")
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
    try syncNames(of: path)
    // The file's header must show its mark without the -wal.
    try connection.checkpointPassive()
    if build != nil { try connection.execute("PRAGMA synchronous=OFF") }
    return try Projection(path, connection)
  }

  /// Puts the name of a -wal just made on the disk, for the same reason. SQLite syncs the folder as
  /// well, but goes on where that fails.
  private static func syncNames(of path: String) throws(StoreError) {
    try platform { () throws(PlatformError) in try DurableFile.syncFolder(of: path) }
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
    if let ending { throw ending }
    return live
  }

  /// What is kept for a key; nil where there is no row.
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
        place: Place(
          id: $0.int(3), tokens: $0.bytes(4), share: SetDigest(key: key, state: state)))
    }
  }

  /// What the fold keeps in a row, and where that is.
  public struct StoredRow: Sendable {
    public let state: [UInt8]
    public let lastSeq: Int64?
    public let broken: String?
    public let place: Place
  }

  /// What has to be known of a row to write it anew without looking for it. Right until the row is
  /// written again, or a write fails.
  public struct Place: Sendable {
    fileprivate let id: Int64
    fileprivate let tokens: [UInt8]
    /// The row's share of the digest of all.
    fileprivate let share: SetDigest
  }

  /// Reads and writes rows, and how far they go, in one SQL transaction.
  ///
  /// - Parameter hash: hash[foldedThrough] by the journal.
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

  /// Writes one row anew; how far all are folded stays.
  public func replace(_ row: ProjectedRow) throws(StoreError) {
    try atomically { (_, _) throws(StoreError) in
      try write(row, over: try self.row(of: row.key)?.place)
    }
  }

  /// One SQL transaction that also writes the digest: all of it, or all is as it was.
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
  /// - Parameter place: where it is; nil where the key has none yet.
  @discardableResult
  public func write(_ row: ProjectedRow, over place: Place?) throws(StoreError) -> Place {
    let connection = try connection()
    let tokens = row.lists.allSatisfy(\.isEmpty) ? nil : row.tokens
    let id: Int64
    if let place {
      try connection.statement(
        """
        UPDATE entitlement SET state = ?1, tokens = ?2, broken = ?3, last_seq = ?4 WHERE id = ?5
        """
      ).bind(1, row.state).bind(2, tokens).bind(3, row.broken).bind(4, row.lastSeq)
        .bind(5, place.id).run()
      guard connection.changes == 1 else { throw .corrupt("a row of \(path) is gone") }
      digest.remove(place.share)
      id = place.id
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
    let written = Place(
      id: id, tokens: tokens ?? [], share: SetDigest(key: row.key, state: row.state))
    digest.add(written.share)
    if place?.tokens ?? [] != written.tokens {
      let old = place.flatMap { ProjectedRow.lists($0.tokens) }
      try writeTokens(row, replacing: old, id: id, connection)
    }
    return written
  }

  private func writeTokens(
    _ row: ProjectedRow, replacing old: [[String]]?, id: Int64, _ connection: SQLiteConnection
  ) throws(StoreError) {
    for (place, list) in (old ?? []).enumerated() {
      for token in list {
        try connection.statement(
          "DELETE FROM token WHERE kind = ? AND value = ? AND entitlement_id = ?"
        ).bind(1, Int64(place + 1)).bind(2, token).bind(3, id).run()
      }
    }
    for (place, list) in row.lists.enumerated() {
      for token in list {
        try connection.statement(
          "INSERT OR IGNORE INTO token (kind, value, entitlement_id) VALUES (?, ?, ?)"
        ).bind(1, Int64(place + 1)).bind(2, token).bind(3, id).run()
      }
    }
  }

  private func appId(
    _ key: StreamKey, _ connection: SQLiteConnection, adding: Bool
  ) throws(StoreError) -> Int64? {
    let app = [key.environment, key.bundleId]
    if let id = apps[app] { return id }
    var id = try connection.statement("SELECT id FROM app WHERE environment = ? AND bundle_id = ?")
      .bind(1, key.environment).bind(2, key.bundleId).first { $0.int(0) }
    if id == nil && adding {
      try connection.statement("INSERT INTO app (environment, bundle_id) VALUES (?, ?)")
        .bind(1, key.environment).bind(2, key.bundleId).run()
      id = connection.lastRowId
    }
    if let id { apps[app] = id }
    return id
  }

  /// Pages in the -wal past which `checkpointIfNeeded` copies them into the file, 4 MB: they are
  /// synced only then, and everyone waits for that.
  private static let checkpointPages = 1_000

  /// Copies the -wal into the file once it has grown. Call between batches.
  public func checkpointIfNeeded() throws(StoreError) {
    let connection = try connection()
    if connection.walPages > Self.checkpointPages { try connection.checkpointPassive() }
  }

  /// Copies the -wal into the file, removes it and closes. Later calls throw.
  ///
  /// - Parameter isPatient: whether to wait for such a reader a while.
  /// - Throws: `busy` while a reader still looks at the -wal; the file is closed all the same.
  ///   After any other error the -wal stays as it is, for `open` to copy.
  public func close(isPatient: Bool = true) throws(StoreError) {
    let connection = try connection()
    ending = .sql("the projection is closed")
    do throws(StoreError) {
      if !isPatient { try connection.execute("PRAGMA busy_timeout=0") }
      try connection.checkpointTruncate()
    } catch {
      if error == .busy { connection.close() }
      throw error
    }
    connection.close()
  }
}
