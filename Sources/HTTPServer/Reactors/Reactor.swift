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
  private var epoll: Epoll
  /// By slot; slots are reused, tokens are not.
  private(set) var connections: [Connection?] = []
  private var freeSlots: [Int] = []
  private var openCount = 0
  /// Open connections that exceeded a limit and only get their 503.
  private var rejectedCount = 0
  private var isListening = false
  private var isDraining = false
  /// Monotonic milliseconds, read once per iteration of the event loop.
  private var now: Int64 = 0
  private var nextDeadlineCheck: Int64 = 0
  private var serial: UInt32 = 0
  private var ticket: UInt64 = 0
  /// All connections read through this one buffer; its content does not outlive the read.
  private var buffer = [UInt8](repeating: 0, count: 64 * 1024)
  /// Requests that wait for their work. Their connections are at stage `answering`.
  private var workQueue: AdmissionQueue<QueuedRequest>
  /// Whether much memory was used that was not given back since.
  var heldMuchMemory = false
  /// When the last batch of queued work ended and left some waiting, in monotonic nanoseconds.
  private var workPausedAt: Int64?

  /// How exact deadlines are, in milliseconds. Checking some thousand deadlines takes microseconds.
  private static var deadlineInterval: Int64 { 250 }
  /// How long, in nanoseconds, one iteration processes queued work before it reads again.
  private static var workSlice: Int64 { 5_000_000 }
  /// The bodies of queued requests, in bytes: a few thousand of the usual size.
  private static var workQueueBytes: Int { 64 * 1024 * 1024 }
  /// Greater than every token of a connection, whose upper half is below 2^31.
  private static var wakeupToken: UInt64 { .max }
  private static var firstListenerToken: UInt64 { .max - 16 }

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

  private func newTicket() -> UInt64 {
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

/// How a reactor accepts, assigns, rejects and closes connections.
extension Reactor {
  /// Connections that may wait for their 503 at the same time; further ones are rejected at once.
  /// Part of what `DescriptorBudget` reserves.
  private static var maximumRejected: Int { 16 }

  /// - Throws: `LedgerError` when the user may watch no more descriptors.
  private func listen() throws(LedgerError) {
    for (index, listener) in group.listeners.enumerated() {
      try epoll.add(
        listener.descriptor, token: Self.firstListenerToken + UInt64(index), .exclusiveRead)
    }
    isListening = true
  }

  private func stopListening() {
    for listener in group.listeners { epoll.remove(listener.descriptor) }
    isListening = false
  }

  private func accept(from listener: Listener) {
    while true {
      switch listener.accept() {
      case .nothing: return
      case .exhausted:
        // Level-triggered epoll would report it again at once: stop until the next check of
        // deadlines.
        stopListening()
        return
      case .connection(let descriptor, let address):
        let socket = Socket(adopting: descriptor)
        let peer = address.map { Peer.address($0) } ?? .local(user: socket.peerUser)
        assign(socket, peer)
      }
    }
  }

  /// Gives a new connection to the reactor that has the fewest, or rejects it.
  private func assign(_ socket: consuming Socket, _ peer: Peer) {
    // Counted before it is handed over, so that two reactors cannot both admit the last one.
    guard group.limiter.enter(peer) else { return reject(socket, peer) }
    let chosen = isDraining ? queue : leastLoaded()
    guard chosen !== queue else {
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
    var chosen = (queue: queue, load: queue.load.load(ordering: .relaxed))
    for other in group.queues {
      let load = other.load.load(ordering: .relaxed)
      if load < chosen.load { chosen = (other, load) }
    }
    return chosen.queue
  }

  /// Answers 503 to a connection over a limit, and closes it.
  private func reject(_ socket: consuming Socket, _ peer: Peer) {
    handler.recordRefusal(status: 503)
    guard rejectedCount < Self.maximumRejected else { return rejectAtOnce(socket) }
    guard let connection = adopt(socket, peer, isCounted: false) else { return }
    refuse(connection, 503)
    proceed(connection)
  }

  /// Sends the 503 in one piece and closes the connection without waiting for the client. A client
  /// that is still sending may see a reset instead of the response.
  private func rejectAtOnce(_ socket: consuming Socket) {
    var response: [UInt8] = []
    refusal(503).serialise(into: &response, toHead: false, closing: true)
    // Reads what is there, because a socket closed with unread bytes sends the reset.
    _ = socket.receive(into: &buffer)
    _ = socket.send(response, from: 0)
  }

  @discardableResult
  private func adopt(_ socket: consuming Socket, _ peer: Peer, isCounted: Bool) -> Connection? {
    // The slot that became free last: the table stays as short as the greatest number of
    // connections so far.
    let slot = freeSlots.popLast() ?? connections.count
    serial = serial == UInt32.max >> 1 ? 0 : serial + 1
    let connection = Connection(
      socket: socket, peer: peer, isCounted: isCounted, slot: slot, serial: serial,
      limits: group.limits, deadline: after(group.limits.headerSeconds))
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

  /// Removes the connection; its socket closes with the last reference to it.
  private func close(_ connection: Connection) {
    guard connections[connection.slot] === connection else { return }
    epoll.remove(connection.socket.descriptor)
    connections[connection.slot] = nil
    connection.waiting?.leave()
    freeSlots.append(connection.slot)
    count(connection, -1)
    group.limiter.bodies.add(-connection.countedBodyMemory)
    connection.countedBodyMemory = 0
    countAnswer(connection, 0)
    if connection.isCounted { group.limiter.leave(connection.peer) }
  }

  private func count(_ connection: Connection, _ change: Int) {
    openCount += change
    if connection.isCounted {
      queue.load.add(change, ordering: .relaxed)
    } else {
      rejectedCount += change
    }
    handler.recordConnection(change > 0 ? .opened : .closed)
  }

  /// Accepts the connections that still wait, stops listening, and closes idle connections.
  private func beginDraining() {
    isDraining = true
    if isListening {
      for listener in group.listeners { accept(from: listener) }
    }
    stopListening()
    for listener in group.listeners { listener.stop() }
    for case .some(let connection) in connections where connection.stage == .reading {
      // A request may have arrived meanwhile; it is served like one in flight.
      if !connection.isBlocked { receive(connection) }
      if connection.stage == .reading, connection.parser.progress == .idle, !connection.isBlocked {
        close(connection)
      }
    }
  }
}

/// How a reactor moves one connection on: from bytes to requests, responses and deadlines.
///
///     reading ──request──► answering ──response──► reading …
///        │ refusal             │ response that closes
///        └──────► finishing ◄──┘ ──sent──► closed, or lingering ──end or deadline──► closed
extension Reactor {
  /// Responses to pipelined requests are collected up to this many bytes before they are sent.
  private static var maximumUnsent: Int { 64 * 1024 }

  private func serve(_ connection: Connection, _ event: Epoll.Event) {
    // Also if both directions have ended: what the client sent before may not be read yet, and
    // closing now would reset the connection.
    if connection.stage == .lingering { return drop(connection) }
    // Epoll reports this whatever the interest, and again in every iteration until it is handled.
    if event.broken { return abandon(connection) }
    if event.writable && connection.isBlocked { return proceed(connection) }
    guard connection.stage == .reading else {
      // Backpressure: input stays in the kernel, and the TCP window closes.
      if event.readable { setInterest(connection, .end) }
      guard event.ended else { return }
      connection.waiting?.end()
      return setInterest(connection, .none)
    }
    guard event.readable else { return }
    receive(connection)
  }

  /// Reads once; level-triggered epoll reports the rest again, after the other connections.
  private func receive(_ connection: Connection) {
    switch connection.socket.receive(into: &buffer) {
    case .moved(let count):
      parse(connection, buffer.span.extracting(0..<count))
      limitBodies(after: connection)
      proceed(connection)
    case .wouldBlock: break
    // An incomplete request gets no response (RFC 9112 section 8).
    case .ended, .broken: abandon(connection)
    }
  }

  /// Parses input and acts on it, until it is used up or the connection must wait.
  private func parse(_ connection: Connection, _ input: Span<UInt8>) {
    var cursor = 0
    // The stage ends the loop when a request goes to the handler, or a response is the last one.
    while connection.stage == .reading && connection.unsent < Self.maximumUnsent {
      switch connection.parser.consume(input, at: &cursor) {
      case .needMore: return
      case .head(let head): admit(head, connection)
      case .sendContinue: connection.enqueueContinue()
      case .request(let request): respond(to: request, connection)
      case .refuse(let status):
        handler.recordRefusal(status: status)
        refuse(connection, status)
      }
    }
    // Stored for later, at most one read; nothing more is read until it is used up.
    guard cursor < input.count else { return }
    connection.backlog = input.extracting(cursor..<input.count).withUnsafeBufferPointer {
      Array($0)
    }
  }

  private func admit(_ head: RequestHead, _ connection: Connection) {
    connection.answersHead = head.method == "HEAD"
    // Set before the handler is called, because it holds for a refusal too, and for a response that
    // comes later.
    connection.closesAfterAnswer = head.closes || isDraining
    switch handler.admit(head) {
    case .body(let limit, let context):
      connection.context = context
      connection.parser.admit(bodyLimit: limit)
    case .refuse(let response):
      connection.enqueue(response, closing: !connection.parser.decline())
    }
  }

  private func respond(to request: HTTPRequest, _ connection: Connection) {
    // The parser yields a request only after its head was admitted.
    guard let context = connection.context else { return close(connection) }
    // A new ticket per request: a late or second response fits neither a later request of the
    // connection nor a new connection in its slot.
    let sender = ResponseSender(
      receiver: .reactor(queue), slot: connection.slot, ticket: newTicket())
    if handler.isQueued(context) {
      enqueueWork(QueuedRequest(request: request, sender: sender), connection)
    } else if let response = handler.respond(to: request, context, through: sender) {
      connection.enqueue(response, closing: isDraining)
    } else {
      awaitResponse(sender, connection)
    }
  }

  private func awaitResponse(_ sender: ResponseSender, _ connection: Connection) {
    connection.stage = .answering(ticket: sender.ticket)
    connection.waiting = sender.client
    connection.deadline = after(group.limits.answerSeconds)
  }

  /// The connection that still waits for this response.
  private func connection(in slot: Int, answering ticket: UInt64) -> Connection? {
    guard slot < connections.count, let connection = connections[slot],
      connection.stage == .answering(ticket: ticket)
    else { return nil }
    return connection
  }

  /// Sends the response to a request at stage `answering`.
  private func deliver(_ response: HTTPResponse, to connection: Connection) {
    noteMemory(of: response)
    connection.enqueue(response, closing: isDraining)
    proceed(connection)
  }

  /// Answers with an error of the transport and closes.
  func refuse(_ connection: Connection, _ status: Int) {
    connection.parser.refuse(status)
    countBody(connection)
    connection.enqueue(refusal(status), closing: true)
  }

  private func refusal(_ status: Int) -> HTTPResponse {
    handler.refuse(status: status).withRetryAfter
  }

  /// Sends what there is, continues with input read earlier, and sets the next deadline.
  func proceed(_ connection: Connection) {
    while true {
      let wasBlocked = connection.isBlocked
      guard connection.flush() else { return abandon(connection) }
      if connection.isBlocked {
        // Counted from the first byte that did not fit: a client that reads slowly does not extend
        // it.
        if !wasBlocked { connection.deadline = after(group.limits.writeSeconds) }
        setInterest(connection, .write)
        return limitAnswers(after: connection)
      }
      if wasBlocked { limitAnswers(after: connection) }
      guard connection.stage == .reading, !connection.backlog.isEmpty else { break }
      let backlog = connection.backlog
      // Emptied first: `parse` stores again what it cannot use yet.
      connection.backlog = []
      parse(connection, backlog.span)
      countBody(connection)
    }
    switch connection.stage {
    case .reading:
      setInterest(connection, .read)
      setDeadline(connection)
    case .answering:
      // Write interest must end now; read interest ends when input arrives.
      if connection.interest == .write { setInterest(connection, .read) }
    case .finishing: finish(connection)
    case .lingering: break
    }
  }

  private func setInterest(_ connection: Connection, _ interest: Epoll.Interest) {
    guard connection.interest != interest else { return }
    connection.interest = interest
    epoll.change(connection.socket.descriptor, token: connection.token, interest)
  }

  /// Limits the total time, not the time between bytes, so that a client that sends slowly gets no
  /// more time than any other.
  private func setDeadline(_ connection: Connection) {
    let progress = connection.parser.progress
    guard connection.timedProgress != progress else { return }
    connection.timedProgress = progress
    connection.deadline =
      switch progress {
      case .idle: after(group.limits.idleSeconds)
      case .head: after(group.limits.headerSeconds)
      case .body: after(group.limits.bodySeconds)
      }
  }

  /// Called when the last response has been sent.
  private func finish(_ connection: Connection) {
    // The client sees the end of the response at once; the reset, if any, comes later.
    connection.socket.shutdownSending()
    connection.stage = .lingering
    connection.backlog = []
    connection.deadline = after(group.limits.lingerSeconds)
    setInterest(connection, .read)
    drop(connection)
  }

  private func drop(_ connection: Connection) {
    switch connection.socket.receive(into: &buffer) {
    case .wouldBlock: return
    case .ended, .broken: close(connection)
    case .moved(let count):
      connection.dropped += count
      if connection.dropped > group.limits.lingerBytes { close(connection) }
    }
  }

  /// Closes a connection that the client has ended, and counts it unless it was between requests or
  /// had the whole response.
  func abandon(_ connection: Connection) {
    let isBetweenRequests =
      connection.stage == .reading && connection.parser.progress == .idle && connection.unsent == 0
    if !isBetweenRequests && connection.stage != .lingering { handler.recordConnection(.cut) }
    close(connection)
  }

  /// Called when the deadline of a connection has passed.
  private func expire(_ connection: Connection) {
    // A client that does not read its response gets no other one.
    guard !connection.isBlocked else { return close(connection) }
    switch connection.stage {
    case .lingering, .finishing: close(connection)
    case .answering:
      handler.recordRefusal(status: 503)
      refuse(connection, 503)
      proceed(connection)
    // Between requests there is nothing to answer: the client could take a 408 for the response to
    // a request that it is just sending.
    case .reading where connection.parser.progress == .idle: close(connection)
    case .reading:
      handler.recordRefusal(status: 408)
      connection.answersHead = false
      refuse(connection, 408)
      proceed(connection)
    }
  }
}

/// A request that waits for its work. Its connection holds what the handler found in its head.
struct QueuedRequest {
  let request: HTTPRequest
  let sender: ResponseSender
}

/// How a reactor processes requests that are too much work to be answered when they are read.
extension Reactor {
  private func enqueueWork(_ queued: QueuedRequest, _ connection: Connection) {
    let isAdmitted = workQueue.enqueue(
      queued, bytes: queued.request.body.count, at: Clock.monotonicNanoseconds())
    guard isAdmitted else {
      return connection.enqueue(handler.overload().withRetryAfter, closing: isDraining)
    }
    awaitResponse(queued.sender, connection)
  }

  /// Processes queued requests for as long as this iteration has spent on reading and refusing, and
  /// at least for `slice` nanoseconds: under any load, half of the time goes to requests that were
  /// admitted.
  private func processQueue(forAtLeast slice: Int64) {
    guard !workQueue.isEmpty else { return }
    let start = Clock.monotonicNanoseconds()
    var time = start
    let end = start + max(slice, start - now * 1_000_000)
    var count = 0
    while time < end, let (queued, isLate) = workQueue.dequeue(at: time) {
      // If the connection has closed, nothing receives the response, and the client sends the
      // request again.
      let sender = queued.sender
      guard let connection = connection(in: sender.slot, answering: sender.ticket),
        let context = connection.context
      else { continue }
      let response =
        isLate
        ? handler.overload().withRetryAfter
        : handler.respond(to: queued.request, context, through: sender)
      if let response { deliver(response, to: connection) }
      time = Clock.monotonicNanoseconds()
      if !isLate { count += 1 }
    }
    handler.flush()
    // The time spent on reading since the last batch is part of what an item waits for.
    workQueue.recordService(count: count, nanoseconds: time - (workPausedAt ?? start))
    workPausedAt = workQueue.isEmpty ? nil : time
  }
}
