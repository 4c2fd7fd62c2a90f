import AppStore
import Encoding
import Entitlements

/// A span as the table `entitlement_span` has it: all of its transaction, and what follows from
/// other spans left out, so that a renewal seldom changes the spans before it.
struct StoredSpan {
  let span: EntitlementRow.Span
  let purchase: Purchase?
  /// It ends with the paid time of the next span, whose row has it.
  let continues: Bool
  /// Whether the purchase has these ids of the entitlement's.
  let hasSameToken: Bool
  let hasSameAppTransaction: Bool

  /// Whether the table would have the same values.
  func isSame(as other: StoredSpan) -> Bool {
    span.from == other.span.from && span.status == other.span.status
      && span.expiresAt == other.span.expiresAt && span.hasGap == other.span.hasGap
      && continues == other.continues && hasSameToken == other.hasSameToken
      && hasSameAppTransaction == other.hasSameAppTransaction
      && SameBytes.are(span.productId, other.span.productId)
      && isPurchaseSame(as: other)
  }

  private func isPurchaseSame(as other: StoredSpan) -> Bool {
    guard let purchase, let another = other.purchase else {
      return purchase == nil && other.purchase == nil
    }
    return purchase.isSame(as: another)
  }
}

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

extension EntitlementRow {
  /// The ids of the last span's purchase, which the table `entitlement` has.
  var lastIds: (token: String?, appTransaction: String?) {
    guard let index = spans.last?.purchase else { return (nil, nil) }
    return (purchases[index].appAccountToken, purchases[index].appTransactionId)
  }

  /// A span as it is stored.
  func stored(_ index: Int) -> StoredSpan {
    var span = spans[index]
    let purchase = span.purchase.map { purchases[$0] }
    let next = index + 1 < spans.count ? spans[index + 1].expiresAt : nil
    let continues = span.expiresAt != nil && span.expiresAt == next
    if continues { span.expiresAt = nil }
    span.purchase = nil
    let ids = lastIds
    return StoredSpan(
      span: span, purchase: purchase, continues: continues,
      hasSameToken: SameBytes.are(purchase?.appAccountToken, ids.token),
      hasSameAppTransaction: SameBytes.are(purchase?.appTransactionId, ids.appTransaction))
  }
}

extension Entitlement.Status {
  /// The ids of the table `status`.
  private static let ids: [Self] = [.active, .gracePeriod, .billingRetry, .expired, .revoked]

  var id: Int64 {
    switch self {
    case .active: 0
    case .gracePeriod: 1
    case .billingRetry: 2
    case .expired: 3
    case .revoked: 4
    }
  }

  init?(id: Int64) {
    guard (0..<5).contains(id) else { return nil }
    self = Self.ids[Int(id)]
  }
}
