/// What is stored of one sink, or of one replay to it: how far it is.
public struct SinkRecord: Sendable, Equatable {
  /// The name of the sink, and the number of the replay; 0 for the sink itself.
  public struct ID: Sendable, Hashable, Comparable {
    public let name: String
    public let replay: Int64

    public init(_ name: String, replay: Int64 = 0) { (self.name, self.replay) = (name, replay) }

    public static func < (one: ID, other: ID) -> Bool {
      (one.name, one.replay) < (other.name, other.replay)
    }
  }

  public let id: ID
  /// Everything through this event is delivered, left out, held or dead; with hash[seq].
  public var seq: Int64
  public var hash: [UInt8]
  /// What time alone changed through this moment is too. Milliseconds since 1970.
  public var clock: Int64
  /// What customers have by name is told through this moment of `CustomerStore`.
  public var customerClock: Int64
  public var state: String
  /// Since when it is in that state, milliseconds since 1970, and why.
  public var since: Int64
  public var reason: String?
  /// Of a replay: the last event, and the only customer; nil for all of them.
  public var last: Int64?
  public var only: String?

  public init(
    _ id: ID, seq: Int64, hash: [UInt8], clock: Int64, customerClock: Int64, state: String,
    since: Int64,
    reason: String? = nil, last: Int64? = nil, only: String? = nil
  ) {
    (self.id, self.seq, self.hash, self.clock, self.customerClock) = (
      id, seq, hash, clock, customerClock
    )
    (self.state, self.since, self.reason) = (state, since, reason)
    (self.last, self.only) = (last, only)
  }
}

/// A message of a sink that is held or dead.
public struct HeldRecord: Sendable, Equatable {
  /// Its place in the order of the sink's messages.
  public let ordinal: Int64
  /// The event that it is about; nil if it is about a moment.
  public let seq: Int64?
  /// The moment at which time alone changes something; nil if it is about an event.
  public let turn: Int64?
  /// The id of the stream whose messages wait for each other; nil if they do not.
  public let stream: Int64?
  public let receivedAt: Int64
  public var attempts: Int
  public var refusals: Int
  /// Of a dead one: when it was given up.
  public var nextAt: Int64
  public var firstAt: Int64?
  /// The status of the last answer; nil if there was none, and then in words.
  public var status: Int?
  public var failure: String?
  /// What a moment is about, as a number of `MessageKind`; of an event 0, or a number above those
  /// for what it says of requests for refunds.
  public let kind: Int64

  public init(
    ordinal: Int64, seq: Int64?, turn: Int64?, stream: Int64?, receivedAt: Int64, attempts: Int,
    refusals: Int, nextAt: Int64, firstAt: Int64?, status: Int?, failure: String?,
    kind: Int64 = 0
  ) {
    (self.ordinal, self.seq, self.turn, self.stream) = (ordinal, seq, turn, stream)
    (self.receivedAt, self.attempts, self.refusals) = (receivedAt, attempts, refusals)
    (self.nextAt, self.firstAt, self.status, self.failure) = (nextAt, firstAt, status, failure)
    self.kind = kind
  }
}
