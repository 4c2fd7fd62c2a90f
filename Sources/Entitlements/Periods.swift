import AppStore

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
    /// When its paid time ends, exclusive. `Int64.min`: superseded before it began; `Int64.max`:
    /// never.
    let end: Int64

    /// Whether it has any paid time.
    var isLive: Bool { end > start }
    /// Whether it was revoked from its start, as if it had never been bought.
    var isVoid: Bool { revocation.map { $0 <= start } ?? false }
  }

  /// Sorted by (purchase date, register key, transaction id).
  var registers: [Register]
  /// In the same order.
  let all: [Period]
  /// Index of the newest transaction that counts; if none counts, of the newest of all.
  let head: Int?
  /// At index n: until when the paid time of the first n periods, and of those that continue it,
  /// runs without a gap.
  private let paidThroughAfter: [Int64]
  /// When each period begins, and when each ends (`Int64.min` if it is not live). These are arrays
  /// of their own because every breakpoint of a history is looked up in them.
  private let starts: [Int64]
  private let ends: [Int64]
  /// At index n: the latest end of the first n periods; `Int64.min` if none is live.
  private let latestEnds: [Int64]

  init(_ state: StreamState) {
    let registers = state.transactions.values.sorted(by: Register.beginsEarlier)
    let revocations = registers.map(Self.revocation)
    let purchases = Purchases(registers, revocations)
    let all = registers.indices.map { index in
      Period(
        start: registers[index].held.transaction.purchaseDate,
        expires: registers[index].expires, revocation: revocations[index],
        end: Self.end(of: registers[index], at: index, revocations[index], among: purchases))
    }
    self.registers = registers
    self.all = all
    head = all.lastIndex { !$0.isVoid } ?? all.indices.last
    starts = all.map(\.start)
    ends = all.map { $0.isLive ? $0.end : .min }
    latestEnds = ends.reduce(into: [.min]) { latest, end in
      latest.append(max(latest[latest.count - 1], end))
    }
    paidThroughAfter = Self.paidThrough(starts, latestEnds)
  }

  var headPeriod: Period? { head.map { all[$0] } }

  /// From when the row is revoked: the revocation of the newest transaction; for one-time products
  /// the earliest revocation of any of them.
  var revokedAt: Int64? {
    guard let head = headPeriod else { return nil }
    guard head.expires == nil else { return head.revocation }
    return all.compactMap(\.revocation).min()
  }

  /// Index of the period that covers `time`: of those that are running, the one that began last.
  /// Before the first period of the row begins, a period that begins within a day covers the time,
  /// because Apple charges a renewal up to 24 hours early.
  func coveringPeriod(at time: Int64) -> Int? {
    let begun = Self.begun(starts, by: time)
    if begun > 0 {
      return time < latestEnds[begun] ? ends[..<begun].lastIndex { time < $0 } : nil
    }
    let early = Self.begun(starts, by: time.advanced(orBoundBy: Self.day))
    return ends[..<early].firstIndex { time < $0 }
  }

  /// Until when paid periods follow each other without a gap, starting with the one at an index.
  func paidThrough(from index: Int) -> Int64 {
    max(all[index].end, paidThroughAfter[Self.begun(starts, by: all[index].end)])
  }

  /// How many of these ascending times are not after `time`.
  fileprivate static func begun(_ starts: [Int64], by time: Int64) -> Int {
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

  /// From when a transaction is revoked; nil if it is not. A reversal voids every revocation dated
  /// before it; a later refund counts again.
  static func revocation(of register: Register) -> Int64? {
    let date =
      register.key.version == 1 ? register.held.transaction.revocationDate : register.cancel
    guard let date, date > register.clear ?? .min else { return nil }
    return date
  }

  private static func end(
    of register: Register, at index: Int, _ revocation: Int64?, among purchases: Purchases
  ) -> Int64 {
    guard !register.held.transaction.isUpgraded else { return .min }
    let end = min(register.expires ?? .max, revocation ?? .max)
    return min(end, purchases.firstToSupersede(register, at: index) ?? .max)
  }
}

/// The transactions that count and are not renewals, by purchase date: each may end others.
private struct Purchases {
  /// Of those with a transactionReason: when each begins, and its index among the registers.
  private var starts: [Int64] = []
  private var indices: [Int] = []
  /// Of those without one (V1, and V2 before June 2023): when each begins.
  private var startsWithoutReason: [Int64] = []

  /// - Parameter registers: sorted by purchase date.
  init(_ registers: [Periods.Register], _ revocations: [Int64?]) {
    for (index, register) in registers.enumerated() {
      let start = register.held.transaction.purchaseDate
      let isVoid = revocations[index].map { $0 <= start } ?? false
      guard !isVoid, register.held.transaction.transactionReason != "RENEWAL" else { continue }
      if register.held.transaction.transactionReason == nil {
        startsWithoutReason.append(start)
      } else {
        starts.append(start)
        indices.append(index)
      }
    }
  }

  /// When the first purchase begins that ends a period; nil if none does.
  ///
  /// A purchase ends every period that began before it, and every period that was charged before it
  /// even if it was to begin later. A transaction without a transactionReason counts as a purchase
  /// if it begins more than a day before its predecessor's end.
  func firstToSupersede(_ register: Periods.Register, at index: Int) -> Int64? {
    let begins = register.held.transaction.purchaseDate
    var next = Periods.begun(starts, by: min(begins, register.first ?? .max))
    // A purchase that was charged before it began is found here itself: it does not end itself.
    if next < indices.count, indices[next] == index { next += 1 }
    let other = next < starts.count ? starts[next] : nil
    let early = Periods.begun(startsWithoutReason, by: begins)
    let limit = register.expires?.advanced(orBoundBy: -Periods.day) ?? .max
    guard early < startsWithoutReason.count, startsWithoutReason[early] < limit else {
      return other
    }
    return min(startsWithoutReason[early], other ?? .max)
  }
}

extension StreamState.TransactionRegister {
  /// The first time that no subscription expires at: the year 2501.
  private static let neverExpires: Int64 = 16_756_761_600_000

  /// When the transaction expires; nil for a product that does not. An auto-renewable subscription
  /// without an expiry, or with an absurd one, covers nothing by itself: it expires when it was
  /// bought (promise 8).
  var expires: Int64? {
    isEndlessSubscription ? held.transaction.purchaseDate : held.transaction.expiresDate
  }

  private var isEndlessSubscription: Bool {
    held.transaction.type == "Auto-Renewable Subscription"
      && held.transaction.expiresDate ?? Self.neverExpires >= Self.neverExpires
  }

  /// Whether it has a date, a price or a quantity that no purchase has.
  var isAnomalous: Bool {
    isEndlessSubscription
      || held.transaction.expiresDate.map { $0 < held.transaction.purchaseDate } ?? false
      || held.transaction.price ?? 0 < 0 || held.transaction.quantity ?? 1 < 1
      || held.transaction.originalTransactionId == nil
        && held.transaction.type == "Auto-Renewable Subscription"
  }

  /// The order of a row's periods: purchase date, register key, transaction id.
  package static func beginsEarlier(_ one: Self, _ other: Self) -> Bool {
    let (begins, otherBegins) = (
      one.held.transaction.purchaseDate, other.held.transaction.purchaseDate
    )
    if begins != otherBegins { return begins < otherBegins }
    if one.key != other.key { return one.key < other.key }
    return one.held.transaction.transactionId.utf8.lexicographicallyPrecedes(
      other.held.transaction.transactionId.utf8)
  }
}

extension StreamState {
  /// The newest transaction that counts; if none counts, the newest of all.
  package var newestTransactionId: String? {
    let periods = Periods(self)
    return periods.head.map { periods.registers[$0].transaction.transactionId }
  }
}
