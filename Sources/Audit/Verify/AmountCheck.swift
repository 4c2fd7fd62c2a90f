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

  /// Whether what was refunded is the revoked share of the price, or nothing.
  private static func isRefundRight(_ line: TransactionLine) -> Bool {
    let refunded = line.integer("refunded_milliunits")
    let seats = line.integer("refunded_seats") ?? 0
    guard line.integer("revoked_at_ms") != nil || seats > 0 else { return refunded == 0 }
    guard let price = line.integer("price_milliunits") else { return refunded ?? 0 == 0 }
    guard line.integer("revoked_at_ms") != nil else {
      let all = max(0, price), none = min(0, price)
      return refunded.map { (none...all).contains($0) } ?? true
    }
    let share = min(max(line.integer("revocation_percentage") ?? 100_000, 0), 100_000)
    let part = (Double(price) * Double(share) / 100_000).rounded()
    return refunded == 0 || refunded.map { abs(Double($0) - part) <= 1 + abs(part) / 1e12 } ?? false
  }
}
