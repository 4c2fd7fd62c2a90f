import AppStore

/// What Apple gave back of a purchase, or charged again: a row of `refund_v1`.
public struct Refund: Sendable, Equatable {
  public enum Kind: String, Sendable, CaseIterable { case refund, reversal }

  public let kind: Kind
  /// When, milliseconds since 1970. Of a reversal that Apple told only by a purchase without the
  /// refund, when the newest such purchase was signed.
  public let at: Int64
  /// How much; nil if that is not known.
  public let milliunits: Int64?
  /// Apple's revocationType, or refundType of an item.
  public let type: String?
  /// Apple's revocationPercentage: the share that was given back by then, in thousandths of a
  /// percent.
  public let percentage: Int64?

  public init(_ kind: Kind, at: Int64, milliunits: Int64?, type: String?, percentage: Int64?) {
    (self.kind, self.at, self.milliunits) = (kind, at, milliunits)
    (self.type, self.percentage) = (type, percentage)
  }

  fileprivate static func precedes(_ one: Refund, _ other: Refund) -> Bool {
    (one.at, one.kind.rawValue, one.milliunits ?? .max)
      < (other.at, other.kind.rawValue, other.milliunits ?? .max)
  }
}

extension TransactionSource {
  /// A refund that was told, and when it was taken back; nil if it is in force.
  private struct Told {
    var date: Int64
    /// What was given back by then of the price; nil if that is not known.
    var total: Int64?
    /// What was given back at this date, where Apple says that instead.
    var own: Int64?
    var type: String?
    var percentage: Int64?
    var reversal: Int64?
  }

  /// Each refund and each reversal, in the order of time.
  var refunds: [Refund] { account.refunds }

  /// What was given back of the price and not taken back. Nil if that is not known.
  var refunded: Int64? { account.refunded }

  /// What a family member, a seat or a replaced purchase loses is nothing that was paid back to the
  /// customer: it is not in the list.
  private var account: (refunds: [Refund], refunded: Int64?) {
    guard
      revokedAt != nil || register.refundedSeats ?? 0 > 0
        || group.contains(where: { $0.older?.refunds.isEmpty == false })
    else { return ([], 0) }
    var (refunds, refunded): ([Refund], Int64?) = ([], 0)
    for (reversal, told) in Dictionary(grouping: told, by: \.reversal) {
      var total: Int64? = 0
      for refund in told.sorted(by: { ($0.date, $0.total ?? .max) < ($1.date, $1.total ?? .max) }) {
        guard let known = total else { break }
        total = refund.own.map { known.advanced(orBoundBy: $0) } ?? refund.total
        // Of several dates of one refund, the earliest counts: the others give nothing more.
        guard total != known else { continue }
        refunds.append(
          Refund(
            .refund, at: refund.date, milliunits: total.map { $0.subtracting(orBoundBy: known) },
            type: refund.type, percentage: refund.percentage))
      }
      if let reversal, total != 0 {
        refunds.append(
          Refund(.reversal, at: reversal, milliunits: total, type: nil, percentage: nil))
      }
      if reversal == nil { refunded = total }
    }
    return (refunds.sorted(by: Refund.precedes), refunded)
  }

  private var told: [Told] {
    var told = signed + seatRefunds
    if let revokedAt, !told.contains(where: { $0.reversal == nil }) {
      // Told by V1, a receipt, or of another id of this purchase.
      told.append(
        Told(
          date: revokedAt,
          total: total(at: revokedAt, transaction.revocationType, transaction.revocationPercentage),
          type: transaction.revocationType, percentage: transaction.revocationPercentage))
    }
    return told
  }

  private var reversals: [Int64] { group.flatMap { $0.older?.reversals ?? [] }.sorted() }

  /// What Apple signed, of each date.
  private var signed: [Told] {
    let all = group.flatMap { register in
      (register.older?.refunds ?? []).map { (refund: $0, restored: register.restored) }
    }
    let newest = Dictionary(all.map { ($0.refund.date, $0) }) {
      $0.refund.signed < $1.refund.signed ? $1 : $0
    }
    // A later date that a newer purchase without it has replaced by an earlier one is none.
    var latest = Int64.min
    let told = newest.values.sorted { $0.refund.date < $1.refund.date }.filter { one, _ in
      defer { latest = max(latest, one.signed) }
      return one.amount != nil || latest <= one.signed
    }
    let reversals = reversals
    return told.map { refund, restored in
      Told(
        date: refund.date, total: total(at: refund.date, refund.type, refund.percentage),
        own: refund.amount, type: refund.type, percentage: refund.percentage,
        reversal: reversals.first { $0 >= refund.date }
          ?? restored.flatMap { $0 > refund.signed ? $0 : nil })
    }
  }

  /// Of a purchase of seats, a part of them.
  private var seatRefunds: [Told] {
    guard let seats = register.seats else { return [] }
    let count = revokedAt == nil ? register.refundedSeats ?? 0 : seats
    let reversals = reversals
    return register.seatRefunds.filter { $0.quantity > 0 }.map { refund in
      let quantity = min(refund.quantity, seats)
      let reversal =
        quantity <= count
        ? nil : reversals.first { $0 >= refund.signed } ?? max(refund.signed, register.key.signed)
      return Told(
        date: refund.signed, total: register.refund(ofSeats: quantity), reversal: reversal)
    }
  }

  /// What had been given back of the price.
  private func total(at date: Int64, _ type: String?, _ percentage: Int64?) -> Int64? {
    if let ownership = register.ownership, ownership != "PURCHASED" { return 0 }
    if let type {
      if !type.hasPrefix("REFUND") { return 0 }
    } else if replacedBy != nil, percentage == nil {
      // Without a type, what is left of a purchase is taken back when another one replaces it.
      let distance = date.subtracting(orBoundBy: period.cut)
      if (-Periods.day...Periods.day).contains(distance) { return 0 }
    }
    guard let price = register.price?.milliunits else { return nil }
    if percentage == nil, type == "REFUND_PRORATED" { return nil }
    return percentage.map { Self.part(price, $0) } ?? price
  }

  /// Apple's revocationPercentage is in thousandths of a percent: 100,000 is all. To the nearest
  /// milliunit.
  private static func part(_ price: Int64, _ share: Int64) -> Int64 {
    let all: Int64 = 100_000
    let (high, low) = price.multipliedFullWidth(by: min(max(share, 0), all))
    let (quotient, rest) = all.dividingFullWidth((high, low))
    return quotient + (rest * 2 >= all ? 1 : rest * 2 < -all ? -1 : 0)
  }
}
