import Platform

/// The HTTP server: listening sockets and the reactor threads that share them.
public final class HTTPServer: Sendable {
  /// The TCP port, also where the configuration said 0.
  public let port: UInt16

  private init(port: UInt16) { self.port = port }

  /// Listens, starts the reactors and returns once every one of them has its handler.
  ///
  /// - Parameter handler: called once on each reactor thread; what it throws ends the start.
  public static func start(
    _ configuration: ServerConfiguration,
    handler: @escaping @Sendable () throws -> any RequestHandler
  ) throws(HTTPFrontError) -> HTTPServer {
    throw .listenAddress(configuration.listen)
  }

  /// Stops accepting, finishes the requests in flight with `Connection: close`, and returns when all
  /// is quiet or after `seconds`, whichever is first. Safe from any thread but a reactor's.
  public func drain(within seconds: Double) {}

  /// Returns when the server has been drained.
  public func join() {}
}
