public import AppStore
import Platform

/// A request of a customer to get the money back for a purchase, which Apple decides: what Apple
/// asked, what was said and sent, and how it ended. Times are milliseconds since 1970.
public struct RefundRequest: Sendable, Equatable {
  /// The raw value is for rows and answers.
  public enum State: String, Sendable, CaseIterable {
    /// Nothing is decided yet.
    case waiting
    /// Apple took what was sent.
    case answered
    /// It was decided that nothing is sent.
    case declinedToAnswer = "declined_to_answer"
    /// Apple refused what was sent. It is not sent again unchanged.
    case refused
    /// The deadline passed before Apple took anything.
    case missed
    /// An outcome came first.
    case closed
  }

  /// What Apple decided.
  public enum Outcome: Sendable, Hashable {
    /// Apple's revocationType and revocationPercentage, in thousandths of a percent.
    case refunded(type: String?, percentage: Int64?)
    case declined
    /// It was refunded, and charged again.
    case reversed
  }

  /// One try to tell Apple.
  public struct Sending: Sendable, Equatable {
    /// Of the statement, which its answer names.
    public let uuid: NotificationUUID
    public let at: Int64
    public let information: ConsumptionInformation
    /// The policy that chose it; nil: the backend.
    public let policy: String?
    /// Nil if none is known: the program ended before it.
    public fileprivate(set) var answer: RefundStatement.Answer?
  }

  /// Of the notification by which Apple asked.
  public let uuid: NotificationUUID
  /// The transaction that it is about, and that is answered.
  public let transactionId: String
  /// Apple's consumptionRequestReason; version 1 has none.
  public let reason: String?
  public let isV1: Bool
  /// When Apple asked: when it was received, or signed if that is earlier.
  public let openedAt: Int64
  public fileprivate(set) var outcome: Outcome?
  public fileprivate(set) var outcomeAt: Int64?
  /// What the backend said last, and when.
  public fileprivate(set) var word: RefundWord?
  public fileprivate(set) var wordAt: Int64?
  public fileprivate(set) var sendings: [Sending] = []
  /// Why nothing is sent.
  public fileprivate(set) var withholding: RefundStatement.Withholding?
  fileprivate(set) var milestones: Set<RefundStatement.Milestone> = []
  /// What is decided by what was said and done last.
  private var settled: State?

  /// The policy that decided last; nil for the backend, and where nothing is decided.
  public var decidingPolicy: String? {
    guard let withholding else { return sendings.last?.policy }
    return if case .silent(let policy) = withholding { policy } else { nil }
  }

  static let hour: Int64 = 3_600_000
  /// Apple waits for twelve hours.
  public var deadline: Int64 { openedAt.advanced(orBoundBy: 12 * Self.hour) }
  /// The last time at which what failed is sent again.
  public var lastTry: Int64 { deadline.subtracting(orBoundBy: Self.hour / 12) }

  /// When it is told that nothing is decided yet: three hours before the deadline.
  static func dueAt(_ deadline: Int64) -> Int64 { deadline.subtracting(orBoundBy: 3 * hour) }

  public func state(at time: Int64) -> State {
    if sendings.contains(where: { $0.answer == .accepted }) { return .answered }
    if let settled { return settled }
    if let outcomeAt, outcomeAt < deadline { return .closed }
    return time < deadline ? .waiting : .missed
  }

  /// After which time Apple will tell no outcome any more of a request of version 1, which never
  /// tells a decline.
  public static let untoldAfter = 48 * hour

  /// When what was decided is sent: at once; after failures 5 and 15 minutes later, then hourly,
  /// and for the last time 5 minutes before the deadline. Nil: no more.
  public func nextTry(at now: Int64) -> Int64? {
    guard let last = sendings.last?.at else { return now < deadline ? now : nil }
    guard last < lastTry else { return nil }
    let waits = [Self.hour / 12, Self.hour / 4]
    let wait = sendings.count > waits.count ? Self.hour : waits[sendings.count - 1]
    return min(last.advanced(orBoundBy: wait), lastTry)
  }
}

// MARK: Fold

extension RefundRequest {
  /// The requests that events tell of, in any order and with any repetition, by their times.
  ///
  /// An outcome is that of the newest request about its purchase, under whichever of its ids.
  ///
  /// - Parameter knownAt: only what was journaled by then; nil: all.
  public static func all(
    of events: some Sequence<RefundEvent>, knownAt: Int64? = nil
  ) -> [RefundRequest] {
    let distinct = Dictionary(grouping: events.filter { $0.receivedAt <= knownAt ?? .max }) {
      [$0.uuid.description, $0.transactionId].map(ExactText.init)
    }.values.compactMap { $0.min(by: RefundEvent.precedes) }.sorted(by: RefundEvent.precedes)
    var names: [ExactText: String] = [:]
    for event in distinct {
      if let name = event.purchaseName { names[ExactText(event.transactionId)] = name }
    }
    var requests: [RefundRequest] = []
    // The place of the newest request of each purchase, and of each request.
    var newest: [ExactText: Int] = [:]
    var places: [NotificationUUID: Int] = [:]
    for event in distinct {
      let purchase = ExactText(names[ExactText(event.transactionId)] ?? event.transactionId)
      switch event.content {
      case .request(let reason, let isV1):
        (newest[purchase], places[event.uuid]) = (requests.count, requests.count)
        requests.append(
          RefundRequest(
            uuid: event.uuid, transactionId: event.transactionId, reason: reason, isV1: isV1,
            openedAt: min(event.at, event.receivedAt)))
      case .outcome(let outcome):
        newest[purchase].map { requests[$0].fold(outcome, at: event.at) }
      case .statement(let statement):
        places[statement.request].map { requests[$0].fold(statement.content, of: event) }
      }
    }
    return requests
  }

  /// A decline ends a request, and a later refund is not that of the request. A refund may be told
  /// again with another percentage, be reversed, and come back.
  private mutating func fold(_ outcome: Outcome, at time: Int64) {
    guard self.outcome == nil || outcome != .declined && self.outcome != .declined else { return }
    self.outcome = outcome
    outcomeAt = min(outcomeAt ?? time, time)
  }

  private mutating func fold(_ content: RefundStatement.Content, of event: RefundEvent) {
    switch content {
    case .said(let word):
      (self.word, wordAt, withholding, settled) = (word, event.at, nil, nil)
    case .withheld(let reason): (withholding, settled) = (reason, .declinedToAnswer)
    case .sending(let information, let policy):
      sendings.append(
        Sending(uuid: event.uuid, at: event.at, information: information, policy: policy))
      (withholding, settled) = (nil, nil)
    case .answered(let sending, let answer):
      guard let place = sendings.lastIndex(where: { $0.uuid == sending }) else { return }
      sendings[place].answer = answer
      // What the backend said meanwhile was not refused.
      if case .refused = answer, sendings[place].at >= wordAt ?? .min { settled = .refused }
    case .reached(let milestone): milestones.insert(milestone)
    }
  }
}

extension RefundEvent {
  /// Statements come last: our clock may be behind Apple's. Requests come before outcomes of the
  /// same time, and statements are in the order of their kinds: any order of arrival gives the same
  /// (promise 6).
  fileprivate static func precedes(_ one: RefundEvent, _ other: RefundEvent) -> Bool {
    let (rank, otherRank) = (one.rank, other.rank)
    if rank.isStatement != otherRank.isStatement { return otherRank.isStatement }
    if one.at != other.at { return one.at < other.at }
    if rank.kind != otherRank.kind { return rank.kind < otherRank.kind }
    if one.uuid != other.uuid { return one.uuid < other.uuid }
    let isSame = ByteSearch.areEqual(one.transactionId, other.transactionId)
    return isSame
      ? one.receivedAt < other.receivedAt
      : ByteSearch.precedes(one.transactionId, other.transactionId)
  }

  private var rank: (isStatement: Bool, kind: Int) {
    switch content {
    case .request: (false, 0)
    case .outcome(.refunded): (false, 1)
    case .outcome(.declined): (false, 2)
    case .outcome(.reversed): (false, 3)
    case .statement(let statement):
      switch statement.content {
      case .said: (true, 0)
      case .withheld: (true, 1)
      case .sending: (true, 2)
      case .answered: (true, 3)
      case .reached: (true, 4)
      }
    }
  }
}
