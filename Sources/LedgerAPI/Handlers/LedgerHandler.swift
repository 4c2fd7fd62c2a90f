public import Configuration
public import HTTPServer
import LedgerEngine
import LedgerQueries
import Observability
import Platform
import StrictJSON

/// What one reactor thread answers with: its own prover and its own read-only connections.
public final class LedgerHandler: RequestHandler {
  let service: LedgerService
  private(set) var receiver: Receiver
  private(set) var access: ReadAccess
  private(set) var configuration: Configuration
  private var configurationNumber: Int
  /// Of a notification's body.
  private(set) var bodyLimit: Int
  /// Of a batch that comes over the unix socket.
  private var batchBytes: Int { (bodyLimit + 1024) * BatchReceive.maximumLines }
  /// Nil until the first read that found rows to open.
  private var reader: LedgerReader?
  /// What was proven in this turn: the writer is woken once for all of it, and syncs it at once.
  private var proven: [Ledger.Submitted] = []
  /// What of the prover's counts is in the metrics.
  private var chains = (hits: 0, misses: 0)
  /// Refused for overload since the log last said so, and when it may say so again.
  private var unloggedOverload: Int64 = 0
  private var nextOverloadLog: Int64 = 0

  public init(_ service: LedgerService) throws(ConfigurationError) {
    self.service = service
    configurationNumber = service.configurationNumber
    configuration = service.configuration
    receiver = try Receiver(configuration, dictionary: service.ledger.dictionary)
    access = ReadAccess(configuration.readTokens)
    bodyLimit = configuration.bodyLimit
  }

  /// Takes over a configuration that was reloaded, between two requests of this thread.
  private func refresh() {
    let number = service.configurationNumber
    guard number != configurationNumber else { return }
    configurationNumber = number
    let fresh = service.configuration
    // It was tried before it was adopted; a token that was taken away is gone in any case.
    access = ReadAccess(fresh.readTokens)
    let dictionary = service.ledger.dictionary
    guard let made = try? Receiver(fresh, dictionary: dictionary) else { return }
    (receiver, configuration, bodyLimit) = (made, fresh, fresh.bodyLimit)
    chains = (0, 0)
    // It knows how long products last.
    reader = nil
  }

  // MARK: Before the body

  public func admit(_ head: RequestHead) -> Admission {
    refresh()
    guard let route = MatchedRoute(head.path)?.route, isOpen(route, to: head.peer) else {
      return refused(Problem.notFound)
    }
    guard route.methods.contains(head.method) else {
      return refused(Problem.methodNotAllowed(route.methods.joined(separator: ", ")))
    }
    switch route.name {
    case .notifications:
      if let problem = mediaProblem(head.headers) { return refused(problem) }
      if service.isDraining { return refused(Problem.response(.unavailable("shutting_down"))) }
      return .body(limit: bodyLimit)
    case .controlIngest: return .body(limit: batchBytes)
    default:
      if case .token = route.access,
        access.token(authorization: head.headers.all("Authorization")) == nil
      {
        return refused(Problem.unauthorized())
      }
      return .body(limit: 4096)
    }
  }

  private func isOpen(_ route: Route, to peer: Peer) -> Bool {
    if case .local = route.access { peer == .local } else { true }
  }

  private func refused(_ response: HTTPResponse) -> Admission {
    note(response)
    return .refuse(response)
  }

  private func mediaProblem(_ headers: HTTPHeaders) -> HTTPResponse? {
    Self.isJSON(headers)
      ? nil
      : Problem.response(415, "media_type", "Send application/json in UTF-8, uncompressed.")
  }

  /// JSON in UTF-8, not compressed. A missing type is let pass: what is not JSON shows soon enough.
  private static func isJSON(_ headers: HTTPHeaders) -> Bool {
    let encodings = headers.all("Content-Encoding")
    guard encodings.allSatisfy({ $0.lowercased() == "identity" }) else { return false }
    let types = headers.all("Content-Type")
    guard let type = types.first else { return true }
    guard types.count == 1 else { return false }
    // As nearly everybody writes it.
    if type == "application/json" { return true }
    let parts = type.lowercased().split(separator: ";").map { part in
      String(part.filter { $0 != " " && $0 != "\t" && $0 != "\"" })
    }
    return parts.first == "application/json"
      && parts.dropFirst().allSatisfy { $0 == "charset=utf-8" }
  }

  // MARK: The whole request

  public func respond(to request: HTTPRequest, through answer: Answer) -> HTTPResponse? {
    guard let found = MatchedRoute(request.path) else { return Problem.notFound }
    switch found.route.name {
    case .notifications: return receive(request, through: answer)
    case .overview, .quarantine, .comparison:
      return look(found.route, request, through: answer)
    case .entitlements, .entitlement, .history: return read(found, request)
    case .healthz: return Self.json([("status", .string("alive"))])
    case .readyz: return ready()
    case .version: return Self.json(service.version + [("digest", .optional(digest))])
    case .metrics: return metrics()
    case .openAPI: return service.openAPI
    case .page: return ConsolePages.response(request.path) ?? Problem.notFound
    case .controlIngest, .controlProjection, .controlAdmit, .controlDrop:
      return control(found, request, through: answer)
    }
  }

  private func receive(_ request: HTTPRequest, through answer: Answer) -> HTTPResponse? {
    let now = Clock.now()
    let began = Clock.monotonicNanoseconds()
    defer { countChains() }
    do throws(Refusal) {
      let received = try receiver.receive(body: request.body, at: now)
      proven.append(
        (
          received,
          { [service] outcome in
            answer.send(service.response(to: received, outcome, began: began))
          }
        ))
      return nil
    } catch {
      service.count(refusal: error, nil, began: began)
      return Problem.response(error)
    }
  }

  public func eventLoopIterationEnded() { reader?.eventLoopIterationEnded() }

  public func flush() {
    guard !proven.isEmpty else { return }
    service.ledger.submit(proven)
    proven.removeAll(keepingCapacity: true)
  }

  /// How often this thread's prover knew a chain since the last time.
  func countChains() {
    let (hits, misses) = (receiver.chainHits, receiver.chainMisses)
    if hits > chains.hits { service.metrics.chainHits.add(Int64(hits - chains.hits)) }
    if misses > chains.misses { service.metrics.chainMisses.add(Int64(misses - chains.misses)) }
    chains = (hits, misses)
  }

  /// A read with its token, its query and the live rows, or the problem that stands in its way.
  private func read(_ found: MatchedRoute, _ request: HTTPRequest) -> HTTPResponse {
    let answer = readUncounted(found, request)
    // That there is no such customer is the daily answer to a daily question: counted, no line.
    if answer.status >= 400 { note(answer, isLogged: answer.status != 404) }
    return answer
  }

  private func readUncounted(_ found: MatchedRoute, _ request: HTTPRequest) -> HTTPResponse {
    guard let token = access.token(authorization: request.headers.all("Authorization")) else {
      return Problem.unauthorized()
    }
    guard let query = QueryString(request.query, of: found.route) else {
      return EntitlementRoutes.badQuery
    }
    do throws(LedgerReader.Failure) {
      let reader = try ledgerReader()
      switch found.route.name {
      case .entitlement: return try EntitlementRoutes.row(found.id, query, token, reader)
      case .history: return try EntitlementRoutes.history(found.id, query, token, reader)
      default: return try EntitlementRoutes.list(found.route, query, token, reader)
      }
    } catch {
      return Self.problem(error)
    }
  }

  static func problem(_ failure: LedgerReader.Failure) -> HTTPResponse {
    switch failure {
    case .notReady: return Problem.response(.unavailable("rows_not_ready"))
    case .ambiguous:
      return Problem.response(400, "bundle_id", "Two apps have this id: say bundle_id.")
    case .store:
      Log.write(.error, "read", [("code", .string("store"))])
      return Problem.response(.unavailable("store"))
    }
  }

  func ledgerReader() throws(LedgerReader.Failure) -> LedgerReader {
    if let reader { return reader }
    do {
      let opened = try LedgerReader(
        service.ledger, durations: configuration.nonRenewingDurations, isInRounds: true)
      reader = opened
      return opened
    } catch {
      throw .store(error)
    }
  }

  private func ready() -> HTTPResponse {
    if let obstacle = service.obstacle(floor: Int64(configuration.limits.diskBytes)) {
      return Problem.response(.unavailable(obstacle))
    }
    return Self.json([("status", .string("ready"))])
  }

  /// Of the live rows, as far as they are folded; nil while there are none.
  private var digest: String? {
    (try? ledgerReader().digest()).flatMap { $0 }
  }

  private func metrics() -> HTTPResponse {
    HTTPResponse(
      status: 200, headers: [(name: "Content-Type", value: "text/plain; version=0.0.4")],
      body: Array(service.metricsText(folded: try? ledgerReader().foldedThrough()).utf8))
  }

  static func json(_ members: [(String, JSONValue)], status: Int = 200) -> HTTPResponse {
    json(.object(members), status: status)
  }

  static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: [(name: "Content-Type", value: "application/json")],
      body: value.bytes)
  }

  // MARK: Under load

  /// A notification has three signatures to be proven; a read is a look at one row.
  public func isQueued(_ head: RequestHead) -> Bool {
    MatchedRoute(head.path)?.route.name == .notifications
  }

  /// Counted each, logged once a second: the log must not become the load.
  public func overload() -> HTTPResponse {
    service.metrics.refusals.add("overload")
    unloggedOverload += 1
    let now = Clock.now()
    if now >= nextOverloadLog {
      Log.write(.warning, "overload", [("refused", .integer(unloggedOverload))])
      (unloggedOverload, nextOverloadLog) = (0, now + 1000)
    }
    return Self.overloaded
  }

  /// Made once: it is given when there is no time.
  private static let overloaded = Problem.response(.unavailable("overload"))

  // MARK: What the transport does by itself

  public func refuse(status: Int) -> HTTPResponse { Problem.transport(status) }

  public func note(refusal status: Int) { note(Problem.transport(status)) }

  /// Counts a refusal, and logs it with its code.
  private func note(_ refusal: HTTPResponse, isLogged: Bool = true) {
    let status = refusal.status
    service.metrics.httpRefusals.add(status)
    guard isLogged else { return }
    Log.write(
      .info, "http_refused",
      [("status", .integer(Int64(status))), ("reason", .optional(refusal.code))])
  }

  public func note(connection change: ConnectionChange) {
    service.metrics.connections.add(change == .opened ? 1 : -1)
  }
}
