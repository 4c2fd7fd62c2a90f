public import AppStore
public import Platform
public import StrictJSON

/// Compares two projections of one journal, whatever their layouts, through the views that each
/// file carries itself, by the columns that both have.
///
/// The rows of some customers are read by one statement over both files, in which all views have
/// one clock.
public final class ProjectionComparison {
  /// A row of a view, by its columns.
  public typealias Row = [String: JSONValue]

  /// What is compared.
  public enum View: Int64, CaseIterable, Sendable {
    case entitlement, span, transaction

    fileprivate var view: SQLView {
      switch self {
      case .entitlement: .entitlement
      case .span: .entitlementSpan
      case .transaction: .transaction
      }
    }
  }

  /// What two projections say of one stream. Of one that is equal in both no rows are read.
  public struct Stream: Sendable {
    public let key: StreamKey
    public let isEqual: Bool
    public var before = Side()
    public var after = Side()
  }

  /// What one projection says of a stream.
  public struct Side: Sendable {
    /// Of `entitlement_v1`; nil if there is none.
    public var row: Row?
    /// Of `entitlement_span_v1`, those that the other projection lacks.
    public fileprivate(set) var spans: [Row] = []
    /// Of `transaction_v1`, those that the other projection lacks.
    public fileprivate(set) var transactions: [Row] = []
  }

  private let folder: DataFolder
  /// The first projection; `run` attaches the second.
  private let connection: SQLiteConnection
  /// Those of each view that both files have. Without the key a view cannot be compared.
  private var columns: [View: [String]] = [:]

  /// Streams that are compared at once, which SQLite sorts in memory.
  private static let pageSize: Int64 = 500
  private static let key: Set = ["original_transaction_id", "environment", "bundle_id"]

  /// Opens the first projection, which `ProjectionFile.examine` found whole. Returns nil if it has
  /// no `entitlement_v1` that this program can read.
  ///
  /// - Throws: what SQLite or the file system reports.
  public init?(_ folder: DataFolder, path: String) throws(LedgerError) {
    self.folder = folder
    connection = try SQLiteConnection.open(path, try folder.readingMode(path))
    for view in View.allCases {
      // A view with a function that this program does not have has no columns.
      let found = try? connection.statement("SELECT name FROM pragma_table_info(?, 'main')")
        .bind(1, view.view.name).all { $0.text(0) }
      let common = view.view.columns.map(\.name).filter { found?.contains($0) == true }
      if Self.key.isSubset(of: common) { columns[view] = common }
    }
    guard columns[.entitlement] != nil else { return nil }
  }

  /// The fold and the journal of the first projection.
  ///
  /// - Throws: what SQLite reports.
  public func identity() throws(LedgerError) -> ProjectionIdentity {
    try Meta(connection: connection).identity()
  }

  /// The last seq that is folded into the first projection.
  ///
  /// - Throws: what SQLite reports.
  public func foldedThrough() throws(LedgerError) -> Int64 {
    try Meta(connection: connection).int(.foldedThrough) ?? 0
  }

  /// From now on reads one commit of each projection.
  ///
  /// - Throws: what SQLite reports.
  public func beginSnapshot() throws(LedgerError) { try connection.beginSnapshot() }

  /// Whether both files have a column of `entitlement_v1`.
  public func compares(_ column: String) -> Bool {
    columns[.entitlement]?.contains(column) == true
  }

  /// Compares with another projection, which this program wrote. Done once.
  ///
  /// - Parameters:
  ///   - time: what the views take for now, milliseconds since 1970.
  ///   - views: those that are compared, where both files have them.
  ///   - each: receives every stream in the order of original transaction ids.
  /// - Throws: what SQLite reports, and what `each` throws.
  public func run(
    with path: String, at time: Int64, _ views: [View] = View.allCases,
    each: (Stream) throws(LedgerError) -> Void
  ) throws(LedgerError) {
    try connection.attach(path, try folder.readingMode(path), as: "after")
    try connection.setClock(time)
    let page = try connection.statement(select(views))
    var first = ""
    while true {
      // Its own tables are known, and their index finds the last stream of a page.
      let last = try connection.statement(
        """
        SELECT original_transaction_id FROM after.entitlement WHERE original_transaction_id > ?
        ORDER BY original_transaction_id LIMIT 1 OFFSET ?
        """
      ).bind(1, first).bind(2, Self.pageSize).first { $0.text(0) }
      page.bind(1, first)
      // Any blob is greater than all texts (sqlite.org/datatype3.html).
      if let last { page.bind(2, last) } else { page.bind(2, [UInt8]()) }
      try forEachStream(of: page, each)
      guard let last else { return }
      first = last
    }
  }

  private func select(_ views: [View]) -> String {
    let rows = views.flatMap { view in
      let columns = (columns[view] ?? []).joined(separator: ", ")
      return columns.isEmpty
        ? []
        : [("main", -1), ("after", 1)].map { schema, side in
          """
          SELECT original_transaction_id AS id, environment, bundle_id, \(view.rawValue) AS view,
            \(side) AS side, json_array(\(columns)) AS content
          FROM \(schema).\(view.view.name)
          WHERE original_transaction_id > ?1 AND original_transaction_id <= ?2
          """
        }
    }
    // side: less than 0 for a row of the first file alone, more for one of the second alone.
    return """
      SELECT id, environment, bundle_id, view, sum(side), content
      FROM (\(rows.joined(separator: "\nUNION ALL "))) GROUP BY 1, 2, 3, 4, 6
      HAVING view = \(View.entitlement.rawValue) OR sum(side) <> 0 ORDER BY 1, 2, 3, 4, 6
      """
  }

  // MARK: Rows

  /// A row of a view, in one of the files or in both.
  private struct Found {
    let key: StreamKey
    let view: View?
    let side: Int64
    let content: [UInt8]

    init(_ row: Statement) {
      key = StreamKey(
        environment: Environment(rawValue: row.text(1)), bundleId: row.text(2),
        originalTransactionId: row.text(0))
      (view, side, content) = (View(rawValue: row.int(3)), row.int(4), row.bytes(5))
    }
  }

  private func forEachStream(
    of page: Statement, _ each: (Stream) throws(LedgerError) -> Void
  ) throws(LedgerError) {
    var found: [Found] = []
    try page.forEach { (row) throws(LedgerError) in
      let next = Found(row)
      if let key = found.first?.key, key != next.key {
        try each(try stream(key, found))
        found.removeAll(keepingCapacity: true)
      }
      found.append(next)
      return true
    }
    if let key = found.first?.key { try each(try stream(key, found)) }
  }

  private func stream(_ key: StreamKey, _ found: [Found]) throws(LedgerError) -> Stream {
    var stream = Stream(key: key, isEqual: found.allSatisfy { $0.side == 0 })
    guard !stream.isEqual else { return stream }
    for item in found {
      guard let view = item.view, let columns = columns[view],
        let content = try? JSONDocument(parsing: item.content).root.elements
      else { throw .corrupt("a row of a view") }
      let values = content.map { $0.integer.map(JSONValue.integer) ?? $0.value }
      let row = Row(zip(columns, values)) { $1 }
      if item.side <= 0 { stream.before.add(row, view) }
      if item.side >= 0 { stream.after.add(row, view) }
    }
    return stream
  }
}

extension ProjectionComparison.Side {
  fileprivate mutating func add(
    _ row: ProjectionComparison.Row, _ view: ProjectionComparison.View
  ) {
    switch view {
    case .entitlement: self.row = row
    case .span: spans.append(row)
    case .transaction: transactions.append(row)
    }
  }
}
