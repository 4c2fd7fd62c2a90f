import Platform

/// One connection and where it stands. Belongs to one reactor; passive: the reactor acts on it.
///
/// An idle connection holds no buffer at all: what is read goes through the reactor's, what is
/// written is given back once it is out.
final class HTTPConnection {
  enum Stage: Equatable {
    /// Taking in requests.
    case reading
    /// One request is with the handler; nothing more is read until its answer is there.
    case answering(ticket: UInt64)
    /// The last answer is on its way out.
    case finishing
    /// All is sent, the other end may still be sending: its bytes are dropped for a moment, because
    /// closing over unread bytes resets the connection and may take the answer with it
    /// (RFC 9112 section 9.6).
    case lingering
  }

  let socket: Socket
  let peer: Peer
  /// Counted by the census; one that is turned away is not.
  let isCounted: Bool
  let slot: Int
  /// Tells this connection from an earlier one in the same slot.
  let token: UInt64

  var stage = Stage.reading
  var parser: RequestParser
  /// Bytes read and not yet parsed: requests behind one that is being answered. At most one read.
  var backlog: [UInt8] = []
  private var output: [UInt8] = []
  private var sent = 0
  var interest = Epoll.Interest.read
  /// Bytes did not fit into the socket; epoll tells when there is room.
  var isBlocked = false
  /// In the reactor's milliseconds.
  var deadline: Int64
  /// The progress that `deadline` was set for; nil: set it anew.
  var watched: RequestParser.Progress?
  /// Of the request being answered.
  var answersHead = false
  var closesAfterAnswer = false
  /// Bytes dropped while lingering.
  var dropped = 0

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

  /// How much waits to be sent.
  var unsent: Int { output.count - sent }

  /// Puts an answer behind what waits to be sent, and settles what comes after it.
  func enqueue(_ response: HTTPResponse, closing: Bool) {
    let closes = closing || closesAfterAnswer || response.closes
    response.serialise(into: &output, toHead: answersHead, closing: closes)
    stage = closes ? .finishing : .reading
    answersHead = false
    closesAfterAnswer = false
    watched = nil
  }

  func enqueueContinue() {
    output.append(contentsOf: "HTTP/1.1 100 Continue\r\n\r\n".utf8)
  }

  /// Sends what waits.
  ///
  /// - Returns: false when the connection is gone.
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
