import AppStore
import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The routes by which the owner says whose a purchase is, grants entitlements, and forgets
/// accounts.
extension Route {
  static let claim = Route(
    "claimPurchase", .accounts, "PUT", "/v1/accounts/{account}/transactions",
    .token(.submit, .claim),
    "Says that a user of yours has a purchase: with the signed transaction, or, by a token that "
      + "may claim, with its id alone.",
    [.account], bodies: [.signedTransaction, .claim], bodyLimit: { $0 },
    replies: .usual(
      "The claim is in the journal and synced to disk.", "Submitted",
      .absent(Problem.noSuchAccount),
      Reply(
        422,
        "The transaction is genuine, but of another app or environment than expected, or the "
          + "Idempotency-Key came with another statement before; nothing is stored.")),
    answer: LedgerHandler.claimPurchase)

  static let release = Route(
    "releasePurchase", .accounts, "DELETE", "/v1/accounts/{account}/transactions/{otid}",
    .token(.submit, .claim), "Says that a user of yours has a purchase no longer.",
    [.account, .id, .environment, .ownBundleId],
    replies: .usual(
      "The release is in the journal and synced to disk.", "Submitted",
      .absent(Problem.noSuchAccount), reusedKey), answer: LedgerHandler.releasePurchase)

  static let erase = Route(
    "eraseAccount", .accounts, "DELETE", "/v1/accounts/{account}", .token(.erase),
    "Forgets a user of yours: no file of the ledger names him any more.", [.account],
    replies: [
      .answer("It is forgotten.", "Erased"), .unauthorized, .notAllowed,
      .absent(Problem.noSuchAccount), .unavailable,
    ], answer: LedgerHandler.eraseAccount)

  static let grants = Route(
    "listGrants", .customers, "GET", "/v1/customers/{id}/grants", .token(.read, .grant),
    "Lists what you granted to a customer, oldest first, ended grants included.",
    [.customerId, .customerName, .environment, .onlyBundleId, .limit(500, default: 50), .after],
    replies: .usual("A page of the grants.", "GrantList"), answer: LedgerHandler.listGrants)

  static let grant = Route(
    "createGrant", .customers, "POST", "/v1/customers/{id}/grants", .token(.grant),
    "Grants a customer an entitlement without a purchase.",
    [.customerId, .customerName, .environment, .ownBundleId], bodies: [.grant(nil)],
    replies: .usual("The grant is in the journal and synced to disk.", "Granted", reusedKey),
    answer: LedgerHandler.createGrant)

  static let revoke = Route(
    "revokeGrant", .customers, "DELETE", "/v1/customers/{id}/grants/{grant}", .token(.grant),
    "Ends a grant.",
    [.customerId, .grantId, .customerName, .environment, .ownBundleId, .reason],
    replies: .usual(
      "The end is in the journal and synced to disk.", "Granted", .absent(Problem.noSuchGrant),
      reusedKey), answer: LedgerHandler.revokeGrant)

  static let consent = Route(
    "setConsent", .refunds, "POST", "/v1/customers/{id}/consent", .token(.refunds),
    "Says whether a customer consents that Apple is told of purchases that a refund is asked for.",
    [.customerId, .customerName, .environment, .ownBundleId], bodies: [.consent],
    replies: .usual("The statement is in the journal and synced to disk.", "Taken", reusedKey),
    answer: LedgerHandler.setConsent)

  private static let reusedKey = Reply(
    422, "The Idempotency-Key came with another statement before.")
}

extension LedgerHandler {
  fileprivate func claimPurchase(_ call: Call) -> HTTPResponse? {
    say("claim", call, StatementRequest.claim)
  }

  fileprivate func releasePurchase(_ call: Call) -> HTTPResponse? {
    say("release", call, StatementRequest.release)
  }

  fileprivate func createGrant(_ call: Call) -> HTTPResponse? {
    say("grant", call, StatementRequest.grant)
  }

  fileprivate func setConsent(_ call: Call) -> HTTPResponse? {
    say("consent", call, StatementRequest.consent)
  }

  fileprivate func revokeGrant(_ call: Call) -> HTTPResponse? {
    say("revoke", call, StatementRequest.revocation)
  }

  /// Adds a statement to the batch that `flush` submits. The response is sent when the writer has
  /// journaled it (promise 1).
  ///
  /// - Parameter route: what names it in the log.
  private func say(
    _ route: String, _ call: Call,
    _ read: (StatementRequest) -> () throws(StatementFault) -> StatementRequest.Read
  ) -> HTTPResponse? {
    let start = Clock.monotonicNanoseconds()
    do throws(StatementFault) {
      let (statement, evidence) =
        try read(try StatementRequest(call, configuration, receiver))()
      guard
        call.token.covers(environment: statement.environment, bundleId: statement.bundleId)
      else { throw .notAllowed }
      let parts = evidence + [Receiver.Received(statement)]
      proven += parts.submissions { [service] received, outcome in
        service.record(received, outcome)
      } completion: { [service] outcome in
        service.respond(to: statement, route, outcome, call, since: start)
      }
      return nil
    } catch {
      let response = error.response
      record(response)
      return response
    }
  }

  fileprivate func eraseAccount(_ call: Call) -> HTTPResponse? {
    // An account is not of one app.
    guard call.token.coversEverything else { return service.finished(Problem.notAllowed) }
    erase(call.id, by: ("token", .string(call.token.name)), through: call.sender)
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
  fileprivate func listGrants(_ call: Call) throws(ParameterFault) -> HTTPResponse? {
    let (query, token, environment) = (call.query, call.token, call.environment)
    let customer = try StatementRequest.customer(call)
    let after = try query.position()
    return service.answer(.short, call) { reader throws(LedgerError) in
      let page = try reader.grants(of: customer, environment, after: after, limit: call.limit) {
        grant in
        token.covers(environment: environment, bundleId: grant.bundleId)
          && query["bundle_id"].map { $0 == grant.bundleId } ?? true
          && (token.permissions.contains(.read) || grant.token == token.name)
      }
      return .json(
        page.grants.map(\.json), next: page.next.map(String.init), of: GrantDocument.object)
    }
  }
}

extension LedgerService {
  /// Responds to a statement that the writer has processed: with the row of the purchase, or the
  /// grant.
  func respond(
    to statement: NewStatement, _ route: String, _ outcome: Outcome, _ call: Call,
    since start: Int64
  ) {
    record(
      statement, outcome, by: ("token", .string(call.token.name)),
      [("route", .string(route)), Self.took(since: start)])
    if case .conflict = outcome { return call.sender.send(Problem.reusedKey) }
    if let refusal = outcome.refusal { return call.sender.send(Problem.response(refusal)) }
    answerJournaled(call) { reader throws(LedgerError) in
      switch statement.content {
      case .claim(let id), .release(let id):
        let stream = StreamKey(
          environment: statement.environment, bundleId: statement.bundleId,
          originalTransactionId: id)
        return Answers.submitted.json((outcome, try Self.row(of: stream, call.token, reader)))
      case .grant, .revocation, .catalog:
        var grant: GrantDocument?
        // The event of this statement, or of the one that it repeats: an equal one is another's.
        if let customer = statement.customer, let seq = outcome.seq {
          grant = try reader.grant(at: seq, of: customer)
        }
        return Answers.granted.json((outcome, grant))
      case .refund:
        let question = LedgerReader.Question(now: Clock.now())
        let line = try reader.newestRefundRequest(about: call.id, question)
        return Answers.refund.json((outcome, line))
      case .consent: return Answers.journaled.json((outcome, outcome.seq ?? 0))
      }
    }
  }

  /// Logs what became of a statement: never the customer's name, which can be erased.
  func record(
    _ statement: NewStatement, _ outcome: Outcome, by caller: Log.Field,
    _ more: [Log.Field] = []
  ) {
    var original: String?
    switch statement.content {
    case .claim(let id), .release(let id), .refund(_, let id): original = id
    case .grant, .revocation, .catalog, .consent: break
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
