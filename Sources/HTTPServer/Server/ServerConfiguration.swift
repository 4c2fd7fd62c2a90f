/// Where the server listens, and its limits.
public struct ServerConfiguration: Sendable {
  /// `HOST:PORT`: an IPv4 address, `[IPv6]` or `localhost` (which is 127.0.0.1); port 0 picks one.
  public var listen: String
  /// The path of an additional unix socket, made with mode 0600; nil for none.
  var socketPath: String?
  /// The number of reactor threads; 0 means one per processor.
  public var reactors = 0
  public var limits = ServerLimits()
  /// IP addresses of reverse proxies.
  public var trustedProxies: [String] = []

  public init(listen: String, socketPath: String? = nil) {
    self.listen = listen
    self.socketPath = socketPath
  }
}
