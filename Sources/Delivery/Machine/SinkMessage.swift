/// What a sink sends, and what becomes of it.
extension SinkMachine {
  /// What a message is about.
  enum Place: Sendable, Hashable {
    /// Or what it says of requests for refunds, numbered from 1.
    case event(seq: Int64, news: Int64 = 0)
    /// What no event causes, at this time: in the stream, or of the quarantine's item, of this id.
    case moment(MessageKind, at: Int64, id: Int64)

    func isAfter(_ mark: Mark) -> Bool {
      switch self {
      case .event(let seq, _): seq > mark.seq
      case .moment(.customer, let at, _): at > mark.customerClock
      case .moment(_, let at, _): at > mark.clock
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
}
