import Entitlements
import Platform

extension Purchase {
  /// Compares texts by their bytes: `String` calls two encodings of one accented letter equal, and
  /// a row would then keep the text of before.
  func isSame(as other: Purchase) -> Bool {
    startsAt == other.startsAt && commitment == other.commitment
      && price?.milliunits == other.price?.milliunits && offer?.type == other.offer?.type
      && ByteSearch.areEqual(transactionId, other.transactionId)
      && ByteSearch.areEqual(productType, other.productType)
      && ByteSearch.areEqual(ownership, other.ownership)
      && ByteSearch.areEqual(subscriptionGroupId, other.subscriptionGroupId)
      && ByteSearch.areEqual(appAccountToken, other.appAccountToken)
      && ByteSearch.areEqual(appTransactionId, other.appTransactionId)
      && ByteSearch.areEqual(offer?.identifier, other.offer?.identifier)
      && ByteSearch.areEqual(offer?.discountType, other.offer?.discountType)
      && ByteSearch.areEqual(offer?.period, other.offer?.period)
      && ByteSearch.areEqual(price?.currency, other.price?.currency)
  }
}
