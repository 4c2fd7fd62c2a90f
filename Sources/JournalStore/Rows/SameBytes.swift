import Encoding
import Entitlements

/// Compares texts by their bytes: `String` calls two encodings of one accented letter equal, and a
/// row would then keep the text of before.
enum SameBytes {
  static func are(_ one: String?, _ other: String?) -> Bool {
    guard let one, let other else { return one == nil && other == nil }
    return ByteSearch.areEqual(one, other)
  }

  static func are(_ one: [[String]], _ other: [[String]]) -> Bool {
    one.elementsEqual(other) { $0.elementsEqual($1, by: ByteSearch.areEqual) }
  }
}

extension Purchase {
  func isSame(as other: Purchase) -> Bool {
    startsAt == other.startsAt && commitment == other.commitment
      && price?.milliunits == other.price?.milliunits && offer?.type == other.offer?.type
      && SameBytes.are(transactionId, other.transactionId)
      && SameBytes.are(productType, other.productType)
      && SameBytes.are(ownership, other.ownership)
      && SameBytes.are(subscriptionGroupId, other.subscriptionGroupId)
      && SameBytes.are(appAccountToken, other.appAccountToken)
      && SameBytes.are(appTransactionId, other.appTransactionId)
      && SameBytes.are(offer?.identifier, other.offer?.identifier)
      && SameBytes.are(offer?.discountType, other.offer?.discountType)
      && SameBytes.are(offer?.period, other.offer?.period)
      && SameBytes.are(price?.currency, other.price?.currency)
  }
}
