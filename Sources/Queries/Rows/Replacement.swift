import Entitlements

/// A stream that names another one as its predecessor, as histories tell it.
struct Replacement: Sendable {
  /// The original transaction id of the newer stream.
  let originalTransactionId: String
  /// The purchase date of the transaction that names the older one, milliseconds since 1970.
  let at: Int64

  private static let day: Int64 = 86_400_000

  /// The one that explains a revocation: Apple takes back what is left of a purchase when another
  /// one replaces it, which is no refund to the customer.
  ///
  /// - Parameter revoked: when the purchase was revoked, milliseconds since 1970.
  static func of(_ revoked: Int64?, among all: [Replacement]) -> Replacement? {
    revoked.flatMap { revoked in
      all.first { (-day...day).contains(revoked.subtracting(orBoundBy: $0.at)) }
    }
  }
}

extension TransactionLine {
  /// The line where what was taken back for another purchase is no refund, as in `transaction_v1`.
  func told(among replacements: [Replacement]) -> TransactionLine {
    Replacement.of(integer("revoked_at_ms"), among: replacements) == nil ? self : withoutRefund
  }
}
