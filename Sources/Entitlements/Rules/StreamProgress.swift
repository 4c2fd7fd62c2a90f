import AppStore

/// Evaluates a stream after each of its events, at times that never decrease.
///
/// Evaluating a state takes time proportional to its transactions, and a timeline evaluates it
/// after every event, which is quadratic. This type evaluates only the transactions that can still
/// affect an answer. Its answers equal those of the whole state.
///
/// By the rules of `Periods` and `Replacements`, these transactions affect an answer at the clock
/// or later:
/// - the newest of all and the one before it, the newest that has begun, and each that is open: its
///   expiry, or the grace period of its end, is not past;
/// - each that begins after one of these was charged, or less than a day before it begins, because
///   it may have replaced it;
/// - each that ends when one of these begins or later: it may be what that one renews;
/// - each that ends at Apple's renewal date, which then is of no period that was not told;
/// - the first of all, because it tells whether any period has begun.
///
/// Where they do not contain the newest that counts, all are evaluated.
public struct StreamProgress {
  public private(set) var state = StreamState()
  /// In ascending order of their starts.
  private var order: [Item] = []
  /// Ids of the transactions that have values that no purchase has.
  private var anomalous: Set<String> = []
  /// The first transaction id of each webOrderLineItemId.
  private var items: [String: String] = [:]
  /// One transaction decides about others at any distance: the refund of a one-time product, or of
  /// one of two ids of one purchase; or one expires before it begins.
  private var isWhole = false
  /// The latest time asked about, milliseconds since 1970.
  private var clock = Int64.min

  private let fold: Fold

  public init(by fold: Fold) { self.fold = fold }

  /// What the selection compares of one transaction. Times are milliseconds since 1970.
  private struct Item {
    let id: String
    let start: Int64
    let expires: Int64
    /// Nothing that begins before this time can have replaced it.
    let charged: Int64
    let isVoid: Bool

    init(_ id: String, _ register: StreamState.TransactionRegister) {
      self.id = id
      start = register.transaction.purchaseDate
      expires = register.expires ?? .max
      charged = min(start.advanced(orBoundBy: -Periods.day), register.first ?? .max)
      isVoid = Revocations.revocation(of: register, cleared: register.clear) ?? .max <= start
    }
  }

  // MARK: Steps

  /// One step of the fold, which also keeps the order up to date.
  public mutating func evolve(_ event: FoldEvent) {
    let ids = Set(event.transactions.map(\.transactionId))
    for id in ids {
      guard let start = state.transactions[id]?.transaction.purchaseDate else { continue }
      order[order.partitionPoint { $0.start < start }...].firstIndex { $0.id == id }
        .map { _ = order.remove(at: $0) }
    }
    state.evolve(event)
    for id in ids {
      guard let register = state.transactions[id] else { continue }
      let item = Item(id, register)
      order.insert(item, at: order.partitionPoint { $0.start < item.start })
      if register.held.isAnomalous { anomalous.insert(id) } else { anomalous.remove(id) }
      isWhole = isWhole || register.expires == nil || item.expires < item.start
      if let name = register.purchaseName, items.updateValue(id, forKey: name) ?? id != id {
        isWhole = true
      }
    }
  }

  // MARK: Answers

  /// The answer at a time; nil if no event carried a transaction or a renewal.
  ///
  /// - Parameters:
  ///   - time: milliseconds since 1970; not earlier than at the previous call.
  ///   - durations: milliseconds that non-renewing products last, by product id.
  public mutating func entitlement(
    at time: Int64, durations: [String: Int64] = [:]
  ) -> Entitlement? {
    precondition(time >= clock, "the time is earlier than at the previous call")
    clock = time
    return row(through: time).entitlement(at: time, durations: durations)
  }

  /// Goes on to a later time, and returns the answer there, and those that began until then by the
  /// passing of time alone, each with the one right before it.
  ///
  /// - Parameters: as of `entitlement(at:durations:)`.
  public mutating func advance(
    to time: Int64, durations: [String: Int64] = [:]
  ) -> (answer: Entitlement?, transitions: [(before: Entitlement?, after: Entitlement)]) {
    precondition(time >= clock, "the time is earlier than at the previous call")
    let row = row(through: time)
    let transitions = row.transitions(after: clock, through: time, durations: durations)
      .map { (row.entitlement(at: $0.asOf - 1, durations: durations), $0) }
    clock = time
    return (row.entitlement(at: time, durations: durations), transitions)
  }

  /// A row that is valid from the clock through a time.
  private func row(through time: Int64) -> EntitlementRow {
    let (ids, start) = isWhole ? ([], .max) : selected()
    var part = state.withoutTransactions
    for id in ids { part.transactions[id] = state.transactions[id] }
    let periods = Periods(part)
    guard periods.hasNewest(at: clock, since: start) else {
      return EntitlementRow(state, by: fold, at: clock...time)
    }
    var row = EntitlementRow(part, periods, by: fold, at: clock...time)
    row.hasAnomaly = !anomalous.isEmpty
    return row
  }

  /// Selects by the rules of the type's documentation.
  ///
  /// - Returns: also from which start on all are selected, milliseconds since 1970.
  private func selected() -> (ids: [String], since: Int64) {
    let renewals = [state.status?.renewal, state.renewal?.renewal].compactMap { $0?.renewalDate }
    let ends = renewals + state.graces.filter { $0.until > clock }.map(\.periodEnd)
    let counting = order.reversed().lazy.filter { !$0.isVoid }.prefix(2)
    var bound = counting.map(\.charged).min() ?? .min
    let begun = order[..<order.partitionPoint { $0.start <= clock }]
    bound = min(bound, begun.last { !$0.isVoid }?.charged ?? .max)
    for item in order where item.expires > clock || ends.contains(item.expires) {
      bound = min(bound, item.charged)
    }
    var first = order.endIndex
    while first > 0, order[first - 1].start >= bound {
      first -= 1
      bound = min(bound, order[first].charged)
    }
    let older = order[..<first].enumerated().filter { $0 == 0 || $1.expires >= bound }
    return (older.map(\.element.id) + order[first...].map(\.id), bound)
  }
}

extension Periods {
  /// Whether the newest of all counts, and the newest that has begun by a time, and both begin at
  /// `start` or later.
  fileprivate func hasNewest(at time: Int64, since start: Int64) -> Bool {
    guard let headPeriod, headPeriod.counts, let newest = newest(at: time) else { return false }
    return all[newest].start >= start && (all[newest].start <= time || all[0].start > time)
  }
}

extension StreamState {
  /// Everything but the transactions that decides an answer.
  fileprivate var withoutTransactions: StreamState {
    var part = StreamState()
    part.renewal = renewal
    part.renewalV1 = renewalV1
    part.status = status
    part.certainV1 = certainV1
    part.graces = graces
    part.isSandbox = isSandbox
    return part
  }
}
