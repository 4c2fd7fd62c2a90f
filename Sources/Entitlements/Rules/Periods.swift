import AppStore
import Platform

extension Array {
  /// How many elements at the start satisfy `isBefore`, which none after them does.
  package func partitionPoint(_ isBefore: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension Int64 {
  /// The sum, or the maximum or minimum of Int64 if it overflows: dates come from outside, and the
  /// fold must not trap.
  package func advanced(orBoundBy distance: Int64) -> Int64 {
    let (sum, hasOverflow) = addingReportingOverflow(distance)
    return hasOverflow ? (distance > 0 ? .max : .min) : sum
  }

  /// The difference, or the maximum or minimum of Int64 if it overflows.
  package func subtracting(orBoundBy other: Int64) -> Int64 {
    let (difference, hasOverflow) = subtractingReportingOverflow(other)
    return hasOverflow ? (other > 0 ? .min : .max) : difference
  }
}

/// What follows from a stream's registers alone, without a time: when each transaction's paid time
/// ends, which transactions count, and which is the newest.
struct Periods {
  typealias Register = StreamState.TransactionRegister

  /// Milliseconds of a day.
  static let day: Int64 = 86_400_000

  /// The paid time of one transaction. Times are milliseconds since 1970.
  struct Period {
    let start: Int64
    /// When its transaction expires; nil if it does not.
    let expires: Int64?
    /// From when it is revoked; nil if it is not.
    let revocation: Int64?
    /// When another transaction replaced it; `Int64.max`: none did.
    let cut: Int64
    /// When its paid time ends, exclusive. `Int64.min`: superseded before it began; `Int64.max`:
    /// never.
    let end: Int64

    /// Whether it has any paid time.
    var isLive: Bool { end > start }
    /// Whether it was neither revoked from its start nor replaced before it began.
    var counts: Bool { !isVoid && cut > start }
    /// Whether it was revoked from its start, as if it had never been bought.
    var isVoid: Bool { revocation.map { $0 <= start } ?? false }

    init(_ register: Register, _ revocation: Int64?, _ cut: Int64) {
      start = register.held.transaction.purchaseDate
      expires = register.expires
      (self.revocation, self.cut) = (revocation, cut)
      // One that was upgraded, where what replaced it is not known, covers nothing.
      let isLost = register.isUpgraded && cut == .max
      end = isLost ? .min : min(expires ?? .max, revocation ?? .max, cut)
    }
  }

  /// Sorted by (purchase date, register key, transaction id).
  var registers: [Register]
  /// In the same order.
  let all: [Period]
  /// Index of the newest transaction that counts; if none counts, of the newest of all.
  let head: Int?
  /// The time before each start that counts as paid with it. In the same order.
  let early: [Range<Int64>]
  /// At index n: until when the paid time of the first n periods, and of those that continue it,
  /// runs without a gap.
  private let paidThroughAfter: [Int64]
  /// When each period begins, and when each ends (`Int64.min` if it is not live). These are arrays
  /// of their own because every breakpoint of a history is looked up in them.
  private let starts: [Int64]
  private let ends: [Int64]
  /// At each index: the latest expiry of it and those before it.
  private let reach: [Int64]
  /// At index n: the latest end of the first n periods; `Int64.min` if none is live.
  private let latestEnds: [Int64]

  init(_ state: StreamState) {
    let registers = Self.sorted(state)
    self.init(
      registers, Self.periods(registers, isSandbox: state.isSandbox), isSandbox: state.isSandbox)
  }

  /// - Parameter all: of each of `registers`, which are sorted.
  init(_ registers: [Register], _ all: [Period], isSandbox: Bool) {
    self.registers = registers
    self.all = all
    let reach: [Int64] = all.reduce(into: []) { reach, period in
      reach.append(max(reach.last ?? .min, period.expires ?? .max))
    }
    self.reach = reach
    head = Self.head(all).map { Self.longest(of: $0, registers, all, reach) }
    early = Self.early(registers, all, isSandbox: isSandbox)
    starts = all.map(\.start)
    ends = all.map { $0.isLive ? $0.end : .min }
    latestEnds = ends.reduce(into: [.min]) { latest, end in
      latest.append(max(latest[latest.count - 1], end))
    }
    paidThroughAfter = Self.paidThrough(starts, latestEnds)
  }

  var headPeriod: Period? { head.map { all[$0] } }
  var headTransaction: Transaction? { head.map { registers[$0].held.transaction } }

  /// From when the row is revoked: the revocation of the newest transaction, or before that begins,
  /// of the one before it; for one-time products the earliest revocation of any of them.
  var revokedAt: Int64? {
    guard let head = headPeriod else { return nil }
    guard head.expires != nil else { return earliestRevocation }
    if let revocation = head.revocation { return revocation }
    let before = newest(at: head.start.advanced(orBoundBy: -1)).flatMap { all[$0].revocation }
    return before.flatMap { $0 < head.start ? $0 : nil }
  }

  var earliestRevocation: Int64? { all.compactMap(\.revocation).min() }

  /// Index of the period that covers `time`: of those that are running, the one that began last;
  /// if none is, the first to begin whose early time it is.
  func coveringPeriod(at time: Int64) -> Int? {
    let begun = Self.begun(starts, by: time)
    if time < latestEnds[begun] { return ends[..<begun].lastIndex { time < $0 } }
    let soon = Self.begun(starts, by: time.advanced(orBoundBy: Self.day))
    return (begun..<soon).first { early[$0].contains(time) && time < ends[$0] }
  }

  /// Index of the newest transaction that counts and had begun by `time`; before the first of them,
  /// that of the newest of all.
  func newest(at time: Int64) -> Int? {
    guard let head, time < all[head].start else { return head }
    return all[..<Self.begun(starts, by: time)].lastIndex { $0.counts }
      .map { Self.longest(of: $0, registers, all, reach) } ?? head
  }

  /// Until when paid periods follow each other without a gap, starting with the one at an index.
  func paidThrough(from index: Int) -> Int64 {
    max(all[index].end, paidThroughAfter[Self.begun(starts, by: all[index].end)])
  }

  /// The seats that are paid for and not refunded at a time, in the period of a purchase or, where
  /// nothing covers the time, as it ended; nil of a purchase without seats.
  func seats(of index: Int, at time: Int64) -> Int64? {
    guard registers[index].seats != nil, all[index].isLive else { return nil }
    let moment = all[index].end > time ? time : all[index].end - 1
    return Self.siblings(of: index, registers, all, reach).reduce(0) { sum, sibling in
      let isPaid = all[sibling].start <= moment && moment < all[sibling].end || sibling == index
      // What is revoked had all its seats until then.
      let refunded = all[sibling].revocation == nil ? registers[sibling].refundedSeats ?? 0 : 0
      let paid = registers[sibling].seats.map { $0 &- refunded }
      return isPaid ? sum &+ max(0, paid ?? 0) : sum
    }
  }

  /// The last of those that begin at a time.
  func last(startingAt time: Int64, where isMeant: (Int) -> Bool) -> Int? {
    (starts.partitionPoint { $0 < time }..<Self.begun(starts, by: time)).last(where: isMeant)
  }

  // MARK: Derivation

  /// Sorts places, because to move a register costs more than to compare two.
  private static func sorted(_ state: StreamState) -> [Register] {
    let registers = Array(state.transactions.values)
    let starts = registers.map { $0.held.transaction.purchaseDate }
    let places = registers.indices.sorted { one, other in
      starts[one] != starts[other]
        ? starts[one] < starts[other] : Register.beginsEarlier(registers[one], registers[other])
    }
    return places.map { registers[$0] }
  }

  private static func periods(_ registers: [Register], isSandbox: Bool) -> [Period] {
    let revocations = Revocations.of(registers)
    let cuts = Replacements.cuts(
      registers.indices.map { Replacements.Item(registers[$0], revocations[$0], isSandbox) })
    return registers.indices.map { Period(registers[$0], revocations[$0], cuts[$0]) }
  }

  /// The newest of those that were not revoked from their start, and of these of those that were
  /// not replaced before they began.
  private static func head(_ all: [Period]) -> Int? {
    all.lastIndex { $0.counts } ?? all.lastIndex { !$0.isVoid }
      ?? all.lastIndex { $0.cut > $0.start } ?? all.indices.last
  }

  /// A purchase of seats, and those of the same period: each addition of seats is a transaction.
  private static func siblings(
    of index: Int, _ registers: [Register], _ all: [Period], _ reach: [Int64]
  ) -> [Int] {
    let (held, period) = (registers[index].held, all[index])
    guard held.transaction.multiSeatInfo != nil || held.reason == .addition else { return [index] }
    func isSibling(_ other: Int) -> Bool {
      let (one, isAdded) = (registers[other].held, held.reason == .addition)
      return (isAdded || one.reason == .addition)
        && ByteSearch.areEqual(one.transaction.productId, held.transaction.productId)
        && all[other].expires ?? .max > period.start
    }
    let before = all[..<index].indices.reversed().prefix { reach[$0] > period.start }
    let after = all[(index + 1)...].indices.prefix { all[$0].start < period.expires ?? .max }
    return before.reversed().filter(isSibling) + [index] + after.filter(isSibling)
  }

  /// The purchaser keeps access until all purchases of the period are revoked: of these, the one
  /// that covers longest.
  private static func longest(
    of index: Int, _ registers: [Register], _ all: [Period], _ reach: [Int64]
  ) -> Int {
    siblings(of: index, registers, all, reach).filter { all[$0].counts }
      .max { (all[$0].end, $0) < (all[$1].end, $1) } ?? index
  }

  /// Apple charges a renewal up to 24 hours before the end of a period that runs. So one that was
  /// signed before it began was charged while it ran: there is no lapse between them, even if the
  /// period before it was never told. What was refunded of that is not given back. Where it is not
  /// known when a transaction was signed (V1), this holds for the time before the first period.
  private static func early(
    _ registers: [Register], _ all: [Period], isSandbox: Bool
  ) -> [Range<Int64>] {
    let ends = all.compactMap { $0.isVoid ? nil : min($0.expires ?? .min, $0.cut) }.sorted()
    return all.indices.map { index in
      let start = all[index].start
      let ended = Self.begun(ends, by: start)
      let lastEnd = ended > 0 ? ends[ended - 1] : .min
      guard [.renewal, .unknown].contains(registers[index].reason) else { return start..<start }
      let ahead = registers[index].held.transaction.chargedAhead(isSandbox: isSandbox)
      let charged = start.advanced(orBoundBy: -ahead)
      guard let first = registers[index].first else {
        return charged..<max(charged, all[0].start)
      }
      return first < start ? max(charged, lastEnd)..<start : start..<start
    }
  }

  /// How many of these ascending times are not after `time`.
  private static func begun(_ starts: [Int64], by time: Int64) -> Int {
    starts.partitionPoint { $0 <= time }
  }

  /// Computed from the back: by the latest end of the first n periods further ones may have begun,
  /// and then their paid time continues it.
  private static func paidThrough(_ starts: [Int64], _ latestEnds: [Int64]) -> [Int64] {
    var paidThrough = latestEnds
    for count in stride(from: starts.count, through: 1, by: -1) {
      let further = begun(starts, by: latestEnds[count])
      if further > count { paidThrough[count] = paidThrough[further] }
    }
    return paidThrough
  }
}

extension Replacements.Item {
  init(
    _ register: StreamState.TransactionRegister, _ revocation: Int64?, _ isSandbox: Bool
  ) {
    let held = register.held
    start = held.transaction.purchaseDate
    expires = register.expires ?? .max
    ahead = held.transaction.chargedAhead(isSandbox: isSandbox)
    first = register.first ?? .max
    reason = register.reason
    product = held.transaction.productId
    isUpgraded = register.isUpgraded
    isVoid = revocation.map { $0 <= held.transaction.purchaseDate } ?? false
  }
}

extension Replacements.Reason {
  init(_ transaction: Transaction) {
    self.init(transaction.transactionReason, transaction.additionalTransactionReason)
  }

  /// - Parameters:
  ///   - reason: Apple's transactionReason.
  ///   - additional: Apple's additionalTransactionReason.
  init(_ reason: String?, _ additional: String? = nil) {
    self =
      switch reason {
      case nil: .unknown
      case "RENEWAL": .renewal
      default: additional == "SEAT_ADDITION" ? .addition : .purchase
      }
  }
}

extension Transaction {
  /// The first time that no subscription expires at: the year 2501.
  private static let neverExpires: Int64 = 16_756_761_600_000

  /// Whether it covers nothing by itself (promise 8): an auto-renewable subscription without an
  /// expiry, or with an absurd one, and a product of a kind that Apple does not document without
  /// one. Such a one expires when it was bought.
  var isEndless: Bool {
    switch type {
    case nil, ProductType.consumable, ProductType.nonConsumable, ProductType.nonRenewing: false
    case ProductType.autoRenewable: expiresDate ?? Self.neverExpires >= Self.neverExpires
    default: expiresDate == nil
    }
  }

  /// When it expires as far as it may be believed, milliseconds since 1970.
  var statedEnd: Int64? { isEndless ? nil : expiresDate }

  /// How long before a renewal begins Apple may charge for it: 24 hours. In the sandbox, where
  /// periods last minutes, at most a thirtieth of the period. Milliseconds.
  func chargedAhead(isSandbox: Bool) -> Int64 {
    guard isSandbox, let expiresDate else { return Periods.day }
    return min(Periods.day, max(0, expiresDate.subtracting(orBoundBy: purchaseDate)) / 30)
  }

  var hasImpossibleValue: Bool {
    expiresDate.map { $0 < purchaseDate } ?? false || price ?? 0 < 0 || quantity ?? 1 < 1
      || originalTransactionId == nil && type == ProductType.autoRenewable
  }
}

extension StreamState.TransactionRegister {
  /// When the transaction expires, milliseconds since 1970; nil for a product that does not.
  public var expires: Int64? { newerEnd ?? held.expires }

  /// The end that is newer than what Apple signed; nil for a product that has none.
  var newerEnd: Int64? { held.expires.flatMap { _ in newer?.expires } }

  /// What V1 or a receipt says of its end, where that is provably newer than what Apple signed.
  var newer: Unsigned? {
    guard key.isSigned, let unsigned = older?.unsigned?.value, unsigned.certain > key.signed else {
      return nil
    }
    return unsigned
  }

  /// The cancellation date that is newer than what Apple signed, milliseconds since 1970.
  public var cancel: Int64? { newer?.cancel }

  var reason: Replacements.Reason {
    held.reason == .unknown ? Replacements.Reason(older?.reason?.value) : held.reason
  }

  var isUpgraded: Bool { held.transaction.isUpgraded || isUpgradedByV1 }

  /// The order of a row's periods: purchase date, register key, transaction id.
  package static func beginsEarlier(_ one: Self, _ other: Self) -> Bool {
    let (begins, otherBegins) = (
      one.held.transaction.purchaseDate, other.held.transaction.purchaseDate
    )
    if begins != otherBegins { return begins < otherBegins }
    if one.key != other.key { return one.key < other.key }
    return ByteSearch.precedes(
      one.held.transaction.transactionId, other.held.transaction.transactionId)
  }
}

extension StreamState {
  /// The newest transaction that counts; if none counts, the newest of all.
  package var newestTransactionId: String? {
    Periods(self).headTransaction?.transactionId
  }
}
