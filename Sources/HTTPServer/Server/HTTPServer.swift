import Glibc
import Platform

/// The HTTP server: listening sockets and the reactor threads that share them.
public final class HTTPServer: Sendable {
  /// The TCP port, also where the configuration said 0.
  public let port: UInt16
  private let inboxes: [ReactorQueue]
  private let shutdown: Shutdown
  /// One a reactor, in the order of the inboxes.
  private let threads: [Thread]

  private init(_ shared: Reactor.Shared, _ threads: [Thread]) {
    port = shared.listeners[0].port
    inboxes = shared.inboxes
    shutdown = shared.shutdown
    self.threads = threads
  }

  /// Listens, starts the reactors and returns once every one of them has its handler.
  ///
  /// - Parameter handler: called once on each reactor thread; what it throws ends the start.
  public static func start(
    _ configuration: ServerConfiguration,
    handler: @escaping @Sendable () throws -> any RequestHandler
  ) throws(HTTPFrontError) -> HTTPServer {
    let limits = configuration.limits
    // Beside the connections: listeners, epoll instances, and what the rest of the process opens.
    Descriptors.allow(limits.connections + 512)
    // More threads than processors only take turns: a reactor never blocks but in epoll.
    let count = configuration.reactors > 0 ? configuration.reactors : processors()
    let shared = Reactor.Shared(
      listeners: try listeners(configuration), inboxes: (0..<count).map { _ in ReactorQueue() },
      census: ConnectionLimiter(limits: limits, trusted: try trusted(configuration)),
      limits: limits,
      shutdown: Shutdown())
    // Every thread reports exactly once, so the start can wait for all and still not hang.
    let starts = BoundedQueue<HTTPFrontError?>(capacity: count)
    var threads: [Thread] = []
    var failure: HTTPFrontError?
    for (place, inbox) in shared.inboxes.enumerated() {
      do throws(PlatformError) {
        threads.append(
          try Thread.start("http-\(place)") { runReactor(shared, inbox, handler, starts) })
      } catch {
        failure = .resources(error)
        break
      }
    }
    failure = firstFailure(of: threads.count, starts) ?? failure
    let server = HTTPServer(shared, threads)
    guard let failure else { return server }
    // Those that did start must end, or the port would stay taken behind an error.
    server.drain(within: 0)
    throw failure
  }

  /// The life of a reactor thread: its handler and its reactor are made, used and freed on it.
  private static func runReactor(
    _ shared: Reactor.Shared, _ inbox: ReactorQueue, _ handler: () throws -> any RequestHandler,
    _ starts: BoundedQueue<HTTPFrontError?>
  ) {
    ProcessLimits.yield(.toTheWriter)
    let made: any RequestHandler
    do { made = try handler() } catch {
      _ = starts.put(.handler(error))
      return
    }
    do throws(PlatformError) {
      let reactor = try Reactor(shared, inbox: inbox, handler: made)
      _ = starts.put(nil)
      reactor.run()
    } catch {
      _ = starts.put(.resources(error))
    }
  }

  /// Waits until every thread has said how its start went.
  private static func firstFailure(
    of count: Int, _ starts: BoundedQueue<HTTPFrontError?>
  ) -> HTTPFrontError? {
    var failure: HTTPFrontError?
    var reports = 0
    while reports < count, let batch = starts.takeAll() {
      reports += batch.count
      for case .some(let error) in batch { failure = error }
    }
    return failure
  }

  /// Processors that are online; at least one.
  private static func processors() -> Int {
    max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
  }

  /// The trusted proxies in canonical form, as peers are written.
  private static func trusted(
    _ configuration: ServerConfiguration
  ) throws(HTTPFrontError) -> Set<String> {
    var trusted: Set<String> = []
    for text in configuration.trustedProxies {
      guard let address = IPAddress.canonical(text) else { throw .trustedProxy(text) }
      trusted.insert(address)
    }
    return trusted
  }

  /// TCP first: its port is the server's. What was opened before an error closes by itself.
  private static func listeners(
    _ configuration: ServerConfiguration
  ) throws(HTTPFrontError) -> [Listener] {
    let text = configuration.listen
    guard let address = ListenAddress(text) else { throw .listenAddress(text) }
    var listeners: [Listener] = []
    do throws(PlatformError) {
      listeners.append(try .tcp(host: address.host, port: address.port))
    } catch {
      throw error.isAddressInUse ? .addressInUse(text) : .addressRefused(text, error)
    }
    guard let path = configuration.socketPath else { return listeners }
    do throws(PlatformError) {
      listeners.append(try .unix(path: path))
    } catch {
      throw error.isAddressInUse ? .socketInUse(path) : .socketRefused(path, error)
    }
    return listeners
  }

  /// Stops accepting, finishes the requests in flight with `Connection: close`, and returns when
  /// all is quiet or after `seconds`, whichever is first. Safe from any thread but a reactor's.
  public func drain(within seconds: Double) {
    shutdown.request(within: seconds)
    for inbox in inboxes { inbox.bell.ring() }
    join()
  }

  /// Returns when the server has been drained.
  public func join() {
    for thread in threads { thread.join() }
  }
}

extension PlatformError {
  fileprivate var isAddressInUse: Bool {
    switch self {
    case .system(_, let code): code == EADDRINUSE
    }
  }
}
