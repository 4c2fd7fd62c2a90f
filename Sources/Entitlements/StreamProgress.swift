import AppStore

/// A stream event by event: its state, and its answers at a clock that never goes back.
///
/// Evaluating a state costs as much as it has transactions, and a timeline evaluates it after every
/// event: with thousands of them, their square. Here only those transactions are evaluated that can
/// still matter; the answer is the one that all of them give.
///
/// What matters at a time or later, by the rules of `Periods`:
/// - the newest that counts, and whatever begins with it or after it;
/// - what is open: its own end is not past, so that it may cover the time;
/// - what begins after an open one was charged or began, since that may end it;
/// - the first of all, by which it is told whether anything has begun.
///
/// Of the open ones those are left out that an open one with a later beginning and no earlier end
/// stands before. A change that might bring one back is met by choosing anew from all.
public struct StreamProgress {
  public private(set) var state = StreamState()
  /// Begins of all transactions, sorted, with their ids.
  private var order: [(start: Int64, id: String)] = []
  /// At least the greatest end that any transaction says it has.
  private var latestEnd = Int64.min
  /// Ids of those that matter.
  private var chosen: Set<String> = []
  /// How many they were then: past twice as many, most of them are over.
  private var sizeWhenChosen = 0
  /// False where they are to be chosen anew.
  private var isChosen = false
  /// One-time products have no end, and a refund of any of them counts: all matter.
  private var hasEndless = false
  private var clock = Int64.min

  public init() {}

  /// What of a register decides when its period ends and which others it ends.
  private struct Bounds: Equatable {
    let start: Int64
    let expires: Int64?
    let revocation: Int64?
    let first: Int64?
    let isUpgraded: Bool
    let reason: String?

    init(_ register: StreamState.TransactionRegister) {
      let transaction = register.transaction
      start = transaction.purchaseDate
      expires = transaction.expiresDate
      revocation = Periods.revocation(of: register)
      first = register.first
      isUpgraded = transaction.isUpgraded
      reason = transaction.transactionReason
    }

    /// From when on a purchase ends it.
    var charged: Int64 { min(start, first ?? .max) }
    var isVoid: Bool { revocation.map { $0 <= start } ?? false }
  }

  // MARK: Steps

  /// One step of the fold.
  public mutating func evolve(_ event: FoldEvent) {
    let ids = Set(event.transactions.map(\.transactionId))
    let before = ids.map { id in (id, state.transactions[id].map(Bounds.init)) }
    state.evolve(event)
    for (id, old) in before {
      guard let register = state.transactions[id] else { continue }
      let new = Bounds(register)
      guard old != new else { continue }
      take(id, old, new)
    }
  }

  private mutating func take(_ id: String, _ old: Bounds?, _ new: Bounds) {
    hasEndless = hasEndless || new.expires == nil
    let wasEmpty = order.isEmpty
    let last = order.last?.start ?? .min
    if let old { order.removeAll { $0.start == old.start && $0.id == id } }
    let place = place(from: new.start)
    order.insert((new.start, id), at: place)
    guard isChosen, !wasEmpty, old == nil, !hasEndless, let expires = new.expires else {
      latestEnd = max(latestEnd, new.expires ?? .max)
      isChosen = false
      return
    }
    let wasLatest = latestEnd
    latestEnd = max(latestEnd, expires)
    if new.start > last {
      chosen.insert(id)
      // Where Apple did not say why it was made, it may end one and not another that the first
      // stands before, unless it stands before all of them itself.
      let standsBefore =
        new.start <= clock && expires >= wasLatest && new.revocation == nil && !new.isUpgraded
      isChosen = new.charged >= last && (new.reason != nil || standsBefore)
    } else if !isOver(new, expires) {
      isChosen = false
    }
  }

  /// Whether one that came late is past, is not the newest, and ends none that matters.
  private func isOver(_ new: Bounds, _ expires: Int64) -> Bool {
    guard expires <= clock, let first = order.first, first.start < new.start else { return false }
    var newest = Int64.min
    for id in chosen {
      guard let register = state.transactions[id] else { return false }
      let other = Bounds(register)
      if !other.isVoid { newest = max(newest, other.start) }
      if other.expires.map({ $0 > clock }) ?? true, other.charged < new.start { return false }
    }
    return new.start < newest
  }

  /// The place of the first that begins at `time` or later.
  private func place(from time: Int64) -> Int {
    var low = 0
    var high = order.count
    while low < high {
      let middle = (low + high) / 2
      if order[middle].start < time { low = middle + 1 } else { high = middle }
    }
    return low
  }

  // MARK: Answers

  /// The answer at a time, which must not lie before one asked about earlier; nil where no event
  /// told of a transaction or a renewal.
  ///
  /// - Parameter durations: milliseconds that non-renewing products last, by product id.
  public mutating func entitlement(
    at time: Int64, durations: [String: Int64] = [:]
  ) -> Entitlement? {
    precondition(time >= clock, "the clock went back")
    clock = time
    guard !hasEndless else { return Entitlement(state, at: time, durations: durations) }
    if isChosen { narrow() }
    if !isChosen || chosen.count > 2 * sizeWhenChosen + 8 { choose() }
    var part = StreamState()
    part.renewal = state.renewal
    part.status = state.status
    for id in chosen { part.transactions[id] = state.transactions[id] }
    return Entitlement(part, at: time, durations: durations)
  }

  /// One that began last, alone, and ends last stands before all others: the usual renewal.
  private mutating func narrow() {
    guard chosen.count > 2, let last = order.last, let first = order.first, last.start <= clock,
      let register = state.transactions[last.id]
    else { return }
    let bounds = Bounds(register)
    let previous = order[order.count - 2].start
    // None begins at the same time, or after its charge: no other may end it.
    guard previous < bounds.start, previous <= bounds.charged, !bounds.isVoid, !bounds.isUpgraded,
      min(bounds.expires ?? .max, bounds.revocation ?? .max) >= latestEnd
    else { return }
    chosen = [first.id, last.id]
    sizeWhenChosen = 2
  }

  private mutating func choose() {
    latestEnd = .min
    chosen.removeAll()
    if let first = order.first { chosen.insert(first.id) }
    var bound = Int64.max
    for (id, register) in state.transactions {
      let transaction = register.transaction
      latestEnd = max(latestEnd, transaction.expiresDate ?? .max)
      guard transaction.expiresDate.map({ $0 > clock }) ?? true else { continue }
      chosen.insert(id)
      bound = min(bound, transaction.purchaseDate, register.first ?? .max)
    }
    let newest = order.last { entry in
      state.transactions[entry.id].map { !Bounds($0).isVoid } ?? false
    }
    bound = min(bound, newest?.start ?? order.last?.start ?? .max)
    for entry in order[place(from: bound)...] { chosen.insert(entry.id) }
    sizeWhenChosen = chosen.count
    isChosen = true
  }
}
