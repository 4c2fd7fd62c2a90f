import Platform
import Synchronization

/// How a reactor accepts, assigns, rejects and closes connections.
extension Reactor {
  /// Connections that may wait for their 503 at the same time; further ones are rejected at once.
  /// Part of what `DescriptorBudget` reserves.
  private static var maximumRejected: Int { 16 }

  /// - Throws: `LedgerError` when the user may watch no more descriptors.
  func listen() throws(LedgerError) {
    for (index, listener) in group.listeners.enumerated() {
      try epoll.add(
        listener.descriptor, token: Self.firstListenerToken + UInt64(index), .exclusiveRead)
    }
    isListening = true
  }

  func stopListening() {
    for listener in group.listeners { epoll.remove(listener.descriptor) }
    isListening = false
  }

  func accept(from listener: Listener) {
    while true {
      switch listener.accept() {
      case .nothing: return
      case .exhausted:
        // Level-triggered epoll would report it again at once: stop until the next check of
        // deadlines.
        stopListening()
        return
      case .connection(let descriptor, let address):
        assign(Socket(adopting: descriptor), address.map { Peer.address($0) } ?? .local)
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
  func adopt(_ socket: consuming Socket, _ peer: Peer, isCounted: Bool) -> Connection? {
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
  func close(_ connection: Connection) {
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
  func beginDraining() {
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
