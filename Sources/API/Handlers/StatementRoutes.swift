import AppStore
import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The routes by which the owner says whose a purchase is, grants entitlements, and forgets
/// accounts.
extension LedgerHandler {
  /// A statement, with the evidence handed over beside it, that the writer has processed.
  struct Said: Sendable {
    let route: Route.Name
    let statement: NewStatement
    let token: Configuration.ReadToken
    let outcome: Outcome
    /// When the whole request had been read, in monotonic nanoseconds.
    let start: Int64
  }

  /// Adds a statement to the batch that `flush` submits. The response is sent when the writer has
  /// journaled it (promise 1).
  func say(
    _ admitted: AdmittedRequest, _ request: HTTPRequest, through sender: ResponseSender
  ) -> HTTPResponse? {
    guard let token = admitted.token else { return Problem.unauthorized() }
    let start = Clock.monotonicNanoseconds()
    do throws(StatementFault) {
      let asked = try StatementRequest(admitted, request, token, configuration, receiver)
      guard
        token.covers(
          environment: asked.statement.environment, bundleId: asked.statement.bundleId)
      else { throw .notAllowed }
      let (route, statement) = (admitted.route.name, asked.statement)
      let parts = asked.evidence + [Receiver.Received(statement)]
      proven += parts.submissions { [service] received, outcome in
        service.record(received, outcome)
      } completion: { [service] outcome in
        service.respond(
          to: Said(
            route: route, statement: statement, token: token, outcome: outcome, start: start),
          through: sender)
      }
      return nil
    } catch {
      let response = error.response
      record(response)
      return response
    }
  }

  /// Forgets an account.
  ///
  /// - Returns: nil; `sender` sends the answer later.
  func erase(_ admitted: AdmittedRequest, through sender: ResponseSender) -> HTTPResponse? {
    guard let token = admitted.token else { return Problem.unauthorized() }
    // An account is not of one app.
    guard token.coversEverything else {
      record(Problem.notAllowed)
      return Problem.notAllowed
    }
    erase(admitted.id, by: ("token", .string(token.name)), through: sender)
    return nil
  }

  /// Forgets an account, and sends the answer.
  ///
  /// - Parameter caller: of the log line.
  func erase(_ account: String, by caller: Log.Field, through sender: ResponseSender) {
    service.ledger.erase(account: account) { [service] erased in
      let response: HTTPResponse =
        switch erased {
        case .done(true): .json(Answers.erased.json(()))
        case .done(false): Problem.noSuchAccount
        case .inUse: Problem.response(.unavailable("in_use"))
        case .failed: Problem.response(.unavailable("journal"))
        }
      Log.write(.info, "erased", [("status", .integer(Int64(response.status))), caller])
      service.record(response)
      sender.send(response)
    }
  }

  /// Lists what was granted to a customer; to a token that may not read, what it granted itself.
  /// The cursor is the seq of the last grant shown.
  func grants(
    _ admitted: AdmittedRequest, _ request: HTTPRequest, through sender: ResponseSender
  ) -> HTTPResponse? {
    guard let token = admitted.token else { return Problem.unauthorized() }
    do throws(ParameterFault) {
      let query = try QueryString(request.query, of: admitted.route)
      let customer = try StatementRequest.customer(admitted, query)
      let environment = query.environment ?? .production
      let start = query["after"].map { Int64($0).flatMap { $0 > 0 ? $0 : nil } }
      guard let after = start ?? .some(0) else { throw .after }
      let limit = Int(query.integer("limit", of: admitted.route))
      return service.answer(.short, admitted.route, token, through: sender) {
        reader throws(LedgerError) in
        let page = try reader.grants(of: customer, environment, after: after, limit: limit) {
          grant in
          token.covers(environment: environment, bundleId: grant.bundleId)
            && query["bundle_id"].map { $0 == grant.bundleId } ?? true
            && (token.permissions.contains(.read) || grant.token == token.name)
        }
        return .json(
          page.grants.map(\.json), next: page.next.map(String.init), of: GrantDocument.object)
      }
    } catch {
      return Problem.response(error)
    }
  }
}

extension LedgerService {
  /// Responds to a statement that the writer has processed.
  fileprivate func respond(to said: LedgerHandler.Said, through sender: ResponseSender) {
    let outcome = said.outcome
    record(
      said.statement, outcome, by: ("token", .string(said.token.name)),
      [
        ("route", .string("\(said.route)")),
        Self.took(since: said.start),
      ])
    if case .conflict = outcome { return sender.send(Problem.reusedKey) }
    if let refusal = outcome.refusal { return sender.send(Problem.response(refusal)) }
    answerJournaled(said.token, through: sender) { reader throws(LedgerError) in
      try Self.answer(to: said, reader)
    }
  }

  /// What the answer shows: the row of the purchase, or the grant.
  private static func answer(
    to said: LedgerHandler.Said, _ reader: LedgerReader
  ) throws(LedgerError) -> JSONValue {
    let statement = said.statement
    switch statement.content {
    case .claim(let id), .release(let id):
      let row = try row(
        of: StreamKey(
          environment: statement.environment, bundleId: statement.bundleId,
          originalTransactionId: id), said.token, reader)
      return Answers.submitted.json((said.outcome, row))
    case .grant, .revocation, .catalog:
      var grant: GrantDocument?
      // The event of this statement, or of the one that it repeats: an equal one is another's.
      if let customer = statement.customer, let seq = said.outcome.seq {
        grant = try reader.grant(at: seq, of: customer)
      }
      return Answers.granted.json((said.outcome, grant))
    }
  }

  /// Logs what became of a statement: never the customer's name, which can be erased.
  func record(
    _ statement: NewStatement, _ outcome: Outcome, by caller: Log.Field,
    _ more: [Log.Field] = []
  ) {
    var original: String?
    switch statement.content {
    case .claim(let id), .release(let id): original = id
    case .grant, .revocation, .catalog: break
    }
    Log.write(
      .info, "statement",
      [
        ("outcome", .string(outcome.name)),
        ("environment", .string(statement.environment.rawValue)),
        ("bundle_id", .string(statement.bundleId)),
        ("original_transaction_id", .optional(original)), caller,
      ] + more)
  }
}
