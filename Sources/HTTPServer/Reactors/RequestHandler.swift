import Glibc
import Platform

/// What a handler decides about a request whose head is complete.
public enum Admission<Context> {
  /// Read the body, of at most `limit` bytes; a longer one is answered with 413. The context comes
  /// back with the whole request.
  case body(limit: Int, Context)
  /// Answer now. The connection closes if the request has a body, because the body is not read.
  case refuse(HTTPResponse)
}

/// What happened to a connection, for counting.
public enum ConnectionChange: Sendable {
  case opened, closed
  /// The client ended it before it had the response to its request; `closed` follows.
  case cut
}

/// Decides how requests are answered. Each reactor thread has one instance, made and called on that
/// thread only, so it may own things that are not `Sendable`, such as a cache.
///
/// No method may block, or read from a disk: a handler that waits stops every connection of its
/// thread.
///
/// `SendableMetatype`: the closure that runs on the reactor's thread refers to the handler's type.
public protocol RequestHandler: AnyObject, SendableMetatype {
  /// What `admit` found out about a request, such as the matched route and who sent it. It is
  /// stored with the connection until the request is answered, so nothing is looked up twice.
  associatedtype Context

  /// Called once when a head is complete and well-formed, before any byte of its body is read.
  func admit(_ head: RequestHead) -> Admission<Context>

  /// Called with the whole request and with what `admit` found. Returns the response, or returns
  /// nil and promises to call `sender.send` once, later, from any thread.
  func respond(
    to request: HTTPRequest, _ context: Context, through sender: ResponseSender
  ) -> HTTPResponse?

  /// Whether the request is so much work that other requests must not wait for it. It is then
  /// queued and processed in order, after all available input has been read; a request that would
  /// wait too long in the queue gets `overload`.
  func isQueued(_ context: Context) -> Bool

  /// Called after a batch of queued requests, before the reactor waits for events: work that they
  /// left to be submitted together must be submitted now.
  func flush()

  /// The response to a request that would wait too long in the queue, or did: 503, and the
  /// connection stays open.
  func overload() -> HTTPResponse

  /// The response to a request that the transport refuses by itself (400, 408, 411, 413, 414, 417,
  /// 431, 503, 505). The handler writes it so that all errors have one body format.
  func refuse(status: Int) -> HTTPResponse

  /// Counts and logs a refusal by the transport; called once for each.
  func recordRefusal(status: Int)

  /// Counts connections.
  func recordConnection(_ change: ConnectionChange)
}

extension RequestHandler {
  public func flush() {}
  public func overload() -> HTTPResponse { refuse(status: 503) }
}

/// Sends a response that comes later, through the reactor that owns the connection, or to a caller
/// in this process.
///
/// A second response, and one that comes after the connection has closed, is dropped. If none comes
/// within `ServerLimits.answerSeconds`, the reactor answers 503.
public struct ResponseSender: Sendable {
  enum Receiver: Sendable {
    case reactor(ReactorQueue)
    case caller(BoundedQueue<HTTPResponse>)
  }

  let receiver: Receiver
  let slot: Int
  let ticket: UInt64
  let client = WaitingClient()

  /// Whether the connection is closed: the response would be dropped.
  public var isAbandoned: Bool { client.isGone }

  /// Whether the client has ended its side of the connection: it may be gone, or still read.
  public var hasClientEnded: Bool { client.hasEnded }

  /// Calls a closure once when the client has ended its side of the connection, now if it has: it
  /// may be gone, or only send nothing more. Called on the reactor's thread or on this one; it must
  /// not block.
  public func whenClientEnds(_ closure: @escaping @Sendable () -> Void) {
    client.whenItEnds(closure)
  }

  /// May be called from any thread; blocks no longer than a short lock takes.
  public func send(_ response: HTTPResponse) {
    switch receiver {
    case .reactor(let queue): _ = queue.post(.response(slot: slot, ticket: ticket, response))
    case .caller(let queue): _ = queue.enqueue(response)
    }
  }
}

extension RequestHandler {
  /// Answers a request that this process makes, and waits for an answer that comes later. The
  /// handler is that of no reactor.
  ///
  /// - Parameter target: the path, and the query after `?`.
  public func answer(_ method: String, _ target: String, _ body: [UInt8] = []) -> HTTPResponse {
    let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
    let head = RequestHead(
      method: method, path: parts[0], query: parts.count > 1 ? parts[1] : nil,
      peer: .local(user: getuid()))
    let context: Context
    switch admit(head) {
    case .refuse(let response): return response
    case .body(let limit, _) where body.count > limit: return refuse(status: 413)
    case .body(_, let found): context = found
    }
    let answers = BoundedQueue<HTTPResponse>(capacity: 1)
    let sender = ResponseSender(receiver: .caller(answers), slot: 0, ticket: 0)
    let request = HTTPRequest(head: head, body: body)
    if let response = respond(to: request, context, through: sender) { return response }
    flush()
    return answers.dequeue() ?? overload()
  }
}
