import Platform
public import StrictJSON
public import SubscriptionLedger
import Synchronization

/// What all reactor threads share: the ledger, the configuration, the counters.
public final class LedgerService: Sendable {
  public let ledger: Ledger
  public let configuration: Configuration
  let counters = Counters()
  let version: [(String, JSONValue)]
  let arrivals = Arrivals(startedAt: Clock.now())
  let overview: Overview
  /// The OpenAPI document, written once.
  let openAPI: HTTPResponse
  private let draining = Atomic<Bool>(false)

  /// Bytes of a batch that comes over the unix socket.
  var batchBytes: Int { (configuration.bodyLimit + 1024) * BatchReceive.maximumLines }

  public init(
    _ ledger: Ledger, _ configuration: Configuration, version: [(String, JSONValue)]
  ) {
    self.ledger = ledger
    self.configuration = configuration
    self.version = version
    overview = Overview(ledger, configuration, arrivals)
    let program = version.first { $0.0 == "version" }?.1
    var name = "0"
    if case .string(let text) = program { name = text }
    openAPI = LedgerHandler.json(OpenAPI.document(version: name))
  }

  /// Ends what reads the journal beside the reactors. Call before the ledger stops.
  public func stop() { overview.stop() }

  var isDraining: Bool { draining.load(ordering: .relaxed) }

  /// From here on notifications are answered with 503, so that Apple comes again.
  public func beginDraining() { draining.store(true, ordering: .relaxed) }

  // MARK: Answers to notifications

  /// The answer to something that went through the writer: only here does a 200 arise (promise 1).
  func response(to received: Receiver.Received, _ outcome: Ledger.Outcome) -> HTTPResponse {
    switch outcome {
    case .accepted(let seq):
      count(outcome: "accepted", received)
      return Self.taken("accepted", seq)
    case .duplicate(let seq):
      count(outcome: "duplicate", received)
      return Self.taken("duplicate", seq)
    case .conflict(let seq):
      count(outcome: "conflict", received)
      return Self.taken("duplicate", seq)
    case .quarantined:
      let refusal = received.refusal ?? .notAdmitted("quarantined")
      count(refusal: refusal, type: received.notificationType)
      return Problem.response(refusal)
    // Neither can happen to what came over the network: it has no kept time and is in no run.
    case .receiveTimeBehind, .skipped: return Problem.response(.malformed("received_at_ms"))
    case .unavailable(let code):
      count(refusal: .unavailable(code), type: received.notificationType)
      return Problem.response(.unavailable(code))
    }
  }

  private static func taken(_ outcome: String, _ seq: Int64) -> HTTPResponse {
    LedgerHandler.json([("outcome", .string(outcome)), ("seq", .integer(seq))])
  }

  private func count(outcome: String, _ received: Receiver.Received) {
    counters.add("subledger_notifications_total{outcome=\"\(outcome)\"}")
    if outcome != "accepted" { arrivals.note(.duplicate, received, at: Clock.now()) }
    if received.isUnknownType { counters.add("subledger_unknown_types_total") }
    if received.isAheadOfClock { counters.add("subledger_signed_ahead_total") }
  }

  func count(refusal: Refusal, type: String?) {
    switch refusal {
    case .malformed, .untrusted: arrivals.note(.refused, at: Clock.now())
    case .unavailable: arrivals.note(.unavailable, at: Clock.now())
    // The quarantine itself is counted.
    case .notAdmitted: break
    }
    counters.add("subledger_refusals_total{reason=\"\(refusal.code)\"}")
    Log.write(
      .info, "refused", [("reason", .string(refusal.code)), ("type", .optional(type))])
  }

  var metrics: String {
    counters.text + "# TYPE subledger_journal_seq gauge\nsubledger_journal_seq \(ledger.seq)\n"
      + "# TYPE subledger_waiting gauge\nsubledger_waiting \(ledger.waiting)\n"
  }
}
