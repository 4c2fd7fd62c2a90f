public import HTTPServer
import Ledger
public import Platform
import Store
import StrictJSON

/// Answers the requests of one reactor thread, with a prover of its own. What must be read from a
/// file is read by the threads of the `ReaderPool`.
///
/// This file decides who answers; the extensions beside it answer, each for one group of routes.
public final class LedgerHandler: RequestHandler {
  let service: LedgerService
  private(set) var configuration: Configuration
  private(set) var receiver: Receiver
  /// The longest body of a notification, in bytes.
  private(set) var bodyLimit: Int
  private var access: ReadAccess
  /// The generation of `configuration` in the service.
  private var generation: Int
  /// Notifications proven since the last `flush`: the writer is woken once for all of them, and
  /// commits them together.
  var proven: [Ledger.Submitted] = []
  var chainCache = ChainCacheCounts()
  var overloadLog = OverloadLog()

  /// The longest body of a request that needs none, in bytes.
  private static let unusedBodyLimit = 4096

  /// - Throws: `LedgerError` when a file that the configuration names, such as a trust root
  ///   or a secret, cannot be used.
  public init(_ service: LedgerService) throws(LedgerError) {
    self.service = service
    generation = service.configurationGeneration
    configuration = service.configuration
    receiver = try Receiver(configuration, dictionary: service.ledger.dictionary)
    access = ReadAccess(configuration.readTokens)
    bodyLimit = configuration.bodyLimit
  }

  /// Adopts a reloaded configuration, between two requests of this thread.
  private func refresh() {
    let current = service.configurationGeneration
    guard current != generation else { return }
    generation = current
    let fresh = service.configuration
    // First, because a token that was removed must not be accepted even if the rest fails.
    access = ReadAccess(fresh.readTokens)
    // Reloading has tried this before the service adopted the configuration.
    guard let made = try? Receiver(fresh, dictionary: service.ledger.dictionary) else { return }
    (receiver, configuration, bodyLimit) = (made, fresh, fresh.bodyLimit)
    chainCache = ChainCacheCounts()
  }

  // MARK: The head

  public func admit(_ head: RequestHead) -> Admission<AdmittedRequest> {
    refresh()
    guard let match = MatchedRoute(head.path, head.method), isOpen(match.route, to: head.peer)
    else {
      return refused(Problem.noSuchRoute)
    }
    let route = match.route
    guard route.methods.contains(head.method) else {
      return refused(Problem.methodNotAllowed(match.methods.joined(separator: ", ")))
    }
    if !route.bodies.isEmpty {
      guard JSONMediaType.isDeclared(in: head.headers) else { return refused(Problem.mediaType) }
    }
    if route.isIngest, service.isDraining {
      return refused(Problem.response(.unavailable("shutting_down")))
    }
    // A route that is open to anyone may show more to a token, and needs none.
    var token = access.token(authorization: head.headers.all("Authorization"))
    if case .tokens(let permissions) = route.access {
      guard let token else { return refused(Problem.unauthorized()) }
      guard !token.permissions.isDisjoint(with: permissions) else {
        return refused(Problem.notAllowed)
      }
    } else if token?.permissions.contains(.read) == false {
      token = nil
    }
    return .body(limit: bodyLimit(of: route), AdmittedRequest(match: match, token: token))
  }

  private func isOpen(_ route: Route, to peer: Peer) -> Bool {
    if case .local = route.access { peer.isLocal } else { true }
  }

  private func bodyLimit(of route: Route) -> Int {
    switch route.name {
    case .notifications, .transactions, .claim, .controlStatement: bodyLimit
    case .receipts: SubmittedReceipt.maximumBytes
    case .customers: CustomerRoutes.bodyLimit
    case .controlIngest: (bodyLimit + 1024) * BatchReceive.maximumLines
    default: Self.unusedBodyLimit
    }
  }

  private func refused(_ response: HTTPResponse) -> Admission<AdmittedRequest> {
    record(response)
    return .refuse(response)
  }

  // MARK: The whole request

  public func respond(
    to request: HTTPRequest, _ admitted: AdmittedRequest, through sender: ResponseSender
  ) -> HTTPResponse? {
    if let refusal = queryRefusal(admitted, request) { return refusal }
    switch admitted.route.name {
    case .notifications: return receive(request, through: sender)
    case .claim, .release, .grant, .revoke: return say(admitted, request, through: sender)
    case .erase: return erase(admitted, through: sender)
    case .grants: return grants(admitted, request, through: sender)
    case .transactions: return submit(admitted, request, through: sender)
    case .receipts: return submitReceipt(admitted, request, through: sender)
    case .overview, .quarantine, .comparison, .sinks, .events, .search:
      return inspect(admitted, request, through: sender)
    case .order: return order(admitted, through: sender)
    case .entitlements, .entitlement, .purchases, .history, .customer, .customers:
      return read(admitted, request, through: sender)
    case .healthz: return .json(Answers.state.json("alive"))
    case .readyz: return ready()
    case .version: return version(admitted, through: sender)
    case .metrics: return metrics(admitted, through: sender)
    case .openAPI: return service.openAPI
    case .page: return ConsolePages.response(request.path) ?? Problem.noSuchRoute
    case .controlIngest, .controlProjection, .controlAdmit, .controlDrop, .controlStatement,
      .controlErase, .controlSink, .controlEvents, .controlRefusals,
      .controlRecovered:
      return control(admitted, request, through: sender)
    }
  }

  /// The refusal of a query where there is no parameter: one that is not read might have meant
  /// something, such as another environment.
  private func queryRefusal(
    _ admitted: AdmittedRequest, _ request: HTTPRequest
  ) -> HTTPResponse? {
    switch admitted.route.name {
    case .transactions, .receipts, .erase, .customers, .order: break
    default: return nil
    }
    guard admitted.token != nil else { return nil }
    do throws(ParameterFault) {
      _ = try QueryString(request.query, of: admitted.route)
      return nil
    } catch {
      let response = Problem.response(error)
      record(response)
      return response
    }
  }

  /// A notification has three signatures to verify.
  public func isQueued(_ admitted: AdmittedRequest) -> Bool { admitted.route.isIngest }

  public func flush() {
    guard !proven.isEmpty else { return }
    service.ledger.submit(proven)
    proven.removeAll(keepingCapacity: true)
  }
}
