import Platform

/// One connection and its state. It belongs to one reactor, which calls it; it does nothing by
/// itself.
///
/// An idle connection holds no buffer: input goes through the reactor's buffer, and the memory of
/// output is released when all of it is sent.
final class HTTPConnection<Context> {
  enum Stage: Equatable {
    /// Reading requests.
    case reading
    /// One request is with the handler; nothing more is read until it is answered.
    case answering(ticket: UInt64)
    /// The last response is being sent.
    case finishing
    /// Everything is sent. What the client still sends is read and dropped for a moment, because
    /// closing a socket with unread bytes resets the connection, and the client may then lose the
    /// response (RFC 9112 section 9.6).
    case lingering
  }

  let socket: Socket
  let peer: Peer
  /// Whether the connection limiter counts it; a rejected connection is not counted.
  let isCounted: Bool
  let slot: Int
  /// Distinguishes this connection from an earlier one in the same slot.
  let token: UInt64

  var stage = Stage.reading
  var parser: RequestParser
  /// Bytes read and not yet parsed: requests behind the one being answered. At most one read.
  var backlog: [UInt8] = []
  private var output: [UInt8] = []
  /// How many bytes of it are sent.
  private(set) var sent = 0
  var interest = Epoll.Interest.read
  /// Whether output is left that did not fit into the socket; epoll reports when more fits.
  var isBlocked = false
  /// In the reactor's milliseconds.
  var deadline: Int64
  /// The progress that `deadline` was set for; nil if it must be set again.
  var timedProgress: RequestParser.Progress?
  /// Whether the request being answered is a HEAD request.
  var answersHead = false
  var closesAfterAnswer = false
  /// The memory of the unfinished body, in bytes, as it was added to the sum of all connections.
  var countedBodyMemory = 0
  /// The memory of the unsent output, in bytes, as it was added to the sum of all connections.
  var countedOutput = 0
  /// Bytes dropped while lingering.
  var dropped = 0
  /// The client while its request is with the handler.
  var waiting: WaitingClient?
  /// What the handler found when it admitted the request; nil between requests.
  var context: Context?

  init(
    socket: consuming Socket, peer: Peer, isCounted: Bool, slot: Int, serial: UInt32,
    limits: ServerLimits, deadline: Int64
  ) {
    self.socket = socket
    self.peer = peer
    self.isCounted = isCounted
    self.slot = slot
    token = UInt64(serial) << 32 | UInt64(slot)
    parser = RequestParser(limits: limits, peer: peer)
    self.deadline = deadline
  }

  /// The number of bytes that wait to be sent.
  var unsent: Int { output.count - sent }

  /// Bytes of memory: what is sent is released with the rest.
  var outputMemory: Int { output.count }

  /// Appends a response to the output, and sets the stage that follows it.
  func enqueue(_ response: HTTPResponse, closing: Bool) {
    if response.isPart { return output.append(contentsOf: response.wire ?? []) }
    let closes = closing || closesAfterAnswer || response.closes
    response.serialise(into: &output, toHead: answersHead, closing: closes)
    stage = closes ? .finishing : .reading
    context = nil
    waiting = nil
    answersHead = false
    closesAfterAnswer = false
    timedProgress = nil
  }

  func enqueueContinue() {
    output.append(contentsOf: "HTTP/1.1 100 Continue\r\n\r\n".utf8)
  }

  /// Sends as much of the output as the socket takes.
  ///
  /// - Returns: false if the connection is broken.
  func flush() -> Bool {
    while unsent > 0 {
      switch socket.send(output, from: sent) {
      case .moved(let count): sent += count
      case .wouldBlock:
        isBlocked = true
        return true
      case .ended, .broken: return false
      }
    }
    isBlocked = false
    output = []
    sent = 0
    return true
  }
}
