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
        "state", .words(RefundRequest.State.allCases.map(\.rawValue)),
        "Only requests in one of these states, separated by commas."),
      Parameter("deadline_before", .time, "Only requests with a deadline before this time."),
      Parameter("customer", .text, "Only requests of this customer; `by` says what the id is."),
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
    let kind = query["by"].flatMap(LedgerReader.CustomerQuestion.IdKind.init) ?? .appAccountToken
    filter.customer = query["customer"].map { ($0, kind) }
    (filter.environment, filter.bundleId) = (query.environment, query["bundle_id"])
    let place = query["after"].map { $0.split(separator: ".", maxSplits: 1).map(String.init) }
    let after = place.flatMap { parts in
      parts.count == 2 ? Int64(parts[0]).map { (deadline: $0, uuid: parts[1]) } : nil
    }
    guard place == nil || after != nil else { return service.finished(Problem.response(.after)) }
    return readRefunds(call) { [filter] reader, question throws(LedgerError) in
      let page = try reader.refundRequests(
        filter, after: after, limit: call.limit, question)
      return .json(
        page.requests.map(RefundLine.object.json),
        next: page.next.map { "\($0.deadline).\($0.uuid)" }, of: RefundLine.object)
    }
  }

  fileprivate func getRefundRequest(_ call: Call) -> HTTPResponse? {
    readRefunds(call) { reader, question throws(LedgerError) in
      var filter = LedgerReader.RefundFilter()
      filter.transactionId = call.id
      let found = try reader.refundRequests(filter, after: nil, limit: 500, question).requests.last
      return found.map { .json(RefundLine.object.json($0)) } ?? Problem.noSuchRefundRequest
    }
  }

  private func readRefunds(
    _ call: Call,
    _ response:
      @escaping @Sendable (LedgerReader, LedgerReader.Question) throws(LedgerError) -> HTTPResponse
  ) -> HTTPResponse? {
    let minSeq = call.query[Parameter.minSeq.name].flatMap { Int64($0) } ?? 0
    return service.read(call, .long, minSeq: minSeq) { reader, _ throws(LedgerError) in
      try response(
        reader,
        LedgerReader.Question(asOf: nil, knownAt: nil, now: Clock.now(), token: call.token))
    }
  }
}
