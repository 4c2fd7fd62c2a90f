import Platform
import Synchronization

/// One thread's share of the connections: waits for events, reads, lets the handler answer, writes.
///
/// Every reactor watches the same listening sockets (EPOLLEXCLUSIVE: one is woken), and the one
/// that accepts a connection gives it to the reactor that has the fewest. Neither way of sharing
/// that the kernel offers balances connections that live long: EPOLLEXCLUSIVE alone favours the
/// reactor that slept last, SO_REUSEPORT deals by hash (a proxy's few connections may all land on
/// one), loses what waits in a closing listener's queue, and lets a second daemon take half of the
/// port unnoticed.
final class Reactor {
  /// What the reactors of one server have in common.
  struct Shared: Sendable {
    let listeners: [Listener]
    let inboxes: [ReactorQueue]
    let census: ConnectionLimiter
    let limits: ServerLimits
    let shutdown: Shutdown
  }

  let shared: Shared
  let inbox: ReactorQueue
  let handler: any RequestHandler
  /// Its own; only the listening sockets are in those of the others as well.
  var epoll: Epoll
  /// By slot; slots are used again, tokens are not.
  var connections: [HTTPConnection?] = []
  var freeSlots: [Int] = []
  var open = 0
  /// Open connections that were over a limit and only get their 503.
  var turnedAway = 0
  var isListening = false
  var isDraining = false
  /// Monotonic milliseconds, read once a round.
  var now: Int64 = 0
  private var nextTick: Int64 = 0
  private var serial: UInt32 = 0
  private var ticket: UInt64 = 0
  /// All connections read through this one buffer; nothing of it survives the round.
  var buffer = [UInt8](repeating: 0, count: 64 * 1024)
  /// Requests whose work takes long; each one's connection is answering under that ticket.
  var line: AdmissionQueue<Waiting>
  /// When the last turn ended and left some waiting, in monotonic nanoseconds.
  var pause: Int64?

  /// How exact deadlines are, in milliseconds. A scan of some thousand deadlines takes
  /// microseconds.
  private static let tick: Int64 = 250
  /// How long, in nanoseconds, a round works at what waits: whoever comes meanwhile is read after.
  private static let turn: Int64 = 5_000_000
  /// What the requests that wait may hold in all: a few thousand of the usual size.
  private static let lineBytes = 64 * 1024 * 1024
  /// Above every token of a connection, whose upper half is below 2^31.
  private static let wakeupToken = UInt64.max
  private static let firstListenerToken = UInt64.max - 16

  init(
    _ shared: Shared, inbox: ReactorQueue, handler: any RequestHandler
  ) throws(PlatformError) {
    self.shared = shared
    self.inbox = inbox
    self.handler = handler
    epoll = try .open()
    line = AdmissionQueue(
      patience: Int64(shared.limits.waitSeconds * 1e9), few: shared.limits.freeWaiters,
      room: Self.lineBytes)
    try epoll.add(inbox.bell.descriptor, token: Self.wakeupToken, .read)
    try listen()
  }

  /// Runs until the server is drained.
  func run() {
    now = Self.milliseconds()
    while !(isDraining && (open == 0 || now >= shared.shutdown.deadline)) {
      let count = epoll.wait(milliseconds: patience())
      // One reading of the clock a round: all that happened in it happened at this time.
      now = Self.milliseconds()
      for place in 0..<count { react(to: epoll.event(at: place)) }
      handler.eventLoopIterationEnded()
      work(forAtLeast: Self.turn)
      if now >= nextTick { scan() }
      if !isDraining, shared.shutdown.isRequested { beginDraining() }
    }
    // What is still open was given its time. Connections that were handed over too late are closed
    // here, or their descriptors would leak.
    connections.removeAll()
    for case .connection(let descriptor, _) in inbox.close() {
      _ = Socket(adopting: descriptor)
    }
  }

  private static func milliseconds() -> Int64 { Clock.monotonicNanoseconds() / 1_000_000 }

  /// How long to wait for events; for ever while there is no deadline to watch.
  private func patience() -> Int32 {
    if !line.isEmpty { return 0 }
    if open == 0 && isListening && !isDraining { return -1 }
    return Int32(clamping: max(0, min(nextTick - now, Self.tick)))
  }

  private func react(to event: Epoll.Event) {
    if event.token == Self.wakeupToken {
      // In this order: a letter after `takeAll` rings again.
      inbox.bell.silence()
      for letter in inbox.takeAll() { take(letter) }
    } else if event.token >= Self.firstListenerToken {
      accept(from: shared.listeners[Int(event.token - Self.firstListenerToken)])
    } else if let connection = connection(event.token) {
      serve(connection, event)
    }
  }

  private func connection(_ token: UInt64) -> HTTPConnection? {
    // An event of a connection that was closed earlier in the same batch fits no token any more.
    let slot = Int(token & 0xffff_ffff)
    guard slot < connections.count, let connection = connections[slot], connection.token == token
    else { return nil }
    return connection
  }

  private func take(_ letter: ReactorQueue.ReactorMessage) {
    switch letter {
    case .connection(let descriptor, let peer):
      // Counted by the sender, so that its next choice knew; `adopt` counts again.
      inbox.load.subtract(1, ordering: .relaxed)
      adopt(Socket(adopting: descriptor), peer, isCounted: true)
    case .answer(let slot, let ticket, let response):
      guard let connection = connection(in: slot, answering: ticket) else { return }
      deliver(response, to: connection)
    }
  }

  func newTicket() -> UInt64 {
    ticket += 1
    return ticket
  }

  /// Looks at every deadline.
  private func scan() {
    nextTick = now + Self.tick
    if !isListening && !isDraining {
      // Half of an earlier try may have worked.
      stopListening()
      try? listen()
    }
    for case .some(let connection) in connections where connection.deadline <= now {
      expire(connection)
    }
  }
}

// MARK: - Coming and going

extension Reactor {
  private func listen() throws(PlatformError) {
    for (place, listener) in shared.listeners.enumerated() {
      try epoll.add(
        listener.descriptor, token: Self.firstListenerToken + UInt64(place), .exclusiveRead)
    }
    isListening = true
  }

  private func stopListening() {
    for listener in shared.listeners { epoll.remove(listener.descriptor) }
    isListening = false
  }

  private func accept(from listener: Listener) {
    while true {
      switch listener.accept() {
      case .nothing: return
      case .exhausted:
        // Level-triggered epoll would report it again at once: look away until the next tick.
        stopListening()
        return
      case .connection(let descriptor, let address):
        place(Socket(adopting: descriptor), address.map { Peer.address($0) } ?? .local)
      }
    }
  }

  /// Gives a new connection to the reactor that has the fewest, or turns it away.
  private func place(_ socket: consuming Socket, _ peer: Peer) {
    // Counted here and not by the reactor that gets it, so that no two places are given twice.
    guard shared.census.enter(peer) else { return turnAway(socket, peer) }
    let chosen = isDraining ? inbox : leastLoaded()
    guard chosen !== inbox else {
      adopt(socket, peer, isCounted: true)
      return
    }
    chosen.load.add(1, ordering: .relaxed)
    let descriptor = socket.release()
    if !chosen.post(.connection(descriptor: descriptor, peer)) {
      // That reactor has already finished draining.
      adopt(Socket(adopting: descriptor), peer, isCounted: true)
    }
  }

  private func leastLoaded() -> ReactorQueue {
    var chosen = (inbox: inbox, load: inbox.load.load(ordering: .relaxed))
    for other in shared.inboxes {
      let load = other.load.load(ordering: .relaxed)
      if load < chosen.load { chosen = (other, load) }
    }
    return chosen.inbox
  }

  /// One too many: 503, as long as not too many of these are open themselves.
  private func turnAway(_ socket: consuming Socket, _ peer: Peer) {
    handler.note(refusal: 503)
    guard turnedAway < 64 else { return dismiss(socket) }
    guard let connection = adopt(socket, peer, isCounted: false) else { return }
    refuse(connection, 503)
    proceed(connection)
  }

  /// Of more than that the answer goes out in one piece, and the connection at once: a client that
  /// is still sending may see a reset instead.
  private func dismiss(_ socket: consuming Socket) {
    var answer: [UInt8] = []
    refusal(503).serialise(into: &answer, toHead: false, closing: true)
    // What is left unread when it closes makes the reset.
    _ = socket.receive(into: &buffer)
    _ = socket.send(answer, from: 0)
  }

  @discardableResult
  private func adopt(
    _ socket: consuming Socket, _ peer: Peer, isCounted: Bool
  ) -> HTTPConnection? {
    // The last slot that became free first: the table stays as short as the busiest moment.
    let slot = freeSlots.popLast() ?? connections.count
    serial = serial == UInt32.max >> 1 ? 0 : serial + 1
    let connection = HTTPConnection(
      socket: socket, peer: peer, isCounted: isCounted, slot: slot, serial: serial,
      limits: shared.limits, deadline: after(shared.limits.headerSeconds))
    if slot == connections.count {
      connections.append(connection)
    } else {
      connections[slot] = connection
    }
    count(connection, 1)
    // Fails when the user may watch no more descriptors; then the connection cannot be served.
    do {
      try epoll.add(connection.socket.descriptor, token: connection.token, .read)
    } catch {
      close(connection)
      return nil
    }
    return connection
  }

  /// Forgets the connection; the socket closes with the last reference to it.
  func close(_ connection: HTTPConnection) {
    guard connections[connection.slot] === connection else { return }
    epoll.remove(connection.socket.descriptor)
    connections[connection.slot] = nil
    freeSlots.append(connection.slot)
    count(connection, -1)
    if connection.isCounted { shared.census.leave(connection.peer) }
  }

  private func count(_ connection: HTTPConnection, _ change: Int) {
    open += change
    if connection.isCounted {
      inbox.load.add(change, ordering: .relaxed)
    } else {
      turnedAway += change
    }
    handler.note(connection: change > 0 ? .opened : .closed)
  }

  func after(_ seconds: Double) -> Int64 { now + Int64(seconds * 1000) }

  /// Takes what still waits to be accepted, then listens no more; closes what is idle.
  private func beginDraining() {
    isDraining = true
    if isListening {
      for listener in shared.listeners { accept(from: listener) }
    }
    stopListening()
    for listener in shared.listeners { listener.stop() }
    for case .some(let connection) in connections where connection.stage == .reading {
      // A request may have come in since; it is served like one in flight.
      if !connection.isBlocked { receive(connection) }
      if connection.stage == .reading, connection.parser.progress == .idle, !connection.isBlocked {
        close(connection)
      }
    }
  }
}
