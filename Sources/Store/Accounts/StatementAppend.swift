public import AppStore
import Platform
import SignedData

/// Journals statements of the owner, within the SQL transaction of `append`.
extension Journal {
  /// A customer's row in the table of accounts.
  private struct Account {
    let key: [UInt8]
    let mac: [UInt8]
  }

  private static let noSuchEntitlement = Outcome.refused(.notFound("no_such_entitlement"))
  private static let noSuchGrant = Outcome.refused(.notFound("no_such_grant"))

  /// Journals a statement that changes what holds.
  ///
  /// - Returns: `.duplicate` of the event that already says so, `.conflict` with another statement
  ///   of the same Idempotency-Key, refused as `notFound` if the customer has no such
  ///   purchase, claim or grant.
  func append(
    _ new: NewStatement, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Outcome {
    let isAdding: Bool
    var missing = Self.noSuchEntitlement
    switch new.content {
    case .claim(let id), .release(let id), .refund(_, let id):
      let stream = StreamKey(
        environment: new.environment, bundleId: new.bundleId, originalTransactionId: id)
      guard try isKnown(stream, connection) else { return Self.noSuchEntitlement }
      isAdding = if case .claim = new.content { true } else { false }
    case .grant, .consent: isAdding = true
    case .revocation: (isAdding, missing) = (false, Self.noSuchGrant)
    case .catalog: isAdding = false
    }
    var account: Account?
    if let customer = new.customer {
      account = try self.account(customer, adding: isAdding, connection)
      guard account != nil else { return missing }
    }
    let statement = OwnerStatement(
      new.content, mac: account?.mac ?? new.content.mac, environment: new.environment,
      bundleId: new.bundleId, at: max(min(new.receivedAt, receiveLimit), head.receivedAt ?? .min),
      id: Self.id(new.idempotencyKey, account).description, token: new.token)
    if let found = try journaled(statement.notificationUUID, connection) {
      return found.statement?.saysTheSame(as: statement) == true
        ? .duplicate(seq: found.seq) : .conflict(seq: found.seq)
    }
    if let outcome = try holds(statement, connection) { return outcome }
    return try appendNew(NewEvent(statement), connection)
  }

  /// Writes the row by which a statement's event is found.
  func insertStatement(
    of event: NewEvent, _ seq: Int64, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    guard let statement = OwnerStatement(body: event.body) else {
      throw .sql("a statement that cannot be read was submitted")
    }
    try insertStatement(seq, statement.mac, try streamId(of: event, connection), connection)
  }

  func insertStatement(
    _ seq: Int64, _ mac: [UInt8], _ stream: Int64, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    try connection.statement("INSERT INTO statement (seq, mac, stream_id) VALUES (?, ?, ?)")
      .bind(1, seq).bind(2, mac).bind(3, stream).run()
    if mac == OwnerStatement.nobody { lastMapping = seq } else { statementCount += 1 }
  }

  /// Whether the journal has a stream: what is refused must not make one.
  func isKnown(_ stream: StreamKey, _ connection: SQLiteConnection) throws(LedgerError) -> Bool {
    try connection.statement("SELECT \(JournalReader.streamId)")
      .bind(1, stream.originalTransactionId).bind(2, stream.environment.rawValue)
      .bind(3, stream.bundleId).first { $0.optionalInt(0) != nil } ?? false
  }

  private func account(
    _ customer: CustomerName, adding isAdding: Bool, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Account? {
    let known = try connection.statement("SELECT key, mac FROM account WHERE kind = ? AND name = ?")
      .bind(1, customer.kind.rawValue).bind(2, customer.name)
      .first { Account(key: $0.bytes(0), mac: $0.bytes(1)) }
    if known != nil || !isAdding { return known }
    let key = Self.random(count: 32)
    let account = Account(key: key, mac: customer.mac(key: key))
    try connection.statement("INSERT INTO account (kind, name, key, mac) VALUES (?, ?, ?, ?)")
      .bind(1, customer.kind.rawValue).bind(2, customer.name).bind(3, key).bind(4, account.mac)
      .run()
    return account
  }

  private static func random(count: Int) -> [UInt8] {
    var system = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: 0...255, using: &system) }
  }

  /// A key of the caller is journaled as an HMAC too, because it may contain the account.
  private static func id(_ idempotencyKey: String?, _ account: Account?) -> NotificationUUID {
    guard let idempotencyKey, let account else {
      return NotificationUUID(digest: random(count: 16))
    }
    let text = Array("Idempotency-Key".utf8) + [0] + Array(idempotencyKey.utf8)
    return NotificationUUID(digest: SHA256.authenticate(text, key: account.key))
  }

  private func journaled(
    _ uuid: NotificationUUID, _ connection: SQLiteConnection
  ) throws(LedgerError) -> (seq: Int64, statement: OwnerStatement?)? {
    let found = try connection.statement(
      "SELECT seq, body, dictionary_id FROM event WHERE notification_uuid = ?"
    ).bind(1, uuid.bytes).first { (seq: $0.int(0), body: $0.bytes(1), $0.optionalInt(2)) }
    guard let found else { return nil }
    let body = try codec.decode(found.body, dictionary: found.2)
    return (found.seq, body.flatMap { OwnerStatement(body: $0) })
  }

  /// What the journal says already of the same purchase or grant.
  ///
  /// - Returns: nil if the statement changes it.
  private func holds(
    _ statement: OwnerStatement, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Outcome? {
    switch statement.content {
    case .grant: return nil
    case .refund, .consent:
      // A word is repeated by a client that saw no answer, whatever was done since; a time comes
      // once.
      let once = ["REFUND_WORD", "REFUND_CONSENT", "REFUND_DUE", "REFUND_MISSED"]
      guard once.contains(statement.notificationType) else { return nil }
      let last = try StoredStatement.read(StoredStatement.ofType, connection, codec) {
        $0.bind(1, statement.mac).bind(2, 0).bind(3, statement.notificationType)
      }.last {
        $0.statement.bundleId == statement.bundleId
          && $0.statement.environment == statement.environment
      }
      return last.flatMap {
        $0.statement.content == statement.content ? .duplicate(seq: $0.seq) : nil
      }
    case .catalog:
      let app = AppKey(environment: statement.environment, bundleId: statement.bundleId)
      let stream = try streamId(app, nil, connection)
      let last = try StoredStatement.read("s.mac = ? AND s.stream_id = ?", connection, codec) {
        $0.bind(1, statement.mac).bind(2, stream)
      }.last
      return last.flatMap {
        $0.statement.content == statement.content ? .duplicate(seq: $0.seq) : nil
      }
    case .claim(let id), .release(let id):
      let last = try lastStatement(of: id, statement, connection)
      let isClaim = if case .claim = statement.content { true } else { false }
      if let last, last.isClaim == isClaim { return .duplicate(seq: last.seq) }
      return isClaim || last != nil ? nil : Self.noSuchEntitlement
    case .revocation:
      // Of the same app and environment: a token may cover no other.
      guard let uuid = statement.revokedGrant, let granted = try journaled(uuid, connection),
        granted.statement?.environment == statement.environment,
        granted.statement?.bundleId == statement.bundleId
      else { return Self.noSuchGrant }
      return try StoredStatement.read(StoredStatement.ofType, connection, codec) {
        $0.bind(1, statement.mac).bind(2, granted.seq).bind(3, statement.notificationType)
      }.first { $0.statement.endedGrant == statement.endedGrant }.map { .duplicate(seq: $0.seq) }
    }
  }

  /// The last statement of an account about a purchase.
  private func lastStatement(
    of originalTransactionId: String, _ statement: OwnerStatement, _ connection: SQLiteConnection
  ) throws(LedgerError) -> (seq: Int64, isClaim: Bool)? {
    let stream = try streamId(
      AppKey(environment: statement.environment, bundleId: statement.bundleId),
      originalTransactionId, connection)
    let claim = try connection.statement("SELECT seq FROM claim WHERE stream_id = ? AND mac = ?")
      .bind(1, stream).bind(2, statement.mac).first { $0.int(0) }
    if let claim { return (claim, true) }
    return try connection.statement(
      "SELECT seq FROM statement WHERE mac = ? AND stream_id = ? ORDER BY seq DESC LIMIT 1"
    ).bind(1, statement.mac).bind(2, stream).first { ($0.int(0), false) }
  }

  static func lastMapping(_ connection: SQLiteConnection) throws(LedgerError) -> Int64 {
    try connection.statement("SELECT max(seq) FROM statement WHERE mac = ?")
      .bind(1, OwnerStatement.nobody).first { $0.optionalInt(0) ?? 0 } ?? 0
  }

  static func countStatements(_ connection: SQLiteConnection) throws(LedgerError) -> Int64 {
    try connection.statement("SELECT count(*) FROM statement WHERE mac > ?")
      .bind(1, OwnerStatement.nobody).first { $0.int(0) } ?? 0
  }
}

extension CustomerName {
  /// What the journal says instead of the name.
  func mac(key: [UInt8]) -> [UInt8] {
    SHA256.authenticate(Array(kind.rawValue.utf8) + [0] + Array(name.utf8), key: key)
  }
}

extension OwnerStatement.Content {
  /// What stands in the place of a customer's mac, where none is meant.
  fileprivate var mac: [UInt8] {
    guard case .refund(let statement, _) = self else { return OwnerStatement.nobody }
    return SHA256.hash(Array("refund\u{0}\(statement.request)".utf8))
  }
}

extension OwnerStatement {
  /// The UUID of the statement's event: of who is meant, and of the statement's id.
  var notificationUUID: NotificationUUID {
    let text = "\(source.rawValue)\u{0}\(id)\u{0}"
    return NotificationUUID(digest: SHA256.hash(Array(text.utf8) + mac))
  }

  /// The UUID of the grant's event that it ends.
  var revokedGrant: NotificationUUID? {
    guard let id = endedGrant else { return nil }
    var grant = self
    (grant.content, grant.id) = (.grant(entitlement: "", until: nil, reason: nil), id)
    return grant.notificationUUID
  }

  /// The columns of the statement's event.
  ///
  /// - Parameter receivedAt: our time, milliseconds since 1970; nil: when it was said.
  public func envelope(receivedAt: Int64? = nil) -> EventEnvelope {
    EventEnvelope(
      notificationUUID: notificationUUID, source: source, environment: environment,
      bundleId: bundleId, notificationType: notificationType, subtype: nil,
      originalTransactionId: originalTransactionId, signedDate: at, receivedAt: receivedAt ?? at)
  }
}

extension NewEvent {
  /// - Parameter receivedAt: to be preserved, milliseconds since 1970 UTC; nil: when it was said.
  public init(_ statement: OwnerStatement, receivedAt: Int64? = nil) {
    let body = statement.body
    self.init(
      envelope: statement.envelope(receivedAt: receivedAt),
      preservesReceivedAt: receivedAt != nil, body: .bytes(body), bodySHA256: SHA256.hash(body))
  }
}
