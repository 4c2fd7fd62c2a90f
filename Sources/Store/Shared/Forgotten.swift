import AppStore
public import Platform

/// Reads, from a copy that was put aside, what its shared journal has forgotten.
extension JournalReader {
  /// How far the journal is, as `Journal.position`.
  ///
  /// - Throws: what SQLite reports.
  public func position() throws(LedgerError) -> JournalPosition {
    let (head, state) = (try head(), try CopyState(connection))
    return JournalPosition(
      seq: head.seq, hash: head.hash, receivedAt: head.receivedAt, notes: state.notes,
      notesHash: state.notesHash, dictionary: state.dictionary)
  }

  /// Whether the journal is marked as a copy of a shared journal.
  ///
  /// - Throws: what SQLite reports.
  func isCopy() throws(LedgerError) -> Bool {
    try Meta(connection: connection).int(.shared) == 1
  }

  /// Up to `limit` events behind a seq, to be journaled again. One that cannot be read is left out.
  ///
  /// - Returns: also the last seq; nil if there is no event.
  /// - Throws: what SQLite reports.
  public func newEvents(
    after seq: Int64, limit: Int
  ) throws(LedgerError) -> (events: [NewEvent], last: Int64?) {
    var last: Int64?
    let events = try connection.statement(
      EventRow.select(body: CopyFaults.body) + "WHERE e.seq > ? ORDER BY e.seq LIMIT ?"
    ).bind(1, seq).bind(2, Int64(limit)).all {
      (row) throws(LedgerError) -> (seq: Int64, event: NewEvent)? in
      let raw = try EventRow.read(row, codec)
      last = raw.event.seq
      guard raw.isBodyReadable else { return nil }
      let receipt = raw.event.source.form == .receipt ? try codec.receiptBody(row.bytes(12)) : nil
      return (raw.event.seq, NewEvent(raw.event, receipt))
    }.compactMap { $0 }
    guard let last else { return ([], nil) }
    let arrivals = try arrivals(in: seq + 1...last)
    return (
      events.map { found in
        var event = found.event
        event.arrival = arrivals[found.seq] ?? .posted
        return event
      }, last
    )
  }

  /// The accounts whose first statement is behind a seq.
  ///
  /// - Throws: what SQLite reports.
  public func accounts(firstNamedAfter seq: Int64) throws(LedgerError) -> [ForgottenAccount] {
    try connection.statement(
      """
      SELECT kind, name, key, mac FROM account WHERE
        (SELECT min(seq) FROM statement WHERE statement.mac = account.mac) > ? ORDER BY id
      """
    ).bind(1, seq).all { row in
      ForgottenAccount(
        kind: row.text(0), name: row.text(1), key: row.bytes(2), mac: row.bytes(3))
    }
  }

  /// Up to `limit` notifications in quarantine behind an id, to be quarantined again. One whose
  /// body cannot be read is left out.
  ///
  /// - Returns: also the last id; nil if there is none.
  /// - Throws: what SQLite reports.
  public func newQuarantine(
    after id: Int64, limit: Int
  ) throws(LedgerError) -> (items: [NewQuarantine], last: Int64?) {
    var last: Int64?
    var items: [NewQuarantine] = []
    for item in try quarantined(after: id, limit: limit) {
      last = item.id
      if item.body.isEmpty { continue }
      let subject = try originalTransactionIds(of: item.id...item.id)[item.id] ?? nil
      items.append(NewQuarantine(item, about: subject))
    }
    return (items, last)
  }
}

/// A row of the table of accounts.
public struct ForgottenAccount: Sendable {
  let kind: String
  let name: String
  let key: [UInt8]
  let mac: [UInt8]
}

extension NewEvent {
  /// An event that is to be journaled again.
  fileprivate init(_ event: StoredEvent, _ receipt: ReceiptBody?) {
    self.init(
      envelope: event.envelope, body: receipt.map { .receipt($0) } ?? .bytes(event.body),
      bodySHA256: event.bodySHA256)
  }
}

extension NewQuarantine {
  fileprivate init(_ item: StoredQuarantine, about originalTransactionId: String?) {
    let isUnnamed = item.bundleId == nil && item.source != .v1
    self.init(
      reason: item.reason, owner: isUnnamed ? .unnamed : item.isForeign ? .foreign : .ours,
      source: item.source,
      claims: QuarantineClaims(
        notificationUUID: item.notificationUUID.flatMap { NotificationUUID($0) },
        environment: item.environment, bundleId: item.bundleId,
        notificationType: item.notificationType, originalTransactionId: originalTransactionId,
        signedDate: item.signedDate),
      receivedAt: item.receivedAt, body: item.body, bodySHA256: item.bodySHA256)
  }
}

/// Journals again what a shared journal has forgotten.
extension Journal {
  /// Appends what of it the journal does not have, in one SQL transaction.
  ///
  /// - Parameters:
  ///   - accounts: whom statements among `submissions` are about.
  ///   - held: evidence to be held, unless it says something new by now.
  /// - Returns: how many events were journaled.
  /// - Throws: as `append`.
  public func putBack(
    _ submissions: [Submission], accounts: [ForgottenAccount] = [], held: [HeldEvidence] = [],
    shipping ship: Shipper<Int>?
  ) throws(LedgerError) -> Int {
    try write(shipping: ship) { (connection) throws(LedgerError) in
      let first = head.seq
      for account in accounts { try insert(account, connection) }
      try appending(connection) { () throws(LedgerError) in
        for submission in submissions {
          guard case .accepted(let seq) = try append(submission, connection),
            case .event(let event) = submission, event.source == .v1
          else { continue }
          try V1Filing.accept(seq, event.body, under: event.originalTransactionId, connection)
        }
        for item in held {
          guard let event = newEvent(item) else { continue }
          _ = try append(.event(event), connection)
        }
      }
      return Int(head.seq - first)
    }
  }

  /// Inserts an account unless its customer has got another key since.
  private func insert(
    _ account: ForgottenAccount, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    try connection.statement(
      """
      INSERT INTO account (kind, name, key, mac) SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS
        (SELECT 1 FROM account WHERE mac = ?4 OR (kind = ?1 AND name = ?2))
      """
    ).bind(1, account.kind).bind(2, account.name).bind(3, account.key).bind(4, account.mac).run()
  }
}
