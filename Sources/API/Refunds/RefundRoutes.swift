import AppStore
import Entitlements
import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The routes about requests of customers for refunds.
extension Route {
  static let refundRequests = Route(
    "listRefundRequests", .refunds, "GET", "/v1/refund-requests", .token(.read),
    "Lists requests of customers for refunds, the nearest deadline first.",
    [
      Parameter(
        "order", .choice(["oldest", "newest"]), "Newest: the latest deadline first."),
      Parameter(
        "state", .words(RefundRequest.State.allCases.map(\.rawValue)),
        "Only requests in one of these states, separated by commas."),
      Parameter("deadline_before", .time, "Only requests with a deadline before this time."),
      Parameter("customer", .text, "Only requests of this customer; `by` says what the id is."),
      Parameter(
        "include", .words(["outlook"]),
        "outlook: with each request that waits, what would be done now by the policies."),
      .by, .onlyEnvironment, .onlyBundleId, .limit(500, default: 50), .after, .minSeq,
    ],
    replies: .usual("One page of requests.", "RefundRequestList"),
    answer: LedgerHandler.listRefundRequests)

  static let refundRequest = Route(
    "getRefundRequest", .refunds, "GET", "/v1/refund-requests/{transaction_id}", .token(.read),
    "Returns the newest request for a refund of a transaction.",
    [.transactionId, .minSeq],
    replies: .usual(
      "The request.", "RefundRequest", .absent(Problem.noSuchRefundRequest)),
    answer: LedgerHandler.getRefundRequest)

  static let answerRefundRequest = Route(
    "answerRefundRequest", .refunds, "POST", "/v1/refund-requests/{transaction_id}",
    .token(.refunds), "Says what you know of the newest request for a refund of a transaction.",
    [.transactionId], bodies: [.refundWord],
    replies: .usual(
      "The statement is in the journal and synced to disk.", "RefundAnswered",
      .absent(Problem.noSuchRefundRequest)), answer: LedgerHandler.answerRefundRequest)
}

extension Parameter {
  fileprivate static let transactionId = Parameter(
    "transaction_id", .identifier, "The transaction that the customer wants the money back for.")
}

extension LedgerHandler {
  /// A page of requests. The cursor is the place of the last one shown.
  fileprivate func listRefundRequests(_ call: Call) -> HTTPResponse? {
    let query = call.query
    var filter = LedgerReader.RefundFilter()
    filter.states = Set(query.list("state").compactMap(RefundRequest.State.init))
    filter.deadlineBefore = query.time("deadline_before")
    filter.isNewestFirst = query["order"] == "newest"
    let kind = query["by"].flatMap(LedgerReader.CustomerQuestion.IdKind.init) ?? .appAccountToken
    filter.customer = query["customer"].map { ($0, kind) }
    (filter.environment, filter.bundleId) = (query.environment, query["bundle_id"])
    let place = query["after"].map { $0.split(separator: ".", maxSplits: 1).map(String.init) }
    let after = place.flatMap { parts in
      parts.count == 2 ? Int64(parts[0]).map { (deadline: $0, uuid: parts[1]) } : nil
    }
    guard place == nil || after != nil else { return service.finished(Problem.response(.after)) }
    let policies = query.list("include").isEmpty ? nil : service.configuration.refundPolicies ?? []
    return readRefunds(call) { [filter] reader, question throws(LedgerError) in
      let page = try reader.refundRequests(
        filter, after: after, limit: call.limit, question)
      return .json(
        try page.requests.map { line throws(LedgerError) in
          guard let policies, line.state == .waiting else { return RefundDocument(line).json }
          let outlook = try reader.outlook(of: line, policies, at: question.now)
          return RefundDocument(line, outlook).json
        }, next: page.next.map { "\($0.deadline).\($0.uuid)" }, of: RefundDocument.object)
    }
  }

  fileprivate func getRefundRequest(_ call: Call) -> HTTPResponse? {
    readRefunds(call) { reader, question throws(LedgerError) in
      let found = try reader.newestRefundRequest(about: call.id, question)
      return found.map { .json(RefundDocument($0).json) } ?? Problem.noSuchRefundRequest
    }
  }

  /// Journals what the backend says. The response is sent when the writer has journaled it
  /// (promise 1).
  fileprivate func answerRefundRequest(_ call: Call) -> HTTPResponse? {
    let start = Clock.monotonicNanoseconds()
    let word: RefundWord
    do throws(ParameterFault) {
      word = RefundWord(
        try RequestBody.refundWord.values(
          try RequestBody.refundWord.root(call.request.body)))
    } catch {
      return service.finished(Problem.response(toBody: error))
    }
    return readRefunds(call) { [service] reader, question throws(LedgerError) in
      guard let line = try reader.newestRefundRequest(about: call.id, question) else {
        return Problem.noSuchRefundRequest
      }
      let statement = NewStatement(.said(word), about: line, token: call.token.name)
      service.ledger.submit(Receiver.Received(statement)) { outcome in
        service.respond(to: statement, "refund", outcome, call, since: start)
      }
      return nil
    }
  }

  private func readRefunds(
    _ call: Call,
    _ response:
      @escaping @Sendable (LedgerReader, LedgerReader.Question) throws(LedgerError) -> HTTPResponse?
  ) -> HTTPResponse? {
    let minSeq = call.query[Parameter.minSeq.name].flatMap { Int64($0) } ?? 0
    return service.read(call, .long, minSeq: minSeq) { reader, _ throws(LedgerError) in
      try response(
        reader,
        LedgerReader.Question(asOf: nil, knownAt: nil, now: Clock.now(), token: call.token))
    }
  }
}

extension RefundWord {
  fileprivate init(_ values: RequestBody.Values) {
    self.init(
      customerConsented: values["customer_consented"] == "true",
      delivery: values["delivery_status"].flatMap(ConsumptionInformation.Delivery.init),
      sampleContentProvided: values["sample_content_provided"].map { $0 == "true" },
      consumptionPercentage: values["consumption_percentage"].flatMap { Int64($0) },
      preference: values["refund_preference"].flatMap(RefundPreference.init))
  }
}
