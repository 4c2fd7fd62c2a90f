import Queries
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

  public var json: JSONValue { Self.object.json(self) }

  public static let object = JSONObject<DeliveryStatus>("Sink", place + attempts)

  private static let place: [JSONMember<DeliveryStatus>] = [
    .type("sink"), JSONMember("name", .text()) { $0.id.name },
    JSONMember("kind", .oneOf(["webhook", "forward", "mirror"])) { $0.kind },
    JSONMember(
      "url", .text("Where it is sent to, without the query; of a mirror host and port.")
    ) { $0.url },
    JSONMember(
      "state",
      .oneOf(
        ["up", "down", "paused", "gone", "lost", "full", "filling"],
        "up: it sends. down: the receiver does not answer, and is asked now and then. paused: by "
          + "a command. gone: the receiver answered 410. lost: its place in the journal is not "
          + "known. full: too many messages were refused. filling: a mirror gets all its rows.")
    ) { $0.state },
    JSONMember("since", .time("Since when it is in that state.")) { $0.since },
    JSONMember("reason", .text("Why, or what the last attempt failed with.")) { $0.reason },
    JSONMember(
      "last_status", .integer("The HTTP status of the last attempt; null if that got no answer.")
    ) { $0.lastStatus },
    JSONMember("cursor", .text("Its place in the journal, as a cursor.")) { $0.cursor },
    JSONMember(
      "seq", .integer("Everything through this event is delivered, left out, held or dead.")
    ) { $0.seq },
  ]

  private static let attempts: [JSONMember<DeliveryStatus>] = [
    JSONMember("lag_events", .integer("The events after it.")) { $0.lagEvents },
    JSONMember(
      "lag_milliseconds", .integer("How long the oldest of them that was read has waited.")
    ) { $0.lagMilliseconds },
    JSONMember(
      "held", .integer("Messages that were refused and are tried again, and those behind them.")
    ) { $0.held },
    JSONMember("dead", .integer("Messages that were given up.")) { $0.dead },
    JSONMember("next_attempt_at", .time("When something held, or a probe, is due.")) {
      $0.nextAttemptAt
    },
    JSONMember("delivered", .integer("Messages that the receiver took since the start.")) {
      $0.counts.delivered
    },
    JSONMember("failed", .integer("Attempts since the start that got no answer.")) {
      $0.counts.failed
    },
    JSONMember("refused", .integer("Attempts since the start that the receiver refused.")) {
      $0.counts.refused
    },
    JSONMember(
      "blocked", .integer("Of those that failed: to an address that may not be connected to.")
    ) { $0.counts.blocked },
    .ifAny("replay", .integer("Of a replay: its number.")) {
      $0.id.replay > 0 ? $0.id.replay : nil
    },
    .ifAny("last", .integer("Of a replay: its last event.")) {
      $0.id.replay > 0 ? .some($0.last) : nil
    },
  ]
}

extension DeliveryStatus {
  init(_ mirror: MirrorStatus) {
    var counts = Counts()
    (counts.delivered, counts.failed) = (mirror.moved, mirror.failed)
    self.init(
      id: SinkRecord.ID(mirror.name), kind: "mirror", url: mirror.address, state: mirror.state,
      since: mirror.since, reason: mirror.reason, lastStatus: nil,
      cursor: Feed.cursor(mirror.seq, mirror.hash), seq: mirror.seq,
      lagEvents: max(0, mirror.head - mirror.seq), lagMilliseconds: 0, held: 0, dead: 0,
      nextAttemptAt: nil, last: nil, counts: counts)
  }
}
