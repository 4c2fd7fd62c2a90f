public import AppStore
public import Entitlements
public import Platform
import StrictJSON

/// Reads one projection through a read-only connection. Use one per thread.
///
/// After another projection was made live, a reader still reads the old one until it is replaced by
/// a new reader.
public final class ProjectionReader {
  let connection: SQLiteConnection
  let reading: RowReading
  private let packer = StatePacker()

  /// Opens a projection of the folder.
  ///
  /// - Parameters:
  ///   - isPassing: for a reader that goes through the file once, and needs little memory.
  /// - Throws: `LedgerError.foreign` when there is no such projection or its schema is older,
  ///   `.newer` when its schema is newer, otherwise what SQLite or the file system reports.
  public static func open(
    _ folder: DataFolder, path: String, isPassing: Bool = false
  ) throws(LedgerError) -> ProjectionReader {
    guard try DurableFile.size(path) != nil else {
      throw .foreign("there is no \(path); run `subledger rebuild --apply`")
    }
    let connection = try SQLiteConnection.open(path, try folder.readingMode(path))
    let schema = try connection.requireOurs(
      path, applicationId: ProjectionFile.applicationId, known: ProjectionFile.schema)
    guard schema == ProjectionFile.schema else {
      throw .foreign("\(path) has an older layout; run `subledger rebuild --apply`")
    }
    if isPassing { try connection.limitCache() }
    return ProjectionReader(connection)
  }

  private init(_ connection: SQLiteConnection) {
    self.connection = connection
    reading = RowReading(connection)
  }

  /// As `JournalReader.ask`.
  public func ask(_ limit: WorkLimit) { connection.ask(limit) }

  /// Calls `body` with every entry of the tables `token` and `predecessor`: its kind, the index of
  /// its list in `FoldedStream.indexed`; what it says; and the key of its row, or nil if the row is
  /// missing.
  ///
  /// - Throws: what SQLite reports.
  public func forEachIndexEntry(
    _ body: (_ kind: Int, _ value: String, _ key: StreamKey?) -> Void
  ) throws(LedgerError) {
    try connection.statement(
      """
      SELECT t.kind, t.value, a.environment, a.bundle_id, e.original_transaction_id
      FROM token t LEFT JOIN entitlement e ON e.id = t.entitlement_id
        LEFT JOIN app a ON a.id = e.app_id
      UNION ALL
      SELECT 5, p.original_transaction_id || ' ' || p.named_at_ms || ' ' || p.transaction_id,
        a.environment, a.bundle_id, e.original_transaction_id
      FROM predecessor p JOIN app a ON a.id = p.app_id
        LEFT JOIN entitlement e ON e.original_transaction_id = p.successor AND e.app_id = p.app_id
      """
    ).forEach { (row) throws(LedgerError) in
      let key = row.optionalText(2).map {
        StreamKey(
          environment: Environment(rawValue: $0), bundleId: row.text(3),
          originalTransactionId: row.text(4))
      }
      body(Int(row.int(0)) - 1, row.text(1), key)
      return true
    }
  }

  /// The products that rows are about, in no order.
  ///
  /// - Throws: what SQLite reports.
  public func soldProducts() throws(LedgerError) -> [SoldProduct] {
    try connection.statement(
      """
      SELECT DISTINCT a.bundle_id, p.product_id, p.product_type, p.subscription_group_id,
        a.environment
      FROM product p JOIN app a ON a.id = p.app_id WHERE p.product_id IS NOT NULL
      """
    ).all {
      SoldProduct(
        environment: Environment(rawValue: $0.text(4)), bundleId: $0.text(0), productId: $0.text(1),
        type: $0.optionalText(2),
        subscriptionGroupId: $0.optionalText(3))
    }
  }

  /// Makes the reads that follow see one commit, until `endSnapshot`.
  ///
  /// - Throws: what SQLite reports.
  public func beginSnapshot() throws(LedgerError) { try connection.beginSnapshot() }

  public func endSnapshot() { connection.endSnapshot() }

  /// The last seq that is folded into the rows.
  ///
  /// - Throws: what SQLite reports.
  public func foldedThrough() throws(LedgerError) -> Int64 {
    try Meta(connection: connection).int(.foldedThrough) ?? 0
  }

  /// hash[foldedThrough] of the journal that was folded.
  ///
  /// - Throws: what SQLite reports.
  public func foldedHash() throws(LedgerError) -> [UInt8] {
    try Meta(connection: connection).bytes(.hash) ?? []
  }

  /// The fold and the journal of the projection.
  ///
  /// - Throws: what SQLite reports.
  public func identity() throws(LedgerError) -> ProjectionIdentity {
    try Meta(connection: connection).identity()
  }

  /// The digest of all rows as the writer stored it, or nil if it is missing.
  ///
  /// - Throws: what SQLite reports.
  public func digest() throws(LedgerError) -> SetDigest? {
    SetDigest(try Meta(connection: connection).bytes(.digest) ?? [])
  }

  /// The number of rows.
  ///
  /// - Throws: what SQLite reports.
  public func count() throws(LedgerError) -> Int64 {
    try connection.statement("SELECT count(*) FROM entitlement").first { $0.int(0) } ?? 0
  }

  // MARK: Rows

  /// Up to `limit` rows whose fold failed (promise 9).
  ///
  /// - Throws: `LedgerError.corrupt` when a row is damaged, otherwise what SQLite reports.
  public func broken(limit: Int) throws(LedgerError) -> [ProjectedRow] {
    try connection.statement(Self.select + "WHERE e.broken IS NOT NULL ORDER BY e.id LIMIT ?")
      .bind(1, Int64(limit)).all(row(.all))
  }

  /// Up to `limit` rows with a transaction that has values that no purchase has.
  ///
  /// - Throws: `LedgerError.corrupt` when a row is damaged, otherwise what SQLite reports.
  public func anomalous(limit: Int) throws(LedgerError) -> [ProjectedRow] {
    try connection.statement(
      Self.select + "INDEXED BY entitlement_anomaly WHERE e.anomaly LIMIT ?"
    ).bind(1, Int64(limit)).all(row(.all))
  }

  /// The row of a stream, or nil if there is none.
  ///
  /// - Throws: `LedgerError.corrupt` when it is damaged, otherwise what SQLite reports.
  public func row(
    of key: StreamKey, _ spans: WantedSpans = .all
  ) throws(LedgerError) -> ProjectedRow? {
    guard let app = try reading.values.id(of: AppKey(key), adding: false) else { return nil }
    return try connection.statement(
      Self.select + "WHERE e.original_transaction_id = ? AND e.app_id = ?"
    ).bind(1, key.originalTransactionId).bind(2, app).first(row(spans))
  }

  /// The rows with this id, in key order: one for each app and environment.
  ///
  /// - Throws: `LedgerError.corrupt` when a row is damaged, otherwise what SQLite reports.
  public func rows(
    withOriginalTransactionId id: String, _ spans: WantedSpans = .all
  ) throws(LedgerError) -> [ProjectedRow] {
    // Nearly always one row. Sorting it in SQL would cost more than the query itself.
    try connection.statement(Self.byOriginalTransactionId).bind(1, id)
      .all(row(spans)).sorted { $0.key < $1.key }
  }

  /// Up to 100 rows of an app that have named this id as their predecessor, with their states.
  ///
  /// - Parameter key: of the predecessor.
  /// - Throws: `LedgerError.corrupt` when a row is damaged, otherwise what SQLite reports.
  public func successors(of key: StreamKey) throws(LedgerError) -> [FoldedStream] {
    // Nearly no row has a successor: so the index is checked first.
    guard try isPredecessor(key.originalTransactionId),
      let app = try reading.values.id(of: AppKey(key), adding: false)
    else { return [] }
    return try connection.statement(
      Self.select + """
        WHERE e.app_id = ?1
        AND e.id IN (SELECT entitlement_id FROM token WHERE kind = 3 AND value = ?2) LIMIT ?3
        """
    ).bind(1, app).bind(2, key.originalTransactionId).bind(3, Self.maximumSuccessors)
      .all(stream)
  }

  /// Whether a row has named this id as its predecessor.
  func isPredecessor(_ id: String) throws(LedgerError) -> Bool {
    try connection.statement("SELECT 1 FROM token WHERE kind = 3 AND value = ?")
      .bind(1, id).first { _ in true } ?? false
  }

  /// The kinds of ids that rows can be found by, as the table `token` numbers them.
  public enum IdKind: Int64, Sendable {
    case appAccountToken = 1
    case appTransactionId
    /// An account token that the row was told with before.
    case formerAccountToken = 4
  }

  /// Up to `limit` rows that have an id, after a key, in key order.
  ///
  /// - Throws: `LedgerError.corrupt` when a row is damaged, otherwise what SQLite reports.
  public func rows(
    _ kind: IdKind, _ value: String, after key: StreamKey?, _ limit: Int,
    _ spans: WantedSpans = .all
  ) throws(LedgerError) -> [ProjectedRow] {
    try connection.statement(
      Self.select + """
        JOIN app a ON a.id = e.app_id
        WHERE e.id IN (SELECT entitlement_id FROM token WHERE kind = ?4 AND value = ?5)
        AND (e.original_transaction_id, a.environment, a.bundle_id) > (?1, ?2, ?3)
        ORDER BY e.original_transaction_id, a.environment, a.bundle_id LIMIT ?6
        """
    ).bind(1, key?.originalTransactionId ?? "").bind(2, key?.environment.rawValue ?? "")
      .bind(3, key?.bundleId ?? "").bind(4, kind.rawValue).bind(5, value).bind(6, Int64(limit))
      .all(row(spans))
  }

  /// Up to `limit` rows of one environment that have an id: where there are more, first those
  /// whose product is no consumable. In no order.
  ///
  /// - Parameters:
  ///   - bundleId: of this app only; nil for all.
  ///   - covers: whether rows of an app count where there are more than `limit`.
  /// - Throws: `LedgerError.corrupt` when a row is damaged, otherwise what SQLite reports.
  public func customerRows(
    _ kind: IdKind, _ value: String, _ environment: Environment, _ bundleId: String?,
    limit: Int, _ spans: WantedSpans, where covers: (_ bundleId: String) -> Bool = { _ in true }
  ) throws(LedgerError) -> [ProjectedRow] {
    var ids = try connection.statement(
      "SELECT entitlement_id FROM token WHERE kind = ? AND value = ? LIMIT ?"
    ).bind(1, kind.rawValue).bind(2, value).bind(3, Int64(limit)).all { $0.int(0) }
    if ids.count == limit {
      ids = []
      try connection.statement(
        """
        SELECT e.id, a.bundle_id FROM token t JOIN entitlement e ON e.id = t.entitlement_id
          JOIN app a ON a.id = e.app_id
        WHERE t.kind = ?1 AND t.value = ?2
        AND a.environment = ?3 AND (?4 IS NULL OR a.bundle_id = ?4)
        ORDER BY EXISTS (
          SELECT 1 FROM product p WHERE p.app_id = e.app_id AND p.product_id IS e.answer_product_id
          AND p.product_type = 'Consumable'), e.original_transaction_id, a.bundle_id
        """
      ).bind(1, kind.rawValue).bind(2, value).bind(3, environment.rawValue).bind(4, bundleId)
        .forEach { row in
          if covers(row.text(1)) { ids.append(row.int(0)) }
          return ids.count < limit
        }
    }
    var found: [ProjectedRow] = []
    for id in ids {
      let row = try connection.statement(Self.byId).bind(1, id).first(row(spans))
      guard let row, row.key.environment == environment else { continue }
      if bundleId.map({ ByteSearch.areEqual($0, row.key.bundleId) }) ?? true { found.append(row) }
    }
    return found
  }

  /// Up to `limit` rows with their states after a key, in key order.
  ///
  /// - Throws: `LedgerError.corrupt` when a row is damaged or the file returns rows out of order,
  ///   otherwise what SQLite reports.
  public func streams(after key: StreamKey?, limit: Int) throws(LedgerError) -> [FoldedStream] {
    let page = try all(after: key, limit, stream)
    var last = key
    for row in page {
      if let last, !(last < row.key) { throw .corrupt("the order of rows") }
      last = row.key
    }
    return page
  }

  /// The keys of up to `limit` rows after a key, in key order.
  ///
  /// - Throws: what SQLite reports.
  public func keys(after key: StreamKey?, limit: Int) throws(LedgerError) -> [StreamKey] {
    let columns = "a.environment, a.bundle_id, e.original_transaction_id"
    return try all(after: key, limit, columns: columns) { row in
      StreamKey(
        environment: Environment(rawValue: row.text(0)), bundleId: row.text(1),
        originalTransactionId: row.text(2))
    }
  }

  /// Up to `limit` original transaction ids of an app, in order, after one.
  ///
  /// - Throws: what SQLite reports.
  public func originalTransactionIds(
    of app: StreamKey, after id: String, limit: Int
  ) throws(LedgerError) -> [String] {
    // The + keeps SQLite from an index of the app, with which each page would sort all its rows.
    try connection.statement(
      """
      SELECT original_transaction_id FROM entitlement WHERE original_transaction_id > ?
      AND +app_id = (SELECT id FROM app WHERE environment = ? AND bundle_id = ?)
      ORDER BY original_transaction_id LIMIT ?
      """
    ).bind(1, id).bind(2, app.environment.rawValue).bind(3, app.bundleId).bind(4, Int64(limit))
      .all { $0.text(0) }
  }

  /// Up to `limit` rows after a key, in key order, as `read` makes them.
  ///
  /// - Parameter columns: nil: those of a whole row.
  func all<Row>(
    after key: StreamKey?, _ limit: Int, columns: String? = nil,
    _ read: (Statement) throws(LedgerError) -> Row
  ) throws(LedgerError) -> [Row] {
    try connection.statement(
      """
      SELECT \(columns ?? RowLayout.columns) FROM entitlement e
      JOIN app a ON a.id = e.app_id WHERE e.original_transaction_id >= ?1
      AND (e.original_transaction_id, a.environment, a.bundle_id) > (?1, ?2, ?3)
      ORDER BY e.original_transaction_id, a.environment, a.bundle_id LIMIT ?4
      """
    ).bind(1, key?.originalTransactionId ?? "").bind(2, key?.environment.rawValue ?? "")
      .bind(3, key?.bundleId ?? "").bind(4, Int64(limit)).all(read)
  }

  /// The rows with this id, with their states.
  ///
  /// - Throws: `LedgerError.corrupt` when a row is damaged, otherwise what SQLite reports.
  public func streams(
    withOriginalTransactionId id: String
  ) throws(LedgerError) -> [FoldedStream] {
    try connection.statement(Self.byOriginalTransactionId).bind(1, id)
      .all(stream)
  }

  /// Up to 100 rows that a transaction id belongs to, by their keys. Reads all lines: an index
  /// would take 45 bytes an event, for a rare question.
  ///
  /// - Throws: what SQLite reports.
  public func keys(ofTransaction id: String) throws(LedgerError) -> [StreamKey] {
    try connection.statement(
      """
      SELECT DISTINCT a.environment, a.bundle_id, e.original_transaction_id
      FROM (
        SELECT entitlement_id FROM transaction_line WHERE transaction_id = ?1 UNION
        SELECT entitlement_id FROM transaction_line
        WHERE other_transaction_ids IS NOT NULL AND instr(other_transaction_ids, ?2)) t
      JOIN entitlement e ON e.id = t.entitlement_id JOIN app a ON a.id = e.app_id
      ORDER BY 3, 1, 2 LIMIT 100
      """
    ).bind(1, id).bind(2, JSONValue.string(id).text).all { row in
      StreamKey(
        environment: Environment(rawValue: row.text(0)), bundleId: row.text(1),
        originalTransactionId: row.text(2))
    }
  }

  /// Calls `body` with every row in key order, until it returns false. The rows are read in pages:
  /// beside a writer they may be of several commits, unless a snapshot was begun.
  ///
  /// - Throws: as `streams(after:limit:)`.
  public func forEach(_ body: (FoldedStream) -> Bool) throws(LedgerError) {
    var last: StreamKey?
    while true {
      let page = try streams(after: last, limit: 1_000)
      for row in page {
        guard body(row) else { return }
      }
      guard let end = page.last else { return }
      last = end.key
    }
  }

  /// Far more than Apple makes: it moves a subscription to another id once or twice.
  private static let maximumSuccessors: Int64 = 100

  static let select = "SELECT \(RowLayout.columns) FROM entitlement e\n"
  // Not put together for each row, so that a statement is found by the address of its text.
  static let byId = select + "WHERE e.id = ?"
  private static let byOriginalTransactionId = select + "WHERE e.original_transaction_id = ?"

  /// Reads rows with these spans.
  func row(_ spans: WantedSpans) -> (Statement) throws(LedgerError) -> ProjectedRow {
    { (statement) throws(LedgerError) in
      try self.reading.stored(statement, spans).projected
    }
  }

  private func stream(_ statement: Statement) throws(LedgerError) -> FoldedStream {
    try unpacked(try reading.stored(statement, withState: true))
  }

  /// A stored row with its state.
  func unpacked(_ stored: RowReading.Stored) throws(LedgerError) -> FoldedStream {
    let lines = try reading.lines(
      of: stored.id, stored.app, stored.projected.key, count: stored.lineCount)
    guard let state = packer.unpack(stored.state),
      let stream = FoldedStream(
        stored.projected, lines, try reading.requests(of: stored), state: state)
    else { throw .corrupt("the state of a row") }
    return stream
  }
}
