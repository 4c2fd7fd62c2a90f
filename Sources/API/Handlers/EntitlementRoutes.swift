import AppStore
import Entitlements
import HTTPServer
import Ledger
import Platform
import Queries
import Store
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
    guard !admitted.route.bodies.isEmpty else {
      return service.read(admitted, request, token, configuration, through: sender)
    }
    // A body may be long: it is parsed where what it asks for is read.
    return service.answer(.long, admitted.route, token, bytes: request.body.count, through: sender)
    {
      [service, configuration] _ in
      service.read(admitted, request, token, configuration, through: sender)
    }
  }

  /// Logs a failure of the store, or a read that was too long, and returns the response to it.
  ///
  /// - Parameters:
  ///   - route: that it answers; nil: what was journaled.
  ///   - limit: of the read; it knows why one failed that had to end.
  static func problem(
    _ found: LedgerError, _ route: Route?, _ limit: WorkLimit?
  ) -> HTTPResponse {
    let error = found.kind == .temporary ? limit?.reason ?? found : found
    switch error.code {
    case .notReady, .ambiguous, .stopped: break
    case .tooLong:
      StoreErrors.record(
        .reads, "read_cut", error, [("route", .optional(route?.title))])
    default:
      StoreErrors.record(.reads, "read", error, [("code", .string("store"))])
    }
    return Problem.response(to: error)
  }
}

extension LedgerService {
  /// Answers a read of rows or customers, after it has waited for what it asks to be there.
  ///
  /// - Returns: the refusal of a read that is not valid; nil if `sender` sends the answer.
  fileprivate func read(
    _ admitted: AdmittedRequest, _ request: HTTPRequest, _ token: Configuration.ReadToken,
    _ configuration: Configuration, through sender: ResponseSender
  ) -> HTTPResponse? {
    let read: LedgerRead
    do throws(ParameterFault) {
      read = try LedgerRead(admitted, request, token)
    } catch {
      let isOfBody = !admitted.route.bodies.isEmpty
      return finished(isOfBody ? Problem.response(toBody: error) : Problem.response(error))
    }
    let route = admitted.route
    let answerLong = { @Sendable [self] in
      self.answer(.long, route, token, through: sender) { reader throws(LedgerError) in
        try read.response(reader, configuration, isShort: false)
      }
    }
    let answer = { @Sendable [self] in
      guard read.length == .short else { return answerLong() }
      return self.answer(.short, route, token, through: sender) { reader throws(LedgerError) in
        try read.response(reader, configuration, isShort: true) ?? answerLong()
      }
    }
    let deadline = ReadBarrier.deadline
    let checked = { @Sendable [self] in
      guard read.minSeq > 0, !token.coversEverything else { return answer() }
      return self.answer(.short, route, token, through: sender) {
        [self] reader throws(LedgerError) in
        let app = try reader.journal.app(of: read.minSeq)
        if token.covers(environment: app?.environment, bundleId: app?.bundleId) { return answer() }
        // As for an event that is still to come: how many others have must not show.
        return never(token, before: deadline, through: sender)
      }
    }
    if isWaiting(for: read, until: deadline, checked, through: sender) { return nil }
    return checked()
  }

  private static let behind = Problem.response(.unavailable("behind"))

  /// Refuses a read when the longest wait is over.
  ///
  /// - Returns: the refusal if too many wait.
  private func never(
    _ token: Configuration.ReadToken, before deadline: Deadline, through sender: ResponseSender
  ) -> HTTPResponse? {
    let isWaiting = barrier.wait(forSeq: .max, of: token.name, until: deadline) { [self] _ in
      sender.send(finished(Self.behind))
    }
    return isWaiting ? nil : Self.behind
  }

  /// Whether a read has to wait, and waits for it then: for the event that `min_seq` names, or for
  /// all that the shared journal has, where reads are configured to be fresh.
  ///
  /// - Returns: false if the read can be answered at once.
  private func isWaiting(
    for read: LedgerRead, until deadline: Deadline,
    _ answer: @escaping @Sendable () -> HTTPResponse?,
    through sender: ResponseSender
  ) -> Bool {
    let (isFresh, seq) = (ledger.readsAreFresh, read.minSeq)
    // Most reads ask for no event, and look at nothing that the writer locks.
    guard isFresh || seq > 0 && seq > ledger.foldedHead.seq else { return false }
    let proceed = { @Sendable [self] (isReached: Bool) in
      let refusal =
        isReached ? answer() : finished(Self.behind)
      if let refusal { sender.send(refusal) }
    }
    let (barrier, owner) = (barrier, read.owner)
    let waitForSeq = { @Sendable (isFresh: Bool) in
      let isWaiting =
        isFresh && barrier.wait(forSeq: seq, of: owner, until: deadline, proceed)
      if !isWaiting { proceed(false) }
    }
    guard isFresh else {
      waitForSeq(true)
      return true
    }
    if !barrier.waitUntilFresh(of: owner, seq > 0 ? waitForSeq : proceed) { proceed(false) }
    return true
  }

  /// Answers a request on a thread of the pool.
  ///
  /// - Parameters:
  ///   - route: that it answers; nil: what was journaled.
  ///   - size: bytes that the request keeps in memory until then.
  ///   - isForced: whether it is answered even if many wait: what it is about is journaled.
  ///   - read: makes the response; nil if `sender` sends it later.
  /// - Returns: the refusal if too many wait; nil if `sender` sends the answer.
  func answer(
    _ length: ReaderPool.Length, _ route: Route?, _ token: Configuration.ReadToken,
    bytes size: Int = 0, isForced: Bool = false, through sender: ResponseSender,
    _ read: @escaping @Sendable (LedgerReader) throws(LedgerError) -> HTTPResponse?
  ) -> HTTPResponse? {
    let isQueued = readers.enqueue(length, of: token.name, bytes: size, isForced: isForced) {
      [self] reader in
      guard isForced || !sender.isAbandoned else { return }
      do throws(LedgerError) {
        guard let reader else { throw .busy }
        if let response = try read(reader) { sender.send(finished(response)) }
      } catch {
        sender.send(finished(LedgerHandler.problem(error, route, reader?.limit)))
      }
    }
    return isQueued ? nil : finished(Problem.response(.unavailable("overload")))
  }

  /// An answer to a read as it is sent. A refusal is counted; a 404 is a usual answer to a usual
  /// question, and is not logged.
  func finished(_ response: HTTPResponse) -> HTTPResponse {
    if response.status >= 400 { record(response, isLogged: response.status != 404) }
    return marked(response)
  }
}

/// Each read of a customer: the query is checked against the table of routes, the token is known.
enum EntitlementRoutes {
  static func answer(
    _ admitted: AdmittedRequest, _ request: HTTPRequest, _ query: QueryString,
    _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) throws(LedgerError) -> HTTPResponse {
    switch admitted.route.name {
    case .entitlement: try row(admitted.id, request, query, token, reader)
    case .purchases: try transactions(admitted, query, token, reader)
    case .history: try history(admitted, query, token, reader)
    default: try list(admitted.route, query, token, reader)
    }
  }

  /// One entitlement, now or at an earlier time.
  static func row(
    _ id: String, _ request: HTTPRequest, _ query: QueryString, _ token: Configuration.ReadToken,
    _ reader: LedgerReader
  ) throws(LedgerError) -> HTTPResponse {
    func document(_ question: LedgerReader.Question) throws(LedgerError) -> RowDocument? {
      try reader.entitlement(
        id, environment: query.environment ?? .production, bundleId: query["bundle_id"], question)
    }
    var question = question(query, token)
    if let found = try document(question) { return EntityTag.response(found.json, to: request) }
    if query["as_of"] != nil, !question.usesPresentKnowledge {
      question.usesPresentKnowledge = true
      if try document(question) != nil { return Problem.notSignedThen }
    }
    return absent(id, query, token, reader)
  }

  /// The purchases of one customer. A cursor is the date and the id of the last one shown.
  static func transactions(
    _ admitted: AdmittedRequest, _ query: QueryString, _ token: Configuration.ReadToken,
    _ reader: LedgerReader
  ) throws(LedgerError) -> HTTPResponse {
    let lines = try reader.transactions(
      admitted.id, environment: query.environment ?? .production, bundleId: query["bundle_id"],
      question(query, token))
    guard let lines else { return absent(admitted.id, query, token, reader) }
    var first = 0
    if let after = query["after"] {
      guard let cursor = LineCursor(after) else { return Problem.response(.after) }
      first = lines.firstIndex(where: cursor.precedes) ?? lines.count
    }
    let page = lines[first...].prefix(Int(query.integer("limit", of: admitted.route)))
    let answer = Answers.list(of: TransactionLine.object)
    return .json(
      answer.json(
        Answers.Page(
          items: page.map(TransactionLine.object.json),
          next: page.endIndex < lines.count ? page.last.map(LineCursor.text) : nil)))
  }

  /// The timeline of one customer.
  static func history(
    _ admitted: AdmittedRequest, _ query: QueryString, _ token: Configuration.ReadToken,
    _ reader: LedgerReader
  ) throws(LedgerError) -> HTTPResponse {
    let after = query["after"].map { Int64($0).flatMap { $0 > 0 ? $0 : nil } } ?? 0
    guard let after else { return Problem.response(.after) }
    let history = try reader.history(
      admitted.id, environment: query.environment ?? .production, bundleId: query["bundle_id"],
      question(query, token), isRaw: query.isTrue("raw"),
      page: History.Page(
        after: after, limit: Int(query.integer("limit", of: admitted.route))))
    return history.map { .json($0.encoded) } ?? absent(admitted.id, query, token, reader)
  }

  /// Why there is nothing under an id.
  private static func absent(
    _ id: String, _ query: QueryString, _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) -> HTTPResponse {
    guard token.environments.map({ $0.isSuperset(of: Environment.all) }) ?? true else {
      return Problem.noSuchEntitlement
    }
    let asked = query.environment ?? .production
    do throws(LedgerError) {
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
  ) throws(LedgerError) -> HTTPResponse {
    var filter = LedgerReader.Filter()
    // Account tokens are UUIDs, and Apple writes them in lower case.
    filter.appAccountToken = query["app_account_token"]?.lowercased()
    filter.appTransactionId = query["app_transaction_id"]
    filter.productId = query["product_id"]
    filter.bundleId = query["bundle_id"]
    filter.environment = query.environment
    query["status"].map { filter.setStatuses($0) }
    filter.givesAccess = query["gives_access"].map { _ in query.isTrue("gives_access") }
    let after = query["after"].map { PageCursor.key($0, for: token) }
    if case .some(.none) = after { return Problem.response(.after) }
    let question = LedgerReader.Question(
      asOf: nil, knownAt: nil, now: Clock.now(), token: token)
    let page = try reader.list(
      filter, after: after ?? nil, limit: Int(query.integer("limit", of: route)), question)
    let items = Answers.Page(
      items: page.rows.map(\.json), next: page.next.map { PageCursor.text($0, for: token) })
    return .json(Answers.rows.json((items, page.foldVersion)))
  }

  private static func question(
    _ query: QueryString, _ token: Configuration.ReadToken
  ) -> LedgerReader.Question {
    var question = LedgerReader.Question(
      asOf: query.time("as_of"), knownAt: query.time("known_at"), now: Clock.now(), token: token)
    question.usesPresentKnowledge = query["knowledge"] != nil
    return question
  }
}

/// Where a page of purchases ended.
private struct LineCursor {
  /// Milliseconds since 1970.
  private let date: Int64
  private let id: String

  /// Returns nil unless it is of the form of `text`.
  init?(_ text: String) {
    let parts = text.split(separator: ".", maxSplits: 1)
    guard parts.count == 2, let date = Int64(parts[0]) else { return nil }
    (self.date, id) = (date, String(parts[1]))
  }

  static func text(_ line: TransactionLine) -> String {
    "\(line.integer("purchased_at_ms") ?? 0).\(line.transactionId)"
  }

  /// Whether a purchase is on a later page.
  func precedes(_ line: TransactionLine) -> Bool {
    let other = line.integer("purchased_at_ms") ?? 0
    return other == date ? ByteSearch.precedes(id, line.transactionId) : date < other
  }
}
