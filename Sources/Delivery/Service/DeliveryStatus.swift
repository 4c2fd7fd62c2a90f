import Platform
public import Store
public import StrictJSON

/// What one sink, or one replay to it, does now. Times are milliseconds since 1970 UTC.
public struct DeliveryStatus: Sendable {
  /// Attempts since the start, by what became of them.
  public struct Counts: Sendable {
    public var delivered: Int64 = 0
    /// The endpoint did not answer.
    public var failed: Int64 = 0
    public var refused: Int64 = 0
    /// Of those that failed: the address may not be connected to.
    public var blocked: Int64 = 0
  }

  public let id: SinkRecord.ID
  let kind: String
  /// Without the query, which can hold a secret. Of a mirror: host and port.
  let url: String
  /// `up`, `down`, `paused`, `gone`, `lost`, `full` or, of a mirror, `filling`.
  public let state: String
  public let since: Int64
  /// Why, or what the last attempt failed with; nil if there is nothing to say.
  public let reason: String?
  /// The HTTP status of the last attempt since the start; nil if that got no answer, before any,
  /// and of a mirror.
  let lastStatus: Int64?
  /// The cursor, as of the feed.
  let cursor: String
  let seq: Int64
  /// Events of the journal that are not done, and for how long the oldest of those read is.
  public let lagEvents: Int64
  public let lagMilliseconds: Int64
  public let held: Int64
  public let dead: Int64
  /// When the next attempt is due while nothing moves; nil if it moves.
  let nextAttemptAt: Int64?
  /// Of a replay: the last event.
  let last: Int64?
  public let counts: Counts

  public var json: JSONValue {
    var members: [(String, JSONValue)] = [
      ("object", .string("sink")), ("name", .string(id.name)), ("kind", .string(kind)),
      ("url", .string(url)), ("state", .string(state)), ("since", .integer(since)),
      ("reason", .optional(reason)), ("last_status", .optional(lastStatus)),
      ("cursor", .string(cursor)), ("seq", .integer(seq)),
      ("lag_events", .integer(lagEvents)), ("lag_milliseconds", .integer(lagMilliseconds)),
      ("held", .integer(held)), ("dead", .integer(dead)),
      ("next_attempt_at", .optional(nextAttemptAt)),
      ("delivered", .integer(counts.delivered)), ("failed", .integer(counts.failed)),
      ("refused", .integer(counts.refused)), ("blocked", .integer(counts.blocked)),
    ]
    if id.replay > 0 {
      members += [("replay", .integer(id.replay)), ("last", .optional(last))]
    }
    return .object(members)
  }
}

extension DeliveryStatus {
  init(_ mirror: MirrorStatus) {
    var counts = Counts()
    (counts.delivered, counts.failed) = (mirror.moved, mirror.failed)
    self.init(
      id: SinkRecord.ID(mirror.name), kind: "mirror", url: mirror.address, state: mirror.state,
      since: mirror.since, reason: mirror.reason, lastStatus: nil,
      cursor: Self.cursor(mirror.seq, mirror.hash), seq: mirror.seq,
      lagEvents: max(0, mirror.head - mirror.seq), lagMilliseconds: 0, held: 0, dead: 0,
      nextAttemptAt: nil, last: nil, counts: counts)
  }

  static func cursor(_ seq: Int64, _ hash: [UInt8]) -> String {
    "\(seq)-\(Hexadecimal.encode(Array(hash.prefix(4))))"
  }
}
