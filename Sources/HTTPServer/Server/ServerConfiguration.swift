/// What one client may take: sizes in bytes, times in seconds.
public struct ServerLimits: Sendable {
  public var requestTarget = 2 * 1024
  public var headerBlock = 16 * 1024
  public var headerFields = 64
  public var headerField = 8 * 1024
  public var chunkLine = 64
  public var connections = 4096
  /// Does not hold for trusted proxies and the unix socket.
  public var connectionsPerAddress = 256
  /// From the first byte of a request (or from accepting the connection) to the end of its head.
  public var headerSeconds = 5.0
  /// From the end of the head to the end of the body.
  public var bodySeconds = 15.0
  /// Between two requests.
  public var idleSeconds = 60.0
  /// What a request that takes long may wait for others, as far as can be told when it comes: one
  /// that would wait longer gets 503 at once. A quarter of the second in which all are answered;
  /// the rest is for being read among thousands, for the writer, and for a wrong guess.
  public var waitSeconds = 0.25
  /// So many may wait in turn whatever is expected: half of the connections of one address.
  public var freeWaiters = 128
  /// From the whole request to the answer of the handler.
  public var answerSeconds = 60.0
  /// From the first byte that did not fit into the socket to the last one of the answer.
  public var writeSeconds = 30.0

  public init() {}
}

/// Where the server listens and how much it takes on.
public struct ServerConfiguration: Sendable {
  /// `HOST:PORT`: an IPv4 address, `[IPv6]` or `localhost` (which is 127.0.0.1); port 0 picks one.
  public var listen: String
  /// A unix socket beside it, made with mode 0600.
  public var socketPath: String?
  /// Reactor threads; 0 means one a processor.
  public var reactors = 0
  public var limits = ServerLimits()
  /// IP addresses of proxies in front.
  public var trustedProxies: [String] = []

  public init(listen: String, socketPath: String? = nil) {
    self.listen = listen
    self.socketPath = socketPath
  }
}
