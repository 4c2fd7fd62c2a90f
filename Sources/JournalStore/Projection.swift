import Migrations
import Platform

/// Writes one projection: entitlement rows folded from the journal. One per file, one thread.
///
/// Not synced at commit (`synchronous=NORMAL`): after a loss of power rows may lag, and
/// `foldedThrough`, which commits with them, says from where to catch up (promise 7).
public final class Projection {
  public let path: String
  /// The last seq in the rows.
  public private(set) var foldedThrough: Int64

  private let live: Connection
  private var ending: StoreError?
  private var apps: [[String]: Int64] = [:]

  /// Opens a projection that `ProjectionFile.examine` called usable.
  public static func open(_ path: String) throws(StoreError) -> Projection {
    let connection = try Connection.open(path, .write)
    try connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
    let through = try Meta(connection: connection).int(.foldedThrough)
    return Projection(path, connection, through ?? 0)
  }

  /// Makes an empty projection, in place of whatever has that name.
  public static func create(
    _ path: String, _ identity: ProjectionIdentity
  ) throws(StoreError) -> Projection {
    try ProjectionFile.remove(path)
    try platform { () throws(PlatformError) in try DurableFile.create(path) }
    let connection = try Connection.open(path, .write)
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
    }
    // The file's header must show its mark without the -wal.
    try connection.checkpointPassive()
    return Projection(path, connection, 0)
  }

  private init(_ path: String, _ connection: Connection, _ foldedThrough: Int64) {
    self.path = path
    live = connection
    self.foldedThrough = foldedThrough
  }

  private func connection() throws(StoreError) -> Connection {
    if let ending { throw ending }
    return live
  }

  /// The bytes kept for a key and why its fold failed, if it did; nil where there is no row.
  public func state(
    of key: StreamKey
  ) throws(StoreError) -> (bytes: [UInt8], broken: String?)? {
    let connection = try connection()
    guard let app = try appId(key, connection, adding: false) else { return nil }
    return try connection.statement(
      "SELECT state, broken FROM entitlement WHERE original_transaction_id = ? AND app_id = ?"
    ).bind(1, key.originalTransactionId).bind(2, app)
      .first { (bytes: $0.bytes(0), broken: $0.optionalText(1)) }
  }

  /// Writes rows and how far they go in one SQL transaction.
  ///
  /// - Parameter hash: hash[foldedThrough] by the journal.
  public func commit(
    rows: [ProjectedRow], foldedThrough: Int64, hash: [UInt8]
  ) throws(StoreError) {
    let connection = try connection()
    do {
      try connection.atomically { () throws(StoreError) in
        for row in rows { try write(row, connection) }
        let meta = Meta(connection: connection)
        try meta.set(.foldedThrough, foldedThrough)
        try meta.set(.hash, hash)
      }
      self.foldedThrough = foldedThrough
    } catch {
      apps.removeAll()
      throw error
    }
  }

  private func write(_ row: ProjectedRow, _ connection: Connection) throws(StoreError) {
    let app = try appId(row.key, connection, adding: true)
    let known = try connection.statement(
      "SELECT id, tokens FROM entitlement WHERE original_transaction_id = ? AND app_id = ?"
    ).bind(1, row.key.originalTransactionId).bind(2, app)
      .first { (id: $0.int(0), tokens: $0.bytes(1)) }
    let tokens = row.lists.allSatisfy(\.isEmpty) ? nil : row.tokens
    let statement: Statement
    if let known {
      statement = try connection.statement(
        """
        UPDATE entitlement SET state = ?1, tokens = ?2, broken = ?3 WHERE id = ?4
        """
      ).bind(4, known.id)
    } else {
      statement = try connection.statement(
        """
        INSERT INTO entitlement (state, tokens, broken, app_id, original_transaction_id)
        VALUES (?1, ?2, ?3, ?4, ?5)
        """
      ).bind(4, app).bind(5, row.key.originalTransactionId)
    }
    statement.bind(1, row.state).bind(2, tokens).bind(3, row.broken)
    try statement.run()
    guard known.map({ $0.tokens }) ?? [] != tokens ?? [] else { return }
    let old = known.flatMap { ProjectedRow.lists($0.tokens) }
    try writeTokens(row, replacing: old, id: known?.id ?? connection.lastRowId, connection)
  }

  private func writeTokens(
    _ row: ProjectedRow, replacing old: [[String]]?, id: Int64, _ connection: Connection
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
    _ key: StreamKey, _ connection: Connection, adding: Bool
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

  /// Copies the -wal into the file once it has grown. Call between batches.
  public func checkpointIfNeeded() throws(StoreError) {
    let connection = try connection()
    if connection.walPages > Journal.checkpointPages { try connection.checkpointPassive() }
  }

  /// Copies the -wal into the file, removes it and closes. Later calls throw.
  ///
  /// - Throws: `busy` while a reader still looks at the -wal; the file is closed all the same.
  public func close() throws(StoreError) {
    let connection = try connection()
    ending = .sql("the projection is closed")
    defer { connection.close() }
    try connection.checkpointTruncate()
  }
}
