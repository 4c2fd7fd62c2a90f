import Entitlements
import JournalStore
public import StrictJSON
import Synchronization

/// Receives lines of NDJSON through the same door as the network: one POST body a line, or
/// `{"received_at_ms":…, "body":{…}}`, which keeps a given receive time.
///
/// A line that is refused stops the batch before it is submitted, so that nothing behind the first
/// bad line is journaled unless the caller skips bad ones.
public enum BatchReceive {
  /// What became of a line.
  public enum LineOutcome: Sendable, Equatable {
    case accepted(seq: Int64)
    case duplicate(seq: Int64)
    case refused(String)
    /// Our fault; the line is to be sent again.
    case unavailable(String)
    /// Behind a bad line, and not looked at.
    case skipped
  }

  /// The outcomes of a batch, as a daemon hands them back.
  public static func json(_ outcomes: [LineOutcome]) -> JSONValue {
    .array(
      outcomes.map { outcome in
        switch outcome {
        case .accepted(let seq): .object([("accepted", .integer(seq))])
        case .duplicate(let seq): .object([("duplicate", .integer(seq))])
        case .refused(let code): .object([("refused", .string(code))])
        case .unavailable(let code): .object([("unavailable", .string(code))])
        case .skipped: .null
        }
      })
  }

  /// Reads what `json` wrote; nil for anything else.
  public static func outcomes(_ element: JSONElement) -> [LineOutcome]? {
    var outcomes: [LineOutcome] = []
    for item in element.elements {
      switch (item.kind, item.members.first) {
      case (.null, _): outcomes.append(.skipped)
      case (_, ("accepted", let value)?): outcomes.append(.accepted(seq: value.integer ?? 0))
      case (_, ("duplicate", let value)?): outcomes.append(.duplicate(seq: value.integer ?? 0))
      case (_, ("refused", let value)?): outcomes.append(.refused(value.string ?? ""))
      case (_, ("unavailable", let value)?): outcomes.append(.unavailable(value.string ?? ""))
      default: return nil
      }
    }
    return outcomes
  }

  /// Milliseconds that a kept receive time may lie ahead of our clock: clocks differ.
  private static let clockTolerance: Int64 = 300_000

  /// Lines of one batch at most.
  public static let maximumLines = 256

  /// Proves lines and submits them; `then` is called once, when all of them have their outcome.
  ///
  /// - Parameters:
  ///   - lines: without their line ends.
  ///   - skipsBad: go on behind a line that is refused.
  ///   - chain: what the lines' places and hashes are held to; nil where they are new ones.
  ///   - note: called for each line that was submitted, with what became of it.
  public static func receive(
    _ lines: [ArraySlice<UInt8>], skipsBad: Bool, receiver: Receiver, ledger: Ledger,
    at now: Int64, limit: Int, keeping chain: ImportChainVerifier? = nil,
    note: @escaping @Sendable (Receiver.Received, Ledger.Outcome) -> Void = { _, _ in },
    then: @escaping @Sendable ([LineOutcome]) -> Void
  ) {
    var outcomes = [LineOutcome](repeating: .skipped, count: lines.count)
    var submissions: [(index: Int, received: Receiver.Received)] = []
    let run = EventRun()
    for (index, line) in lines.enumerated() {
      do throws(Refusal) {
        let received = try self.line(line, receiver, at: now, limit: limit, keeping: chain)
        submissions.append((index, skipsBad ? received : received.joining(run)))
        if received.refusal == nil || skipsBad { continue }
        break
      } catch {
        outcomes[index] = .refused(error.code)
        if !skipsBad { break }
      }
    }
    let gathering = Gathering(outcomes, waiting: submissions.count, then)
    ledger.submit(
      submissions.map { index, received in
        (
          received,
          { outcome in
            note(received, outcome)
            gathering.settle(index, Self.outcome(outcome, received.refusal))
          }
        )
      })
    if submissions.isEmpty { then(outcomes) }
  }

  /// Proves one line, without its end.
  package static func line(
    _ line: ArraySlice<UInt8>, _ receiver: Receiver, at now: Int64, limit: Int,
    keeping chain: ImportChainVerifier?
  ) throws(Refusal) -> Receiver.Received {
    guard line.last != 0x0D else { throw .malformed("line_end") }
    guard line.count <= limit + 256 else { throw .malformed("too_long") }
    guard let root = try? JSONDocument(parsing: Array(line)).root else { throw .malformed("json") }
    guard let body = root["body"], root["received_at_ms"] != nil else {
      guard chain == nil else { throw .malformed("chain") }
      return try receiver.receive(body: Array(line), at: now)
    }
    guard let kept = root["received_at_ms"]?.integer, kept >= 0 else {
      throw .malformed("received_at_ms")
    }
    // Receive times never fall: one ahead of our clock would be every later event's too.
    guard kept <= now.advanced(orBoundBy: clockTolerance) else {
      throw .malformed("received_at_ms_ahead_of_clock")
    }
    let received = try receiver.receive(body: body.text, at: kept, preservesReceivedAt: true)
    if let chain, !chain.takes(root, received) { throw .malformed("chain") }
    return received
  }

  private static func outcome(_ outcome: Ledger.Outcome, _ refusal: Refusal?) -> LineOutcome {
    switch outcome {
    case .accepted(let seq): .accepted(seq: seq)
    case .duplicate(let seq), .conflict(let seq): .duplicate(seq: seq)
    case .quarantined: .refused(refusal?.code ?? "quarantined")
    case .receiveTimeBehind: .refused("received_at_ms_behind_head")
    case .skipped: .skipped
    case .unavailable(let code): .unavailable(code)
    }
  }

  /// Collects outcomes from the writer's thread.
  private final class Gathering: Sendable {
    private let state: Mutex<(outcomes: [LineOutcome], waiting: Int)>
    private let then: @Sendable ([LineOutcome]) -> Void

    init(
      _ outcomes: [LineOutcome], waiting: Int, _ then: @escaping @Sendable ([LineOutcome]) -> Void
    ) {
      state = Mutex((outcomes, waiting))
      self.then = then
    }

    func settle(_ index: Int, _ outcome: LineOutcome) {
      let complete = state.withLock { state -> [LineOutcome]? in
        state.outcomes[index] = outcome
        state.waiting -= 1
        return state.waiting == 0 ? state.outcomes : nil
      }
      if let complete { then(complete) }
    }
  }
}
