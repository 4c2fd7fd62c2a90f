import Glibc
import HTTPServer
import Platform
import Synchronization

/// What the handlers of one server recorded.
final class EchoLog: Sendable {
  /// Heads that were admitted.
  let admitted = Atomic<Int>(0)
  let refusals = Mutex<[Int]>([])
  let open = Atomic<Int>(0)
  let cut = Atomic<Int>(0)
  let served = Atomic<Int>(0)
  /// Clients that ended while they waited for the response to /until-end.
  let ended = Atomic<Int>(0)
  /// The bodies served, in the order of service.
  let bodies = Mutex<[String]>([])
  /// Until it is set, requests to /gate and to /when-open are not answered.
  let isGateOpen = Atomic<Bool>(false)

  /// Waits until something holds, for up to a minute.
  func wait(until holds: (EchoLog) -> Bool) {
    for _ in 0..<60_000 where !holds(self) { usleep(1_000) }
  }
}

/// Answers with the body of the request, at once or later.
final class EchoHandler: RequestHandler {
  /// What is found in a head.
  struct Context {
    let path: String
    /// Counts the admitted heads of all handlers.
    let number: Int
  }

  private let log: EchoLog

  init(_ log: EchoLog) { self.log = log }

  func admit(_ head: RequestHead) -> Admission<Context> {
    if head.path == "/missing" { return .refuse(HTTPResponse(status: 404)) }
    let number = log.admitted.add(1, ordering: .relaxed).newValue
    return .body(limit: 1 << 20, Context(path: head.path, number: number))
  }

  func isQueued(_ context: Context) -> Bool {
    ["/work", "/gate", "/context/queued"].contains(context.path)
  }

  func respond(
    to request: HTTPRequest, _ context: Context, through sender: ResponseSender
  ) -> HTTPResponse? {
    log.served.add(1, ordering: .relaxed)
    log.bodies.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
    switch request.path {
    case "/never": return nil
    // What `admit` found, to be compared with what was sent.
    case "/context", "/context/queued":
      return HTTPResponse(status: 200, body: Array("\(context.path) \(context.number)".utf8))
    case "/gate":
      while !log.isGateOpen.load(ordering: .relaxed) { usleep(1_000) }
      return HTTPResponse(status: 200, body: request.body)
    case "/work":
      usleep(20_000)
      return HTTPResponse(status: 200, body: request.body)
    case "/large": return HTTPResponse(status: 200, body: [UInt8](repeating: 97, count: 8 << 20))
    case "/later":
      let thread = try? Thread.start("later") {
        usleep(200_000)
        sender.send(HTTPResponse(status: 200, body: request.body))
        sender.send(HTTPResponse(status: 500))
      }
      thread?.detach()
      return nil
    case "/when-open":
      let thread = try? Thread.start("later") { [log] in
        log.wait { $0.isGateOpen.load(ordering: .relaxed) }
        sender.send(HTTPResponse(status: 200, body: request.body))
      }
      thread?.detach()
      return nil
    case "/until-end":
      sender.whenClientEnds { [log] in
        log.ended.add(1, ordering: .relaxed)
        sender.send(HTTPResponse(status: 200, body: Array("ended".utf8)))
      }
      return nil
    default:
      let peer = request.peer.isLocal ? "local" : "address"
      return HTTPResponse(status: 200, headers: [("X-Peer", peer)], body: request.body)
    }
  }

  func refuse(status: Int) -> HTTPResponse {
    HTTPResponse(status: status, body: Array("{\"status\":\(status)}".utf8))
  }

  func recordRefusal(status: Int) { log.refusals.withLock { $0.append(status) } }

  func recordConnection(_ change: ConnectionChange) {
    switch change {
    case .opened: log.open.add(1, ordering: .relaxed)
    case .closed: log.open.subtract(1, ordering: .relaxed)
    case .cut: log.cut.add(1, ordering: .relaxed)
    }
  }
}

extension Thread {
  /// The tests do not wait for the thread.
  fileprivate consuming func detach() { _ = consume self }
}

/// A server that echoes, and the log of its handlers.
struct EchoServer {
  let server: HTTPServer
  let log = EchoLog()

  init(
    reactors: Int = 2, socketPath: String? = nil,
    _ set: (inout ServerConfiguration) -> Void = { _ in }
  )
    throws
  {
    var configuration = ServerConfiguration(listen: "127.0.0.1:0", socketPath: socketPath)
    configuration.reactors = reactors
    set(&configuration)
    let log = log
    server = try HTTPServer.start(configuration) { EchoHandler(log) }
  }

  func client() -> RawClient { RawClient(port: server.port) }
}

func echo(_ body: String, path: String = "/echo", headers: String = "") -> String {
  "POST \(path) HTTP/1.1\r\nHost: h\r\n\(headers)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
}
