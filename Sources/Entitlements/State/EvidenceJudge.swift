import AppStore

/// Decides which evidence of one stream is journaled, and which only confirms what is known.
///
/// Evidence is a transaction or renewal information that Apple signed outside of a notification.
/// Most of it repeats what the journal says. It is journaled if it says something new: folded into
/// the stream as of its own date, or as of a later one, it changes what a register holds, or an
/// answer at any time. Other evidence is held, and judged again by `EvidencePass` whenever an event
/// is added, so that after any order of arrival the row is the one that journaling every piece
/// would have given, also as of any time (promise 6).
public struct EvidenceJudge: Sendable {
  /// In ascending order of signedDate.
  private var events: [FoldEvent] = []
  /// What the added events say together.
  public private(set) var state = StreamState()

  private let rules: Fold

  /// For a stream without events.
  public init(by rules: Fold) { self.rules = rules }

  /// Whether a transaction of the stream is journaled.
  public var hasTransaction: Bool { !state.transactions.isEmpty }

  /// Adds a journaled event of the stream. The order does not matter.
  public mutating func add(_ event: FoldEvent) {
    events.insert(event, at: events.partitionPoint { $0.signedDate <= event.signedDate })
    state.evolve(event)
  }

  /// Whether an event of the same type and date that has the same transactions is added.
  public func hasSame(_ evidence: FoldEvent) -> Bool {
    let first = events.partitionPoint { $0.signedDate < evidence.signedDate }
    return events[first...].prefix { $0.signedDate == evidence.signedDate }.contains {
      $0.notificationType == evidence.notificationType && $0.transactions == evidence.transactions
    }
  }

  /// Whether evidence says something that the added events do not: as of its own date, or as of
  /// that of any later event.
  ///
  /// - Parameter isGoingOn: called after each of these; false ends.
  /// - Returns: nil if it was ended before that was known.
  public func saysNew(
    _ evidence: FoldEvent, while isGoingOn: () -> Bool = { true }
  ) -> Bool? {
    let isNewest = events.last.map { $0.signedDate <= evidence.signedDate } ?? true
    if isNewest { return state.changed(by: evidence, rules) != nil }
    var pass = EvidencePass(events: events, pieces: [evidence], by: rules)
    while !pass.advance(while: { false }), pass.released.isEmpty {
      guard isGoingOn() else { return nil }
    }
    return !pass.released.isEmpty
  }

  /// The state of a stream with evidence that says something new as of its last event, as
  /// `saysNew` also finds; nil where the events have to be judged one by one.
  public static func state(
    of state: StreamState, changedBy evidence: FoldEvent, _ rules: Fold
  ) -> StreamState? {
    state.changed(by: evidence, rules)
  }
}

extension StreamState {
  /// The state with an event that changes what a register holds, in more than when it was signed,
  /// or the answer at any time; nil for any other.
  fileprivate func changed(by event: FoldEvent, _ rules: Fold) -> StreamState? {
    var after = self
    after.evolve(event)
    guard holdsTheSame(as: after, event) else { return after }
    return hasOtherKeys(than: after, event) && isAnsweredOtherwise(than: after, rules) ? after : nil
  }

  private func holdsTheSame(as after: StreamState, _ event: FoldEvent) -> Bool {
    let isSame = event.transactions.allSatisfy { transaction in
      guard let one = transactions[transaction.transactionId]?.transaction,
        let other = after.transactions[transaction.transactionId]?.transaction
      else { return false }
      return one.saysTheSame(as: other)
    }
    return isSame && previousOriginalTransactionIds == after.previousOriginalTransactionIds
      && toldAccountTokens.count == after.toldAccountTokens.count
      && Self.isSame(renewal, after.renewal) && Self.isSame(renewalV1, after.renewalV1)
  }

  private static func isSame(_ one: RenewalRegister?, _ other: RenewalRegister?) -> Bool {
    guard let one, let other else { return one == nil && other == nil }
    return one.renewal.saysTheSame(as: other.renewal)
  }

  /// Whether the event changed anything that decides an answer: the key of a register, or a date
  /// beside it.
  private func hasOtherKeys(than after: StreamState, _ event: FoldEvent) -> Bool {
    renewal?.key != after.renewal?.key || renewalV1 != after.renewalV1
      || certainV1 != after.certainV1 || graces != after.graces
      || event.transactions.contains {
        transactions[$0.transactionId] != after.transactions[$0.transactionId]
      }
  }

  private func isAnsweredOtherwise(than after: StreamState, _ rules: Fold) -> Bool {
    var (one, other) = (EntitlementRow(self, by: rules), EntitlementRow(after, by: rules))
    (one.eventCount, one.lastEvent) = (other.eventCount, other.lastEvent)
    return one != other
  }
}
