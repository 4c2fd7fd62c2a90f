import AppStore
import Entitlements
import Ledger
import Platform
import Queries
import SignedData
import Store
import StrictJSON

/// What is sent about one place: the same bytes in every attempt, as long as the fold stays the
/// same.
struct OutgoingMessage {
  /// The idempotency key of the receiver.
  let id: String
  let body: [UInt8]
}

/// Makes messages from the journal. For one thread.
struct MessageMaker {
  let reader: LedgerReader
  /// Knows which recalculations were announced.
  let store: SinkStore
  /// Knows what customers have by name.
  let customers: CustomerFollower
  let journalId: String

  /// - Throws: what SQLite reports.
  init(
    _ reader: LedgerReader, _ store: SinkStore, _ customers: CustomerFollower
  ) throws(LedgerError) {
    (self.reader, self.store, self.customers) = (reader, store, customers)
    journalId = Hexadecimal.encode(try reader.journal.journalId())
  }

  enum Failure: Error {
    /// No projection can be read, or another temporary error: later.
    case notNow
    /// The event is gone, or cannot be read.
    case unreadable
    /// There is nothing to say any more: an event says otherwise.
    case overtaken
  }

  func message(
    _ place: SinkMachine.Place, for sink: Configuration.Sink
  ) throws(Failure) -> OutgoingMessage {
    switch place {
    case .event(let seq, let news): try event(seq, news, sink)
    case .moment(.turn, let at, let stream): try turn(at, stream)
    case .moment(.recalculation, let at, let stream): try recalculation(at, stream)
    case .moment(.customer, let at, let stream): try customer(at, stream)
    case .moment(.quarantined, _, let id): try quarantined(id)
    }
  }

  // MARK: Events

  /// - Parameter news: the number of what it says of requests for refunds; 0 for the event itself.
  private func event(
    _ seq: Int64, _ news: Int64, _ sink: Configuration.Sink
  ) throws(Failure) -> OutgoingMessage {
    let event = try found { () throws(LedgerError) in
      try reader.journal.messageEvents(after: seq - 1, through: seq, limit: 1).first
    }
    guard sink.kind == .webhook else {
      return OutgoingMessage(
        id: event.notificationUUID.description, body: try forwarded(try stored(seq), sink))
    }
    let content = try content(event, sink)
    let message =
      news == 0
      ? message(event, content, MessageType.of(event), event.notificationUUID.description)
      : try refundMessage(event, content, news)
    return OutgoingMessage(id: message.id, body: message.bytes)
  }

  private func stored(_ seq: Int64) throws(Failure) -> StoredEvent {
    try found { () throws(LedgerError) in try reader.journal.event(seq: seq) }
  }

  /// Reads what the files have.
  func found<Value>(_ body: () throws(LedgerError) -> Value?) throws(Failure) -> Value {
    guard let value = try read(body) else { throw .unreadable }
    return value
  }

  /// What Apple POSTed: the JWS byte for byte in canonical JSON, or the canonical body of version 1
  /// with the secret put back.
  private func forwarded(
    _ event: StoredEvent, _ sink: Configuration.Sink
  ) throws(Failure) -> [UInt8] {
    if event.source == .v2 {
      return Array("{\"signedPayload\":\"".utf8) + event.body + Array("\"}".utf8)
    }
    guard let secret = sink.v1Secrets[event.bundleId],
      let root = try? JSONDocument(parsing: event.body).root
    else { throw .unreadable }
    var members = root.members.map { ($0.name, $0.value.value) }
    members.append(("password", .string(secret.text)))
    members.sort { ByteSearch.precedes($0.0, $1.0) }
    return JSONValue.object(members).bytes
  }

  /// What Apple POSTed and was not admitted. It may have been admitted or dropped since.
  private func quarantined(_ id: Int64) throws(Failure) -> OutgoingMessage {
    let found = try read { () throws(LedgerError) in try reader.journal.quarantined(id: id) }
    guard let found else { throw .overtaken }
    let uuid = found.notificationUUID ?? NotificationUUID(digest: found.bodySHA256).description
    return OutgoingMessage(
      id: uuid, body: Array("{\"signedPayload\":\"".utf8) + found.body + Array("\"}".utf8))
  }

  private func message(
    _ event: MessageEvent, _ content: Message.Content, _ type: String, _ id: String
  ) -> Message {
    Message(
      id: id, journalId: journalId, type: type, subject: event.originalTransactionId,
      time: event.receivedAt, timestamp: event.signedDate, data: .event(content))
  }

  /// What became of a request for a refund by an event.
  private func refundMessage(
    _ event: MessageEvent, _ content: Message.Content, _ number: Int64
  ) throws(Failure) -> Message {
    let key = try found { () throws(LedgerError) in event.streamKey }
    let (news, request) = try found { () throws(LedgerError) in
      try reader.journal.refundNews(at: event.seq, of: key).dropFirst(Int(number - 1)).first
    }
    var content = content
    content.refundRequest = try read { () throws(LedgerError) in
      try reader.refundLine(request, of: key, through: event.seq, at: event.receivedAt)
    }
    let type = MessageType.of(news)
    let parts = ["subledger.\(type).v1", "\(event.notificationUUID)", "\(request.uuid)"]
    let digest = SHA256.hash(Array(parts.joined(separator: "\0").utf8))
    return message(event, content, type, NotificationUUID(digest: digest).description)
  }

  private func content(
    _ event: MessageEvent, _ sink: Configuration.Sink
  ) throws(Failure) -> Message.Content {
    var content = Message.Content(
      seq: event.seq, environment: event.environment, bundleId: event.bundleId,
      originalTransactionId: event.originalTransactionId, event: event,
      source: event.source.rawValue)
    if let key = event.streamKey {
      let rows = try read { () throws(LedgerError) in
        try reader.rows(around: event.seq, of: key, at: event.receivedAt)
      }
      content.number = try number(event.seq, in: key)
      content.rows = rows
      content.hadAccess = rows.before?.entitlement.givesAccess ?? false
      content.changes = Self.json(rows.changes)
    }
    if event.source.isOwners, !event.isRefundStatement {
      content.statement = try statement(try stored(event.seq))
    }
    if sink.include.contains(.payload) {
      let stored = try stored(event.seq)
      content.payload = try read { () throws(LedgerError) in try reader.payload(of: stored) }
    }
    return content
  }

  // MARK: What no event causes

  /// Time alone changed the answer for a customer.
  private func turn(_ at: Int64, _ stream: Int64) throws(Failure) -> OutgoingMessage {
    let key = try key(stream)
    let found = try read { () throws(LedgerError) in
      try reader.rows(turningAt: at, of: key)
    }
    guard let (rows, seq) = found else { throw .overtaken }
    return try message(
      MessageKind.turn, at, key, seq, source: "clock", rows,
      hadAccess: rows.before?.entitlement.givesAccess ?? false, changes: Self.json(rows.changes))
  }

  /// Another fold changed the answer for a customer.
  private func recalculation(_ at: Int64, _ stream: Int64) throws(Failure) -> OutgoingMessage {
    let key = try key(stream)
    let known = try found { () throws(LedgerError) in
      try store.recalculation(at: at, of: stream)
    }
    let (rows, seq) = try found { () throws(LedgerError) in
      try reader.row(knownAt: at, of: key)
    }
    return try message(
      MessageKind.recalculation, at, key, seq, source: "rebuild", rows,
      hadAccess: known.hadAccess, changes: known.changes)
  }

  /// What a customer has by name changed. Nobody is told of who was forgotten since.
  private func customer(_ at: Int64, _ stream: Int64) throws(Failure) -> OutgoingMessage {
    let found = try read { () throws(LedgerError) -> CustomerContent? in
      let change = try customers.store { store throws(LedgerError) in
        try store.change(at: at, of: stream)
      }
      guard let change, let key = try reader.key(of: change.customer) else { return nil }
      return CustomerContent(customer: key, change: change)
    }
    guard let content = found else { throw .overtaken }
    let message = Message(
      id: content.id, journalId: journalId, type: MessageKind.customer.type,
      subject: content.customer.id, time: content.change.cause.at,
      timestamp: content.change.cause.at, data: .customer(content))
    return OutgoingMessage(id: message.id, body: message.bytes)
  }

  private func key(_ stream: Int64) throws(Failure) -> StreamKey {
    try found { () throws(LedgerError) in try reader.journal.streamKey(stream) }
  }

  private func message(
    _ kind: MessageKind, _ at: Int64, _ key: StreamKey, _ seq: Int64, source: String,
    _ rows: EventRows, hadAccess: Bool, changes: JSONValue
  ) throws(Failure) -> OutgoingMessage {
    let content = Message.Content(
      seq: seq, environment: key.environment, bundleId: key.bundleId,
      originalTransactionId: key.originalTransactionId, source: source,
      number: try number(seq, in: key), rows: rows, hadAccess: hadAccess, changes: changes)
    let message = Message(
      id: Self.id(kind.type, at, key, reader.journal.fold), journalId: journalId, type: kind.type,
      subject: key.originalTransactionId, time: at, timestamp: at, data: .event(content))
    return OutgoingMessage(id: message.id, body: message.bytes)
  }

  /// A UUID of version 8 over customer, moment and fold: the same in every attempt and restore.
  static func id(_ type: String, _ at: Int64, _ key: StreamKey, _ fold: Fold) -> String {
    let parts = [
      "subledger.\(type).v1", key.environment.rawValue, key.bundleId, key.originalTransactionId,
      "\(at)", "\(fold.version)",
    ]
    let digest = SHA256.hash(Array(parts.joined(separator: "\0").utf8))
    return NotificationUUID(digest: digest).description
  }

  /// A message without content, which tries a sink.
  func test(at now: Int64) -> OutgoingMessage {
    let random = SHA256.hash(Array(WebhookSecret.generate().utf8))
    let id = NotificationUUID(digest: random).description
    let message = Message(
      id: id, journalId: journalId, type: MessageType.test, subject: nil, time: now,
      timestamp: now, data: .test)
    return OutgoingMessage(id: id, body: message.bytes)
  }

  // MARK: Parts

  /// Reads, and tells what fails for a moment from what fails for good.
  func read<Value>(
    _ body: () throws(LedgerError) -> Value
  ) throws(Failure) -> Value {
    do throws(LedgerError) { return try body() } catch {
      throw error.isTemporary ? .notNow : .unreadable
    }
  }

  /// The number of an event within its stream, and the event before it.
  private func number(
    _ seq: Int64, in key: StreamKey
  ) throws(Failure) -> (seq: Int64?, previous: Int64?) {
    try read { () throws(LedgerError) in
      let number = try reader.journal.streamNumber(of: seq, in: key)
      return (number.seq, number.previous)
    }
  }

  private static func json(_ changes: [HistoryEntry.Change]) -> JSONValue {
    .object(changes.map { ($0.field, .array([$0.before, $0.after])) })
  }
}

extension LedgerError {
  /// Whether the same read can succeed in a moment.
  var isTemporary: Bool {
    [.busy, .full, .locked, .notReady].contains(code)
  }
}
