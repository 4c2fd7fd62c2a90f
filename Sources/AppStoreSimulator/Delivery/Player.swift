import Glibc
import Platform
import StrictJSON
import Synchronization

/// Delivers notifications to a service as Apple does: POSTs over kept-alive connections, with
/// retries while the service is unavailable.
public struct Player: Sendable {
  public var address: ServiceAddress
  /// The number of deliveries at once. With one they arrive in the planned order.
  public var connections: Int
  /// The largest number of deliveries a second; nil for no limit.
  public var rate: Double?
  /// How long an hour between Apple's attempts takes here, in milliseconds.
  public var millisecondsPerHour: Int64 = 50

  public init(address: ServiceAddress, connections: Int = 1, rate: Double? = nil) {
    self.address = address
    self.connections = max(1, connections)
    self.rate = rate
  }

  /// The state that the threads of a run share under one lock. They spend their time waiting for
  /// the network, so the lock is not contended.
  private struct Progress {
    var next = 0
    var report = PlayReport()
    var error: SimulatorError?
  }

  /// Makes all deliveries, or those until `shouldStop` returns true.
  ///
  /// - Parameter progress: receives the number of answered deliveries, about once a second.
  /// - Throws: `SimulatorError.signing` if OpenSSL cannot sign; `.network` if no thread could be
  ///   started.
  public func play(
    _ deliveries: [Delivery], of messages: [SimulatedMessage], signer: MessageSigner,
    shouldStop: @escaping @Sendable () -> Bool = { false },
    progress: @escaping @Sendable (Int) -> Void = { _ in }
  ) throws(SimulatorError) -> PlayReport {
    let bodies = Bodies(messages, signer, deliveries)
    let work = Work(player: self, deliveries: deliveries, bodies: bodies, shouldStop: shouldStop)
    return try work.run(progress)
  }

  /// One run, which its threads share.
  private final class Work: Sendable {
    let player: Player
    let deliveries: [Delivery]
    let bodies: Bodies
    let shouldStop: @Sendable () -> Bool
    let start = Clock.monotonicNanoseconds()
    let state: Mutex<Progress>
    /// The number of threads that have not finished.
    let running = Atomic(0)

    init(
      player: Player, deliveries: [Delivery], bodies: Bodies,
      shouldStop: @escaping @Sendable () -> Bool
    ) {
      self.player = player
      self.deliveries = deliveries
      self.bodies = bodies
      self.shouldStop = shouldStop
      state = Mutex(Progress(report: PlayReport(of: deliveries.count)))
    }

    /// Starts the threads and waits for them. Fewer threads than requested are accepted.
    ///
    /// - Throws: `SimulatorError.network` if none could be started; else the first error of a
    ///   thread.
    func run(_ progress: @Sendable (Int) -> Void) throws(SimulatorError) -> PlayReport {
      var threads: [Thread] = []
      while threads.count < player.connections, let thread = start(threads.count) {
        threads.append(thread)
      }
      if threads.isEmpty { throw .network("start a thread") }
      var ticks = 0
      var reported = 0
      while running.load(ordering: .acquiring) > 0 {
        usleep(5_000)
        ticks += 1
        let answered = state.withLock { $0.report.answered }
        guard ticks % 200 == 0, answered != reported else { continue }
        reported = answered
        progress(answered)
      }
      for thread in threads { thread.join() }
      let (report, error) = state.withLock { ($0.report, $0.error) }
      if let error { throw error }
      return report
    }

    private func start(_ number: Int) -> Thread? {
      running.add(1, ordering: .relaxed)
      let thread = try? Thread.start("deliver-\(number)") {
        self.deliver()
        self.running.subtract(1, ordering: .releasing)
      }
      if thread == nil { running.subtract(1, ordering: .relaxed) }
      return thread
    }

    /// The body of a thread: deliveries one after the other, over one connection.
    private func deliver() {
      let connection = ServiceConnection(player.address)
      while let index = nextDelivery() {
        do throws(SimulatorError) {
          try attempt(bodies.body(of: deliveries[index].message), connection)
        } catch {
          state.withLock { $0.error = error }
        }
      }
    }

    /// Waits until the next delivery is due, and returns its index. Returns nil if there is none,
    /// or if the run has failed or was stopped.
    private func nextDelivery() -> Int? {
      let index = state.withLock { state -> Int? in
        guard state.next < deliveries.count, state.error == nil, !state.report.isStopped
        else { return nil }
        state.next += 1
        return state.next - 1
      }
      guard let index else { return nil }
      let due = player.rate.map { start + Int64(Double(index) * 1e9 / $0) } ?? start
      return sleep(until: due) ? index : nil
    }

    /// Makes Apple's attempts, with shorter hours.
    private func attempt(_ body: [UInt8], _ connection: ServiceConnection) {
      var wasReached = false
      for attempt in Delivery.attemptHours.indices {
        if attempt > 0 {
          let hours = Delivery.attemptHours[attempt] - Delivery.attemptHours[attempt - 1]
          let pause = hours * player.millisecondsPerHour * 1_000_000
          guard sleep(until: Clock.monotonicNanoseconds() + pause) else { return }
          state.withLock { $0.report.retries += 1 }
        }
        guard let answer = try? connection.post(body) else { continue }
        wasReached = true
        // After a broken connection it is unknown whether the service stored the notification, so
        // Apple sends it again, and the journal must recognise it. A 4xx is final; an answer from
        // 500 on may be a temporary failure.
        if answer.status >= 500 && attempt < Delivery.attemptHours.count - 1 { continue }
        return state.withLock { $0.report.count(answer) }
      }
      state.withLock { state in
        state.report.unanswered += 1
        guard !wasReached else { return }
        state.report.isStopped = true
        state.report.isUnreachable = true
      }
    }

    /// Returns false if `shouldStop` returned true in the meantime.
    private func sleep(until due: Int64) -> Bool {
      while true {
        if shouldStop() {
          state.withLock { $0.report.isStopped = true }
          return false
        }
        let left = due - Clock.monotonicNanoseconds()
        if left <= 0 { return true }
        usleep(UInt32(min(left / 1000 + 1, 20_000)))
      }
    }
  }
}

extension PlayReport {
  fileprivate init(of deliveries: Int) {
    self.init()
    self.deliveries = deliveries
  }

  fileprivate mutating func count(_ answer: ServiceConnection.Answer) {
    answered += 1
    byStatus[answer.status, default: 0] += 1
    guard (200...206).contains(answer.status),
      let outcome = try? JSONDocument(parsing: answer.body).root["outcome"]?.string
    else { return }
    byOutcome[outcome, default: 0] += 1
  }
}
