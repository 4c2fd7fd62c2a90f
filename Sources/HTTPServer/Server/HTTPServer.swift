import Glibc
import Platform

/// The HTTP server: listening sockets and the reactor threads that share them.
public final class HTTPServer: Sendable {
  /// The TCP port in use, also if the configuration says 0.
  public let port: UInt16
  private let queues: [ReactorQueue]
  private let shutdown: Shutdown
  /// One per reactor, in the order of the queues.
  private let threads: [Thread]

  private init(_ group: ReactorGroup, _ threads: [Thread]) {
    port = group.listeners[0].port
    queues = group.queues
    shutdown = group.shutdown
    self.threads = threads
  }

  /// Listens, starts the reactors, and returns when each of them has its handler.
  ///
  /// - Parameter handler: called once on each reactor thread.
  /// - Throws: `HTTPServerError` when the limit on open files is too low, when an address is
  ///   malformed, in use or refused, when the kernel refuses a thread or a descriptor, or when
  ///   `handler` throws.
  public static func start<Handler: RequestHandler>(
    _ configuration: ServerConfiguration, handler: @escaping @Sendable () throws -> Handler
  ) throws(HTTPServerError) -> HTTPServer {
    let limits = try configuration.fittedToDescriptors().limits
    let count = configuration.reactorCount
    let group = ReactorGroup(
      listeners: try listeners(configuration), queues: (0..<count).map { _ in ReactorQueue() },
      limiter: ConnectionLimiter(limits: limits, trusted: try trusted(configuration)),
      limits: limits, shutdown: Shutdown())
    // Every thread reports exactly once, so waiting for all reports cannot hang.
    let starts = BoundedQueue<HTTPServerError?>(capacity: count)
    var threads: [Thread] = []
    var failure: HTTPServerError?
    for (index, queue) in group.queues.enumerated() {
      do throws(LedgerError) {
        threads.append(
          try Thread.start("http-\(index)") { runReactor(group, queue, handler, starts) })
      } catch {
        failure = .resources(error)
        break
      }
    }
    failure = firstFailure(of: threads.count, starts) ?? failure
    let server = HTTPServer(group, threads)
    guard let failure else { return server }
    // The threads that did start must end, because otherwise the port would stay in use.
    server.drain(within: 0)
    throw failure
  }

  /// The body of a reactor thread: its handler and its reactor are made, used and freed on it.
  private static func runReactor<Handler: RequestHandler>(
    _ group: ReactorGroup, _ queue: ReactorQueue, _ makeHandler: () throws -> Handler,
    _ starts: BoundedQueue<HTTPServerError?>
  ) {
    Niceness.reactor.apply()
    let handler: Handler
    do { handler = try makeHandler() } catch {
      _ = starts.enqueue(.handler(error))
      return
    }
    do throws(LedgerError) {
      let reactor = try Reactor(group, queue: queue, handler: handler)
      _ = starts.enqueue(nil)
      reactor.run()
    } catch {
      _ = starts.enqueue(.resources(error))
    }
  }

  /// Waits until every thread has reported its start, and returns an error of one that failed.
  private static func firstFailure(
    of count: Int, _ starts: BoundedQueue<HTTPServerError?>
  ) -> HTTPServerError? {
    var failure: HTTPServerError?
    var reports = 0
    while reports < count, let batch = starts.dequeueAll() {
      reports += batch.count
      for case .some(let error) in batch { failure = error }
    }
    return failure
  }

  /// The addresses of the trusted proxies in the canonical form that `Peer` has.
  private static func trusted(
    _ configuration: ServerConfiguration
  ) throws(HTTPServerError) -> Set<String> {
    var trusted: Set<String> = []
    for text in configuration.trustedProxies {
      guard let address = IPAddress.canonical(text) else { throw .trustedProxy(text) }
      trusted.insert(address)
    }
    return trusted
  }

  /// The TCP listener first, because its port is the server's. Listeners opened before an error are
  /// closed by their `deinit`.
  private static func listeners(
    _ configuration: ServerConfiguration
  ) throws(HTTPServerError) -> [Listener] {
    let text = configuration.listen
    guard let address = ListenAddress(text) else { throw .listenAddress(text) }
    var listeners: [Listener] = []
    do throws(LedgerError) {
      listeners.append(try .tcp(host: address.host, port: address.port))
    } catch {
      throw error.number == EADDRINUSE ? .addressInUse(text) : .addressRefused(text, error)
    }
    guard let path = configuration.socketPath else { return listeners }
    do throws(LedgerError) {
      listeners.append(try .unix(path: path))
    } catch {
      switch error.number {
      case EADDRINUSE: throw .socketInUse(path)
      case ELOOP: throw .socketIsLink(path)
      case ENOTSOCK: throw .socketIsFile(path)
      default: throw .socketRefused(path, error)
      }
    }
    return listeners
  }

  /// Stops accepting, answers the requests in flight with `Connection: close`, and returns when all
  /// connections are closed or after `seconds`, whichever is first. May be called from any thread
  /// except a reactor's.
  public func drain(within seconds: Double) {
    shutdown.request(within: seconds)
    for queue in queues { queue.wakeup.signal() }
    join()
  }

  /// Returns when the server has been drained.
  public func join() {
    for thread in threads { thread.join() }
  }
}
