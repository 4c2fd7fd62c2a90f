public import AppStore

/// A statement of the owner as read from the journal.
public struct StoredStatement: Sendable {
  public let seq: Int64
  /// Our time, in milliseconds since 1970 UTC.
  public let receivedAt: Int64
  public let statement: OwnerStatement

  /// Reads statements in order of seq. One that is damaged is left out; `verify` names it.
  static func read(
    _ condition: String, _ connection: SQLiteConnection, _ codec: BodyCodec,
    binding bind: (Statement) -> Void
  ) throws(StoreError) -> [StoredStatement] {
    let prepared = try connection.statement(
      """
      SELECT e.seq, e.received_at_ms, e.dictionary_id, e.body
      FROM statement s JOIN event e ON e.seq = s.seq WHERE \(condition) ORDER BY s.seq
      """)
    bind(prepared)
    return try prepared.all { (row) throws(StoreError) -> StoredStatement? in
      let body = try codec.decode(row.bytes(3), dictionary: row.optionalInt(2))
      return body.flatMap { OwnerStatement(body: $0) }.map {
        StoredStatement(seq: row.int(0), receivedAt: row.int(1), statement: $0)
      }
    }.compactMap { $0 }
  }
}

/// Reads what the owner of the ledger said.
extension JournalReader {
  /// A customer's mac, or nil if no statement was made of him, or he was forgotten.
  ///
  /// - Throws: what SQLite reports.
  public func mac(of customer: CustomerName) throws(StoreError) -> [UInt8]? {
    guard try hasAccounts() else { return nil }
    return try connection.statement("SELECT mac FROM account WHERE kind = ? AND name = ?")
      .bind(1, customer.kind.rawValue).bind(2, customer.name).first { $0.bytes(0) }
  }

  /// All statements about a customer, in order of seq.
  ///
  /// - Parameter receivedThrough: the latest receive time, in milliseconds since 1970 UTC.
  /// - Throws: what SQLite reports.
  public func statements(
    about mac: [UInt8], receivedThrough: Int64 = .max
  ) throws(StoreError) -> [StoredStatement] {
    guard try hasAccounts() else { return [] }
    return try StoredStatement.read(
      "s.mac = ? AND e.received_at_ms <= ?", connection, codec
    ) { $0.bind(1, mac).bind(2, receivedThrough) }
  }

  /// The purchases that an account has, in the order in which it claimed them.
  ///
  /// - Throws: what SQLite reports.
  public func streams(
    claimedBy account: String, receivedThrough: Int64 = .max
  ) throws(StoreError) -> [StreamKey] {
    guard let mac = try mac(of: CustomerName(.account, account)) else { return [] }
    var streams: [StreamKey] = []
    for item in try statements(about: mac, receivedThrough: receivedThrough) {
      guard let id = item.statement.originalTransactionId else { continue }
      let key = StreamKey(
        environment: item.statement.environment, bundleId: item.statement.bundleId,
        originalTransactionId: id)
      streams.removeAll { $0 == key }
      if case .claim = item.statement.content { streams.append(key) }
    }
    return streams
  }

  /// The accounts that have a purchase, in the order in which they claimed it. One that was
  /// forgotten is left out.
  ///
  /// - Throws: what SQLite reports.
  public func accounts(
    of key: StreamKey, receivedThrough: Int64 = .max
  ) throws(StoreError) -> [String] {
    guard try hasAccounts() else { return [] }
    let all = try StoredStatement.read(
      "s.stream_id = \(Self.streamId) AND e.received_at_ms <= ?", connection, codec
    ) {
      $0.bind(1, key.originalTransactionId).bind(2, key.environment.rawValue)
        .bind(3, key.bundleId).bind(4, receivedThrough)
    }
    var macs: [[UInt8]] = []
    for item in all {
      macs.removeAll { $0 == item.statement.mac }
      if case .claim = item.statement.content { macs.append(item.statement.mac) }
    }
    var names: [String] = []
    for mac in macs {
      let name = try connection.statement(
        "SELECT name FROM account WHERE mac = ? AND kind = 'account'"
      ).bind(1, mac).first { $0.text(0) }
      if let name { names.append(name) }
    }
    return names
  }

  /// Whether a statement is found by whom and which purchase it is about.
  ///
  /// - Throws: what SQLite reports.
  public func isFound(_ seq: Int64, by mac: [UInt8]) throws(StoreError) -> Bool {
    guard try hasAccounts() else { return false }
    return try connection.statement(
      """
      SELECT 1 FROM statement s JOIN event e ON e.seq = s.seq AND e.stream_id = s.stream_id
      WHERE s.seq = ? AND s.mac = ?
      """
    ).bind(1, seq).bind(2, mac).first { _ in true } ?? false
  }

  /// Rows that no program of ours writes, as sentences for an operator.
  func accountFaults() throws(StoreError) -> [String] {
    guard try hasAccounts() else { return [] }
    let strange = try connection.statement(
      """
      SELECT seq FROM statement WHERE seq NOT IN
        (SELECT seq FROM event WHERE source IN ('account', 'grant')) LIMIT 100
      """
    ).all { "statement \($0.int(0)) is of no statement of the owner" }
    var changed: [String] = []
    try connection.statement("SELECT id, kind, name, key, mac FROM account").forEach { row in
      let kind = CustomerName.Kind(rawValue: row.text(1))
      let mac = kind.map { CustomerName($0, row.text(2)).mac(key: row.bytes(3)) }
      if mac != row.bytes(4) { changed.append("account \(row.int(0)) was changed") }
      return changed.count < 100
    }
    return strange + changed
  }

  /// How many purchases more than one account has. Reads every statement.
  ///
  /// - Throws: what SQLite reports.
  public func sharedPurchaseCount() throws(StoreError) -> Int64 {
    guard try hasAccounts() else { return 0 }
    return try connection.statement(
      """
      SELECT count(*) FROM (
        SELECT last.stream_id FROM (
          SELECT s.stream_id, max(s.seq) AS seq FROM statement s JOIN event e ON e.seq = s.seq
          WHERE e.source = 'account' GROUP BY s.stream_id, s.mac) AS last
        JOIN event e ON e.seq = last.seq JOIN kind k ON k.id = e.kind_id
        JOIN statement s ON s.seq = last.seq JOIN account a ON a.mac = s.mac
        WHERE k.notification_type = 'ACCOUNT_CLAIM' GROUP BY last.stream_id HAVING count(*) > 1)
      """
    ).first { $0.int(0) } ?? 0
  }

  /// How many of the journal's events are the owner's.
  ///
  /// - Throws: what SQLite reports.
  public func statementCount() throws(StoreError) -> Int64 {
    guard try hasAccounts() else { return 0 }
    return try connection.statement("SELECT count(*) FROM statement").first { $0.int(0) } ?? 0
  }
}
