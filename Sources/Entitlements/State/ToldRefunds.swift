import AppStore

extension StreamState.TransactionRegister {
  /// A refund with its date, as the newest snapshot that has this date says it. A refund that is
  /// reversed, or followed by another one, stays: a month that is closed must not change.
  struct ToldRefund: Sendable, Equatable {
    /// When Apple gave it back, ms.
    var date: Int64
    /// The latest signedDate with which it was told, ms.
    var signed: Int64
    /// The share of the price that was given back by then, as Apple's revocationPercentage.
    var percentage: Int64?
    /// Milliunits that were given back of items at this date; nil unless Apple says them.
    var amount: Int64?
    /// Apple's revocationType, or refundType of an item.
    var type: String?

    /// Whether it stays where both have one date. Decides any two, so that the order of the events
    /// does not matter (promise 6).
    fileprivate func isNewer(than other: Self) -> Bool {
      let (one, two) = (numbers, other.numbers)
      guard one == two else { return two.lexicographicallyPrecedes(one) }
      return (other.type ?? "").utf8.lexicographicallyPrecedes((type ?? "").utf8)
    }

    private var numbers: [Int64] { [signed, percentage ?? .min, amount ?? .min] }
  }

  mutating func keepRefunds(of transaction: Transaction) {
    let refunds = ToldRefund.all(of: transaction)
    guard !refunds.isEmpty else { return }
    var kept = older ?? Older()
    for refund in refunds {
      let index = kept.refunds.partitionPoint { $0.date < refund.date }
      guard index < kept.refunds.count, kept.refunds[index].date == refund.date else {
        kept.refunds.insert(refund, at: index)
        continue
      }
      if refund.isNewer(than: kept.refunds[index]) { kept.refunds[index] = refund }
    }
    older = kept
  }

  mutating func keepReversal(at date: Int64) {
    var kept = older ?? Older()
    let index = kept.reversals.partitionPoint { $0 < date }
    guard index == kept.reversals.count || kept.reversals[index] != date else { return }
    kept.reversals.insert(date, at: index)
    older = kept
  }
}

extension StreamState.TransactionRegister.ToldRefund {
  /// Those of items where Apple lists them, else the revocation.
  fileprivate static func all(of transaction: Transaction) -> [Self] {
    let listed = (transaction.advancedCommerce?.items ?? []).flatMap(\.refunds)
    guard listed.contains(where: { $0.date != nil }) else {
      return transaction.revocationDate.map { date in
        [
          Self(
            date: date, signed: transaction.signedDate,
            percentage: transaction.revocationPercentage, type: transaction.revocationType)
        ]
      } ?? []
    }
    // Several items may be refunded at once: what they are together, nil if one says no amount.
    return Dictionary(grouping: listed.filter { $0.date != nil }) { $0.date ?? 0 }.map {
      date, refunds in
      Self(
        date: date, signed: transaction.signedDate,
        amount: refunds.reduce(0) { (sum: Int64?, refund) in
          guard let sum, let amount = refund.amount else { return nil }
          return sum.addingReportingOverflow(amount).overflow ? nil : sum + amount
        },
        type: refunds.compactMap(\.type).min { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    }
  }
}
