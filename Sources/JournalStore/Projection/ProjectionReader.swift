import Platform

/// Reads one projection through a connection that cannot write; one per thread.
///
/// After a swap of the live file a reader sees the old one until it is opened anew.
public final class ProjectionReader {
  let connection: SQLiteConnection

  /// Opens the live projection.
  ///
  /// - Throws: `foreign` where none is.
  public static func open(_ folder: DataFolder) throws(StoreError) -> ProjectionReader {
    while true {
      guard let name = try ProjectionList.read(folder).live else {
        throw .foreign("there are no rows in \(folder.path); run `subledger rebuild --apply`")
      }
      do throws(StoreError) {
        return try open(folder, path: folder.projection(named: name))
      } catch {
        // Removed since the list was read: then it names another one.
        if try ProjectionList.read(folder).live == name { throw error }
      }
    }
  }

  /// Opens any projection of the folder, such as one that was built and is not live.
  public static func open(_ folder: DataFolder, path: String) throws(StoreError) -> ProjectionReader
  {
    guard try platform({ () throws(PlatformError) in try DurableFile.size(path) }) != nil else {
      throw .foreign("there is no \(path); run `subledger rebuild --apply`")
    }
    let connection = try SQLiteConnection.open(path, try folder.readingMode(path))
    let schema = try connection.requireOurs(
      path, mark: ProjectionFile.mark, known: ProjectionFile.schema)
    guard schema == ProjectionFile.schema else {
      throw .foreign("\(path) has an older layout; run `subledger rebuild --apply`")
    }
    return ProjectionReader(connection)
  }

  private init(_ connection: SQLiteConnection) { self.connection = connection }

  /// Every id that rows are found by, as the index of them has it: its kind, counted from 0, and
  /// the row's key, nil where it leads to no row.
  public func forEachToken(
    _ body: (_ kind: Int, _ value: String, _ key: StreamKey?) -> Void
  ) throws(StoreError) {
    try connection.statement(
      """
      SELECT t.kind, t.value, a.environment, a.bundle_id, e.original_transaction_id
      FROM token t LEFT JOIN entitlement e ON e.id = t.entitlement_id
        LEFT JOIN app a ON a.id = e.app_id
      """
    ).forEach { (row) throws(StoreError) in
      let key = row.optionalText(2).map {
        StreamKey(environment: $0, bundleId: row.text(3), originalTransactionId: row.text(4))
      }
      body(Int(row.int(0)) - 1, row.text(1), key)
      return true
    }
  }

  /// Reads that follow see one state of the rows, until `endSnapshot`.
  public func beginSnapshot() throws(StoreError) { try connection.beginSnapshot() }

  public func endSnapshot() { connection.endSnapshot() }

  /// The last seq in the rows.
  public func foldedThrough() throws(StoreError) -> Int64 {
    try Meta(connection: connection).int(.foldedThrough) ?? 0
  }

  /// hash[foldedThrough] by the journal the rows came from.
  public func foldedHash() throws(StoreError) -> [UInt8] {
    try Meta(connection: connection).bytes(.hash) ?? []
  }

  public func identity() throws(StoreError) -> ProjectionIdentity {
    try Meta(connection: connection).identity()
  }

  /// What the writer of the rows says of all of them; nil where that is not there.
  public func digest() throws(StoreError) -> SetDigest? {
    SetDigest(try Meta(connection: connection).bytes(.digest) ?? [])
  }

  /// Whether nothing is left to build into it.
  public func isWhole() throws(StoreError) -> Bool {
    try Projection.Build(Meta(connection: connection)) == nil
  }

  public func count() throws(StoreError) -> Int64 {
    try connection.statement("SELECT count(*) FROM entitlement").first { $0.int(0) } ?? 0
  }

  /// Rows whose fold failed, in key order (promise 9).
  public func broken(limit: Int) throws(StoreError) -> [ProjectedRow] {
    try rows("WHERE e.broken IS NOT NULL ORDER BY \(Self.keyOrder) LIMIT ?", limit: limit)
  }

  public func row(of key: StreamKey) throws(StoreError) -> ProjectedRow? {
    try connection.statement(
      Self.select + "WHERE original_transaction_id = ? AND environment = ? AND bundle_id = ?"
    ).bind(1, key.originalTransactionId).bind(2, key.environment).bind(3, key.bundleId)
      .first(Self.row)
  }

  /// The rows of this id in key order: one for each app and environment that has it.
  public func rows(
    withOriginalTransactionId id: String
  ) throws(StoreError) -> [ProjectedRow] {
    // Nearly always one: a sorter of SQLite's, made for each question, costs more than it does.
    try rows("WHERE original_transaction_id = ?", id).sorted { $0.key < $1.key }
  }

  /// The rows that ever named this id as the one they succeed, in key order.
  public func rows(
    withPreviousOriginalTransactionId id: String
  ) throws(StoreError) -> [ProjectedRow] {
    // Asked with every row that is read, and nearly nobody was moved: a look into the index first.
    let isNamed = try connection.statement("SELECT 1 FROM token WHERE kind = 3 AND value = ?")
      .bind(1, id).first { _ in true }
    guard isNamed == true else { return [] }
    return try rows(kind: 3, id, after: nil, Self.maximumSuccessors)
  }

  /// The rows of an app account, in key order, past a key.
  public func rows(
    withAppAccountToken token: String, after key: StreamKey? = nil, limit: Int
  ) throws(StoreError) -> [ProjectedRow] {
    try rows(kind: 1, token, after: key, limit)
  }

  /// The rows of an app download, in key order, past a key.
  public func rows(
    withAppTransactionId id: String, after key: StreamKey? = nil, limit: Int
  ) throws(StoreError) -> [ProjectedRow] {
    try rows(kind: 2, id, after: key, limit)
  }

  private func rows(
    kind: Int64, _ value: String, after key: StreamKey?, _ limit: Int
  ) throws(StoreError) -> [ProjectedRow] {
    try connection.statement(
      Self.select + """
        WHERE e.id IN (SELECT entitlement_id FROM token WHERE kind = ?4 AND value = ?5)
        AND (original_transaction_id, environment, bundle_id) > (?1, ?2, ?3)
        ORDER BY \(Self.keyOrder) LIMIT ?6
        """
    ).bind(1, key?.originalTransactionId ?? "").bind(2, key?.environment ?? "")
      .bind(3, key?.bundleId ?? "").bind(4, kind).bind(5, value).bind(6, Int64(limit))
      .all(Self.row)
  }

  /// Up to `limit` rows in key order, past a key.
  public func rows(after key: StreamKey?, limit: Int) throws(StoreError) -> [ProjectedRow] {
    let piece = try connection.statement(
      Self.select + """
        WHERE original_transaction_id >= ?1
        AND (original_transaction_id, environment, bundle_id) > (?1, ?2, ?3)
        ORDER BY \(Self.keyOrder) LIMIT ?4
        """
    ).bind(1, key?.originalTransactionId ?? "").bind(2, key?.environment ?? "")
      .bind(3, key?.bundleId ?? "").bind(4, Int64(limit)).all(Self.row)
    var last = key
    for row in piece {
      if let last, !(last < row.key) { throw .corrupt("the order of rows") }
      last = row.key
    }
    return piece
  }

  /// Every row in key order, while `body` answers true. In pieces: beside a writer, rows may be of
  /// several states unless a snapshot was begun.
  public func forEach(_ body: (ProjectedRow) -> Bool) throws(StoreError) {
    var last: StreamKey?
    while true {
      let piece = try rows(after: last, limit: 1_000)
      for row in piece {
        guard body(row) else { return }
      }
      guard let end = piece.last else { return }
      last = end.key
    }
  }

  /// Apple moves a customer once or twice.
  private static let maximumSuccessors = 100

  private static let keyOrder = "original_transaction_id, environment, bundle_id"

  private static let select = """
    SELECT environment, bundle_id, original_transaction_id, broken, tokens, state, last_seq
    FROM entitlement e JOIN app ON app.id = e.app_id

    """

  private func rows(_ condition: String, _ id: String) throws(StoreError) -> [ProjectedRow] {
    try connection.statement(Self.select + condition).bind(1, id).all(Self.row)
  }

  private func rows(_ condition: String, limit: Int) throws(StoreError) -> [ProjectedRow] {
    try connection.statement(Self.select + condition).bind(1, Int64(limit)).all(Self.row)
  }

  private static func row(_ row: Statement) throws(StoreError) -> ProjectedRow {
    let tokens = row.optionalBytes(4)
    guard let lists = tokens.map(ProjectedRow.lists) ?? [[], [], []] else {
      throw .corrupt("the tokens of a projected row")
    }
    return ProjectedRow(
      key: StreamKey(
        environment: row.text(0), bundleId: row.text(1), originalTransactionId: row.text(2)),
      state: row.bytes(5), lastSeq: row.optionalInt(6), appAccountTokens: lists[0],
      appTransactionIds: lists[1],
      previousOriginalTransactionIds: lists[2], broken: row.optionalText(3))
  }
}
