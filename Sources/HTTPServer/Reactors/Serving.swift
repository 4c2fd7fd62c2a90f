import Platform

/// How a reactor moves one connection on: from bytes to requests, answers and deadlines.
///
///     reading ──request──► answering ──answer──► reading …
///        │ refusal             │ answer that closes
///        └──────► finishing ◄──┘ ──sent──► closed, or lingering ──end or deadline──► closed
extension Reactor {
  /// Answers to pipelined requests are gathered up to this many bytes before they are sent.
  private static let gathered = 64 * 1024
  /// How long, in seconds, and how much, in bytes, is dropped before a connection is closed.
  private static let lingerSeconds = 2.0
  private static let lingerBytes = 4 * 1024 * 1024
  /// What Retry-After says with a 503 of the transport, in seconds.
  private static let retryAfter = "5"

  func serve(_ connection: HTTPConnection, _ event: Epoll.Event) {
    // Reported whatever was asked for; left alone it would be reported in every round.
    if event.broken { return close(connection) }
    if event.writable && connection.isBlocked { return proceed(connection) }
    guard event.readable else { return }
    switch connection.stage {
    case .reading: receive(connection)
    case .lingering: drop(connection)
    // Backpressure: what comes meanwhile stays in the kernel, and its window closes.
    case .answering, .finishing: watch(connection, .none)
    }
  }

  /// Reads once; level-triggered epoll comes again for the rest, after the other connections.
  func receive(_ connection: HTTPConnection) {
    switch connection.socket.receive(into: &buffer) {
    case .moved(let count):
      advance(connection, buffer.span.extracting(0..<count))
      proceed(connection)
    case .wouldBlock: break
    // A request that stays incomplete gets no answer (RFC 9112 section 8).
    case .ended, .broken: close(connection)
    }
  }

  /// Lets the parser at bytes and obeys it, until they are used up or the connection must wait.
  private func advance(_ connection: HTTPConnection, _ input: Span<UInt8>) {
    var cursor = 0
    // The stage ends the loop when a request goes to the handler, or an answer is the last.
    while connection.stage == .reading && connection.unsent < Self.gathered {
      switch connection.parser.consume(input, at: &cursor) {
      case .needMore: return
      case .head(let head): admit(head, connection)
      case .sendContinue: connection.enqueueContinue()
      case .request(let request): respond(to: request, connection)
      case .refuse(let status):
        handler.note(refusal: status)
        refuse(connection, status)
      }
    }
    // Kept for later, at most one read; until it is used up nothing more is read.
    guard cursor < input.count else { return }
    connection.backlog = input.extracting(cursor..<input.count).withUnsafeBufferPointer {
      Array($0)
    }
  }

  private func admit(_ head: RequestHead, _ connection: HTTPConnection) {
    connection.answersHead = head.method == "HEAD"
    // Set before the handler speaks, so that its refusal closes too where it should, and that an
    // answer which comes later finds it.
    connection.closesAfterAnswer = head.closes || isDraining
    switch handler.admit(head) {
    case .body(let limit): connection.parser.admit(bodyLimit: limit)
    case .refuse(let response):
      connection.enqueue(response, closing: !connection.parser.decline())
    }
  }

  private func respond(to request: HTTPRequest, _ connection: HTTPConnection) {
    // A fresh ticket for every request: an answer that comes late or twice fits no later request
    // of the connection, nor a new connection in its slot.
    let ticket = newTicket()
    let answer = Answer(inbox: inbox, slot: connection.slot, ticket: ticket)
    if handler.isQueued(request.head) {
      lineUp(Waiting(request: request, answer: answer), connection)
    } else if let response = handler.respond(to: request, through: answer) {
      connection.enqueue(response, closing: isDraining)
    } else {
      promise(answer, connection)
    }
  }

  private func promise(_ answer: Answer, _ connection: HTTPConnection) {
    connection.stage = .answering(ticket: answer.ticket)
    connection.deadline = after(shared.limits.answerSeconds)
  }

  /// A request whose work is done in turn.
  struct Waiting {
    let request: HTTPRequest
    let answer: Answer
  }

  private func lineUp(_ waiting: Waiting, _ connection: HTTPConnection) {
    let isIn = line.join(
      waiting, bytes: waiting.request.body.count, at: Clock.monotonicNanoseconds())
    guard isIn else {
      return connection.enqueue(Self.sayingWhen(handler.overload()), closing: isDraining)
    }
    promise(waiting.answer, connection)
  }

  /// Works at what waits, for as long as the round has read and refused, and at least so many
  /// nanoseconds: however much comes in, half of the time goes to what was let in.
  func work(forAtLeast turn: Int64) {
    guard !line.isEmpty else { return }
    let start = Clock.monotonicNanoseconds()
    var time = start
    let end = start + max(turn, start - now * 1_000_000)
    var count = 0
    while time < end, let (waiting, isLate) = line.next(at: time) {
      // Closed meanwhile: nobody waits for the answer, and whoever sent it sends it again.
      let answer = waiting.answer
      guard let connection = connection(in: answer.slot, answering: answer.ticket) else { continue }
      let response =
        isLate
        ? Self.sayingWhen(handler.overload())
        : handler.respond(to: waiting.request, through: answer)
      if let response { deliver(response, to: connection) }
      time = Clock.monotonicNanoseconds()
      if !isLate { count += 1 }
    }
    handler.flush()
    // What is read between two turns is part of what waiting takes.
    line.note(count, took: time - (pause ?? start))
    pause = line.isEmpty ? nil : time
  }

  /// The connection that still waits for this answer.
  func connection(in slot: Int, answering ticket: UInt64) -> HTTPConnection? {
    guard slot < connections.count, let connection = connections[slot],
      connection.stage == .answering(ticket: ticket)
    else { return nil }
    return connection
  }

  /// The answer to a request that went through `Answer`.
  func deliver(_ response: HTTPResponse, to connection: HTTPConnection) {
    connection.enqueue(response, closing: isDraining)
    proceed(connection)
  }

  /// Answers with an error of the transport and closes.
  func refuse(_ connection: HTTPConnection, _ status: Int) {
    connection.enqueue(refusal(status), closing: true)
  }

  func refusal(_ status: Int) -> HTTPResponse {
    Self.sayingWhen(handler.refuse(status: status))
  }

  private static func sayingWhen(_ response: HTTPResponse) -> HTTPResponse {
    var response = response
    // RFC 9110 section 10.2.3. Apple repeats by its own schedule; proxies and our reads obey.
    if response.status == 503 && !response.has("Retry-After") {
      response.headers.append((name: "Retry-After", value: retryAfter))
    }
    return response
  }

  /// Sends what there is, goes on with what was read before, and sets the next deadline.
  func proceed(_ connection: HTTPConnection) {
    while true {
      let wasBlocked = connection.isBlocked
      guard connection.flush() else { return close(connection) }
      if connection.isBlocked {
        // From the first byte that did not fit: a trickle of reads does not extend it.
        if !wasBlocked { connection.deadline = after(shared.limits.writeSeconds) }
        return watch(connection, .write)
      }
      guard connection.stage == .reading, !connection.backlog.isEmpty else { break }
      let backlog = connection.backlog
      // Emptied first: `advance` puts back what it cannot use yet.
      connection.backlog = []
      advance(connection, backlog.span)
    }
    switch connection.stage {
    case .reading:
      watch(connection, .read)
      setDeadline(connection)
    case .answering:
      // Write interest must go; read interest goes when something comes.
      if connection.interest == .write { watch(connection, .read) }
    case .finishing: finish(connection)
    case .lingering: break
    }
  }

  private func watch(_ connection: HTTPConnection, _ interest: Epoll.Interest) {
    guard connection.interest != interest else { return }
    connection.interest = interest
    epoll.change(connection.socket.descriptor, token: connection.token, interest)
  }

  /// Total times, not times between bytes: a client that drips gets no more than any other.
  private func setDeadline(_ connection: HTTPConnection) {
    let progress = connection.parser.progress
    guard connection.watched != progress else { return }
    connection.watched = progress
    connection.deadline =
      switch progress {
      case .idle: after(shared.limits.idleSeconds)
      case .head: after(shared.limits.headerSeconds)
      case .body: after(shared.limits.bodySeconds)
      }
  }

  /// The last answer is out.
  private func finish(_ connection: HTTPConnection) {
    // The end of the answer is visible to the client at once; the reset, if any, comes later.
    connection.socket.shutdownSending()
    connection.stage = .lingering
    connection.backlog = []
    connection.deadline = after(Self.lingerSeconds)
    watch(connection, .read)
    drop(connection)
  }

  private func drop(_ connection: HTTPConnection) {
    switch connection.socket.receive(into: &buffer) {
    case .wouldBlock: return
    case .ended, .broken: close(connection)
    case .moved(let count):
      connection.dropped += count
      if connection.dropped > Self.lingerBytes { close(connection) }
    }
  }

  /// A deadline has passed.
  func expire(_ connection: HTTPConnection) {
    // Whoever does not read its answer gets no other one.
    guard !connection.isBlocked else { return close(connection) }
    switch connection.stage {
    case .lingering, .finishing: close(connection)
    case .answering:
      handler.note(refusal: 503)
      refuse(connection, 503)
      proceed(connection)
    // Between requests nothing was asked, so nothing is answered: a 408 here could be taken for the
    // answer to a request that is just under way.
    case .reading where connection.parser.progress == .idle: close(connection)
    case .reading:
      handler.note(refusal: 408)
      connection.answersHead = false
      refuse(connection, 408)
      proceed(connection)
    }
  }
}
