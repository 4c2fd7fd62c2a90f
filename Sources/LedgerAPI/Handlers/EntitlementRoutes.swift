import AppStore
import Configuration
import HTTPServer
import JournalStore
import LedgerEngine
import LedgerQueries
import Observability
import Platform
import StrictJSON

/// The reads: rows, lists of rows, timelines, and what customers may use by name.
extension LedgerHandler {
  /// Answers a read, and counts a refusal.
  ///
  /// - Returns: nil if `sender` sends the answer later.
  func read(
    _ admitted: AdmittedRequest, _ request: HTTPRequest, through sender: ResponseSender
  ) -> HTTPResponse? {
    guard let token = admitted.token else { return Problem.unauthorized() }
    let read: LedgerRead
    do throws(ParameterFault) {
      read = try LedgerRead(admitted, request, token)
    } catch {
      let isOfBody = admitted.route.body != nil
      return service.finished(isOfBody ? Problem.response(toBody: error) : Problem.response(error))
    }
    if isWaiting(read, through: sender) { return nil }
    do throws(LedgerReader.Failure) {
      let reader = try ledgerReader()
      if read.isQuick(reader) {
        return service.finished(try read.response(reader, configuration))
      }
    } catch {
      return service.finished(Self.problem(error))
    }
    if service.answer(read, configuration, through: sender) { return nil }
    return service.finished(Problem.response(.unavailable("overload")))
  }

  /// Whether a read has to wait, and waits for it then: for the event that `min_seq` names, or for
  /// all that the shared journal has, where reads are configured to be fresh.
  ///
  /// - Returns: false if the read can be answered at once.
  private func isWaiting(_ read: LedgerRead, through sender: ResponseSender) -> Bool {
    let (isFresh, seq) = (service.ledger.readsAreFresh, read.minSeq)
    // Most reads ask for no event, and look at nothing that the writer locks.
    guard isFresh || seq > 0 && seq > service.ledger.foldedHead.seq else { return false }
    let proceed = { @Sendable [service, configuration] (isReached: Bool) in
      if isReached, service.answer(read, configuration, through: sender) { return }
      let refusal = Problem.response(.unavailable(isReached ? "overload" : "behind"))
      sender.send(service.finished(refusal))
    }
    let barrier = service.barrier
    let waitForSeq = { @Sendable (isFresh: Bool) in
      if !isFresh || !barrier.wait(forSeq: seq, proceed) { proceed(false) }
    }
    guard isFresh else {
      waitForSeq(true)
      return true
    }
    if !barrier.waitUntilFresh(seq > 0 ? waitForSeq : proceed) { proceed(false) }
    return true
  }

  /// Logs a failure of the store, and returns the response to a read that failed.
  static func problem(_ failure: LedgerReader.Failure) -> HTTPResponse {
    if case .store = failure { Log.write(.error, "read", [("code", .string("store"))]) }
    return Problem.response(failure)
  }
}

extension LedgerService {
  /// Answers a read on another thread, while that may take longer than a reactor should wait.
  ///
  /// - Returns: false if too many wait.
  fileprivate func answer(
    _ read: LedgerRead, _ configuration: Configuration, through sender: ResponseSender
  ) -> Bool {
    overview.perform(configuration) { [self] reader in
      let response: HTTPResponse
      do throws(LedgerReader.Failure) {
        guard let reader else { throw .store(.busy) }
        response = try read.response(reader, configuration)
      } catch {
        response = LedgerHandler.problem(error)
      }
      sender.send(finished(response))
    }
  }

  /// An answer to a read as it is sent. A refusal is counted; a 404 is a usual answer to a usual
  /// question, and is not logged.
  fileprivate func finished(_ response: HTTPResponse) -> HTTPResponse {
    if response.status >= 400 { record(response, isLogged: response.status != 404) }
    return marked(response)
  }
}

/// Each read of a customer: the query is checked against the table of routes, the token is known.
enum EntitlementRoutes {
  static func answer(
    _ admitted: AdmittedRequest, _ request: HTTPRequest, _ query: QueryString,
    _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) throws(LedgerReader.Failure) -> HTTPResponse {
    switch admitted.route.name {
    case .entitlement: try row(admitted.id, request, query, token, reader)
    case .history: try history(admitted.id, query, token, reader)
    default: try list(admitted.route, query, token, reader)
    }
  }

  /// One entitlement, now or at an earlier time.
  static func row(
    _ id: String, _ request: HTTPRequest, _ query: QueryString, _ token: Configuration.ReadToken,
    _ reader: LedgerReader
  ) throws(LedgerReader.Failure) -> HTTPResponse {
    let document = try reader.entitlement(
      id, environment: query.environment ?? .production, bundleId: query["bundle_id"],
      question(query, token))
    return document.map { EntityTag.response($0.json, to: request) }
      ?? absent(id, query, token, reader)
  }

  /// The timeline of one customer.
  static func history(
    _ id: String, _ query: QueryString, _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) throws(LedgerReader.Failure) -> HTTPResponse {
    let history = try reader.history(
      id, environment: query.environment ?? .production, bundleId: query["bundle_id"],
      question(query, token),
      isRaw: query.isTrue("raw"))
    return history.map { .json($0.json) } ?? absent(id, query, token, reader)
  }

  /// Why there is nothing under an id.
  private static func absent(
    _ id: String, _ query: QueryString, _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) -> HTTPResponse {
    guard token.environments.map({ $0.isSuperset(of: Environment.all) }) ?? true else {
      return Problem.noSuchEntitlement
    }
    let asked = query.environment ?? .production
    do throws(LedgerReader.Failure) {
      let other = try reader.entitlement(
        id, environment: asked == .production ? .sandbox : .production,
        bundleId: query["bundle_id"], question(query, token))
      return other == nil ? Problem.noSuchEntitlement : Problem.wrongEnvironment
    } catch {
      return Problem.noSuchEntitlement
    }
  }

  /// A page of entitlements. A cursor is valid only for the token that it was given to.
  static func list(
    _ route: Route, _ query: QueryString, _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) throws(LedgerReader.Failure) -> HTTPResponse {
    var filter = LedgerReader.Filter()
    // Account tokens are UUIDs, and Apple writes them in lower case.
    filter.appAccountToken = query["app_account_token"]?.lowercased()
    filter.appTransactionId = query["app_transaction_id"]
    filter.productId = query["product_id"]
    filter.bundleId = query["bundle_id"]
    filter.environment = query.environment
    query["status"].map { filter.setStatuses($0) }
    let after = query["after"].map { PageCursor.key($0, for: token) }
    if case .some(.none) = after { return Problem.response(.after) }
    let question = LedgerReader.Question(
      asOf: nil, knownAt: nil, now: Clock.now(), token: token)
    let page = try reader.list(
      filter, after: after ?? nil, limit: Int(query.integer("limit", of: route)), question)
    return .json([
      ("object", .string("list")), ("items", .array(page.rows.map(\.json))),
      ("next_page", .optional(page.next.map { PageCursor.text($0, for: token) })),
      ("fold_version", .integer(Int64(page.foldVersion))),
    ])
  }

  private static func question(
    _ query: QueryString, _ token: Configuration.ReadToken
  ) -> LedgerReader.Question {
    LedgerReader.Question(
      asOf: query.time("as_of"), knownAt: query.time("known_at"), now: Clock.now(), token: token)
  }
}
