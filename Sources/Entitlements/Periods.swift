import AppStore

extension Int64 {
  /// The sum, or the bound it would pass: dates come from outside, and the fold must not trap.
  package func advanced(orBoundBy distance: Int64) -> Int64 {
    let (sum, hasOverflow) = addingReportingOverflow(distance)
    return hasOverflow ? (distance > 0 ? .max : .min) : sum
  }
}

/// What follows from a stream's registers alone, before any clock: when each transaction's paid
/// time ends, which of them count, and which is the newest.
struct Periods {
  typealias Register = StreamState.TransactionRegister

  /// Milliseconds of a day.
  static let day: Int64 = 86_400_000

  struct Period {
    let start: Int64
    /// What its transaction says, ms; nil where it does not expire.
    let expires: Int64?
    /// From when it is revoked, ms; nil where it is not.
    let revocation: Int64?
    /// When its paid time ends, exclusive, ms. `Int64.min`: superseded before it began;
    /// `Int64.max`: never.
    let end: Int64

    var isLive: Bool { end > start }
    /// As if it had never been bought.
    var isVoid: Bool { revocation.map { $0 <= start } ?? false }
  }

  /// Sorted by (purchase date, register key, transaction id).
  var registers: [Register]
  /// In the same order.
  let all: [Period]
  /// Place of the newest transaction that counts; of all, where none counts.
  let head: Int?
  /// How far paid time reaches without a hole for one who has the first so many periods: from any
  /// moment at which all of them have begun.
  private let reach: [Int64]
  /// When each begins, and when each ends: `Int64.min` where it is not live. A moment is looked up
  /// for every turn of a history, so these are kept apart from what else a period is.
  private let starts: [Int64]
  private let ends: [Int64]
  /// Until when the first so many run, `Int64.min` where none does.
  private let latest: [Int64]

  init(_ state: StreamState) {
    let registers = state.transactions.values.sorted(by: Self.isEarlier)
    let revocations = registers.map(Self.revocation)
    let purchases = Purchases(registers, revocations)
    let all = registers.indices.map { place in
      Period(
        start: registers[place].transaction.purchaseDate,
        expires: registers[place].transaction.expiresDate, revocation: revocations[place],
        end: Self.end(of: registers[place], at: place, revocations[place], among: purchases))
    }
    self.registers = registers
    self.all = all
    head = all.lastIndex { !$0.isVoid } ?? all.indices.last
    starts = all.map(\.start)
    ends = all.map { $0.isLive ? $0.end : .min }
    latest = ends.reduce(into: [.min]) { latest, end in
      latest.append(max(latest[latest.count - 1], end))
    }
    reach = Self.reach(starts, latest)
  }

  var headPeriod: Period? { head.map { all[$0] } }

  /// From when the row is revoked: as its newest transaction is; one-time products all at once.
  var revokedAt: Int64? {
    guard let head = headPeriod else { return nil }
    guard head.expires == nil else { return head.revocation }
    return all.compactMap(\.revocation).min()
  }

  /// The period that covers `time`: of those still running the one begun last. Where nothing of the
  /// row has begun, one that begins within a day: Apple charges a renewal up to 24 hours early.
  func covering(_ time: Int64) -> Int? {
    let begun = Self.begun(starts, by: time)
    if begun > 0 { return time < latest[begun] ? ends[..<begun].lastIndex { time < $0 } : nil }
    let early = Self.begun(starts, by: time.advanced(orBoundBy: Self.day))
    return ends[..<early].firstIndex { time < $0 }
  }

  /// Until when paid periods follow each other without a hole, starting with the one at a place.
  func paidThrough(from place: Int) -> Int64 {
    max(all[place].end, reach[Self.begun(starts, by: all[place].end)])
  }

  /// How many of these, in the order of time, lie at `time` or before.
  fileprivate static func begun(_ starts: [Int64], by time: Int64) -> Int {
    var low = 0
    var high = starts.count
    while low < high {
      let middle = (low + high) / 2
      if starts[middle] <= time { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// From the back: what the first so many reach to may let further ones join.
  private static func reach(_ starts: [Int64], _ latest: [Int64]) -> [Int64] {
    var reach = latest
    for count in stride(from: starts.count, through: 1, by: -1) {
      let further = begun(starts, by: latest[count])
      if further > count { reach[count] = reach[further] }
    }
    return reach
  }

  private static func isEarlier(_ one: Register, _ other: Register) -> Bool {
    let (a, b) = (one.transaction, other.transaction)
    if a.purchaseDate != b.purchaseDate { return a.purchaseDate < b.purchaseDate }
    if one.key != other.key { return one.key < other.key }
    return a.transactionId.utf8.lexicographicallyPrecedes(b.transactionId.utf8)
  }

  /// A reversal voids every revocation dated before it; a later refund counts again.
  static func revocation(of register: Register) -> Int64? {
    let date = register.key.version == 1 ? register.transaction.revocationDate : register.cancel
    guard let date, date > register.clear ?? .min else { return nil }
    return date
  }

  private static func end(
    of register: Register, at place: Int, _ revocation: Int64?, among purchases: Purchases
  ) -> Int64 {
    guard !register.transaction.isUpgraded else { return .min }
    let end = min(register.transaction.expiresDate ?? .max, revocation ?? .max)
    return min(end, purchases.firstToSupersede(register, at: place) ?? .max)
  }
}

/// The transactions that count and are no renewals, in the order of time: each may end others.
private struct Purchases {
  /// Of those of which Apple said why they were made: when each begins, and its place.
  private var starts: [Int64] = []
  private var places: [Int] = []
  /// Of the others (V1, and V2 before June 2023): when each begins.
  private var untold: [Int64] = []

  /// - Parameter registers: in the order of time.
  init(_ registers: [Periods.Register], _ revocations: [Int64?]) {
    for (place, register) in registers.enumerated() {
      let start = register.transaction.purchaseDate
      let isVoid = revocations[place].map { $0 <= start } ?? false
      guard !isVoid, register.transaction.transactionReason != "RENEWAL" else { continue }
      if register.transaction.transactionReason == nil {
        untold.append(start)
      } else {
        starts.append(start)
        places.append(place)
      }
    }
  }

  /// When the first begins that ends a period. A purchase ends every period that began before it,
  /// and every one that was charged before it even if that was to begin later. Where Apple did not
  /// say why a transaction was made, one that starts over a day before the predecessor's end is a
  /// purchase.
  func firstToSupersede(_ register: Periods.Register, at place: Int) -> Int64? {
    let begins = register.transaction.purchaseDate
    var next = Periods.begun(starts, by: min(begins, register.first ?? .max))
    // One that was charged before it began is later than its own charge: it does not end itself.
    if next < places.count, places[next] == place { next += 1 }
    let other = next < starts.count ? starts[next] : nil
    let early = Periods.begun(untold, by: begins)
    let limit = register.transaction.expiresDate?.advanced(orBoundBy: -Periods.day) ?? .max
    guard early < untold.count, untold[early] < limit else { return other }
    return min(untold[early], other ?? .max)
  }
}
