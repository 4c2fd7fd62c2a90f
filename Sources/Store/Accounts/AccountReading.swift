public import AppStore
public import Entitlements
public import Platform

/// A statement of the owner as read from the journal.
public struct StoredStatement: Sendable {
  public let seq: Int64
  /// Our time, in milliseconds since 1970 UTC.
  public let receivedAt: Int64
  public let statement: OwnerStatement

  /// The app that it is about, as a key without an original transaction id.
  public var app: StreamKey {
    StreamKey(
      environment: statement.environment, bundleId: statement.bundleId, originalTransactionId: "")
  }

  /// What it says of products; nil of another statement.
  public var mapping: ProductMapping? {
    guard case .catalog(let mapping) = statement.content else { return nil }
    return mapping
  }

  /// Those about a customer, behind a seq, of one notification type.
  static let ofType = """
    s.mac = ? AND s.seq > ? AND e.kind_id IN
      (SELECT id FROM kind WHERE notification_type = ?)
    """

  /// Reads statements in order of seq. One that is damaged is left out; `verify` names it.
  static func read(
    _ condition: String, _ connection: SQLiteConnection, _ codec: BodyCodec, limit: Int = .max,
    binding bind: (Statement) -> Void
  ) throws(LedgerError) -> [StoredStatement] {
    let prepared = try connection.statement(
      """
      SELECT e.seq, e.received_at_ms, e.dictionary_id, e.body
      FROM statement s JOIN event e ON e.seq = s.seq WHERE \(condition) ORDER BY s.seq
      LIMIT \(limit)
      """)
    bind(prepared)
    return try prepared.all { (row) throws(LedgerError) -> StoredStatement? in
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
  public func mac(of customer: CustomerName) throws(LedgerError) -> [UInt8]? {
    guard try hasAccounts() else { return nil }
    return try connection.statement("SELECT mac FROM account WHERE kind = ? AND name = ?")
      .bind(1, customer.kind.rawValue).bind(2, customer.name).first { $0.bytes(0) }
  }

  /// The customer whom a mac stands for; nil if he was forgotten.
  ///
  /// - Throws: what SQLite reports.
  public func customer(of mac: [UInt8]) throws(LedgerError) -> CustomerName? {
    guard try hasAccounts() else { return nil }
    return try connection.statement("SELECT kind, name FROM account WHERE mac = ?")
      .bind(1, mac).first { row in
        CustomerName.Kind(rawValue: row.text(0)).map { CustomerName($0, row.text(1)) }
      } ?? nil
  }

  /// All statements about a customer, in order of seq.
  ///
  /// - Parameter receivedThrough: the latest receive time, in milliseconds since 1970 UTC.
  /// - Throws: what SQLite reports.
  public func statements(
    about mac: [UInt8], receivedThrough: Int64 = .max
  ) throws(LedgerError) -> [StoredStatement] {
    guard try hasAccounts() else { return [] }
    return try StoredStatement.read(
      "s.mac = ? AND e.received_at_ms <= ?", connection, codec
    ) { $0.bind(1, mac).bind(2, receivedThrough) }
  }

  /// The statement of an event; nil if it is about another customer.
  ///
  /// - Throws: what SQLite reports.
  public func statement(
    at seq: Int64, about mac: [UInt8]
  ) throws(LedgerError) -> StoredStatement? {
    try StoredStatement.read("s.mac = ? AND s.seq = ?", connection, codec) {
      $0.bind(1, mac).bind(2, seq)
    }.first
  }

  /// The grant that a statement ended; nil if it ended none.
  ///
  /// - Throws: what SQLite reports.
  public func grant(endedBy said: OwnerStatement) throws(LedgerError) -> StoredStatement? {
    guard let uuid = said.revokedGrant else { return nil }
    return try StoredStatement.read("e.notification_uuid = ?", connection, codec) {
      $0.bind(1, uuid.bytes)
    }.first
  }

  /// Whether more than so many statements were made about a customer. Reads an entry of an index
  /// for each.
  ///
  /// - Throws: what SQLite reports.
  public func hasStatements(about mac: [UInt8], moreThan limit: Int) throws(LedgerError) -> Bool {
    guard try hasAccounts() else { return false }
    return try connection.statement("SELECT 1 FROM statement WHERE mac = ? LIMIT 1 OFFSET ?")
      .bind(1, mac).bind(2, Int64(limit)).first { _ in true } ?? false
  }

  /// The statements about a customer that are of one kind, behind a seq, in order of seq.
  ///
  /// - Parameter type: in the place of Apple's notificationType, as `GRANT`.
  /// - Throws: what SQLite reports.
  public func statements(
    about mac: [UInt8], type: String, after seq: Int64, limit: Int = .max
  ) throws(LedgerError) -> [StoredStatement] {
    guard try hasAccounts() else { return [] }
    return try StoredStatement.read(
      StoredStatement.ofType, connection, codec, limit: limit
    ) { $0.bind(1, mac).bind(2, seq).bind(3, type) }
  }

  /// The mappings of products to names that were journaled behind a seq, in order of seq.
  ///
  /// - Throws: what SQLite reports.
  public func mappings(after seq: Int64 = 0) throws(LedgerError) -> [StoredStatement] {
    guard try hasAccounts() else { return [] }
    return try StoredStatement.read("s.mac = ? AND s.seq > ?", connection, codec) {
      $0.bind(1, OwnerStatement.nobody).bind(2, seq)
    }
  }

  /// How long the non-renewing products of all apps last, by what was journaled.
  ///
  /// - Parameter configured: counts for an app of which nothing was said.
  /// - Throws: what SQLite reports.
  public func durations(configured: Durations) throws(LedgerError) -> AppDurations {
    try mappings().reduce(into: AppDurations(configured: configured)) { $0.say($1) }
  }

  /// The customers to whom something of an app was granted, as far as they are not forgotten.
  ///
  /// - Throws: what SQLite reports.
  public func grantedCustomers(
    _ environment: Environment, _ bundleId: String
  ) throws(LedgerError) -> [CustomerName] {
    guard try hasAccounts() else { return [] }
    return try connection.statement(
      """
      SELECT DISTINCT c.kind, c.name FROM account c JOIN statement s ON s.mac = c.mac
      JOIN event e ON e.seq = s.seq JOIN stream t ON t.id = e.stream_id
      JOIN app a ON a.id = t.app_id
      WHERE e.source = 'grant' AND a.environment = ? AND a.bundle_id = ?
      """
    ).bind(1, environment.rawValue).bind(2, bundleId).all { row in
      CustomerName.Kind(rawValue: row.text(0)).map { CustomerName($0, row.text(1)) }
    }.compactMap { $0 }
  }

  /// The purchases that an account has, in the order in which it claimed them.
  ///
  /// - Throws: what SQLite reports.
  public func streams(
    claimedBy account: String, receivedThrough: Int64 = .max
  ) throws(LedgerError) -> [StreamKey] {
    guard let mac = try mac(of: CustomerName(.account, account)) else { return [] }
    if receivedThrough == .max, try hasClaims() {
      return try connection.statement(
        """
        SELECT a.environment, a.bundle_id, s.original_transaction_id
        FROM claim c JOIN stream s ON s.id = c.stream_id JOIN app a ON a.id = s.app_id
        WHERE c.mac = ? ORDER BY c.seq
        """
      ).bind(1, mac).all { row in
        StreamKey(
          environment: Environment(rawValue: row.text(0)), bundleId: row.text(1),
          originalTransactionId: row.text(2))
      }
    }
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
  /// - Parameters:
  ///   - receivedThrough: the latest receive time, in milliseconds since 1970 UTC.
  ///   - limit: how many are read.
  /// - Throws: what SQLite reports.
  public func accounts(
    of key: StreamKey, receivedThrough: Int64 = .max, limit: Int = .max
  ) throws(LedgerError) -> [String] {
    guard try hasAccounts() else { return [] }
    guard receivedThrough == .max, try hasClaims() else {
      return Array(try pastAccounts(of: key, receivedThrough).prefix(limit))
    }
    return try claims("a.name", of: key, "ORDER BY c.seq LIMIT ?").bind(4, Int64(limit))
      .all { $0.text(0) }
  }

  /// How many accounts have a purchase. Reads two entries of indexes for each, no statement.
  ///
  /// - Parameter receivedThrough: the latest receive time, in milliseconds since 1970 UTC.
  /// - Throws: what SQLite reports.
  public func accountCount(
    of key: StreamKey, receivedThrough: Int64 = .max
  ) throws(LedgerError) -> Int {
    guard receivedThrough == .max, try hasClaims() else {
      return try accounts(of: key, receivedThrough: receivedThrough).count
    }
    return Int(try claims("count(*)", of: key, "").first { $0.int(0) } ?? 0)
  }

  private func claims(
    _ selected: String, of key: StreamKey, _ end: String
  ) throws(LedgerError) -> Statement {
    try connection.statement(
      """
      SELECT \(selected) FROM claim c JOIN account a ON a.mac = c.mac AND a.kind = 'account'
      WHERE c.stream_id = \(Self.streamId) \(end)
      """
    ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
  }

  private func pastAccounts(
    of key: StreamKey, _ receivedThrough: Int64
  ) throws(LedgerError) -> [String] {
    let all = try connection.statement(
      """
      SELECT s.mac, k.notification_type = 'ACCOUNT_CLAIM' FROM statement s
      JOIN event e ON e.seq = s.seq JOIN kind k ON k.id = e.kind_id
      WHERE s.stream_id = \(Self.streamId) AND e.received_at_ms <= ? ORDER BY s.seq
      """
    ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
      .bind(4, receivedThrough).all { (mac: $0.bytes(0), isClaim: $0.int(1) == 1) }
    var places: [[UInt8]: Int] = [:]
    for (place, item) in all.enumerated() { places[item.mac] = item.isClaim ? place : nil }
    var names: [String] = []
    for mac in places.sorted(by: { $0.value < $1.value }).map(\.key) {
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
  public func isFound(_ seq: Int64, by mac: [UInt8]) throws(LedgerError) -> Bool {
    guard try hasAccounts() else { return false }
    return try connection.statement(
      """
      SELECT 1 FROM statement s JOIN event e ON e.seq = s.seq AND e.stream_id = s.stream_id
      WHERE s.seq = ? AND s.mac = ?
      """
    ).bind(1, seq).bind(2, mac).first { _ in true } ?? false
  }

  /// Rows that no program of ours writes, as sentences for an operator.
  func accountFaults() throws(LedgerError) -> [String] {
    guard try hasAccounts() else { return [] }
    let strange = try connection.statement(
      """
      SELECT seq FROM statement WHERE seq NOT IN
        (SELECT seq FROM event WHERE source IN (\(EventSource.ownersInSQL))) LIMIT 100
      """
    ).all { "statement \($0.int(0)) is of no statement of the owner" }
    var changed: [String] = []
    try connection.statement("SELECT id, kind, name, key, mac FROM account").forEach { row in
      let kind = CustomerName.Kind(rawValue: row.text(1))
      let mac = kind.map { CustomerName($0, row.text(2)).mac(key: row.bytes(3)) }
      if mac != row.bytes(4) { changed.append("account \(row.int(0)) was changed") }
      return changed.count < 100
    }
    return try strange + changed + claimFaults()
  }

  /// Claims that the statements do not say, and the other way round.
  private func claimFaults() throws(LedgerError) -> [String] {
    guard try hasClaims() else { return [] }
    let derived = """
      SELECT stream_id, mac, seq FROM statement WHERE seq IN (
        SELECT max(s.seq) FROM statement s JOIN event e ON e.seq = s.seq
        WHERE e.source = 'account' GROUP BY s.stream_id, s.mac)
      AND seq IN (SELECT e.seq FROM event e JOIN kind k ON k.id = e.kind_id
        WHERE k.notification_type = 'ACCOUNT_CLAIM')
      """
    let claims = "SELECT stream_id, mac, seq FROM claim"
    return try connection.statement(
      """
      SELECT seq FROM (\(derived) EXCEPT \(claims)) UNION
      SELECT seq FROM (\(claims) EXCEPT \(derived)) ORDER BY seq LIMIT 100
      """
    ).all { "the claim at \($0.int(0)) is not what the statements say" }
  }

  /// How many purchases more than one account has. Reads an entry of an index for each claim.
  ///
  /// - Throws: what SQLite reports.
  public func sharedPurchaseCount() throws(LedgerError) -> Int64 {
    guard try hasClaims() else { return 0 }
    return try connection.statement(
      """
      SELECT count(*) FROM (
        SELECT 1 FROM claim c JOIN account a ON a.mac = c.mac
        GROUP BY c.stream_id HAVING count(*) > 1)
      """
    ).first { $0.int(0) } ?? 0
  }

  /// How many of the journal's events are the owner's.
  ///
  /// - Throws: what SQLite reports.
  public func statementCount() throws(LedgerError) -> Int64 {
    guard try hasAccounts() else { return 0 }
    return try connection.statement("SELECT count(*) FROM statement").first { $0.int(0) } ?? 0
  }
}

extension AppDurations {
  /// Adds what a mapping says.
  public mutating func say(_ said: StoredStatement) {
    guard let mapping = said.mapping else { return }
    say(mapping, of: said.app, at: said.receivedAt)
  }
}
