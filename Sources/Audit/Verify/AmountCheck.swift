import AppStore
import Entitlements
import Platform
import Store

/// Adds up the amounts of a stream a second time, from its transactions alone: without periods, and
/// without the lines, whose sums must be the same.
enum AmountCheck {
  /// By currency, in milliunits; nil stands for a price without a currency.
  private typealias Sums = [ExactText?: Int64]

  static func isRight(_ stream: FoldedStream) -> Bool {
    guard let state = StreamState(decoding: stream.state) else { return false }
    return charged(state) == charged(stream.lines) && stream.lines.allSatisfy(isRefundRight)
  }

  private static func add(_ price: Int64?, _ currency: String?, to sums: inout Sums) {
    if let price { sums[currency.map { ExactText($0) }, default: 0] &+= price }
  }

  /// Of several transactions of one webOrderLineItemId, the price of the one signed last.
  private static func charged(_ state: StreamState) -> Sums {
    var newest: [ExactText: StreamState.TransactionRegister] = [:]
    for register in state.transactions.values {
      let transaction = register.transaction
      let item = transaction.webOrderLineItemId.flatMap { $0 == "" || $0 == "0" ? nil : $0 }
      let seats = transaction.multiSeatInfo == nil ? "" : " \(transaction.purchaseDate)"
      let name = ExactText(item.map { "item \($0)\(seats)" } ?? transaction.transactionId)
      if let known = newest[name], !isOlder(known, register) { continue }
      newest[name] = register
    }
    var sums: Sums = [:]
    for register in newest.values {
      let price = register.price
      add(price?.milliunits, price?.currency, to: &sums)
    }
    return sums
  }

  private static func isOlder(
    _ one: StreamState.TransactionRegister, _ other: StreamState.TransactionRegister
  ) -> Bool {
    one.key == other.key
      ? ByteSearch.precedes(one.transaction.transactionId, other.transaction.transactionId)
      : one.key < other.key
  }

  private static func charged(_ lines: [TransactionLine]) -> Sums {
    var sums: Sums = [:]
    for line in lines {
      add(line.integer("price_milliunits"), line.text("currency"), to: &sums)
    }
    return sums
  }

  /// Whether what was refunded is the revoked share of the price, a part of it where Apple says no
  /// share, or nothing; and whether its refunds, without what was reversed, are that amount.
  private static func isRefundRight(_ line: TransactionLine) -> Bool {
    let refunded = line.integer("refunded_milliunits")
    let refunds = line["refunds"].refunds
    guard isSum(refunded, of: refunds) else { return false }
    guard refunded != 0 else { return true }
    guard refunds.contains(where: { $0.kind == .refund }) else { return false }
    guard let refunded, let price = line.integer("price_milliunits") else { return true }
    // Items of the Advanced Commerce API have amounts of their own, and no share.
    guard line.integer("revoked_at_ms") != nil, let share = line.integer("revocation_percentage")
    else { return true }
    let part = (Double(price) * Double(min(max(share, 0), 100_000)) / 100_000).rounded()
    return abs(Double(refunded) - part) <= 1 + abs(part) / 1e12
  }

  private static func isSum(_ refunded: Int64?, of refunds: [Refund]) -> Bool {
    guard refunds.allSatisfy({ $0.milliunits != nil }) else { return true }
    guard let refunded else { return false }
    let amounts = refunds.map { refund in
      Double(refund.milliunits ?? 0) * (refund.kind == .refund ? 1 : -1)
    }
    // Exact below 10^12 milliunits; beyond, 64 bits may not have held a difference.
    let most = amounts.map(abs).max() ?? 0
    return abs(amounts.reduce(0, +) - Double(refunded)) <= most / 1e12
  }
}
