public import Configuration
import HTTPServer
public import LedgerEngine
import LedgerQueries
import Observability
public import Platform
public import StrictJSON
import Synchronization

/// What all reactor threads share: the ledger, the configuration, the counters.
public final class LedgerService: Sendable {
  public let ledger: Ledger
  let metrics = Metrics()
  let version: [(String, JSONValue)]
  private let current: Mutex<Configuration>
  private let generation = Atomic<Int>(0)
  let arrivals = Arrivals(startedAt: Clock.now())
  let overview: Overview
  /// The OpenAPI document, written once.
  let openAPI: HTTPResponse
  private let draining = Atomic<Bool>(false)
  /// Set once, before the first request.
  private let watch = Mutex<ResourceSampler?>(nil)

  /// A batch that takes longer than this many seconds is a disk that does not answer.
  private static let stalledSeconds = 10.0

  public init(
    _ ledger: Ledger, _ configuration: Configuration, version: [(String, JSONValue)]
  ) {
    self.ledger = ledger
    self.version = version
    current = Mutex(configuration)
    metrics.notifications.know(configuration.apps.keys)
    overview = Overview(ledger, arrivals)
    let program = version.first { $0.0 == "version" }?.1
    var name = "0"
    if case .string(let text) = program { name = text }
    openAPI = LedgerHandler.json(OpenAPI.document(version: name))
  }

  /// Begins to look at files and disk; `beat` is called about once a second while the writer gets
  /// on.
  public func startWatch(beat: @escaping @Sendable () -> Void = {}) throws(PlatformError) {
    let service = self
    let started = try ResourceSampler.start(
      ledger, durations: { service.configuration.nonRenewingDurations },
      beat: { if service.ledger.meter.stalledSeconds < Self.stalledSeconds { beat() } })
    watch.withLock { $0 = started }
  }

  /// Ends what reads journal and rows beside the reactors. Call before the ledger stops.
  public func stop() {
    overview.stop()
    // Let go of: it holds this service.
    watch.withLock { $0.take() }?.stop()
  }

  // MARK: The configuration

  /// As of the last reload.
  public var configuration: Configuration { current.withLock { $0 } }

  /// Which configuration holds: another number after every reload.
  var configurationNumber: Int { generation.load(ordering: .acquiring) }

  /// Every request that begins from here on is answered by this one.
  public func adopt(_ configuration: Configuration) {
    metrics.notifications.know(configuration.apps.keys)
    current.withLock { $0 = configuration }
    generation.add(1, ordering: .acquiringAndReleasing)
  }

  /// Counts a reload of the configuration.
  public func noteReload(isTaken: Bool) { metrics.reloads.add(isTaken ? "taken" : "refused") }

  // MARK: Ready or not

  var isDraining: Bool { draining.load(ordering: .relaxed) }

  /// From here on notifications are answered with 503, so that Apple comes again.
  public func beginDraining() { draining.store(true, ordering: .relaxed) }

  /// Why notifications had better go elsewhere or wait, as a refusal's code; nil: it is ready.
  func obstacle(floor: Int64) -> String? {
    if isDraining { return "shutting_down" }
    if ledger.failure != nil { return "journal" }
    if ledger.meter.isFull { return "disk_full" }
    if ledger.meter.stalledSeconds >= Self.stalledSeconds { return "journal_stalled" }
    if let disk = seen.disk, disk.free < floor { return "disk_floor" }
    return nil
  }

  private var seen: ResourceSampler.Readings {
    watch.withLock { $0 }?.seen ?? ResourceSampler.Readings()
  }

  // MARK: Answers to notifications

  /// The answer to something that went through the writer: only here does a 200 arise (promise 1).
  ///
  /// - Parameter began: when the whole request was there, in monotonic nanoseconds.
  func response(
    to received: Receiver.Received, _ outcome: Ledger.Outcome, began: Int64
  ) -> HTTPResponse {
    switch outcome {
    case .accepted(let seq):
      note(received, .accepted, seq: seq, began: began)
      return Self.taken("accepted", seq)
    case .duplicate(let seq):
      note(received, .duplicate, seq: seq, began: began)
      return Self.taken("duplicate", seq)
    case .conflict(let seq):
      note(received, .conflict, seq: seq, began: began)
      return Self.taken("duplicate", seq)
    case .quarantined:
      let refusal = received.refusal ?? .notAdmitted("quarantined")
      metrics.notifications.add(received, .quarantined)
      count(refusal: refusal, received, began: began)
      return Problem.response(refusal)
    // Neither can happen to what came over the network: it has no kept time and is in no run.
    case .receiveTimeBehind, .skipped: return Problem.response(.malformed("received_at_ms"))
    case .unavailable(let code):
      count(refusal: .unavailable(code), received, began: began)
      return Problem.response(.unavailable(code))
    }
  }

  private static func taken(_ outcome: String, _ seq: Int64) -> HTTPResponse {
    LedgerHandler.json([("outcome", .string(outcome)), ("seq", .integer(seq))])
  }

  private func note(
    _ received: Receiver.Received, _ outcome: NotificationCounts.Outcome, seq: Int64,
    began: Int64
  ) {
    count(received, outcome)
    let took = observe(since: began)
    Log.write(
      .info, "notification",
      [("outcome", .string(outcome.rawValue)), ("seq", .integer(seq))] + received.logFields
        + [("took_us", .integer(took))])
  }

  /// Counts one that is in the journal, whichever way it came.
  func count(_ received: Receiver.Received, _ outcome: NotificationCounts.Outcome) {
    metrics.notifications.add(received, outcome)
    if outcome != .accepted { arrivals.note(.duplicate, received, at: Clock.now()) }
    if received.isUnknownType { metrics.unknownTypes.add() }
    if received.isAheadOfClock { metrics.signedAhead.add() }
    if outcome == .accepted, let delay = received.delay { metrics.observe(delay: delay) }
  }

  /// Counts and logs one that is not; what is not proven says nothing that could be believed.
  func count(refusal: Refusal, _ received: Receiver.Received?, began: Int64) {
    switch refusal {
    case .malformed, .untrusted: arrivals.note(.refused, at: Clock.now())
    case .unavailable: arrivals.note(.unavailable, at: Clock.now())
    // The quarantine itself is counted.
    case .notAdmitted: break
    }
    metrics.refusals.add(refusal.code)
    let took = observe(since: began)
    Log.write(
      .info, "notification",
      [("outcome", .string(refusal.outcome)), ("reason", .string(refusal.code))]
        + (received?.logFields ?? []) + [("took_us", .integer(took))])
  }

  /// - Returns: microseconds.
  private func observe(since began: Int64) -> Int64 {
    let took = Clock.monotonicNanoseconds() - began
    metrics.answer.observe(Double(took) / 1e9)
    return took / 1000
  }

  /// `/metrics`.
  ///
  /// - Parameter folded: the last seq in the live rows; nil where there are none.
  func metricsText(folded: Int64?) -> String {
    watch.withLock { $0 }?.requestRowCount()
    let versions = version.compactMap { name, value -> (String, String)? in
      guard case .string(let text) = value else { return nil }
      return (name, text)
    }
    return metrics.text(ledger, seen, folded: folded, versions: versions)
  }
}

extension Refusal {
  /// The log's word for it.
  fileprivate var outcome: String {
    switch self {
    case .malformed, .untrusted: "refused"
    case .notAdmitted: "quarantined"
    case .unavailable: "unavailable"
    }
  }
}
