public import HTTPServer
import Ledger
public import Platform
import Store
import StrictJSON

/// Answers the requests of one reactor thread, with a prover of its own. What must be read from a
/// file is read by the threads of the `ReaderPool`.
///
/// This file finds the route; the extensions beside it answer, each for one group of routes.
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
    let found = access.token(authorization: head.headers.all("Authorization"))
    let token: Configuration.ReadToken
    switch route.access {
    case .tokens(let permissions):
      guard let found else { return refused(Problem.unauthorized()) }
      guard !found.permissions.isDisjoint(with: permissions) else {
        return refused(Problem.notAllowed)
      }
      token = found
    // A route that is open to anyone may show more to a token, and needs none.
    case .anyone: token = found.flatMap { $0.permissions.contains(.read) ? $0 : nil } ?? .nobody
    case .local: token = .all
    }
    return .body(
      limit: route.bodyLimit(bodyLimit), AdmittedRequest(match: match, token: token))
  }

  private func isOpen(_ route: Route, to peer: Peer) -> Bool {
    if case .local = route.access { peer.isLocal } else { true }
  }

  private func refused(_ response: HTTPResponse) -> Admission<AdmittedRequest> {
    record(response)
    return .refuse(response)
  }

  // MARK: The whole request

  public func respond(
    to request: HTTPRequest, _ admitted: AdmittedRequest, through sender: ResponseSender
  ) -> HTTPResponse? {
    do throws(ParameterFault) {
      let call = try Call(request, admitted, sender)
      return try call.route.answer(self)(call)
    } catch {
      return service.finished(Problem.response(error))
    }
  }

  /// A notification has three signatures to verify.
  public func isQueued(_ admitted: AdmittedRequest) -> Bool { admitted.match.route.isIngest }

  public func flush() {
    guard !proven.isEmpty else { return }
    service.ledger.submit(proven)
    proven.removeAll(keepingCapacity: true)
  }
}
