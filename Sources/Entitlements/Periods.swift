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
  let registers: [Register]
  /// In the same order.
  let all: [Period]
  /// Place of the newest transaction that counts; of all, where none counts.
  let head: Int?
  /// How far paid time reaches without a hole for one who has the first so many periods: from any
  /// moment at which all of them have begun.
  private let reach: [Int64]

  init(_ state: StreamState) {
    let registers = state.transactions.values.sorted(by: Self.isEarlier)
    let revocations = registers.map(Self.revocation)
    var purchases: [Purchase] = []
    for (place, register) in registers.enumerated() {
      let start = register.transaction.purchaseDate
      let isVoid = revocations[place].map { $0 <= start } ?? false
      if isVoid || register.transaction.transactionReason == "RENEWAL" { continue }
      let isNamed = register.transaction.transactionReason != nil
      purchases.append(Purchase(place: place, start: start, isNamed: isNamed))
    }
    let all = registers.indices.map { place in
      Period(
        start: registers[place].transaction.purchaseDate,
        expires: registers[place].transaction.expiresDate, revocation: revocations[place],
        end: Self.end(of: registers[place], at: place, revocations[place], among: purchases))
    }
    self.registers = registers
    self.all = all
    head = all.lastIndex { !$0.isVoid } ?? all.indices.last
    reach = Self.reach(all)
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
    let begun = Self.begun(all, by: time)
    if begun > 0 { return all[..<begun].lastIndex { $0.isLive && time < $0.end } }
    let early = time.advanced(orBoundBy: Self.day)
    return all.firstIndex { $0.isLive && time < $0.end && $0.start <= early }
  }

  /// Until when paid periods follow each other without a hole, starting with the one at a place.
  func paidThrough(from place: Int) -> Int64 {
    max(all[place].end, reach[Self.begun(all, by: all[place].end)])
  }

  /// How many begin at `time` or before.
  private static func begun(_ all: [Period], by time: Int64) -> Int {
    var low = 0
    var high = all.count
    while low < high {
      let middle = (low + high) / 2
      if all[middle].start <= time { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// From the back: what the first so many reach to may let further ones join.
  private static func reach(_ all: [Period]) -> [Int64] {
    var latest: [Int64] = [.min]
    for period in all {
      latest.append(max(latest[latest.count - 1], period.isLive ? period.end : .min))
    }
    var reach = latest
    for count in stride(from: all.count, through: 1, by: -1) {
      let further = begun(all, by: latest[count])
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
  private static func revocation(of register: Register) -> Int64? {
    let date = register.key.version == 1 ? register.transaction.revocationDate : register.cancel
    guard let date, date > register.clear ?? .min else { return nil }
    return date
  }

  /// A transaction somebody bought: what else a customer had may end with it.
  private struct Purchase {
    let place: Int
    let start: Int64
    /// Apple said that it is one.
    let isNamed: Bool
  }

  private static func end(
    of register: Register, at place: Int, _ revocation: Int64?, among purchases: [Purchase]
  ) -> Int64 {
    guard !register.transaction.isUpgraded else { return .min }
    let (start, expires) = (register.transaction.purchaseDate, register.transaction.expiresDate)
    var end = min(expires ?? .max, revocation ?? .max)
    for purchase in purchases
    where purchase.place != place
      && supersedes(purchase, start: start, expires: expires, first: register.first)
    {
      end = min(end, purchase.start)
    }
    return end
  }

  /// A purchase ends every period that began before it, and every one that was charged before it
  /// even if that was to begin later. Where Apple did not say why a transaction was made (V1, and
  /// V2 before June 2023), one that starts over a day before the predecessor's end is a purchase.
  private static func supersedes(
    _ purchase: Purchase, start: Int64, expires: Int64?, first: Int64?
  ) -> Bool {
    guard purchase.isNamed else {
      let limit = expires?.advanced(orBoundBy: -day) ?? .max
      return start < purchase.start && purchase.start < limit
    }
    return purchase.start > start || first.map { $0 < purchase.start } ?? false
  }
}
