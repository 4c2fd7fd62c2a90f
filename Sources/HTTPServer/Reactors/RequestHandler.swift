/// What a handler says to a request head.
public enum Admission: Sendable {
  /// Read the body, of at most `limit` bytes: more is answered with 413.
  case body(limit: Int)
  /// Answer now. The connection closes where the request has a body, because nobody will read it.
  case refuse(HTTPResponse)
}

/// What became of a connection, for counting.
public enum ConnectionChange: Sendable {
  case opened, closed
}

/// Decides what requests get. One instance a reactor thread, made and called on that thread only,
/// so it may own things that are not `Sendable` (a read-only SQL connection, a cache).
///
/// Nothing here may block: a handler that waits stops every connection of its thread.
public protocol RequestHandler: AnyObject {
  /// Called once a head is complete and well-formed, before anything of its body is read.
  func admit(_ head: RequestHead) -> Admission

  /// Called with the whole request. Returns the answer, or nil and promises to call `answer.send`
  /// exactly once, later, from any thread.
  func respond(to request: HTTPRequest, through answer: Answer) -> HTTPResponse?

  /// Whether the work of such a request takes so long that others must not wait for it: it is done
  /// in turn, once all that came in has been read, and what would wait too long gets `overload`.
  func isQueued(_ head: RequestHead) -> Bool

  /// Called when all that came in a round was read and answered, but for such requests, before
  /// these are done or anything is waited for.
  func eventLoopIterationEnded()

  /// Called after some of such requests, before anything is waited for: what they left to be handed
  /// on together goes on now.
  func flush()

  /// The answer to a request that would wait too long, or did: 503, and the connection stays.
  func overload() -> HTTPResponse

  /// The answer to what the transport refuses by itself (400, 408, 411, 413, 414, 417, 431, 503,
  /// 505), so that all errors have one body format.
  func refuse(status: Int) -> HTTPResponse

  /// Counts and logs a refusal of the transport; called once for each.
  func note(refusal status: Int)

  /// Counts connections.
  func note(connection change: ConnectionChange)
}

extension RequestHandler {
  public func isQueued(_ head: RequestHead) -> Bool { false }
  public func eventLoopIterationEnded() {}
  public func flush() {}
  public func overload() -> HTTPResponse { refuse(status: 503) }
  public func note(refusal status: Int) {}
  public func note(connection change: ConnectionChange) {}
}

/// Where a later answer goes: back to the reactor that owns the connection.
///
/// An answer that comes twice, or after the connection has gone, is dropped. One that never comes
/// is replaced by 503 after `ServerLimits.answerSeconds`.
public struct Answer: Sendable {
  let inbox: ReactorQueue
  let slot: Int
  let ticket: UInt64

  /// From any thread; never blocks for longer than a short lock.
  public func send(_ response: HTTPResponse) {
    _ = inbox.post(.answer(slot: slot, ticket: ticket, response))
  }
}
