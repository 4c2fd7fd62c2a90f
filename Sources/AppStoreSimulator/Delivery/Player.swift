public import Clients
import Platform
import StrictJSON

/// Delivers messages to a service as Apple does: POSTs over kept-alive connections, with retries
/// while the service is unavailable.
public struct Player: Sendable {
  var address: ServiceURL
  /// The number of deliveries at once. With one they arrive in the planned order.
  var connections: Int
  /// The largest number of deliveries a second; nil for no limit.
  var rate: Double?
  /// How long an hour between Apple's attempts takes here, in milliseconds.
  public var millisecondsPerHour: Int64 = 50

  public init(address: ServiceURL, connections: Int = 1, rate: Double? = nil) {
    self.address = address
    self.connections = max(1, connections)
    self.rate = rate
  }

  /// Makes all deliveries, or those until `shouldStop` returns true.
  ///
  /// - Parameter progress: receives the number of answered deliveries, about once a second.
  /// - Throws: `SimulatorError.signing` if OpenSSL cannot sign; `.client` if curl cannot be used.
  public func play(
    _ deliveries: [Delivery], of messages: [SimulatedMessage], signer: MessageSigner,
    shouldStop: () -> Bool = { false }, progress: (Int) -> Void = { _ in }
  ) throws(SimulatorError) -> PlayReport {
    let bodies = Bodies(messages, signer, deliveries)
    var run = try Run(player: self, deliveries: deliveries, bodies: bodies)
    var (reportedAt, reported) = (run.start, 0)
    while !run.isOver {
      try run.step(shouldStop)
      guard Clock.monotonicNanoseconds() - reportedAt > 1_000_000_000 else { continue }
      reportedAt = Clock.monotonicNanoseconds()
      if run.report.answered != reported { progress(run.report.answered) }
      reported = run.report.answered
    }
    return run.report
  }

  /// A delivery that has no final answer yet.
  private struct OpenDelivery {
    let request: ClientRequest
    var attempt = 0
    /// When the attempt is due, monotonic nanoseconds.
    var due: Int64
    /// The attempt, if it is under way.
    var sent: HTTPClient.RequestID?
    /// Whether the service answered an earlier attempt.
    var wasReached = false
  }

  private struct Run {
    let player: Player
    let deliveries: [Delivery]
    var bodies: Bodies
    let client: HTTPClient
    let start = Clock.monotonicNanoseconds()
    private let wakeup = WakeupEvent()
    private(set) var report: PlayReport
    private var open: [OpenDelivery] = []
    private var next = 0

    /// Nanoseconds after which the caller is asked again whether to stop.
    private static let interval: Int64 = 20_000_000

    init(player: Player, deliveries: [Delivery], bodies: Bodies) throws(SimulatorError) {
      (self.player, self.deliveries, self.bodies) = (player, deliveries, bodies)
      report = PlayReport(deliveries: deliveries.count)
      client = try .simulated(connections: player.connections)
    }

    var isOver: Bool { open.isEmpty && (next == deliveries.count || report.isStopped) }

    /// When the next delivery may begin, monotonic nanoseconds; nil if there is none.
    private var nextDue: Int64? {
      guard next < deliveries.count, open.count < player.connections, !report.isStopped
      else { return nil }
      return player.rate.map { start + Int64(Double(next) * 1e9 / $0) } ?? start
    }

    /// Begins what is due, and takes the answers of what was sent before.
    mutating func step(_ shouldStop: () -> Bool) throws(SimulatorError) {
      let isWaiting = next < deliveries.count || open.contains { $0.sent == nil }
      if isWaiting && shouldStop() { report.isStopped = true }
      // What was sent is waited for.
      if report.isStopped { open.removeAll { $0.sent == nil } }
      while let due = nextDue, due <= Clock.monotonicNanoseconds() {
        let body = try bodies.body(of: deliveries[next].message)
        open.append(OpenDelivery(request: .simulated(body, to: player.address), due: due))
        next += 1
      }
      let now = Clock.monotonicNanoseconds()
      for index in open.indices where open[index].sent == nil && open[index].due <= now {
        if open[index].attempt > 0 { report.retries += 1 }
        open[index].sent = try client.startSimulated(open[index].request)
      }
      let dues = open.filter { $0.sent == nil }.map(\.due) + [nextDue ?? .max, now + Self.interval]
      let pause = max(0, (dues.min() ?? now) - now)
      client.wait(milliseconds: Int32((pause + 999_999) / 1_000_000), wakeup)
      let results = client.takeAll()
      for index in open.indices.reversed() {
        guard let id = open[index].sent, let result = results[id] else { continue }
        if !retries(index, result) { open.remove(at: index) }
      }
    }

    /// Makes Apple's next attempt due, with shorter hours; false if the delivery has ended.
    ///
    /// After a broken connection it is unknown whether the service stored the notification, so
    /// Apple sends it again, and the journal must recognise it. A 4xx is final; an answer from 500
    /// on may be a temporary failure.
    private mutating func retries(
      _ index: Int, _ result: Result<ClientResponse, ClientError>
    ) -> Bool {
      let answer = try? result.get()
      if answer != nil { open[index].wasReached = true }
      let next = open[index].attempt + 1
      guard answer.map({ $0.status >= 500 }) ?? true, next < Delivery.attemptHours.count else {
        report.count(answer, wasReached: open[index].wasReached)
        return false
      }
      let hours = Delivery.attemptHours[next] - Delivery.attemptHours[next - 1]
      open[index].attempt = next
      open[index].sent = nil
      open[index].due =
        Clock.monotonicNanoseconds() + hours * player.millisecondsPerHour * 1_000_000
      return true
    }
  }
}

/// The results of the deliveries to a service.
public struct PlayReport: Sendable, Equatable {
  /// The number of planned deliveries.
  public var deliveries = 0
  /// The number of deliveries with a final answer of any status.
  public var answered = 0
  /// Final answers by HTTP status.
  public var byStatus: [Int: Int] = [:]
  /// Successful answers (200 to 206) by their `outcome`.
  public var byOutcome: [String: Int] = [:]
  /// Attempts after the first one, because the service was unavailable.
  public var retries = 0
  /// Deliveries that were given up after the last attempt.
  public var unanswered = 0
  /// The run ended early, by `shouldStop` or by `isUnreachable`: the remaining deliveries were not
  /// made.
  public var isStopped = false
  /// A delivery had no answer to any of its attempts, which ends a run.
  public var isUnreachable = false

  /// Whether every delivery had an answer that Apple counts as success (200 to 206).
  public var isGood: Bool {
    !isStopped && answered == deliveries && byStatus.keys.allSatisfy { (200...206).contains($0) }
  }

  fileprivate mutating func count(_ answer: ClientResponse?, wasReached: Bool) {
    guard let answer else {
      unanswered += 1
      if !wasReached { (isStopped, isUnreachable) = (true, true) }
      return
    }
    answered += 1
    byStatus[answer.status, default: 0] += 1
    guard (200...206).contains(answer.status),
      let outcome = try? JSONDocument(parsing: answer.body).root["outcome"]?.string
    else { return }
    byOutcome[outcome, default: 0] += 1
  }
}

// MARK: The client

extension HTTPClient {
  /// - Throws: `SimulatorError.client` if curl cannot be used.
  static func simulated(connections: Int) throws(SimulatorError) -> HTTPClient {
    var settings = ClientSettings()
    settings.connections = connections
    return try mapError(SimulatorError.client, try HTTPClient(settings))
  }

  fileprivate func startSimulated(
    _ request: ClientRequest
  ) throws(SimulatorError) -> RequestID {
    try mapError(SimulatorError.client, try start(request))
  }
}

extension ClientRequest {
  /// A POST as the simulated App Store sends it.
  static func simulated(_ body: [UInt8], to address: ServiceURL) -> ClientRequest {
    ClientRequest(
      .post, address,
      fields: [("User-Agent", "subledger-simulator"), ("Content-Type", "application/json")],
      body: body)
  }
}
