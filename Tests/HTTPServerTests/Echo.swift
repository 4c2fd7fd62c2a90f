import Glibc
import HTTPServer
import Platform
import Synchronization

/// What the handlers of one server noted.
final class Notes: Sendable {
  let refusals = Mutex<[Int]>([])
  let open = Atomic<Int>(0)
  let served = Atomic<Int>(0)
  /// The bodies served, in their order.
  let bodies = Mutex<[String]>([])
  /// While it is shut, work at /gate goes on.
  let isGateOpen = Atomic<Bool>(false)
}

/// Answers with the body, at once or later.
final class Echo: RequestHandler {
  private let notes: Notes

  init(_ notes: Notes) { self.notes = notes }

  func admit(_ head: RequestHead) -> Admission {
    head.path == "/missing" ? .refuse(HTTPResponse(status: 404)) : .body(limit: 1 << 20)
  }

  func isQueued(_ head: RequestHead) -> Bool {
    ["/work", "/gate"].contains(head.path)
  }

  func respond(to request: HTTPRequest, through answer: Answer) -> HTTPResponse? {
    notes.served.add(1, ordering: .relaxed)
    notes.bodies.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
    switch request.path {
    case "/never": return nil
    case "/gate":
      while !notes.isGateOpen.load(ordering: .relaxed) { usleep(1_000) }
      return HTTPResponse(status: 200, body: request.body)
    case "/work":
      usleep(20_000)
      return HTTPResponse(status: 200, body: request.body)
    case "/large": return HTTPResponse(status: 200, body: [UInt8](repeating: 97, count: 8 << 20))
    case "/later":
      let thread = try? Thread.start("later") {
        usleep(200_000)
        answer.send(HTTPResponse(status: 200, body: request.body))
        answer.send(HTTPResponse(status: 500))
      }
      thread?.detachForTest()
      return nil
    default:
      let peer = request.peer == .local ? "local" : "address"
      return HTTPResponse(status: 200, headers: [("X-Peer", peer)], body: request.body)
    }
  }

  func refuse(status: Int) -> HTTPResponse {
    HTTPResponse(status: status, body: Array("{\"status\":\(status)}".utf8))
  }

  func note(refusal status: Int) { notes.refusals.withLock { $0.append(status) } }

  func note(connection change: ConnectionChange) {
    notes.open.add(change == .opened ? 1 : -1, ordering: .relaxed)
  }
}

extension Thread {
  /// Joins on another thread's time: the tests do not wait for it.
  fileprivate consuming func detachForTest() { _ = consume self }
}

/// A server that echoes, and what its handlers noted.
struct EchoServer {
  let server: HTTPServer
  let notes = Notes()

  init(
    reactors: Int = 2, socketPath: String? = nil,
    _ set: (inout ServerConfiguration) -> Void = { _ in }
  )
    throws
  {
    var configuration = ServerConfiguration(listen: "127.0.0.1:0", socketPath: socketPath)
    configuration.reactors = reactors
    set(&configuration)
    let notes = notes
    server = try HTTPServer.start(configuration) { Echo(notes) }
  }

  func caller() -> Caller { Caller(port: server.port) }
}

func echo(_ body: String, path: String = "/echo", headers: String = "") -> String {
  "POST \(path) HTTP/1.1\r\nHost: h\r\n\(headers)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
}
