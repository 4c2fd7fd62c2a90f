import Platform

/// How a reactor limits the memory of answers that are not sent yet, and gives memory back.
///
/// A client may ask on many connections and read nothing. The deadline of a write bounds how long
/// that takes, not how much memory it needs, so all unsent answers share one bound, and over it the
/// connection that reads slowest is closed: it has begun to get a response, so none can follow.
extension Reactor {
  /// Memory, in bytes, after which free memory goes back to the system when it is no longer used.
  static var muchMemory: Int { 8 * 1024 * 1024 }
  /// The body of a response, in bytes, from which that is so too: making it took a multiple.
  private static var largeResponse: Int { 256 * 1024 }

  /// Notes what a response that is about to be sent took.
  func noteMemory(of response: HTTPResponse) {
    if response.body.count >= Self.largeResponse { heldMuchMemory = true }
  }

  /// Counts the answer of a connection, after as much of it was sent as fits. While all are over
  /// the limit, closes the slowest of this reactor: connections are spread evenly, so it is among
  /// the slowest of all.
  func limitAnswers(after connection: Connection) {
    guard !connection.peer.isLocal else { return }
    countAnswer(connection, connection.isBlocked ? connection.outputMemory : 0)
    if group.limiter.answers.held > Self.muchMemory { heldMuchMemory = true }
    while group.limiter.answers.isOverLimit, let slowest = slowestReader() { abandon(slowest) }
  }

  func countAnswer(_ connection: Connection, _ memory: Int) {
    guard memory != connection.countedOutput else { return }
    group.limiter.answers.add(memory - connection.countedOutput)
    connection.countedOutput = memory
  }

  /// The connection whose answer has been taken with the fewest bytes per time.
  private func slowestReader() -> Connection? {
    var found: (connection: Connection, speed: Double)?
    for case .some(let connection) in connections where connection.countedOutput > 0 {
      // Its deadline was set when it did not take more.
      let milliseconds = after(group.limits.writeSeconds) - connection.deadline
      let speed = Double(connection.sent) / Double(1 + milliseconds)
      if found.map({ speed < $0.speed }) ?? true { found = (connection, speed) }
    }
    return found?.connection
  }

  /// Gives memory back to the system when much was used and is free.
  func releaseMemory() {
    let held = group.limiter.bodies.held + group.limiter.answers.held
    guard heldMuchMemory, held < Self.muchMemory / 8 else { return }
    heldMuchMemory = false
    FreeMemory.release()
  }
}

/// How a reactor limits the memory of request bodies that are not complete yet.
///
/// A client may open many connections, send most of a body on each, and then wait for the deadline.
/// The limits per connection bound neither that memory nor who gets it, so all unfinished bodies
/// share one bound, and over it the slowest is refused.
extension Reactor {
  /// Adds the change in the memory of this connection's body to the sum of all connections. The
  /// unix socket is exempt: its clients are this user's commands, and their batches are large.
  func countBody(_ connection: Connection) {
    guard !connection.peer.isLocal else { return }
    let memory = connection.parser.bodyMemory
    guard memory != connection.countedBodyMemory else { return }
    group.limiter.bodies.add(memory - connection.countedBodyMemory)
    connection.countedBodyMemory = memory
  }

  /// Counts the body of a connection that was read just now. While all bodies are over the limit,
  /// refuses the slowest of this reactor: connections are spread evenly, so it is among the slowest
  /// of all.
  func limitBodies(after connection: Connection) {
    countBody(connection)
    if group.limiter.bodies.held > Self.muchMemory { heldMuchMemory = true }
    while group.limiter.bodies.isOverLimit, let slowest = slowestBody() {
      handler.recordRefusal(status: 503)
      slowest.answersHead = false
      refuse(slowest, 503)
      proceed(slowest)
    }
  }

  /// The connection whose body has arrived with the fewest bytes per time.
  private func slowestBody() -> Connection? {
    var found: (connection: Connection, speed: Double)?
    for case .some(let connection) in connections where connection.countedBodyMemory > 0 {
      let speed = Double(connection.parser.bodyCount) / Double(1 + bodyMilliseconds(connection))
      if found.map({ speed < $0.speed }) ?? true { found = (connection, speed) }
    }
    return found?.connection
  }

  /// How long the body has been arriving; its deadline was set when it began.
  private func bodyMilliseconds(_ connection: Connection) -> Int64 {
    guard connection.timedProgress == .body else { return 0 }
    return after(group.limits.bodySeconds) - connection.deadline
  }
}
