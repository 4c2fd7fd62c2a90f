import HTTPServer
import Platform
import SignedData
import StrictJSON

/// Everything that both base URLs and the sending thread share, under one lock.
struct AppStoreState: Sendable {
  let authority: SimulatedAuthority
  let key: APIKey
  /// Those of each environment, by its raw value.
  private var apps: [AppFacts]
  var behaviour: Behaviour
  /// Milliseconds between the wall clock and the simulated clock.
  private var offset: Int64
  let hasNotificationURL: Bool
  /// Made when the first receipt is signed: a key takes a while.
  private lazy var receiptSigner = try? authority.makeReceiptSigner()

  /// - Parameter behind: milliseconds that the simulated clock begins behind the wall clock.
  init(
    authority: SimulatedAuthority, key: APIKey, apps: [AppFacts], behaviour: Behaviour,
    behind: Int64, hasNotificationURL: Bool
  ) {
    (self.authority, self.key, self.apps) = (authority, key, apps)
    (self.behaviour, offset) = (behaviour, -behind)
    self.hasNotificationURL = hasNotificationURL
  }

  /// The simulated time, milliseconds since 1970.
  var moment: Int64 { Clock.now() + offset }

  mutating func advance(_ milliseconds: Int64) { offset += milliseconds }

  // MARK: Requests

  /// The answer to a request.
  mutating func answer(
    _ request: HTTPRequest, _ endpoint: String, _ environment: Environment
  ) -> TimedAnswer {
    let wall = Clock.now()
    let now = wall + behaviour.clockSkew
    let operation = Operation(request.method, request.path)
    let limitedUntil = apps[environment.rawValue]
      .count(endpoint, operation, at: wall, behaviour.limits)
    let fault = behaviour.takeFault(request.path, environment.name)
    // A request whose answer is replaced has no effect.
    var response =
      fault?.kind == .unauthenticated
      ? unauthenticated
      : fault?.replacement(path: request.path, now: now)
        ?? regularAnswer(request, operation, environment, now, limitedUntil)
    response.headers += [
      ("Server", "daiquiri/5"), ("Date", DateField.text(now / 1000)),
      ("x-apple-request-uuid", Self.requestId()),
      ("x-apple-jingle-correlation-key", Self.requestId()),
    ]
    return fault?.damaged(response) ?? TimedAnswer(response: response)
  }

  private static func requestId() -> String {
    var generator = SeededGenerator(seed: .random(in: 0...UInt64.max))
    return generator.uuid()
  }

  /// 401 has no JSON body (as observed; it is not documented).
  private var unauthenticated: HTTPResponse {
    HTTPResponse(
      status: 401, headers: [("Content-Type", "text/plain")],
      body: behaviour.explains401 ? Array("Unauthenticated".utf8) : [])
  }

  /// - Parameter limitedUntil: when the next request may be sent, if this one is too many.
  private mutating func regularAnswer(
    _ request: HTTPRequest, _ operation: Operation?, _ environment: Environment, _ now: Int64,
    _ limitedUntil: Int64?
  ) -> HTTPResponse {
    let app = environment.rawValue
    var routes = APIRoutes(
      authority: authority, behaviour: behaviour, moment: moment,
      hasNotificationURL: hasNotificationURL)
    do throws(APIError) {
      // verifyReceipt, what apps hold, and the books need no token.
      if request.path == "/verifyReceipt" {
        return routes.verifyReceipt(request, apps[app], receiptSigner)
      }
      if request.path == "/app" { return routes.customers(apps[app]) }
      if request.path == "/refund-requests" { return routes.refundRequests(apps[app]) }
      if request.path.hasPrefix("/app/") {
        let id = String(request.path.dropFirst("/app/".count))
        return try routes.device(of: id, apps[app], receiptSigner)
      }
      guard accepts(request, environment, at: now / 1000) else { return unauthenticated }
      if let limitedUntil {
        var response = HTTPResponse.error(4_290_000)
        // By the service's clock, as its Date is.
        let time = limitedUntil + behaviour.clockSkew
        response.headers.append(("Retry-After", String(time)))
        return response
      }
      guard let operation else { return HTTPResponse(status: 404) }
      let response = try routes.answer(request, operation, &apps[app])
      behaviour = routes.behaviour
      return response
    } catch {
      return .error(error.rawValue)
    }
  }

  /// Whether a request has a token that is valid.
  private func accepts(
    _ request: HTTPRequest, _ environment: Environment, at second: Int64
  ) -> Bool {
    let fields = request.headers.all("authorization")
    let token = BearerToken(key: key, bundleId: apps[environment.rawValue].app.bundleId)
    return fields.count == 1 && token.accepts(fields[0], at: second)
      && !(behaviour.neverReleased && environment == .production)
  }

  // MARK: Sending

  /// An attempt that is due, with the body to send.
  struct DueAttempt: Sendable {
    /// The index of the environment.
    let app: Int
    let attempt: PendingAttempt
    let body: [UInt8]
    /// How it ends without being made; nil if it is to be made.
    let outage: String?
  }

  /// Takes the next attempt of either environment that is due; nil if there is none.
  mutating func takeDue() -> DueAttempt? {
    let due = apps.map { $0.pending.last?.due ?? .max }
    guard let app = due.indices.min(by: { due[$0] < due[$1] }),
      let attempt = apps[app].takeDue(by: moment)
    else { return nil }
    var body: [UInt8] = []
    // What is not sent need not be signed.
    if behaviour.outage == nil && hasNotificationURL {
      let text = (try? apps[app].signedPayload(attempt.notification, authority)) ?? ""
      body = JSONValue.object([("signedPayload", .string(text))]).bytes
    }
    return DueAttempt(app: app, attempt: attempt, body: body, outage: behaviour.outage)
  }

  /// Records how an attempt ended, Apple's sendAttemptResult.
  mutating func record(_ due: DueAttempt, _ result: String) {
    apps[due.app].record(due.attempt, result)
  }

  // MARK: Control

  /// How many notifications of both environments have not reached the service.
  var failures: Int { apps.reduce(0) { $0 + $1.failures(at: moment) } }

  /// What `GET /control` shows.
  var report: JSONValue {
    .object([
      ("now", .integer(moment)), ("production", apps[0].report(at: moment)),
      ("sandbox", apps[1].report(at: moment)),
    ])
  }
}
