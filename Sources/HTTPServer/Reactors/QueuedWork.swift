import Platform

/// A request that waits for its work. Its connection holds what the handler found in its head.
struct QueuedRequest {
  let request: HTTPRequest
  let sender: ResponseSender
}

/// How a reactor processes requests that are too much work to be answered when they are read.
extension Reactor {
  func enqueueWork(_ queued: QueuedRequest, _ connection: Connection) {
    let isAdmitted = workQueue.enqueue(
      queued, bytes: queued.request.body.count, at: Clock.monotonicNanoseconds())
    guard isAdmitted else {
      return connection.enqueue(handler.overload().withRetryAfter, closing: isDraining)
    }
    awaitResponse(queued.sender, connection)
  }

  /// Processes queued requests for as long as this iteration has spent on reading and refusing, and
  /// at least for `slice` nanoseconds: under any load, half of the time goes to requests that were
  /// admitted.
  func processQueue(forAtLeast slice: Int64) {
    guard !workQueue.isEmpty else { return }
    let start = Clock.monotonicNanoseconds()
    var time = start
    let end = start + max(slice, start - now * 1_000_000)
    var count = 0
    while time < end, let (queued, isLate) = workQueue.dequeue(at: time) {
      // If the connection has closed, nothing receives the response, and the client sends the
      // request again.
      let sender = queued.sender
      guard let connection = connection(in: sender.slot, answering: sender.ticket),
        let context = connection.context
      else { continue }
      let response =
        isLate
        ? handler.overload().withRetryAfter
        : handler.respond(to: queued.request, context, through: sender)
      if let response { deliver(response, to: connection) }
      time = Clock.monotonicNanoseconds()
      if !isLate { count += 1 }
    }
    handler.flush()
    // The time spent on reading since the last batch is part of what an item waits for.
    workQueue.recordService(count: count, nanoseconds: time - (workPausedAt ?? start))
    workPausedAt = workQueue.isEmpty ? nil : time
  }
}

extension HTTPResponse {
  /// What Retry-After says in a 503 by the transport, in seconds.
  private static let retryAfterSeconds = "5"

  /// The response with a Retry-After header if it is a 503 without one (RFC 9110 section 10.2.3).
  /// Apple retries by its own schedule; proxies and readers obey the header.
  var withRetryAfter: HTTPResponse {
    guard status == 503, !has("Retry-After") else { return self }
    var response = self
    response.headers.append((name: "Retry-After", value: Self.retryAfterSeconds))
    return response
  }
}
