import AppStore

/// A state as bytes, for a projection: the same state is always the same bytes.
///
/// One description serves both directions: a coder is handed every member by reference and either
/// writes it or fills it. Dates of a transaction are relative to its purchase.
extension StreamState {
  /// Changes whenever the description below does.
  private static let format: Int64 = 1

  public func encoded() -> [UInt8] {
    var state = self
    var writer = StateWriter()
    // A writer has nothing to object to.
    try? state.visit(&writer)
    return writer.bytes
  }

  /// Nil where the bytes were not made by `encoded()` of this format: the projection is damaged,
  /// and is rebuilt (promise 7).
  public init?(decoding bytes: [UInt8]) {
    self.init()
    var reader = StateReader(bytes: bytes)
    do throws(StateDamage) {
      try visit(&reader)
    } catch {
      return nil
    }
    // A count that the next event could not raise is nobody's.
    guard reader.isAtEnd, (0..<Int64.max).contains(eventCount) else { return nil }
  }

  private mutating func visit(_ coder: inout some StateCoder) throws(StateDamage) {
    var format = Self.format
    try coder.integer(&format)
    guard format == Self.format else { throw StateDamage() }
    try coder.integer(&eventCount)
    try coder.part(&lastEvent, LastEvent()) { (last, coder) throws(StateDamage) in
      try last.visit(&coder)
    }
    try coder.part(&status, StatusRegister()) { (status, coder) throws(StateDamage) in
      try status.visit(&coder)
    }
    try coder.part(&renewal, RenewalRegister()) { (renewal, coder) throws(StateDamage) in
      try renewal.visit(&coder)
    }
    var previous = Int64(previousOriginalTransactionIds.count)
    try coder.integer(&previous)
    for index in 0..<max(0, previous) {
      let isKnown = index < previousOriginalTransactionIds.count
      var id = isKnown ? previousOriginalTransactionIds[Int(index)] : ""
      try coder.text(&id)
      if !isKnown { previousOriginalTransactionIds.append(id) }
    }
    let ids = transactions.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    var count = Int64(ids.count)
    try coder.integer(&count)
    for index in 0..<max(0, count) {
      var register =
        (index < ids.count ? transactions[ids[Int(index)]] : nil) ?? TransactionRegister()
      try register.visit(&coder)
      // Only what a reader has filled: storing it again would copy the whole table at every write.
      if index >= ids.count { transactions[register.transaction.transactionId] = register }
    }
  }
}

extension StreamState.Key {
  fileprivate init() {
    self.init(
      version: 0, signed: 0, notification: 0, isRevoked: false,
      uuid: NotificationUUID(high: 0, low: 0))
  }

  fileprivate mutating func visit(_ coder: inout some StateCoder) throws(StateDamage) {
    try coder.integer(&version)
    try coder.integer(&signed)
    try coder.integer(&notification, from: signed)
    try coder.flag(&isRevoked)
    try coder.uuid(&uuid)
  }
}

extension StreamState.LastEvent {
  fileprivate init() {
    self.init(
      seq: 0, uuid: NotificationUUID(high: 0, low: 0), notificationType: "", signedDate: 0)
  }

  fileprivate mutating func visit(_ coder: inout some StateCoder) throws(StateDamage) {
    try coder.integer(&seq)
    try coder.uuid(&uuid)
    try coder.text(&notificationType)
    try coder.string(&subtype)
    try coder.integer(&signedDate)
  }
}

extension StreamState.StatusRegister {
  fileprivate init() {
    self.init(signed: 0, uuid: NotificationUUID(high: 0, low: 0), status: 0)
  }

  fileprivate mutating func visit(_ coder: inout some StateCoder) throws(StateDamage) {
    try coder.integer(&signed)
    try coder.uuid(&uuid)
    try coder.integer(&status)
  }
}

extension StreamState.RenewalRegister {
  fileprivate init() { self.init(key: StreamState.Key(), renewal: RenewalInfo()) }

  fileprivate mutating func visit(_ coder: inout some StateCoder) throws(StateDamage) {
    try key.visit(&coder)
    try renewal.visit(&coder)
  }
}

extension StreamState.TransactionRegister {
  fileprivate init() { self.init(key: StreamState.Key(), transaction: Transaction()) }

  fileprivate mutating func visit(_ coder: inout some StateCoder) throws(StateDamage) {
    try key.visit(&coder)
    try transaction.visit(&coder)
    try coder.optional(&first, from: key.signed)
    try coder.optional(&clear, from: key.signed)
    try coder.optional(&cancel, from: key.signed)
  }
}

extension Transaction {
  fileprivate mutating func visit(_ coder: inout some StateCoder) throws(StateDamage) {
    try coder.text(&transactionId)
    try coder.integer(&purchaseDate)
    try coder.optional(&expiresDate, from: purchaseDate)
    try coder.integer(&signedDate, from: purchaseDate)
    try coder.string(&originalTransactionId)
    try coder.string(&previousOriginalTransactionId)
    try coder.string(&webOrderLineItemId)
    try coder.string(&appTransactionId)
    try coder.string(&appAccountToken)
    try coder.string(&productId)
    try coder.string(&subscriptionGroupIdentifier)
    try coder.string(&type)
    try coder.string(&inAppOwnershipType)
    try coder.string(&transactionReason)
    try coder.string(&billingPlanType)
    try coder.flag(&isUpgraded)
    try visitMoney(&coder)
    try coder.part(&commitment, Commitment()) { (commitment, coder) throws(StateDamage) in
      try coder.integer(&commitment.billingPeriodNumber)
      try coder.integer(&commitment.totalBillingPeriods)
      try coder.optional(&commitment.commitmentExpiresDate)
    }
  }

  private mutating func visitMoney(_ coder: inout some StateCoder) throws(StateDamage) {
    try coder.optional(&quantity)
    try coder.optional(&price)
    try coder.string(&currency)
    try coder.string(&storefront)
    try coder.optional(&offerType)
    try coder.string(&offerIdentifier)
    try coder.string(&offerDiscountType)
    try coder.string(&offerPeriod)
    try coder.optional(&revocationDate, from: purchaseDate)
    try coder.optional(&revocationReason)
    try coder.string(&revocationType)
    try coder.optional(&revocationPercentage)
  }
}

extension Transaction.Commitment {
  fileprivate init() {
    self.init(billingPeriodNumber: 0, totalBillingPeriods: 0, commitmentExpiresDate: nil)
  }
}

extension RenewalInfo {
  fileprivate mutating func visit(_ coder: inout some StateCoder) throws(StateDamage) {
    try coder.integer(&signedDate)
    try coder.string(&originalTransactionId)
    try coder.string(&productId)
    try coder.string(&autoRenewProductId)
    try coder.optional(&autoRenewStatus)
    try coder.optional(&renewalDate, from: signedDate)
    try coder.optional(&expirationIntent)
    try coder.optional(&gracePeriodExpiresDate, from: signedDate)
    try coder.optional(&priceIncreaseStatus)
    try coder.optional(&commitmentAutoRenewStatus)
    try coder.string(&appAccountToken)
    try coder.string(&appTransactionId)
    var retry: Int64? = isInBillingRetryPeriod.map { $0 ? 1 : 0 }
    try coder.optional(&retry)
    isInBillingRetryPeriod = retry.map { $0 == 1 }
  }
}
