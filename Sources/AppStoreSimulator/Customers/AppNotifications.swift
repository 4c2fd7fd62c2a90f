import Platform
import StrictJSON

/// What Apple reports beside subscriptions: tokens for purchases outside the App Store, a parent's
/// consent, and the Advanced Commerce API.
extension Customer {
  /// The subscription gets another original transaction id, under which it renews. The payloads
  /// have no advancedCommerceInfo.
  mutating func migrate() {
    guard state == .active, var moved = current, renewal != nil else { return }
    let id = makeId()
    moved.previousOriginalId = moved.originalId
    (moved.id, moved.originalId, moved.webOrderLineItemId) = (id, id, makeId())
    (moved.purchaseDate, moved.originalPurchaseDate, moved.reason) = (now, now, .purchase)
    (current, newest) = (moved, moved)
    announce("MIGRATION", about: current)
  }

  /// Only the price of the next renewal changes.
  mutating func changePrice(_ percent: Int64) {
    guard state == .active, renewal != nil else { return }
    nextPriceLevel = priceLevel * (100 + percent) / 100
    announce("PRICE_CHANGE", about: current)
  }

  mutating func makeToken(_ type: String) {
    token = ExternalToken(id: generator.uuid(), type: type, created: now)
    announceToken("CREATED")
  }

  mutating func announceToken(_ subtype: String) {
    guard let token else { return }
    announce(
      "EXTERNAL_PURCHASE_TOKEN", subtype,
      content: ("externalPurchaseToken", externalPurchaseToken(token)))
  }
}

/// Apple's externalPurchaseToken. Dates are milliseconds since 1970.
struct ExternalToken {
  /// Without the sandbox's prefix.
  let id: String
  /// Apple's tokenType: ACQUISITION for the first purchase, SERVICES for the use of its services.
  let type: String
  let created: Int64

  /// Apple does not document how long a token runs; a year is a guess.
  var expires: Int64 { created + 365 * CivilTime.day }
}
