import Platform
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
  /// `up`, `down`, `paused`, `gone`, `lost`, `full`, `elsewhere` or, of a mirror, `filling`.
  public internal(set) var state: String
  public internal(set) var since: Int64
  /// Why, or what the last attempt failed with; nil if there is nothing to say.
  public internal(set) var reason: String?
  /// The HTTP status of the last attempt since the start; nil if that got no answer, before any,
  /// and of a mirror.
  private(set) var lastStatus: Int64?
  /// Its place in the journal, and the last event that is for it.
  var seq: Int64 = 0
  var hash: [UInt8] = []
  var end: Int64 = 0
  /// For how long the oldest of the events that were read and are not done is.
  public private(set) var lagMilliseconds: Int64 = 0
  public private(set) var held: Int64 = 0
  public private(set) var dead: Int64 = 0
  /// When the next attempt is due while nothing moves; nil if it moves.
  private(set) var nextAttemptAt: Int64?
  /// Of a replay: the last event.
  private(set) var last: Int64?
  public internal(set) var counts = Counts()

  /// As of the feed.
  var cursor: String { Feed.cursor(seq, hash) }
  /// Whether this daemon has the duty to send to it.
  public var isHere: Bool { state != Self.elsewhere }
  private static let elsewhere = "elsewhere"

  static let hasAnotherDaemon = "another daemon of the shared journal has the duty to send"

  mutating func leave(at now: Int64) {
    (state, since, reason) = (Self.elsewhere, now, Self.hasAnotherDaemon)
  }

  /// Events of the journal that are not done.
  public var lagEvents: Int64 { max(0, end - seq) }

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
        ["up", "down", "paused", "gone", "lost", "full", elsewhere, "filling"],
        "up: it sends. down: the receiver does not answer, and is asked now and then. paused: by "
          + "a command. gone: the receiver answered 410. lost: its place in the journal is not "
          + "known. full: too many messages were refused. elsewhere: another daemon sends, and "
          + "this is as of then. filling: a mirror gets all its rows.")
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
  /// Logs that the place of a sink is lost.
  static func logLost(_ name: String, _ reason: String?) {
    Log.write(
      .warning, "sink_lost",
      [
        ("sink", .string(name)), ("reason", .optional(reason)),
        ("next", .string("say where it goes on: subledger sink resume \(name) --from …")),
      ])
  }
}
