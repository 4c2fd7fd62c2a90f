import AppStore
package import SignedData
package import StrictJSON
import Synchronization

/// When the receipts in V1 bodies were created: the only date in a V1 body that says when Apple
/// wrote it.
///
/// It is a key of the fold, so it must be the same wherever and whenever a body is folded: only a
/// receipt that Apple's own root proves has a date, and no configuration counts.
package final class ReceiptDates: Sendable {
  /// By Apple's root.
  static let apples = ReceiptDates(
    TrustRoots(pinned: [], receiptPins: [TrustRoots.appleIncRootCA]))

  /// Remembers the chains that it has proven; nil if a root cannot be used.
  private let prover: Mutex<ReceiptProver?>

  /// - Parameter roots: others than Apple's are for tests.
  package init(_ roots: TrustRoots) { prover = Mutex(try? ReceiptProver(roots: roots)) }

  /// The creation date of the receipt in a V1 body, milliseconds since 1970; 0 if there is none
  /// that is proven.
  package func date(in root: JSONElement) -> Int64 {
    guard let der = V1Receipt.receipt(in: root), let message = try? SignedMessage(parsing: der),
      let date = AppReceipt.claimedCreationDate(message.content)
    else { return 0 }
    return prover.withLock { prover in
      (try? prover?.prove(message, at: date)) == nil ? 0 : date
    }
  }
}
