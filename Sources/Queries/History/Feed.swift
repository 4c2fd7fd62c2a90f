import AppStore
public import Ledger
public import Platform
public import Store
public import StrictJSON

/// A page of the feed: the journal's events in order, for clients that keep a cursor.
///
/// A cursor is `<seq>-<first 8 hex of hash[seq]>`: a place in this history of the journal, which
/// never gets another event. It names the last place that was looked at, so that a page without a
/// matching event moves too.
public struct Feed: Sendable {
  public enum Place: Sendable, Equatable {
    case cursor(seq: Int64, hash: [UInt8])
    /// After the events that were received before this time, milliseconds since 1970.
    case received(Int64)
    case start
    case end
  }

  public enum Inclusion: String, Sendable, CaseIterable {
    /// The row as of the event's receive time, folded through it.
    case row
    /// Apple's notification, decoded.
    case payload
    /// The exact body.
    case body
  }

  /// Which end of the journal comes first.
  public enum Order: String, Sendable, CaseIterable {
    case oldest, newest
  }

  public struct Question: Sendable {
    public var place: Place
    public var order = Order.oldest
    var limit: Int
    /// Only events received at this time or later, and before the other one; milliseconds since
    /// 1970.
    public var since: Int64?
    public var until: Int64?
    public var filter = EventFilter()
    public var include: Set<Inclusion> = []
    public let token: Configuration.ReadToken

    public init(_ place: Place, limit: Int, token: Configuration.ReadToken) {
      (self.place, self.limit, self.token) = (place, limit, token)
    }
  }

  /// Encoded.
  public let items: [JSONValue]
  /// The place of the cursor.
  public let seq: Int64
  public let hash: [UInt8]
  /// Whether there are places that were not looked at.
  let hasMore: Bool
  /// The journal's last event, as far as rows are folded.
  let head: Int64

  public var json: JSONValue {
    .object([
      ("object", .string("list")), ("items", .array(items)),
      ("next_page", .string(Self.cursor(seq, hash))), ("has_more", .boolean(hasMore)),
      ("head", .integer(head)),
    ])
  }

  public static func cursor(_ seq: Int64, _ hash: [UInt8]) -> String {
    "\(seq)-\(Hexadecimal.encode(Array(hash.prefix(4))))"
  }

  /// Reads a cursor, `0`, or `received:` with a time. Returns nil for anything else.
  public static func place(_ text: String) -> Place? {
    if text == "0" { return .start }
    if text.hasPrefix("received:") {
      return Timestamp.parse(String(text.dropFirst(9))).map(Place.received)
    }
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let seq = Int64(parts[0]), parts[1].utf8.count == 8,
      let hash = Hexadecimal.decode(String(parts[1]))
    else { return nil }
    return .cursor(seq: seq, hash: hash)
  }

  /// The members of an event that every list of events has.
  public static func members(of event: StoredEvent) -> [(String, JSONValue)] {
    [
      ("object", .string("event")), ("seq", .integer(event.seq)),
      ("notification_uuid", .string(event.notificationUUID.description)),
      ("source", .string(event.source.rawValue)),
      ("environment", .string(event.environment.rawValue)), ("bundle_id", .string(event.bundleId)),
      ("notification_type", .string(event.notificationType)), ("subtype", .optional(event.subtype)),
      ("original_transaction_id", .optional(event.originalTransactionId)),
      ("signed_date", .integer(event.signedDate)), ("received_at", .integer(event.receivedAt)),
      ("body_sha256", .string(Hexadecimal.encode(event.bodySHA256))),
      ("hash", .string(Hexadecimal.encode(event.hash))),
    ]
  }
}

extension LedgerReader {
  /// Places of the journal that one page looks at, and events that are read at once.
  private static let scanned: Int64 = 5000
  private static let pieceSize = 500

  /// A page of the feed; nil if its cursor is of another history of the journal.
  ///
  /// - Parameter head: the last event that may be shown: its row is folded.
  /// - Throws: `LedgerError.notReady` if rows are asked for and no projection can be read,
  ///   what SQLite reports.
  public func feed(_ question: Feed.Question, through head: Int64) throws(LedgerError) -> Feed? {
    let found = try range(of: question, head)
    guard let (start, end) = found else { return nil }
    let isNewest = question.order == .newest
    // The last place that this page looks at.
    let last =
      isNewest
      ? min(start, max(end, start - Self.scanned)) : max(start, min(end, start + Self.scanned))
    var seq = start
    var page = EncodedItems(limit: question.limit)
    while seq != last, !page.isFull {
      let (from, wanted) = (seq, min(Self.pieceSize, question.limit - page.items.count))
      let events = try journal.events(
        matching: question.filter, after: isNewest ? last - 1 : from,
        through: isNewest ? from - 1 : last, limit: wanted, newestFirst: isNewest)
      for event in events where !page.isFull {
        seq = event.seq
        if question.token.covers(environment: event.environment, bundleId: event.bundleId) {
          page.append(try item(event, question.include))
        }
      }
      if events.count < wanted, !page.isFull { seq = last }
    }
    let hasMore = isNewest ? seq > end : seq < end
    // Before the newest event nothing was looked at.
    let place = min(seq, head)
    let known = try hash(at: place)
    return Feed(items: page.items, seq: place, hash: known ?? [], hasMore: hasMore, head: head)
  }

  /// The place that was looked at last, and the last one to look at; nil if the cursor is of
  /// another history.
  private func range(
    of question: Feed.Question, _ head: Int64
  ) throws(LedgerError) -> (start: Int64, end: Int64)? {
    guard let asked = try place(question, head) else { return nil }
    let first = try question.since.map { (time) throws(LedgerError) in
      try journal.firstSeq(receivedFrom: time)
    }
    let last = try question.until.map { (time) throws(LedgerError) in
      try journal.firstSeq(receivedFrom: time) - 1
    }
    switch question.order {
    case .oldest: return (max(asked, (first ?? 1) - 1), min(head, last ?? head))
    // After the newest event there is none to continue from.
    case .newest: return (min(asked, min(head, last ?? head) + 1), first ?? 1)
    }
  }

  /// The last event that is not asked for; nil if the cursor is of another history.
  private func place(
    _ question: Feed.Question, _ head: Int64
  ) throws(LedgerError) -> Int64? {
    switch question.place {
    case .start: return 0
    case .end: return question.order == .newest ? head + 1 : head
    case .received(let time):
      let first = try journal.firstSeq(receivedFrom: time)
      return question.order == .newest ? min(head + 1, first) : min(head, first - 1)
    case .cursor(let seq, let beginning):
      guard seq <= head, let hash = try hash(at: seq) else { return nil }
      return Array(hash.prefix(4)) == beginning ? seq : nil
    }
  }

  private func hash(at seq: Int64) throws(LedgerError) -> [UInt8]? {
    seq == 0 ? Head.empty.hash : try journal.hash(at: seq)
  }

  private func item(
    _ event: StoredEvent, _ include: Set<Feed.Inclusion>
  ) throws(LedgerError) -> JSONValue {
    var members = Feed.members(of: event)
    members.append(("words", .string(HistoryEntry.description(of: event))))
    var number: (seq: Int64?, previous: Int64?) = (nil, nil)
    if let key = event.streamKey {
      number = try journal.streamNumber(of: event.seq, in: key)
    }
    members += [
      ("stream_seq", .optional(number.seq)), ("previous_seq", .optional(number.previous)),
    ]
    if include.contains(.row) {
      var row: RowDocument?
      if let key = event.streamKey {
        row = try rows(around: event.seq, of: key, at: event.receivedAt).after
      }
      members.append(("row", row?.json ?? .null))
    }
    if include.contains(.payload) { members.append(("payload", payload(of: event))) }
    if include.contains(.body) { members.append(("body", Self.body(event))) }
    return .object(members)
  }

  /// The exact text; a receipt, which is none, in base64.
  private static func body(_ event: StoredEvent) -> JSONValue {
    let bytes = event.source == .receipt ? Base64.encode(event.body) : event.body
    return .string(String(decoding: bytes, as: UTF8.self))
  }
}
