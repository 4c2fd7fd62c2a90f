import Ledger

extension SinkMachine {
  struct Settings: Sendable, Equatable {
    var order = Configuration.Sink.Order.customer
    var concurrency = 8
    /// Messages that may be held.
    var heldLimit = 100_000
  }

  /// What the operator, or the receiver by 410, decided.
  enum Condition: String, Sendable {
    case on, paused, gone
    /// The place in the journal is not known; nothing is sent.
    case lost
  }

  /// A place in the journal, and in time.
  struct Mark: Sendable, Equatable {
    /// Events up to here are done.
    var seq: Int64
    /// hash[seq], which ties the place to this history of the journal.
    var hash: [UInt8]
    /// What time alone changed until here is done; milliseconds since 1970.
    var clock: Int64
  }

  /// What a message is about.
  enum Place: Sendable, Hashable {
    case event(seq: Int64)
    /// Status or access changes by time alone, in the stream of this id.
    case turn(at: Int64, stream: Int64)
    /// Another fold gives another answer for the stream of this id, and the operator announced it.
    case recalculation(at: Int64, stream: Int64)
    /// A notification with this id went to quarantine.
    case quarantined(at: Int64, id: Int64)

    func isAfter(_ mark: Mark) -> Bool {
      switch self {
      case .event(let seq): seq > mark.seq
      case .turn(let at, _), .recalculation(let at, _), .quarantined(let at, _): at > mark.clock
      }
    }
  }

  struct NewMessage: Sendable {
    let place: Place
    let stream: Int64?
    /// Milliseconds since 1970: when the event was received, or the moment of the turn.
    let receivedAt: Int64
    /// What is done once this and everything before it is.
    let after: Mark
  }

  struct Message: Sendable, Equatable {
    let ordinal: Ordinal
    let place: Place
    let stream: Int64?
    let receivedAt: Int64
    let after: Mark
    /// Attempts that ended.
    var attempts = 0
    /// Those of them that say something about this message, not about the endpoint.
    var refusals = 0
    /// When it was first refused, and why it was last.
    var firstAt: Int64?
    var failure: Failure?

    /// What is different for messages of different customers, and for all where none wait for
    /// others.
    var customer: Int64 { stream ?? -ordinal }
  }

  /// What became of an attempt.
  enum Outcome: Sendable, Equatable {
    case delivered
    /// The endpoint is not there.
    ///
    /// - Parameter wait: milliseconds that it asks to be left alone; nil if it does not say.
    case endpoint(Failure, wait: Int64?)
    /// The endpoint answered, and does not want this message.
    case refused(Failure)
    /// The endpoint is gone for good: 410.
    case gone
  }

  enum Failure: Sendable, Hashable {
    case status(Int)
    /// No answer; the text is that of `ClientError`.
    case transport(String)
    case skipped

    var text: String {
      switch self {
      case .status(let status): "HTTP \(status)"
      case .transport(let text): text
      case .skipped: "skipped"
      }
    }
  }

  /// The endpoint does not answer.
  struct Outage: Sendable, Equatable {
    struct Probe: Sendable, Equatable {
      let ordinal: Ordinal
      let isOldest: Bool
    }

    let since: Int64
    /// The message that may be what is wrong; nil if that is unlikely.
    var suspect: Ordinal?
    /// The only customer whose messages failed; nil if there are several.
    var customer: Int64?
    var failure: Failure
    var probes = 0
    var probeAt: Int64 = 0
    /// Whether the receiver said when to come again.
    var isTold = false
    var isOthersTurn = false
    /// The last probe that was not the oldest message.
    var lastOther: Ordinal = 0
    var probing: Probe?

    var isOneCustomers: Bool { customer != nil }

    /// Whether a probe may be sent. One that is further away than a receiver may say is of a clock
    /// that was set back.
    func isDue(at now: Int64) -> Bool { !(1...Self.longestWait).contains(probeAt - now) }

    private static let longestWait: Int64 = 7_200_000

    init(since: Int64, suspect: Message?, failure: Failure) {
      (self.since, self.failure) = (since, failure)
      (self.suspect, customer) = (suspect?.ordinal, suspect?.customer)
    }
  }

  /// A message that was refused, or that waits for such a one of the same customer.
  struct HeldMessage: Sendable, Equatable {
    var message: Message
    /// Milliseconds since 1970; of no meaning behind another one of the same customer.
    var nextAt: Int64
  }

  /// A message that was given up.
  struct DeadMessage: Sendable, Equatable {
    let message: Message
    let diedAt: Int64
  }

  /// What a sink was when it was last stored.
  struct Stored: Sendable {
    var condition = Condition.on
    var mark: Mark
    var held: [HeldMessage] = []
    /// Dead messages after the mark.
    var dead: [Place] = []
  }

  /// What changed since it was last stored, besides the mark.
  struct Changes: Sendable {
    /// Held messages that are new, changed or gone.
    var held: Set<Ordinal> = []
    var dead: [DeadMessage] = []
    var conditionChanged = false
    /// Attempts that ended.
    var outcomes = 0

    var isEmpty: Bool { held.isEmpty && dead.isEmpty && !conditionChanged }
  }

  /// Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014).
  struct SplitMix: Sendable, RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }

    /// A duration within a tenth of the given one, so that many do not end together.
    mutating func around(_ milliseconds: Int64) -> Int64 {
      milliseconds - milliseconds / 10 + Int64.random(in: 0...(milliseconds / 5), using: &self)
    }
  }
}
