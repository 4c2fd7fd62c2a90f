import AppStore
import Entitlements

extension FoldEvent {
  /// The transaction of a V2 event, which has one at most.
  var transaction: Transaction? {
    get { transactions.first }
    set { transactions = newValue.map { [$0] } ?? [] }
  }
}
