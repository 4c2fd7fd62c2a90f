import Platform
import Synchronization

/// What the reactors of one server share.
struct ReactorGroup: Sendable {
  let listeners: [Listener]
  /// One per reactor.
  let queues: [ReactorQueue]
  let limiter: ConnectionLimiter
  let limits: ServerLimits
  let shutdown: Shutdown
}

/// The event loop of one thread: waits for events, reads, lets the handler answer, writes.
///
/// Every reactor watches the same listening sockets (EPOLLEXCLUSIVE: one is woken), and the one
/// that accepts a connection gives it to the reactor that has the fewest. The kernel's own ways of
/// sharing do not balance long-lived connections: EPOLLEXCLUSIVE alone favours the reactor that
/// slept last, and SO_REUSEPORT assigns by hash (a proxy's few connections may all go to one
/// reactor), loses the connections that wait in a closing listener's queue, and lets a second
/// daemon take half of the port unnoticed.
///
/// Generic over the handler, so that what `admit` found is stored in the connection without an
/// allocation.
final class Reactor<Handler: RequestHandler> {
  typealias Connection = HTTPConnection<Handler.Context>

  let group: ReactorGroup
  let queue: ReactorQueue
  let handler: Handler
  /// Its own; only the listening sockets are watched by other reactors too.
  var epoll: Epoll
  /// By slot; slots are reused, tokens are not.
  var connections: [Connection?] = []
  var freeSlots: [Int] = []
  var openCount = 0
  /// Open connections that exceeded a limit and only get their 503.
  var rejectedCount = 0
  var isListening = false
  var isDraining = false
  /// Monotonic milliseconds, read once per iteration of the event loop.
  var now: Int64 = 0
  private var nextDeadlineCheck: Int64 = 0
  var serial: UInt32 = 0
  private var ticket: UInt64 = 0
  /// All connections read through this one buffer; its content does not outlive the read.
  var buffer = [UInt8](repeating: 0, count: 64 * 1024)
  /// Requests that wait for their work. Their connections are at stage `answering`.
  var workQueue: AdmissionQueue<QueuedRequest>
  /// Whether much memory was used that was not given back since.
  var heldMuchMemory = false
  /// When the last batch of queued work ended and left some waiting, in monotonic nanoseconds.
  var workPausedAt: Int64?

  /// How exact deadlines are, in milliseconds. Checking some thousand deadlines takes microseconds.
  private static var deadlineInterval: Int64 { 250 }
  /// How long, in nanoseconds, one iteration processes queued work before it reads again.
  private static var workSlice: Int64 { 5_000_000 }
  /// The bodies of queued requests, in bytes: a few thousand of the usual size.
  private static var workQueueBytes: Int { 64 * 1024 * 1024 }
  /// Greater than every token of a connection, whose upper half is below 2^31.
  private static var wakeupToken: UInt64 { .max }
  static var firstListenerToken: UInt64 { .max - 16 }

  /// - Throws: `LedgerError` when the kernel refuses the epoll instance or a descriptor in it.
  init(_ group: ReactorGroup, queue: ReactorQueue, handler: Handler) throws(LedgerError) {
    self.group = group
    self.queue = queue
    self.handler = handler
    epoll = try .open()
    workQueue = AdmissionQueue(
      minimumDepth: group.limits.minimumQueueDepth, byteCapacity: Self.workQueueBytes,
      targetDelay: Int64(group.limits.queueDelaySeconds * 1e9))
    try epoll.add(queue.wakeup.descriptor, token: Self.wakeupToken, .read)
    try listen()
  }

  /// Runs until the server is drained.
  func run() {
    now = Self.milliseconds()
    while !(isDraining && (openCount == 0 || now >= group.shutdown.deadline)) {
      let count = epoll.wait(milliseconds: pollTimeout())
      // The clock is read once: everything in this iteration happens at this time.
      now = Self.milliseconds()
      for index in 0..<count { handle(epoll.event(at: index)) }
      processQueue(forAtLeast: Self.workSlice)
      if now >= nextDeadlineCheck { checkDeadlines() }
      if !isDraining, group.shutdown.isRequested { beginDraining() }
    }
    // The connections that are still open have used up their time. Those that were posted too late
    // are closed here, because otherwise their descriptors would leak.
    connections.removeAll()
    for case .connection(let descriptor, _) in queue.close() {
      _ = Socket(adopting: descriptor)
    }
  }

  private static func milliseconds() -> Int64 { Clock.monotonicNanoseconds() / 1_000_000 }

  /// How long to wait for events, in milliseconds; without limit while there is no deadline.
  private func pollTimeout() -> Int32 {
    if !workQueue.isEmpty { return 0 }
    if openCount == 0 && isListening && !isDraining && !heldMuchMemory { return -1 }
    return Int32(clamping: max(0, min(nextDeadlineCheck - now, Self.deadlineInterval)))
  }

  private func handle(_ event: Epoll.Event) {
    if event.token == Self.wakeupToken {
      // In this order: a message posted after `takeAll` signals again.
      queue.wakeup.clear()
      for message in queue.takeAll() { handle(message) }
    } else if event.token >= Self.firstListenerToken {
      accept(from: group.listeners[Int(event.token - Self.firstListenerToken)])
    } else if let connection = connection(event.token) {
      serve(connection, event)
    }
  }

  private func connection(_ token: UInt64) -> Connection? {
    // If the connection was closed earlier in the same batch of events, its token fits no longer.
    let slot = Int(token & 0xffff_ffff)
    guard slot < connections.count, let connection = connections[slot], connection.token == token
    else { return nil }
    return connection
  }

  private func handle(_ message: ReactorMessage) {
    switch message {
    case .connection(let descriptor, let peer):
      // The sender added it to the load, so that its next choice took it into account; `adopt` adds
      // it again.
      queue.load.subtract(1, ordering: .relaxed)
      adopt(Socket(adopting: descriptor), peer, isCounted: true)
    case .response(let slot, let ticket, let response):
      guard let connection = connection(in: slot, answering: ticket) else { return }
      deliver(response, to: connection)
    }
  }

  func newTicket() -> UInt64 {
    ticket += 1
    return ticket
  }

  func after(_ seconds: Double) -> Int64 { now + Int64(seconds * 1000) }

  private func checkDeadlines() {
    nextDeadlineCheck = now + Self.deadlineInterval
    if !isListening && !isDraining {
      // An earlier attempt may have added some of the listeners.
      stopListening()
      try? listen()
    }
    for case .some(let connection) in connections where connection.deadline <= now {
      expire(connection)
    }
    releaseMemory()
  }
}
