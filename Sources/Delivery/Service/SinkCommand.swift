import Store
public import StrictJSON

/// What an operator asks of a sink.
public struct SinkCommand: Sendable, Equatable {
  public enum Verb: String, Sendable, CaseIterable {
    /// Sends nothing until `resume`.
    case pause
    /// Goes on, where it was or at another place.
    case resume
    /// Gives one message up.
    case skip
    /// Tries held messages now, or dead ones again.
    case retry
    /// Sends a part of the journal again, beside what is new.
    case replay
    /// Sends a message without content.
    case test
    /// Lists what is held and what was given up.
    case show
  }

  public let verb: Verb
  let name: String
  public var seq: Int64?
  /// `resume` and `replay`: a seq with the beginning of its hash, `now` or `start`, or
  /// `received:<milliseconds>`.
  public var from: String?
  /// `replay`: the last seq.
  public var to: Int64?
  /// `replay`: the only original transaction id.
  public var only: String?
  /// `retry` and `replay`: what was given up.
  public var dead = false

  public init(_ verb: Verb, _ name: String) { (self.verb, self.name) = (verb, name) }

  public var json: JSONValue {
    .object([
      ("verb", .string(verb.rawValue)), ("name", .string(name)), ("seq", .optional(seq)),
      ("from", .optional(from)), ("to", .optional(to)), ("only", .optional(only)),
      ("dead", .boolean(dead)),
    ])
  }

  /// Reads what `json` writes. Returns nil for anything else.
  public init?(_ root: JSONElement) {
    guard let verb = root["verb"]?.string.flatMap(Verb.init), let name = root["name"]?.string
    else { return nil }
    (self.verb, self.name) = (verb, name)
    (seq, to) = (root["seq"]?.integer, root["to"]?.integer)
    (from, only) = (root["from"]?.string, root["only"]?.string)
    dead = root["dead"]?.boolean ?? false
  }

  /// What became of it.
  public enum Outcome: Sendable {
    case done(JSONValue)
    /// No sink has this name.
    case noSink
    /// It cannot be done; the text says why and what to do.
    case refused(String)
    /// The daemon stops, or its files cannot be used.
    case unavailable
  }
}

extension SinkCommand.Outcome {
  /// What the commands answer that change a sink, or show it.
  static func shown(
    _ sink: DeliveryStatus, held: [HeldRecord] = [], dead: [HeldRecord] = [],
    replays: [DeliveryStatus] = []
  ) -> Self {
    .done(
      .object([
        ("sink", sink.json), ("held", .array(held.map(json))), ("dead", .array(dead.map(json))),
        ("replays", .array(replays.map(\.json))),
      ]))
  }

  private static func json(_ record: HeldRecord) -> JSONValue {
    .object([
      ("seq", .optional(record.seq)), ("moment", .optional(record.turn)),
      ("received_at", .integer(record.receivedAt)), ("attempts", .integer(Int64(record.attempts))),
      // One that waits for the message before it has no time of its own.
      ("next_attempt_at", .optional(record.nextAt == 0 ? nil : record.nextAt)),
      ("failure", .optional(record.failure)),
    ])
  }
}
