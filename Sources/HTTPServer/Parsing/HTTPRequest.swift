/// Who sent a request.
public enum Peer: Sendable, Hashable {
  /// The IP address of the other end of the TCP connection, in canonical form and without a port.
  /// Headers that claim an address are not considered.
  case address(String)
  /// The unix socket: a process of a user whom the file mode permits to connect.
  case local(user: UInt32)

  public var isLocal: Bool { if case .local = self { true } else { false } }
}

/// The head of a request: what is known when the handler decides whether to read the body.
public struct RequestHead: Sendable {
  /// How the body is delimited (RFC 9112 section 6).
  enum Framing: Sendable, Equatable {
    /// Neither Content-Length nor Transfer-Encoding.
    case none
    case length(Int)
    case chunked
  }

  enum Expectation: Sendable {
    case none, continuing, unknown
  }

  public let method: String
  /// The path exactly as received: never decoded or normalised, so that a path has one spelling.
  public let path: String
  /// The part after the first `?`, as received; nil if there is no `?`.
  public let query: String?
  public let headers: HTTPHeaders
  public let peer: Peer

  var framing = Framing.none
  var expectation = Expectation.none
  /// Whether the client wants the connection closed after the response.
  package var closes = false

  init(
    method: String, path: String, query: String? = nil, headers: HTTPHeaders = HTTPHeaders(),
    peer: Peer = .local(user: 0)
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
    self.peer = peer
  }

  /// Whether bytes follow the head.
  var hasBody: Bool { framing != .none && framing != .length(0) }
}

/// A whole request; its body is decoded from the transfer coding.
public struct HTTPRequest: Sendable {
  let head: RequestHead
  public let body: [UInt8]

  init(head: RequestHead, body: [UInt8] = []) {
    self.head = head
    self.body = body
  }

  public var method: String { head.method }
  public var path: String { head.path }
  public var query: String? { head.query }
  public var headers: HTTPHeaders { head.headers }
  public var peer: Peer { head.peer }
}
