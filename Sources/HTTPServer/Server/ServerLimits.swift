/// Limits on what clients may use: sizes in bytes, times in seconds.
public struct ServerLimits: Sendable {
  var requestTarget = 2 * 1024
  var headerBlock = 16 * 1024
  var headerFields = 64
  var headerField = 8 * 1024
  var chunkLine = 64
  public var connections = 4096
  /// For each IPv4 address and each /64 network of IPv6. Does not apply to trusted proxies and the
  /// unix socket.
  public var connectionsPerAddress = 256
  /// The memory of the unfinished bodies of all connections together; over it, the one that arrives
  /// slowest is refused. Does not apply to the unix socket.
  public var unfinishedBodyBytes = 64 * 1024 * 1024
  /// The memory of the answers of all connections together that are not sent yet; over it, the
  /// connection that reads slowest is closed. Does not apply to the unix socket.
  public var unsentAnswerBytes = 64 * 1024 * 1024
  /// From the first byte of a request (or from accepting the connection) to the end of its head.
  public var headerSeconds = 5.0
  /// From the end of the head to the end of the body.
  public var bodySeconds = 15.0
  /// Between two requests.
  public var idleSeconds = 60.0
  /// The longest time that a queued request may be expected to wait for others; one that would wait
  /// longer gets 503 at once. It is a quarter of the second within which all requests are to be
  /// answered; the rest is for reading thousands of others, for the writer, and for a wrong
  /// estimate.
  public var queueDelaySeconds = 0.25
  /// As many requests are queued whatever their expected wait: half of the connections of one
  /// address.
  public var minimumQueueDepth = 128
  /// From the whole request to the response of the handler.
  public var answerSeconds = 60.0
  /// From the first byte that did not fit into the socket to the last byte of the response.
  public var writeSeconds = 30.0
  /// How long, and how much, input is read and dropped after the last response of a connection,
  /// before it is closed.
  public var lingerSeconds = 1.0
  public var lingerBytes = 8 * 1024 * 1024

  /// The default limits.
  public init() {}
}
