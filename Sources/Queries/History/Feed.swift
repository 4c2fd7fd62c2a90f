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

  public var json: JSONValue { Self.object.json(self) }

  public static let object = JSONObject<Feed>(
    "EventPage",
    [
      .type("list"), JSONMember("items", .list(item.schema)) { $0.items },
      JSONMember(
        "next_page", .text("The cursor of the next page: the last place that was looked at.")
      ) { cursor($0.seq, $0.hash) },
      JSONMember("has_more", .boolean("Whether there is more to look at now.")) { $0.hasMore },
      JSONMember("head", .integer("The last event of the journal.")) { $0.head },
    ])

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

  /// An event, and what is asked for about it.
  public struct Item: Sendable {
    let event: StoredEvent
    /// Its number among the customer's events, and the customer's event before it.
    var number: (seq: Int64?, previous: Int64?) = (nil, nil)
    /// The outer nil: it is not asked for.
    var row: RowDocument??
    var payload: JSONValue?
    var body: String?
  }

  /// What every list of events says of an event, in three parts.
  static let identity: [JSONMember<StoredEvent>] = [
    .type("event"), JSONMember("seq", .integer("Its position in the journal.")) { $0.seq },
    JSONMember("notification_uuid", .text("The UUID by which duplicates are recognized.")) {
      $0.notificationUUID.description
    },
    JSONMember(
      "source", .text("v2 or v1; transaction, renewal or receipt; account or grant.")
    ) { $0.source.rawValue },
  ]
  static let kind: [JSONMember<StoredEvent>] = [
    JSONMember("notification_type", .text("The type, as Apple wrote it.")) { $0.notificationType },
    JSONMember("subtype", .text()) { $0.subtype },
  ]
  static let times: [JSONMember<StoredEvent>] = [
    JSONMember("signed_date", .time("When Apple signed it.")) { $0.signedDate },
    JSONMember("received_at", .time("When it was received.")) { $0.receivedAt },
  ]

  private static let members: [JSONMember<StoredEvent>] =
    identity + [
      JSONMember("environment", .environment) { $0.environment.rawValue },
      JSONMember("bundle_id", .bundleId) { $0.bundleId },
    ] + kind + [
      JSONMember("original_transaction_id", .text()) { $0.originalTransactionId }
    ] + times + [
      JSONMember("body_sha256", .text()) { Hexadecimal.encode($0.bodySHA256) },
      JSONMember("hash", .text("The hash of the chain at this event.")) {
        Hexadecimal.encode($0.hash)
      },
    ]

  public static let event = JSONObject<StoredEvent>(members)

  public static let item = JSONObject<Item>(
    "Event",
    members.map { $0.of(\.event) } + [
      JSONMember("words", .words) { HistoryEntry.description(of: $0.event) },
      JSONMember("stream_seq", .integer("Its number among the customer's events.")) {
        $0.number.seq
      },
      JSONMember("previous_seq", .integer("The customer's event before it.")) {
        $0.number.previous
      },
      .ifAny("row", RowDocument.object.schema) { $0.row.map { $0?.json } },
      .ifAny("payload", .anything("What Apple signed, decoded.")) { $0.payload },
      .ifAny("body", .text("What Apple signed, as received; a receipt in base64.")) { $0.body },
    ])
}

extension LedgerReader {
  /// Places of the journal that one page looks at, and events that are read at once.
  private static let scanned: Int64 = 5000
  private static let batchSize = 500

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
      let (from, wanted) = (seq, min(Self.batchSize, question.limit - page.items.count))
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
    var item = Feed.Item(event: event)
    let key = event.streamKey
    if let key { item.number = try journal.streamNumber(of: event.seq, in: key) }
    if include.contains(.row) {
      item.row = .some(nil)
      if let key { item.row = try rows(around: event.seq, of: key, at: event.receivedAt).after }
    }
    if include.contains(.payload) { item.payload = try payload(of: event) }
    if include.contains(.body) { item.body = event.bodyText }
    return Feed.item.json(item)
  }
}
