import AppStore
import Entitlements
import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The routes about single purchases: rows, lists of rows, timelines.
extension Route {
  static let entitlements = Route(
    "listEntitlements", .entitlements, "GET", "/v1/entitlements", .token(.read),
    "Lists entitlements, page by page.",
    [
      Parameter(
        "app_account_token", .uuid, "Only entitlements with this appAccountToken."),
      Parameter("app_transaction_id", .text, "Only entitlements of this download of the app."),
      Parameter("product_id", .text, "Only entitlements to this product."),
      Parameter(
        "status", .words(Parameter.statuses),
        "Only entitlements that have this status now, or one of these, separated by commas."),
      Parameter(
        "gives_access", .boolean, "Only entitlements that give access now, or that give none."),
      .onlyEnvironment, .onlyBundleId, .limit(500, default: 50), .after, .minSeq,
    ], replies: .usual("One page of entitlements.", "EntitlementList"),
    answer: LedgerHandler.listEntitlements)

  static let entitlement = Route(
    "getEntitlement", .entitlements, "GET", "/v1/entitlements/{otid}", .token(.read),
    "Returns what one customer may use, now or at an earlier time.",
    [.id, .environment, .bundleId, .asOf, .knownAt, .knowledge, .minSeq],
    replies: .usual("The entitlement.", "Entitlement", .absent) + [.notModified],
    answer: LedgerHandler.getEntitlement)

  static let purchases = Route(
    "listTransactions", .entitlements, "GET", "/v1/entitlements/{otid}/transactions",
    .token(.read),
    "Lists every purchase and renewal of one customer, with its price and what became of it.",
    [.id, .environment, .bundleId, .asOf, .knownAt, .limit(1000, default: 1000), .after, .minSeq],
    replies: .usual(
      "One page of transactions, the earliest purchase first.", "TransactionList", .absent),
    answer: LedgerHandler.listTransactions)

  static let history = Route(
    "getHistory", .entitlements, "GET", "/v1/entitlements/{otid}/history", .token(.read),
    "Lists every event of one customer, with what it changed.",
    [
      .id, .environment, .bundleId, .asOf, .knownAt,
      Parameter("raw", .boolean, "Whether to add the decoded payload of each notification."),
      .limit(1000, default: 1000), .after, .minSeq,
    ], replies: .usual("One page of the timeline, oldest event first.", "History", .absent),
    answer: LedgerHandler.getHistory)
}

extension LedgerHandler {
  /// A page of entitlements. A cursor is valid only for the token that it was given to.
  fileprivate func listEntitlements(_ call: Call) -> HTTPResponse? {
    readRows(call, .long) { reader throws(LedgerError) in
      let query = call.query
      var filter = LedgerReader.Filter()
      // Account tokens are UUIDs, and Apple writes them in lower case.
      filter.appAccountToken = query["app_account_token"]?.lowercased()
      filter.appTransactionId = query["app_transaction_id"]
      filter.productId = query["product_id"]
      filter.bundleId = query["bundle_id"]
      filter.environment = query.environment
      query["status"].map { filter.setStatuses($0) }
      filter.givesAccess = query["gives_access"].map { _ in query.isTrue("gives_access") }
      let after = query["after"].map { PageCursor.key($0, for: call.token) }
      if case .some(.none) = after { return Problem.response(.after) }
      let page = try reader.list(filter, after: after ?? nil, limit: call.limit, call.question)
      let items = Answers.Page(
        items: page.rows.map(\.json), next: page.next.map { PageCursor.text($0, for: call.token) })
      return .json(Answers.rows.json((items, page.foldVersion)))
    }
  }

  /// One entitlement, now or at an earlier time.
  fileprivate func getEntitlement(_ call: Call) -> HTTPResponse? {
    let isPast = call.query["as_of"] != nil || call.query["known_at"] != nil
    return readRows(call, isPast ? .long : .short) { reader throws(LedgerError) in
      func document(_ question: LedgerReader.Question) throws(LedgerError) -> RowDocument? {
        try reader.entitlement(
          call.id, environment: call.environment, bundleId: call.query["bundle_id"], question)
      }
      var question = call.question
      if let found = try document(question) {
        return EntityTag.response(found.json, to: call.request)
      }
      if call.query["as_of"] != nil, !question.usesPresentKnowledge {
        question.usesPresentKnowledge = true
        if try document(question) != nil { return Problem.notSignedThen }
      }
      return Self.absent(call, reader)
    }
  }

  /// The purchases of one customer. A cursor is the date and the id of the last one shown.
  fileprivate func listTransactions(_ call: Call) -> HTTPResponse? {
    readRows(call, .long) { reader throws(LedgerError) in
      let lines = try reader.transactions(
        call.id, environment: call.environment, bundleId: call.query["bundle_id"], call.question)
      guard let lines else { return Self.absent(call, reader) }
      var first = 0
      if let after = call.query["after"] {
        guard let cursor = LineCursor(after) else { return Problem.response(.after) }
        first = lines.firstIndex(where: cursor.precedes) ?? lines.count
      }
      let page = lines[first...].prefix(call.limit)
      return .json(
        page.map(TransactionLine.object.json),
        next: page.endIndex < lines.count ? page.last.map(LineCursor.text) : nil,
        of: TransactionLine.object)
    }
  }

  /// The timeline of one customer.
  fileprivate func getHistory(_ call: Call) throws(ParameterFault) -> HTTPResponse? {
    let after = try call.query.position()
    return readRows(call, .long) { reader throws(LedgerError) in
      let history = try reader.history(
        call.id, environment: call.environment, bundleId: call.query["bundle_id"], call.question,
        isRaw: call.query.isTrue("raw"), page: History.Page(after: after, limit: call.limit))
      return history.map { .json($0.encoded) } ?? Self.absent(call, reader)
    }
  }

  private func readRows(
    _ call: Call, _ length: ReaderPool.Length,
    _ response: @escaping @Sendable (LedgerReader) throws(LedgerError) -> HTTPResponse
  ) -> HTTPResponse? {
    let minSeq = call.query[Parameter.minSeq.name].flatMap { Int64($0) } ?? 0
    return service.read(call, length, minSeq: minSeq) { reader, _ throws(LedgerError) in
      try response(reader)
    }
  }

  /// Why there is nothing under an id.
  private static func absent(_ call: Call, _ reader: LedgerReader) -> HTTPResponse {
    guard call.token.environments.map({ $0.isSuperset(of: Environment.all) }) ?? true else {
      return Problem.noSuchEntitlement
    }
    do throws(LedgerError) {
      let other = try reader.entitlement(
        call.id, environment: call.environment == .production ? .sandbox : .production,
        bundleId: call.query["bundle_id"], call.question)
      return other == nil ? Problem.noSuchEntitlement : Problem.wrongEnvironment
    } catch {
      return Problem.noSuchEntitlement
    }
  }
}

extension Call {
  /// The environment that a single purchase or customer is asked for in.
  var environment: Environment { query.environment ?? .production }

  fileprivate var question: LedgerReader.Question {
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
