public import Platform
import SignedData
import StrictJSON

/// Calls the App Store Server API for one app in one environment.
///
/// Each call is bounded: in time, in requests, and by the budget of the account. A wait ends when
/// the cancellation is requested. What Apple signed is returned as text and is not proven: that is
/// the caller's part. One for each thread.
public final class AppStoreClient {
  public let account: AppStoreAccount
  private let policy: RetryPolicy
  private let clock: ClientClock
  private let cancellation: Cancellation
  private let http: HTTPClient
  private let userAgent: String

  /// - Parameters:
  ///   - version: of this program, for the header field User-Agent.
  ///   - cancellation: ends every call and every wait.
  /// - Throws: `ClientError.failed` when curl cannot be initialised.
  public init(
    _ account: AppStoreAccount, version: String, policy: RetryPolicy, cancellation: Cancellation,
    clock: ClientClock = .system, settings: ClientSettings = ClientSettings()
  ) throws(ClientError) {
    self.account = account
    self.policy = policy
    self.clock = clock
    self.cancellation = cancellation
    var settings = settings
    settings.proxy = account.proxy
    http = try HTTPClient(settings)
    userAgent = "subledger/\(version)"
  }

  /// One call of an endpoint.
  struct Call {
    let endpoint: Endpoint
    let path: [String]
    var query: [(name: String, value: String)] = []
    var method = ClientRequest.Method.get
    /// One without bytes is sent too, unless the method is GET.
    var body: [UInt8] = []
  }

  /// Calls an endpoint, repeats the call as the policy says, and reads the JSON of its answer.
  func answer<Value>(
    _ call: Call, _ read: (AnswerReader) throws(AnswerFault) -> Value
  ) throws(AppStoreError) -> Value {
    try response(to: call) { (response) throws(AnswerFault) in
      try read(try AnswerReader(response))
    }
  }

  /// The same for any response of success.
  func response<Value>(
    to call: Call, _ read: (ClientResponse) throws(AnswerFault) -> Value
  ) throws(AppStoreError) -> Value {
    var attempt = 1
    var refused: AppStoreError?
    while true {
      do throws(AppStoreError) {
        return try attemptOnce(call, attempt, read)
      } catch {
        if case .unauthorized = error.reason, refused == nil {
          // Once: a token that was good a minute ago may have been refused by mistake.
          refused = error
          continue
        }
        guard let wait = policy.wait(after: error, attempt: attempt, jitter: clock.jitter()) else {
          // Where the budget has no second request, the refusal is what happened.
          if case .limited = error.reason, let refused { throw refused }
          throw error
        }
        attempt += 1
        try pause(wait, call.endpoint)
      }
    }
  }

  private func attemptOnce<Value>(
    _ call: Call, _ attempt: Int, _ read: (ClientResponse) throws(AnswerFault) -> Value
  ) throws(AppStoreError) -> Value {
    try takeBudget(call.endpoint)
    let token = try mapError(
      { error(.signing($0), call.endpoint) }, try account.tokens.token(at: clock.now()))
    let response = try mapError(
      { error($0 == .cancelled ? .cancelled : .transport($0), call.endpoint) },
      try http.send(request(call, token), cancellation))
    guard (200..<300).contains(response.status) else {
      if response.status == 401 { account.tokens.discard(token) }
      throw refusal(response, call.endpoint, attempt)
    }
    return try mapError(
      { error(.answer($0.what), call.endpoint, response) },
      in: { () throws(AnswerFault) in try read(response) })
  }

  private func request(_ call: Call, _ token: String) -> ClientRequest {
    var fields = [
      (name: "Authorization", value: "Bearer \(token)"),
      (name: "Accept", value: "application/json"),
      (name: "User-Agent", value: userAgent),
    ]
    // Apple refuses a form (415), which a body without a type would be taken for.
    if !call.body.isEmpty {
      fields.append((name: "Content-Type", value: "application/json"))
    }
    return ClientRequest(
      call.method, account.service.appending(["inApps"] + call.path, query: call.query),
      fields: fields, body: call.body)
  }

  // MARK: Waiting

  private func takeBudget(_ endpoint: Endpoint) throws(AppStoreError) {
    while true {
      guard !cancellation.isRequested else { throw error(.cancelled, endpoint) }
      guard let wait = account.budget.take(endpoint, at: clock.elapsed()) else {
        throw error(.unavailable, endpoint)
      }
      guard wait > 0 else { return }
      guard wait <= policy.longestWait else {
        throw error(.limited(milliseconds: wait), endpoint)
      }
      try pause(wait, endpoint)
    }
  }

  private func pause(_ milliseconds: Int64, _ endpoint: Endpoint) throws(AppStoreError) {
    clock.wait(milliseconds, cancellation)
    if cancellation.isRequested { throw error(.cancelled, endpoint) }
  }

  // MARK: Errors

  /// The error of a response that is no success. Its status decides, and Apple's code refines it.
  private func refusal(
    _ response: ClientResponse, _ endpoint: Endpoint, _ attempt: Int
  ) -> AppStoreError {
    switch response.status {
    case 401:
      let server = response.field("date").flatMap(HTTPDate.milliseconds)
      return error(.unauthorized(skew: server.map { clock.now() - $0 }), endpoint, response)
    case 429:
      let wait = RetryAfter.milliseconds(
        response.field("retry-after"), date: response.field("date"), now: clock.now(),
        attempt: attempt)
      account.budget.block(endpoint, until: clock.elapsed() + wait)
      return error(.limited(milliseconds: wait), endpoint, response)
    default:
      guard let code = code(in: response) else {
        return error(.status(response.status), endpoint, response)
      }
      return error(.code(code), endpoint, response)
    }
  }

  /// Apple's code. Nil if there is none, or if it belongs to another status: then something between
  /// Apple and us has answered.
  private func code(in response: ClientResponse) -> ErrorCode? {
    let document = try? JSONDocument(parsing: response.body, within: .unproven)
    guard let code = document?.root["errorCode"]?.integer, code / 10_000 == response.status else {
      return nil
    }
    return ErrorCode(rawValue: code)
  }

  func error(
    _ reason: AppStoreError.Reason, _ endpoint: Endpoint, _ response: ClientResponse? = nil
  ) -> AppStoreError {
    AppStoreError(
      reason: reason, endpoint: endpoint, bundleId: account.bundleId,
      environment: account.environment,
      requestId: response?.field("x-apple-request-uuid").flatMap(Self.uuid))
  }

  /// Nil for what is not a UUID: whoever answers chooses the text.
  private static func uuid(_ text: String) -> String? {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    let isUUID =
      groups.map(\.utf8.count) == [8, 4, 4, 4, 12]
      && groups.joined().allSatisfy { $0.isASCII && $0.isHexDigit }
    return isUUID ? text : nil
  }
}
