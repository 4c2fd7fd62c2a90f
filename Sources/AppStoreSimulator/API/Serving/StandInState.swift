import HTTPServer
import Platform
import StrictJSON

/// Everything that both base URLs and the sending thread share, under one lock.
struct StandInState: Sendable {
  let authority: SimulatedAuthority
  let key: APIKey
  let hasNotificationURL: Bool
  var behaviour: Behaviour
  private var production: AppFacts
  private var sandbox: AppFacts
  /// Milliseconds between the wall clock and the simulated clock.
  private var offset: Int64
  private var counts: [String: RequestCounts] = [:]
  private var limits: [Environment: RateLimits] = [:]
  /// Made when the first receipt is signed: a key takes a while.
  private lazy var receiptSigner = try? authority.makeReceiptSigner()

  /// - Parameter behind: milliseconds that the simulated clock begins behind the wall clock.
  init(
    authority: SimulatedAuthority, key: APIKey, production: AppFacts, sandbox: AppFacts,
    behaviour: Behaviour, behind: Int64, hasNotificationURL: Bool
  ) {
    (self.authority, self.key) = (authority, key)
    (self.production, self.sandbox) = (production, sandbox)
    (self.behaviour, offset) = (behaviour, -behind)
    self.hasNotificationURL = hasNotificationURL
  }

  /// The simulated time, milliseconds since 1970.
  var moment: Int64 { Clock.now() + offset }

  mutating func advance(_ milliseconds: Int64) { offset += milliseconds }

  // MARK: Requests

  /// The answer to a request.
  mutating func answer(_ request: HTTPRequest, _ environment: Environment) -> TimedAnswer {
    let wall = Clock.now()
    let now = wall + behaviour.clockSkew
    let endpoint = RequestCounts.endpoint(request.method, request.path)
    counts[environment.rawValue, default: RequestCounts()].add(endpoint, at: wall)
    let operation = Operation(request.method, request.path)
    let limitedUntil = operation.flatMap {
      limits[environment, default: RateLimits(environment)].add($0.kind, at: wall, behaviour.limits)
    }
    let fault = behaviour.takeFault(request.path, environment.rawValue)
    // A request whose answer is replaced has no effect.
    var response =
      fault?.kind == .unauthenticated
      ? unauthenticated
      : fault?.replacement(path: request.path, now: now)
        ?? openAnswer(request, environment)
        ?? regularAnswer(request, operation, environment, now, limitedUntil)
    response.headers += [
      ("Server", "daiquiri/5"), ("Date", HTTPDate.text(now)),
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

  /// The calls that need no token: verifyReceipt, and what apps hold. Nil for any other.
  private mutating func openAnswer(
    _ request: HTTPRequest, _ environment: Environment
  ) -> HTTPResponse? {
    let facts = environment == .production ? production : sandbox
    let receipts = ReceiptVerification(
      authority: authority, behaviour: behaviour, moment: moment)
    if request.path == "/verifyReceipt" { return receipts.answer(request, facts, receiptSigner) }
    if request.path == "/app" {
      let ids = facts.appTransactionIds(at: moment)
      return .json(.object([("appTransactionIds", .array(ids.map(JSONValue.string)))]))
    }
    guard request.path.hasPrefix("/app/") else { return nil }
    do throws(APIError) {
      return try receipts.app(
        of: String(request.path.dropFirst("/app/".count)), facts, receiptSigner)
    } catch {
      return .error(error.rawValue)
    }
  }

  /// - Parameter limitedUntil: when the next request may be sent, if this one is too many.
  private mutating func regularAnswer(
    _ request: HTTPRequest, _ operation: Operation?, _ environment: Environment, _ now: Int64,
    _ limitedUntil: Int64?
  ) -> HTTPResponse {
    let token = BearerToken(key: key, bundleId: production.app.bundleId)
    let fields = request.headers.all("authorization")
    guard fields.count == 1, token.accepts(fields[0], at: now / 1000),
      !(behaviour.neverReleased && environment == .production)
    else { return unauthenticated }
    if let limitedUntil {
      var response = HTTPResponse.error(4_290_000)
      // By the service's clock, as its Date is.
      let time = limitedUntil + behaviour.clockSkew
      response.headers.append(("Retry-After", String(time)))
      return response
    }
    guard let operation else { return HTTPResponse(status: 404) }
    var routes = APIRoutes(
      authority: authority, behaviour: behaviour, moment: moment,
      hasNotificationURL: hasNotificationURL)
    do throws(APIError) {
      let response =
        switch environment {
        case .production: try routes.answer(request, operation, &production)
        case .sandbox: try routes.answer(request, operation, &sandbox)
        }
      behaviour = routes.behaviour
      return response
    } catch {
      return .error(error.rawValue)
    }
  }

  // MARK: Sending

  /// An attempt that is due, with the body to send.
  struct DueAttempt: Sendable {
    let environment: Environment
    let attempt: PendingAttempt
    let body: [UInt8]
    /// How it ends without being made; nil if it is to be made.
    let outage: String?
  }

  /// Takes the next attempt of either environment that is due; nil if there is none.
  mutating func takeDue() -> DueAttempt? {
    let isProduction =
      (production.pending.last?.due ?? .max) <= (sandbox.pending.last?.due ?? .max)
    return isProduction
      ? takeDue(&production, .production) : takeDue(&sandbox, .sandbox)
  }

  private func takeDue(_ facts: inout AppFacts, _ environment: Environment) -> DueAttempt? {
    guard let attempt = facts.takeDue(by: moment) else { return nil }
    var body: [UInt8] = []
    // What is not sent need not be signed.
    if behaviour.outage == nil && hasNotificationURL {
      let text = (try? facts.signedPayload(attempt.notification, authority)) ?? ""
      body = JSONValue.object([("signedPayload", .string(text))]).bytes
    }
    return DueAttempt(
      environment: environment, attempt: attempt, body: body, outage: behaviour.outage)
  }

  /// Records how an attempt ended, Apple's sendAttemptResult.
  mutating func record(_ due: DueAttempt, _ result: String) {
    switch due.environment {
    case .production: production.record(due.attempt, result)
    case .sandbox: sandbox.record(due.attempt, result)
    }
  }

  // MARK: Control

  /// What `GET /control` shows.
  var report: JSONValue {
    .object([
      ("now", .integer(moment)),
      ("production", report(production, .production)),
      ("sandbox", report(sandbox, .sandbox)),
    ])
  }

  private func report(_ facts: AppFacts, _ environment: Environment) -> JSONValue {
    let listed = facts.signed(from: 0, before: moment + 1)
    return .object([
      ("customers", .integer(Int64(facts.customers))),
      ("notifications", .integer(Int64(listed.count))),
      ("failures", .integer(Int64(listed.count { facts.sent[$0].isFailure }))),
      ("pendingAttempts", .integer(Int64(facts.pending.count))),
      ("requests", counts[facts.app.environment]?.json ?? .object([])),
      ("limits", limits[environment]?.json ?? .object([])),
    ])
  }
}

/// One side of the service, by the name that payloads have.
enum Environment: String, Sendable {
  case production = "Production"
  case sandbox = "Sandbox"
}
