import Platform

/// How a reactor moves one connection on: from bytes to requests, responses and deadlines.
///
///     reading ──request──► answering ──response──► reading …
///        │ refusal             │ response that closes
///        └──────► finishing ◄──┘ ──sent──► closed, or lingering ──end or deadline──► closed
extension Reactor {
  /// Responses to pipelined requests are collected up to this many bytes before they are sent.
  private static var maximumUnsent: Int { 64 * 1024 }

  func serve(_ connection: Connection, _ event: Epoll.Event) {
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
  func receive(_ connection: Connection) {
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
    let sender = ResponseSender(queue: queue, slot: connection.slot, ticket: newTicket())
    if handler.isQueued(context) {
      enqueueWork(QueuedRequest(request: request, sender: sender), connection)
    } else if let response = handler.respond(to: request, context, through: sender) {
      connection.enqueue(response, closing: isDraining)
    } else {
      awaitResponse(sender, connection)
    }
  }

  func awaitResponse(_ sender: ResponseSender, _ connection: Connection) {
    connection.stage = .answering(ticket: sender.ticket)
    connection.waiting = sender.client
    connection.deadline = after(group.limits.answerSeconds)
  }

  /// The connection that still waits for this response.
  func connection(in slot: Int, answering ticket: UInt64) -> Connection? {
    guard slot < connections.count, let connection = connections[slot],
      connection.stage == .answering(ticket: ticket)
    else { return nil }
    return connection
  }

  /// Sends the response to a request at stage `answering`.
  func deliver(_ response: HTTPResponse, to connection: Connection) {
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

  func refusal(_ status: Int) -> HTTPResponse { handler.refuse(status: status).withRetryAfter }

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
  func expire(_ connection: Connection) {
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
