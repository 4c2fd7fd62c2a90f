public import Ledger
public import Platform
import Store
import Synchronization

/// The daemon's thread that tells others what changed (promise 12): webhooks and forwarded
/// notifications.
///
/// The journal is its outbox: nothing is written twice, and the writer never waits for it.
public final class DeliveryService: Sendable {
  let ledger: Ledger
  let version: String
  let configuration: @Sendable () -> Configuration
  let mirrors: MirrorService
  let customers: CustomerFollower
  /// Woken by the writer, by a reload and by commands.
  let thread = ServiceThread("delivery", .background)
  /// Seconds from the receive time of an event to the receiver's acceptance.
  public let latencies = Histogram([0.01, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300, 3600, 86_400])
  /// Signalled once the places of new sinks are stored, or cannot be by this daemon now.
  let begun = WakeupEvent()
  private let state = Mutex(State())

  private struct State {
    var statuses: [DeliveryStatus] = []
    /// Where sinks begin that are new, by name.
    var beginnings: [String: SinkMachine.Mark] = [:]
    var commands: [(SinkCommand, @Sendable (SinkCommand.Outcome) -> Void)] = []
    var isStopped = false
  }

  private init(
    _ ledger: Ledger, version: String, configuration: @escaping @Sendable () -> Configuration
  ) {
    (self.ledger, self.version, self.configuration) = (ledger, version, configuration)
    customers = CustomerFollower(ledger) {
      configuration().sinks.contains { MessageFilter($0).wantsCustomers }
    }
    mirrors = MirrorService(ledger, customers)
  }

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - version: of this program, for the receivers.
  ///   - configuration: the configuration of now; read again after `reload`.
  /// - Throws: `LedgerError` if the thread cannot be started.
  public static func start(
    _ ledger: Ledger, version: String, configuration: @escaping @Sendable () -> Configuration
  ) throws(LedgerError) -> DeliveryService {
    let service = DeliveryService(ledger, version: version, configuration: configuration)
    ledger.onCommit { [thread = service.thread] in thread.wake() }
    try service.customers.start()
    service.noteBeginnings(of: configuration())
    try service.thread.start { DeliveryWorker.run(service) }
    // What is accepted from now on is sent, also after a crash.
    service.begun.wait(milliseconds: 2_000)
    return service
  }

  /// Has sinks that are new begin where the journal is now. Called when a configuration is read.
  public func noteBeginnings(of configuration: Configuration) {
    let mark = end
    state.withLock { state in
      let names = configuration.sinks.map { ($0.name, state.beginnings[$0.name] ?? mark) }
      state.beginnings = Dictionary(names) { first, _ in first }
    }
  }

  func beginning(of sink: Configuration.Sink) -> SinkMachine.Mark {
    state.withLock { $0.beginnings[sink.name] } ?? end
  }

  private var end: SinkMachine.Mark {
    // First: what is told later may be of this head, but not what is told by now of a later one.
    let customerClock = customers.reserve()
    let head = ledger.head
    return SinkMachine.Mark(
      seq: head.seq, hash: head.hash, clock: Clock.now(), customerClock: customerClock)
  }

  /// Ends the thread. A request without an answer within half a second is given up: its message is
  /// sent again after the next start.
  public func stop() {
    thread.requestStop()
    mirrors.stop()
    thread.stop()
    customers.stop()
    let left = state.withLock { state in
      state.isStopped = true
      defer { state.commands = [] }
      return state.commands
    }
    for (_, completion) in left { completion(.unavailable) }
  }

  /// What every sink does, and every replay, and every mirror.
  public var statuses: [DeliveryStatus] {
    state.withLock { $0.statuses } + mirrors.statuses
  }

  func publish(_ statuses: [DeliveryStatus]) { state.withLock { $0.statuses = statuses } }

  /// Says of sinks that were shown that another daemon has the duty to send now.
  func publishElsewhere(at now: Int64) {
    state.withLock { state in
      for index in state.statuses.indices where state.statuses[index].isHere {
        state.statuses[index].leave(at: now)
      }
    }
  }

  /// What an operator is told while another daemon has the duty to send.
  func elsewhere(_ command: SinkCommand) -> SinkCommand.Outcome {
    if command.verb == .show, let shown = statuses.first(where: { $0.id.name == command.name }) {
      return .shown(shown)
    }
    return .refused("\(DeliveryStatus.hasAnotherDaemon); give the command on its machine")
  }

  /// Does what an operator asks, on the thread of the service.
  public func perform(
    _ command: SinkCommand, completion: @escaping @Sendable (SinkCommand.Outcome) -> Void
  ) {
    let isTaken = state.withLock { state in
      if !state.isStopped { state.commands.append((command, completion)) }
      return !state.isStopped
    }
    if isTaken { thread.wake() } else { completion(.unavailable) }
  }

  func takeCommands() -> [(SinkCommand, @Sendable (SinkCommand.Outcome) -> Void)] {
    state.withLock { state in
      defer { state.commands = [] }
      return state.commands
    }
  }
}
