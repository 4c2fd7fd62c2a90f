import StrictJSON

extension SimulatedApp {
  /// JWSAppTransactionDecodedPayload of a customer. Dates are milliseconds since 1970.
  func transaction(of customer: String, bought: Int64, at moment: Int64) -> JSONValue {
    var members = Members()
    members.add("receiptType", environment)
    if isProduction { members.add("appAppleId", appAppleId) }
    members.add("bundleId", bundleId)
    members.add("applicationVersion", bundleVersion)
    members.add("receiptCreationDate", moment)
    members.add("originalPurchaseDate", bought)
    members.add("originalApplicationVersion", bundleVersion)
    members.add("appTransactionId", customer)
    members.add("originalPlatform", "iOS")
    return .object(members.list)
  }
}

/// Apple's decoded payloads (responseBodyV2DecodedPayload, JWSTransactionDecodedPayload,
/// JWSRenewalInfoDecodedPayload), with every field that a real one has. Absent values are left out.
extension Customer {
  /// The `data` object.
  ///
  /// - Parameter signed: the signedDate of the nested parts, milliseconds since 1970.
  func data(_ type: String, _ purchase: Purchase?, signed: Int64) -> JSONValue {
    var members = Members(list: app.members)
    members.add("bundleVersion", app.bundleVersion)
    guard let purchase else { return .object(members.list) }
    if type == "CONSUMPTION_REQUEST" {
      members.add("consumptionRequestReason", refundReason.rawValue)
    }
    members.list.append(("transaction", transaction(purchase, signed: signed)))
    // Only auto-renewable subscriptions have status and renewal information.
    if purchase.product.kind == .autoRenewable, let renewal {
      members.list.append(("renewalInfo", renewalInfo(renewal, of: purchase, signed: signed)))
      members.add("status", state.rawValue)
    }
    return .object(members.list)
  }

  /// The `summary` object of an extension to all subscribers, which names no customer.
  mutating func summary() -> JSONValue {
    var members = Members()
    members.add("requestIdentifier", generator.uuid())
    members.list += app.members
    members.add("productId", current?.product.id)
    members.add("succeededCount", generator.number(in: 100...9_999))
    members.add("failedCount", generator.number(in: 0...9))
    return .object(members.list)
  }

  /// The `appData` object of a consent that a parent withdrew, with the app transaction.
  func appData() -> JSONValue {
    let transaction = app.transaction(
      of: appTransactionId, bought: newest?.originalPurchaseDate ?? now, at: now)
    return .object(app.members + [("appTransaction", transaction)])
  }

  /// The `externalPurchaseToken` object. It has no environment; in the sandbox the id has a prefix.
  func externalPurchaseToken(_ token: ExternalToken) -> JSONValue {
    var members = Members()
    members.add("externalPurchaseId", (app.isProduction ? "" : "SANDBOX") + token.id)
    members.add("tokenCreationDate", token.created)
    if app.isProduction { members.add("appAppleId", app.appAppleId) }
    members.add("bundleId", app.bundleId)
    members.add("tokenType", token.type)
    members.add("tokenExpirationDate", token.expires)
    return .object(members.list)
  }

  /// JWSTransactionDecodedPayload. A revocation's percentage is in thousandths of a percent.
  /// Members pay nothing, and their transactions have no price.
  private func transaction(_ purchase: Purchase, signed: Int64) -> JSONValue {
    var members = Members()
    members.add("transactionId", purchase.id)
    members.add("originalTransactionId", purchase.originalId)
    members.add("previousOriginalTransactionId", purchase.previousOriginalId)
    members.add("webOrderLineItemId", purchase.webOrderLineItemId)
    members.add("bundleId", app.bundleId)
    members.add("productId", purchase.product.id)
    if purchase.product.kind == .autoRenewable {
      members.add("subscriptionGroupIdentifier", Product.group)
    }
    members.add("purchaseDate", purchase.purchaseDate)
    members.add("originalPurchaseDate", purchase.originalPurchaseDate)
    members.add("expiresDate", purchase.expiresDate)
    members.add("quantity", purchase.quantity)
    members.add("type", purchase.product.kind.rawValue)
    members.add("appAccountToken", appAccountToken)
    members.add("inAppOwnershipType", ownership.rawValue)
    members.add("signedDate", signed)
    if let revocation = purchase.revocation {
      members.add("revocationReason", revocation.reason)
      members.add("revocationDate", revocation.date)
      members.add("revocationType", revocation.type)
      members.add("revocationPercentage", revocation.percentage)
    }
    members.add(purchase.offer)
    members.add("environment", app.environment)
    members.add("transactionReason", purchase.reason.rawValue)
    members.add("storefront", storefront.country)
    members.add("storefrontId", storefront.id)
    if let price = purchase.price {
      members.add("price", price)
      members.add("currency", storefront.currency)
    }
    members.add("appTransactionId", appTransactionId)
    addSeats(of: purchase, to: &members)
    return .object(members.list)
  }

  /// The purchaser's transactions say how many seats were refunded.
  private func addSeats(of purchase: Purchase, to members: inout Members) {
    guard let team, let seats = purchase.seats else { return }
    let period = team.purchases.map(\.id)
    if period.count > 1, period.contains(purchase.id) {
      members.add("additionalTransactionReason", "SEAT_ADDITION")
    }
    var info = Members()
    info.add("invitationManagement", team.mode.rawValue)
    info.list.append(("priceTiers", seats.json))
    if seats.refunded > 0 { info.add("revokedSeatQuantity", seats.refunded) }
    members.list.append(("multiSeatInfo", .object(info.list)))
  }

  /// JWSRenewalInfoDecodedPayload. It has no bundle id; offer and price are those of the next
  /// period. A state that ended is left out and not set to false, because absence is information.
  private func renewalInfo(
    _ renewal: Renewal, of purchase: Purchase, signed: Int64
  ) -> JSONValue {
    var members = Members()
    members.add("expirationIntent", renewal.intent)
    members.add("originalTransactionId", purchase.originalId)
    members.add("autoRenewProductId", renewal.product.id)
    members.add("productId", purchase.product.id)
    members.add("autoRenewStatus", Int64(renewal.isOn ? 1 : 0))
    if let isRetrying = renewal.isRetrying {
      members.list.append(("isInBillingRetryPeriod", .boolean(isRetrying)))
    }
    members.add("gracePeriodExpiresDate", renewal.graceEnd)
    members.add("priceIncreaseStatus", renewal.consent)
    members.add(renewal.offer)
    members.add("signedDate", signed)
    members.add("environment", app.environment)
    members.add("recentSubscriptionStartDate", renewal.start)
    members.add("renewalDate", renewal.date)
    if renewal.isOn && ownership == .purchased {
      let price = price(of: renewal.product, renewal.offer, level: nextPriceLevel)
      let seats = team.map { Purchase.Seats($0.renewalSeats, price: price) }
      members.add("renewalPrice", seats.map { $0.total / (team?.renewalSeats ?? 1) } ?? price)
      members.add("currency", storefront.currency)
      members.add("renewalQuantity", team?.renewalSeats)
      if let seats {
        members.list.append(
          ("multiSeatInfo", .object([("renewalPriceTiers", seats.json)])))
      }
    }
    if !renewal.winBackOffers.isEmpty {
      let offers = renewal.winBackOffers.map(JSONValue.string)
      members.list.append(("eligibleWinBackOfferIds", .array(offers)))
    }
    members.add("appTransactionId", appTransactionId)
    members.add("appAccountToken", appAccountToken)
    return .object(members.list)
  }
}

/// Collects the members of an object; nil values add nothing.
struct Members {
  var list: [(String, JSONValue)] = []

  mutating func add(_ name: String, _ text: String?) {
    if let text { list.append((name, .string(text))) }
  }

  mutating func add(_ name: String, _ number: Int64?) {
    if let number { list.append((name, .integer(number))) }
  }

  mutating func add(_ offer: Offer?) {
    guard let offer else { return }
    add("offerType", offer.kind.rawValue)
    add("offerIdentifier", offer.identifier)
    add("offerDiscountType", offer.discount)
    add("offerPeriod", offer.period)
  }
}
