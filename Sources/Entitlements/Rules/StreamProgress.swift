public import AppStore
import Platform

/// Evaluates a stream after each of its events, at times that never decrease.
///
/// Evaluating a state takes time proportional to its transactions, and a timeline evaluates it
/// after every event, which is quadratic. This type keeps what the rules of `Periods` and
/// `Replacements` make of each transaction, changes it where an event does, and evaluates only the
/// transactions that can affect an answer at the clock or later. Its answers equal those of the
/// whole state. These are:
/// - the first of all, the newest that counts, and the newest that counts and has begun;
/// - each that has not begun;
/// - each that runs longer than all that began after it, as it covers when they have ended;
/// - where one has not begun, each that has not expired: the time before a renewal that was charged
///   ahead is paid from there on;
/// - one that ends at Apple's renewal date, which then is of no period that was not told; and one
///   whose end a grace period follows;
/// - the newest that counts and began before the newest that counts, as the row says its refund;
/// - of one-time products, the one that was revoked first.
///
/// With seats, purchases of one product do not replace each other, and one decides about others of
/// its period. Teams have few purchases, so of these all are evaluated anew.
public struct StreamProgress {
  typealias Register = StreamState.TransactionRegister

  public private(set) var state = StreamState()
  /// In the order of `Periods`.
  private var registers: [Register] = []
  /// What the rules made of each of `registers`.
  private var slots: [Slot] = []
  private var replacements = Replacements()
  /// What purchases under several ids have in common, by the hash of their webOrderLineItemId.
  private var twins: [UInt64: Twins] = [:]
  /// What is revoked from when, sorted, with its start.
  private var revocations: [(date: Int64, start: Int64)] = []
  /// How many transactions have values that no purchase has.
  private var anomalies = 0
  private var hasOneTime = false
  /// A purchase has seats, or an event is of another environment than those before it, which
  /// decides about every transaction: nothing but `state` is kept, and all are evaluated anew.
  private var isWhole = false
  /// From the first place to the second, `Slot.past` is to be found; `Int.max`: to the end.
  private var dirty = (first: Int.max, last: -1)
  /// The latest time asked about, milliseconds since 1970.
  private var clock = Int64.min

  private let fold: Fold

  public init(by fold: Fold) { self.fold = fold }

  /// Times are milliseconds since 1970.
  private struct Slot {
    var item: Replacements.Item
    var itemHash: UInt64
    var revocation: Int64?
    var isOut = true
    /// When one began that ended it before it began; `Int64.max`: none did.
    var replaced = Int64.max
    /// Whether `isOut` and `replaced` are to be found.
    var isNew = true
    var past = Past()

    var counts: Bool { !item.isVoid && replaced > item.start }
  }

  /// Of a transaction and all before it.
  private struct Past: Equatable {
    /// Milliseconds since 1970.
    var latestExpiry = Int64.min
    /// The places of the newest that counts, and of the newest that is not void.
    var counting: Int?
    var notVoid: Int?
  }

  /// Times are milliseconds since 1970.
  private struct Twins {
    /// No more than one above `TransactionSource.mostIds`.
    var ids: [String] = []
    /// The id of the one that Apple signed last.
    var newest: String?
    /// The latest reversal of any of them.
    var cleared: Int64?
    var revocation: Int64?
  }

  // MARK: Steps

  /// One step of the fold.
  public mutating func evolve(_ event: FoldEvent) {
    var known: [String: Register?] = [:]
    for id in event.transactions.map(\.transactionId) {
      known.updateValue(state.transactions[id], forKey: id)
    }
    let wasSandbox = state.isSandbox
    state.evolve(event)
    isWhole =
      isWhole || state.isSandbox != wasSandbox && !registers.isEmpty
      || known.keys.contains { state.transactions[$0]?.hasSeats == true }
    guard !isWhole else { return }
    var changed: [Replacements.Item] = []
    for (id, old) in known {
      if let register = state.transactions[id] { put(register, insteadOf: old, &changed) }
    }
    settle(changed)
  }

  /// - Parameter changed: receives what others may depend on, as it was and as it is.
  private mutating func put(
    _ register: Register, insteadOf old: Register?, _ changed: inout [Replacements.Item]
  ) {
    let hash = register.held.itemHash
    var place = registers.partitionPoint { Register.beginsEarlier($0, old ?? register) }
    if let old {
      registers[place] = register
      place = moved(from: place)
      if old.held.isAnomalous { anomalies -= 1 }
    } else {
      registers.insert(register, at: place)
      let item = Replacements.Item(register, nil, state.isSandbox)
      slots.insert(Slot(item: item, itemHash: hash), at: place)
      touch(place, andLater: place < slots.count - 1)
      replacements.add(item)
      changed.append(item)
    }
    if register.held.isAnomalous { anomalies += 1 }
    hasOneTime = hasOneTime || register.expires == nil
    slots[place].itemHash = hash
    if let left = old?.held.itemHash, left != hash, left != 0 { regroup(left, &changed) }
    if hash != 0, old?.held.itemHash != hash,
      twins[hash].map({ $0.ids.count <= TransactionSource.mostIds }) ?? true
    {
      twins[hash, default: Twins()].ids.append(register.transaction.transactionId)
    }
    if hash != 0, newest(of: hash).map({ Register.isOlder($0, register) }) ?? true {
      twins[hash, default: Twins()].newest = register.transaction.transactionId
    }
    revoke(place, insteadOf: old?.held.itemHash == hash ? old : nil, &changed)
  }

  /// Moves a transaction to its place in the order.
  private mutating func moved(from place: Int) -> Int {
    func swapped(_ one: Int, _ other: Int) -> Int {
      registers.swapAt(one, other)
      slots.swapAt(one, other)
      touch(min(one, other), andLater: true)
      return other
    }
    var place = place
    while place > 0, Register.beginsEarlier(registers[place], registers[place - 1]) {
      place = swapped(place, place - 1)
    }
    while place + 1 < registers.count,
      Register.beginsEarlier(registers[place + 1], registers[place])
    {
      place = swapped(place, place + 1)
    }
    return place
  }

  /// Finds from when a transaction is revoked, and all that are the same purchase.
  ///
  /// - Parameter old: the register before, if it was of the same purchase.
  private mutating func revoke(
    _ place: Int, insteadOf old: Register?, _ changed: inout [Replacements.Item]
  ) {
    let (register, hash) = (registers[place], slots[place].itemHash)
    let group = twins[hash] ?? Twins()
    let cleared = hash == 0 ? register.clear : group.cleared
    let own = Revocations.revocation(of: register, cleared: cleared)
    guard hash != 0 else { return set(own, at: place, &changed) }
    let before = old.flatMap { Revocations.revocation(of: $0, cleared: cleared) }
    let first = group.revocation ?? .max
    let isAsBefore =
      register.clear ?? .min <= cleared ?? .min && own ?? .max >= first
      && (before == own || before ?? .max > first)
    if isAsBefore { set(group.revocation, at: place, &changed) } else { regroup(hash, &changed) }
  }

  /// Finds anew what all that are one purchase have in common.
  private mutating func regroup(_ hash: UInt64, _ changed: inout [Replacements.Item]) {
    let places = slots.indices.filter { slots[$0].itemHash == hash }
    let cleared = places.compactMap { registers[$0].clear }.max()
    let revocation = places.compactMap {
      Revocations.revocation(of: registers[$0], cleared: cleared)
    }.min()
    let newest = places.max { Register.isOlder(registers[$0], registers[$1]) }
    twins[hash] = Twins(
      ids: places.prefix(TransactionSource.mostIds + 1)
        .map { registers[$0].transaction.transactionId },
      newest: newest.map { registers[$0].transaction.transactionId },
      cleared: cleared, revocation: revocation)
    for place in places { set(revocation, at: place, &changed) }
  }

  private func newest(of hash: UInt64) -> Register? {
    twins[hash]?.newest.flatMap { state.transactions[$0] }
  }

  private mutating func set(
    _ revocation: Int64?, at place: Int, _ changed: inout [Replacements.Item]
  ) {
    let old = slots[place]
    let item = Replacements.Item(registers[place], revocation, state.isSandbox)
    if let date = old.revocation {
      let known = (date, old.item.start)
      revocations.remove(at: revocations.partitionPoint { $0 < known })
    }
    if let date = revocation {
      let found = (date, item.start)
      revocations.insert(found, at: revocations.partitionPoint { $0 < found })
    }
    slots[place].revocation = revocation
    guard item != old.item else { return }
    touch(place)
    replacements.remove(old.item, isOut: old.isOut)
    replacements.add(item)
    changed += [old.item, item]
    (slots[place].item, slots[place].isOut, slots[place].isNew) = (item, true, true)
  }

  /// Finds anew what was replaced before it began, where that may have changed.
  private mutating func settle(_ changed: [Replacements.Item]) {
    var changed = changed
    for place in concerned(by: changed) {
      let (slot, isOut) = (slots[place], replacements.isOut(slots[place].item))
      guard isOut != slot.isOut else { continue }
      replacements.setOut(slot.item, isOut)
      slots[place].isOut = isOut
      changed.append(slot.item)
    }
    for place in concerned(by: changed) {
      slots[place].replaced = replacements.replaced(slots[place].item, isOut: slots[place].isOut)
      slots[place].isNew = false
      touch(place)
    }
    sum()
  }

  private mutating func touch(_ place: Int, andLater isMoved: Bool = false) {
    dirty = (min(dirty.first, place), isMoved ? .max : max(dirty.last, place))
  }

  /// Finds `Slot.past` anew.
  private mutating func sum() {
    for place in slots.indices.dropFirst(dirty.first) {
      let slot = slots[place]
      var past = place > 0 ? slots[place - 1].past : Past()
      past.latestExpiry = max(past.latestExpiry, slot.item.expires)
      if slot.counts { past.counting = place }
      if !slot.item.isVoid { past.notVoid = place }
      if place > dirty.last, past == slot.past { break }
      slots[place].past = past
    }
    dirty = (.max, -1)
  }

  private func concerned(by changed: [Replacements.Item]) -> Set<Int> {
    // To compare many with all costs more than to find all anew.
    guard changed.count < 100 else { return Set(slots.indices) }
    var found: Set<Int> = []
    for item in changed {
      found.formUnion(places(item.expires, Replacements.renewalEnd(item.expires)))
      for place in places(item.start, item.reason == .renewal ? item.start : .max)
      where slots[place].isNew || replacements.mayReplace(item, slots[place].item) {
        found.insert(place)
      }
    }
    return found
  }

  /// What begins from one time through another.
  private func places(_ first: Int64, _ last: Int64) -> Range<Int> {
    let start = slots.partitionPoint { $0.item.start < first }
    return start..<max(start, slots.partitionPoint { $0.item.start <= last })
  }

  // MARK: Answers

  /// The line of a purchase, without its other ids; nil if no event told of it.
  public func line(about id: String, of key: StreamKey) -> TransactionLine? {
    guard let register = state.transactions[id] else { return nil }
    guard !isWhole else { return state.lines(of: key).first { $0.isAbout(id) } }
    let hash = register.held.itemHash
    let newest = newest(of: hash) ?? register
    let place = registers.partitionPoint { Register.beginsEarlier($0, newest) }
    let cut = period(place).cut
    let told = newest.transaction.transactionId
    var read = Set(places(cut, cut)).union([place])
    // What was refunded under one id of a purchase was refunded of all.
    for other in (twins[hash]?.ids ?? []).compactMap({ state.transactions[$0] }) {
      read.insert(registers.partitionPoint { Register.beginsEarlier($0, other) })
    }
    return periods(read).lines(of: key, state.seqs)
      .first { ByteSearch.areEqual($0.transactionId, told) }
  }

  /// The answer at a time; nil if no event carried a transaction or a renewal.
  ///
  /// - Parameters:
  ///   - time: milliseconds since 1970; not earlier than at the previous call.
  ///   - durations: those of the app.
  public mutating func entitlement(
    at time: Int64, durations: Durations = [:]
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
    to time: Int64, durations: Durations = [:]
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
    guard !isWhole else { return EntitlementRow(state, by: fold, at: clock...time) }
    var row = EntitlementRow(state, periods(selected()), by: fold, at: clock...time)
    row.hasAnomaly = anomalies > 0
    return row
  }

  /// Some of the stream's periods.
  private func periods(_ places: Set<Int>) -> Periods {
    let places = places.sorted()
    return Periods(
      places.map { registers[$0] }, places.map(period), isSandbox: state.isSandbox)
  }

  private func period(_ place: Int) -> Periods.Period {
    let slot = slots[place]
    let cut = min(slot.replaced, replacements.ended(slot.item))
    return Periods.Period(registers[place], slot.revocation, cut)
  }

  /// Selects by the rules of the type's documentation.
  private func selected() -> Set<Int> {
    guard let last = slots.indices.last else { return [] }
    let begun = slots.partitionPoint { $0.item.start <= clock }
    let head =
      slots[last].past.counting ?? slots[last].past.notVoid
      ?? slots.lastIndex { $0.replaced > $0.item.start } ?? last
    var chosen: [Int?] = [0, head]
    let before = slots.partitionPoint { $0.item.start < slots[head].item.start }
    for count in [begun, before] where count > 0 { chosen.append(slots[count - 1].past.counting) }
    if hasOneTime, let first = revocations.first {
      chosen.append(places(first.start, first.start).first { slots[$0].revocation == first.date })
    }
    for renewal in [state.status?.renewal, state.renewal?.renewal] {
      if let date = renewal?.renewalDate { chosen.append(places(endingAt: date).first) }
    }
    for grace in state.graces where grace.until > clock {
      let end = grace.periodEnd
      chosen.append(places(endingAt: end).first { period($0).end == end })
    }
    return running(begun).union(begun..<slots.count).union(chosen.compactMap { $0 })
  }

  /// Of those that have begun, the ones that can cover the clock or later. An end at which nothing
  /// changes is left out.
  private func running(_ begun: Int) -> Set<Int> {
    let ahead = begun < slots.count
    let last = replacements.last(by: clock)
    var latest = clock
    var chosen: Set<Int> = []
    // A purchase ends all before it, and another all that run on for longer than a renewal is
    // charged ahead.
    for place in places(last.purchase, clock).reversed() {
      let item = slots[place].item
      if slots[place].past.latestExpiry <= (ahead ? clock : latest) { break }
      guard
        ahead
          ? item.expires > clock && !item.isVoid
          : min(item.expires, slots[place].revocation ?? .max) > latest,
        item.start >= last.other || item.expires.advanced(orBoundBy: -item.ahead) <= last.other
      else { continue }
      chosen.insert(place)
      latest = max(latest, period(place).end)
    }
    return chosen
  }

  private func places(endingAt end: Int64) -> [Int] {
    Set(replacements.starts(endingAt: end)).flatMap { places($0, $0) }
      .filter { slots[$0].item.expires == end }
  }
}

extension StreamState.TransactionRegister {
  fileprivate var hasSeats: Bool { held.transaction.multiSeatInfo != nil || reason == .addition }
}
