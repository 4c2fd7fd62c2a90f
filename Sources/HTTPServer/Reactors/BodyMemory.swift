import Platform

/// How a reactor limits the memory of request bodies that are not complete yet.
///
/// A client may open many connections, send most of a body on each, and then wait for the deadline.
/// The limits per connection bound neither that memory nor who gets it, so all unfinished bodies
/// share one bound, and over it the slowest is refused.
extension Reactor {
  /// Adds the change in the memory of this connection's body to the sum of all connections. The
  /// unix socket is exempt: its clients are this user's commands, and their batches are large.
  func countBody(_ connection: Connection) {
    guard connection.peer != .local else { return }
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
