import AppStore

extension EntitlementRow {
  /// The row as bytes: equal rows give equal bytes, in every order of arrival (promise 6). The last
  /// event's `seq`, which does depend on it, is left out.
  public func encoded() -> [UInt8] {
    var writer = StateWriter()
    writer.write(eventCount)
    writer.write(lastEvent?.signedDate)
    if var last = lastEvent {
      writer.uuid(&last.uuid)
      writer.write(last.notificationType)
      writer.write(last.subtype)
    }
    writer.write(autoRenew.map { $0 ? 1 : 0 })
    writer.write(renewalProductId)
    writer.write(gracePeriodExpiresAt)
    writer.write(priceIncrease?.rawValue)
    writer.write(commitmentAutoRenew.map { $0 ? 1 : 0 })
    writer.write(revokedAt)
    writer.write(lasting?.productId)
    writer.write(lasting?.from)
    writer.write(previousOriginalTransactionId)
    for purchase in purchases { writer.write(purchase) }
    for span in spans { writer.write(span) }
    return writer.bytes
  }
}

extension StateWriter {
  fileprivate mutating func write(_ value: Int64?) {
    var isThere = value != nil
    flag(&isThere)
    if var value { integer(&value) }
  }

  fileprivate mutating func write(_ value: String?) {
    var isThere = value != nil
    flag(&isThere)
    if var value { text(&value) }
  }

  fileprivate mutating func write(_ purchase: Purchase) {
    write(purchase.transactionId)
    write(purchase.productType)
    write(purchase.ownership)
    write(purchase.subscriptionGroupId)
    write(purchase.startsAt)
    write(purchase.appAccountToken)
    write(purchase.appTransactionId)
    write(purchase.offer?.type)
    write(purchase.offer?.identifier)
    write(purchase.offer?.discountType)
    write(purchase.offer?.period)
    write(purchase.price?.milliunits)
    write(purchase.price?.currency)
    write(purchase.commitment?.billingPeriodNumber)
    write(purchase.commitment?.totalBillingPeriods)
    write(purchase.commitment?.commitmentExpiresDate)
  }

  fileprivate mutating func write(_ span: EntitlementRow.Span) {
    write(span.from)
    write(span.status.rawValue)
    write(span.purchase.map(Int64.init))
    write(span.productId)
    write(span.expiresAt)
    write(span.hasGap ? 1 : 0)
  }
}
