public import AppStore
public import Entitlements
public import Platform
public import Store

/// Requests for refunds, by their deadlines.
extension LedgerReader {
  /// Which requests to list: those that match every member that is not nil.
  public struct RefundFilter: Sendable {
    /// Any of these; empty for all.
    public var states: Set<RefundRequest.State> = []
    public var transactionId: String?
    /// Milliseconds since 1970.
    public var deadlineBefore: Int64?
    /// A customer's id, and what it is.
    public var customer: (id: String, kind: CustomerQuestion.IdKind)?
    public var environment: Environment?
    public var bundleId: String?
    /// Whether the latest deadline comes first.
    public var isNewestFirst = false

    public init() {}
  }

  /// Up to `limit` requests after one, and the place after which the next page starts; nil at the
  /// end.
  ///
  /// - Throws: `LedgerError.notReady` while no projection can be read, or while it lacks too many
  ///   events; what SQLite reports.
  public func refundRequests(
    _ filter: RefundFilter, after place: ProjectionReader.RefundPlace?, limit: Int,
    _ question: Question
  ) throws(LedgerError) -> (requests: [RefundLine], next: ProjectionReader.RefundPlace?) {
    let claimed: [StreamKey] =
      if let customer = filter.customer, customer.kind == .account {
        try journal.streams(claimedBy: customer.id)
      } else { [] }
    func isWanted(_ line: RefundLine) -> Bool {
      question.covers(line.key) && filter.matches(line, claimed)
    }
    var found: [RefundLine] = []
    guard let opened = readable() else { throw .notReady(state) }
    defer { endSnapshot() }
    let later = try later(than: opened)
    let isRead: Void? = rows { () throws(LedgerError) in
      var last = place
      while found.count <= limit {
        let page = try opened.reader.refundRequests(
          about: filter.transactionId, after: last, limit: limit + 1,
          isNewestFirst: filter.isNewestFirst)
        found += page.filter { later[$0.key] == nil }.map { $0.shown(at: question.now) }
          .filter(isWanted)
        guard page.count > limit, let end = page.last,
          filter.isNewestFirst || end.deadline < filter.deadlineBefore ?? .max
        else { break }
        last = end.place
      }
    }
    guard isRead != nil else { throw .notReady(state) }
    found += later.values.flatMap(\.requests).map { $0.shown(at: question.now) }.filter { line in
      isWanted(line) && place.map { filter.puts($0, before: line.place) } ?? true
    }
    found.sort { filter.puts($0.place, before: $1.place) }
    let page = Array(found.prefix(limit))
    return (page, found.count > limit ? page.last?.place : nil)
  }
}

extension LedgerReader {
  /// The newest request about a transaction; nil if there is none that may be shown.
  ///
  /// - Throws: as `refundRequests`.
  public func newestRefundRequest(
    about transactionId: String, _ question: Question
  ) throws(LedgerError) -> RefundLine? {
    var filter = RefundFilter()
    filter.transactionId = transactionId
    return try refundRequests(filter, after: nil, limit: 500, question).requests.last
  }
}

extension LedgerReader {
  /// A request as it was told with an event, through which it and its purchase are folded.
  ///
  /// - Parameter time: milliseconds since 1970.
  /// - Throws: what SQLite reports.
  public func refundLine(
    _ request: RefundRequest, of key: StreamKey, through seq: Int64, at time: Int64
  ) throws(LedgerError) -> RefundLine {
    var question = Question(now: time)
    question.through = seq
    let state = try journaledState(of: key, question)
    return RefundLine(key, request, state, state.lines(of: key)).shown(at: time)
  }
}

extension NewStatement {
  /// What is said of a request.
  public init(_ content: RefundStatement.Content, about line: RefundLine, token: String) {
    self.init(
      .refund(
        RefundStatement(content, about: line.request),
        originalTransactionId: line.key.originalTransactionId), of: nil,
      environment: line.key.environment, bundleId: line.key.bundleId, token: token,
      receivedAt: Clock.now())
  }
}

extension LedgerReader.RefundFilter {
  fileprivate func puts(
    _ one: ProjectionReader.RefundPlace, before other: ProjectionReader.RefundPlace
  ) -> Bool { isNewestFirst ? other < one : one < other }

  /// - Parameter claimed: the purchases of the customer, if an account is asked for.
  fileprivate func matches(_ line: RefundLine, _ claimed: [StreamKey]) -> Bool {
    guard states.isEmpty || line.state.map(states.contains) ?? false,
      line.deadline < deadlineBefore ?? .max,
      transactionId.map({ ByteSearch.areEqual($0, line.transactionId) }) ?? true,
      environment ?? line.key.environment == line.key.environment,
      bundleId.map({ ByteSearch.areEqual($0, line.key.bundleId) }) ?? true
    else { return false }
    guard let (id, kind) = customer else { return true }
    return switch kind {
    case .account: claimed.contains(line.key)
    case .originalTransactionId: ByteSearch.areEqual(line.key.originalTransactionId, id)
    case .appTransactionId: ByteSearch.areEqual(line["app_transaction_id"].text, id)
    case .appAccountToken:
      ByteSearch.areEqual(line["app_account_token"].text?.lowercased(), id.lowercased())
    }
  }
}

extension RefundLine {
  /// Its place in the order of a list.
  public var place: ProjectionReader.RefundPlace { (deadline, uuid) }
}
