import CCurl
public import Platform

/// Sends HTTP requests with libcurl (libcurl-multi(3)), several at once, and keeps connections for
/// the next ones.
///
/// Everything is bounded: time, bytes and connections. Redirects are not followed, no proxy is
/// used, certificates are verified, and nothing is decoded. One for each thread.
public final class HTTPClient {
  /// Names a request that was started.
  public struct RequestID: Sendable, Hashable { fileprivate let number: Int }

  private static let isReady = subledger_curl_init() == CURLE_OK

  private let multi: UnsafeMutableRawPointer
  private let settings: ClientSettings
  private var transfers: [RequestID: Transfer] = [:]
  private var results: [RequestID: Result<ClientResponse, ClientError>] = [:]
  private var lastNumber = 0

  /// - Throws: `ClientError.failed` when curl cannot be initialised.
  public init(_ settings: ClientSettings = ClientSettings()) throws(ClientError) {
    guard Self.isReady, let multi = curl_multi_init() else {
      throw .failed("curl cannot be initialised")
    }
    self.multi = multi
    self.settings = settings
    _ = subledger_set_multi_number(multi, CURLMOPT_MAXCONNECTS, settings.connections)
    _ = subledger_set_multi_number(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, settings.connections)
  }

  deinit {
    for transfer in transfers.values { curl_multi_remove_handle(multi, transfer.handle) }
    transfers = [:]
    curl_multi_cleanup(multi)
  }

  /// Sends a request and waits for its response.
  ///
  /// - Parameter cancellation: ends the wait from another thread.
  /// - Throws: `ClientError`, whatever the status of a response is.
  public func send(
    _ request: ClientRequest, _ cancellation: Cancellation = Cancellation()
  ) throws(ClientError) -> ClientResponse {
    let id = try start(request)
    while true {
      if let result = take(id) { return try result.get() }
      guard !cancellation.isRequested else {
        cancel(id)
        throw .cancelled
      }
      wait(milliseconds: Int32(clamping: settings.totalMilliseconds), cancellation)
    }
  }

  // MARK: Several requests

  /// Starts a request. `wait` moves it on.
  ///
  /// - Parameter settings: the bounds of this request; nil for those of the client. The number of
  ///   connections is always the client's.
  /// - Throws: `ClientError.field` for a header field that cannot be sent, `ClientError.failed`
  ///   when curl has no memory.
  public func start(
    _ request: ClientRequest, _ settings: ClientSettings? = nil
  ) throws(ClientError) -> RequestID {
    let transfer = try Transfer(request, settings ?? self.settings)
    guard curl_multi_add_handle(multi, transfer.handle) == CURLM_OK else {
      throw .failed("out of memory")
    }
    lastNumber += 1
    let id = RequestID(number: lastNumber)
    transfers[id] = transfer
    return id
  }

  /// Moves all requests on until one has ended, or the time is over, or the cancellation is
  /// requested.
  public func wait(milliseconds: Int32, _ cancellation: Cancellation) {
    if !transfers.isEmpty { wait(milliseconds: milliseconds, cancellation.descriptor) }
  }

  /// Moves all requests on until one has ended, or the time is over, or the wakeup is signalled.
  /// Without a request it waits for the other two. The signal is not cleared.
  public func wait(milliseconds: Int32, _ wakeup: WakeupEvent) {
    wait(milliseconds: milliseconds, wakeup.descriptor)
  }

  /// - Parameter descriptor: part of the wait, so that another thread can end it.
  private func wait(milliseconds: Int32, _ descriptor: Int32) {
    perform()
    guard results.isEmpty else { return }
    var watched = curl_waitfd(fd: descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
    let rest = Int32(Transfer.restMilliseconds)
    let isReadingRest = transfers.values.contains(where: \.hasAnswer)
    curl_multi_poll(multi, &watched, 1, isReadingRest ? min(milliseconds, rest) : milliseconds, nil)
    perform()
  }

  /// The results of all requests that have ended, once.
  public func takeAll() -> [RequestID: Result<ClientResponse, ClientError>] {
    defer { results.removeAll(keepingCapacity: true) }
    return results
  }

  /// The result of a request that has ended, once; nil before.
  public func take(_ id: RequestID) -> Result<ClientResponse, ClientError>? {
    results.removeValue(forKey: id)
  }

  /// Gives a request up: its connection is closed, and it has no result.
  public func cancel(_ id: RequestID) {
    results[id] = nil
    guard let transfer = transfers.removeValue(forKey: id) else { return }
    curl_multi_remove_handle(multi, transfer.handle)
  }

  private func perform() {
    var running: Int32 = 0
    curl_multi_perform(multi, &running)
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE,
        let id = transfers.first(where: { $0.value.handle == message.pointee.easy_handle })?.key,
        let transfer = transfers.removeValue(forKey: id)
      else { continue }
      // Before the handle is removed, which frees the message.
      results[id] = transfer.result(message.pointee.data.result)
      curl_multi_remove_handle(multi, transfer.handle)
    }
    let now = Clock.monotonicNanoseconds()
    for (id, transfer) in transfers where transfer.isOverdue(at: now) {
      let result = transfer.result(CURLE_OK)
      cancel(id)
      results[id] = result
    }
  }
}
