import AppStore

/// Encodes a state as bytes for a projection. Equal states always give equal bytes.
///
/// The entitlement row comes first, so that it can be decoded alone. The keys of the registers,
/// which only the fold needs, follow. The last event's `seq` is left out, because nothing else in a
/// state depends on the order of arrival (promise 6).
///
/// One description serves both directions: a coder receives every member by reference, and either
/// writes it or fills it. Dates of a transaction are relative to its purchase date, and the dates
/// of its key to its signed date.
extension StreamState {
  /// The encoding of the state and of its row, which is derived from it.
  public func encoded() -> [UInt8] {
    var periods = Periods(self)
    var row = EntitlementRow(self, periods)
    var state = self
    var writer = StateWriter()
    // Nothing throws here: a writer accepts every value, and the fold makes none that `visit`
    // refuses.
    try? row.visit(&writer)
    try? state.visitOtherRegisters(of: row, &writer)
    // Visited inside the array: a copy would retain every string of its transaction once more.
    for index in periods.registers.indices { try? periods.registers[index].visitKeys(&writer) }
    return writer.finished(format: EntitlementRow.format)
  }

  /// Returns nil if the bytes were not made by `encoded()` with this format: the projection is
  /// damaged, or was made by another version of the fold.
  ///
  /// - Parameter seq: the position of the last event in the journal.
  public init?(decoding bytes: [UInt8], lastSeq seq: Int64? = nil) {
    self.init()
    guard var reader = StateReader(bytes: bytes, format: EntitlementRow.format) else { return nil }
    var row = EntitlementRow()
    do throws(StateDamage) {
      try row.visit(&reader)
      eventCount = row.eventCount
      lastEvent = row.lastEvent
      lastEvent?.seq = seq ?? 0
      try visitOtherRegisters(of: row, &reader)
      for transaction in row.transactions {
        var register = TransactionRegister(key: Key(), transaction: transaction)
        try register.visitKeys(&reader)
        // No state has one transaction twice, and a few bytes that repeat one many times would
        // take much memory.
        guard transactions.updateValue(register, forKey: transaction.transactionId) == nil else {
          throw StateDamage()
        }
      }
    } catch {
      return nil
    }
    guard reader.isAtEnd else { return nil }
  }

  /// All registers but those of transactions, which come last, in the row's order.
  private mutating func visitOtherRegisters(
    of row: EntitlementRow, _ coder: inout some StateCoder
  ) throws(StateDamage) {
    let last = row.lastEvent?.signedDate ?? 0
    try coder.part(&status, StatusRegister()) { (status, coder) throws(StateDamage) in
      try status.visit(&coder, from: last)
    }
    if let info = row.renewal {
      var register = renewal ?? RenewalRegister(key: Key(), renewal: info)
      try register.key.visit(&coder, from: info.signedDate)
      renewal = register
    }
    var before: String?
    try coder.list(&previousOriginalTransactionIds, "") { (id, coder) throws(StateDamage) in
      try coder.text(&id)
      // Strictly ascending, so that no id is there twice.
      guard before?.utf8.lexicographicallyPrecedes(id.utf8) ?? true else { throw StateDamage() }
      before = id
    }
  }
}

extension EntitlementRow {
  /// The format's number. It changes whenever the description below or a form of its coders does.
  fileprivate static let format: UInt8 = 5

  /// Decodes the row alone from the bytes of `StreamState.encoded()`. Returns nil if the bytes are
  /// something else.
  ///
  /// - Parameter seq: the position of the last event in the journal.
  public init?(decoding bytes: [UInt8], lastSeq seq: Int64?) {
    self.init()
    guard var reader = StateReader(bytes: bytes, format: Self.format) else { return nil }
    do throws(StateDamage) {
      try visit(&reader)
    } catch {
      return nil
    }
    lastEvent?.seq = seq ?? 0
  }

  fileprivate mutating func visit(_ coder: inout some StateCoder) throws(StateDamage) {
    try coder.integer(&eventCount)
    // The bound is more than any journal holds. A damaged count near the maximum of Int64 would
    // trap when the next event is added.
    guard (0..<1 << 53).contains(eventCount) else { throw StateDamage() }
    try coder.part(&lastEvent, StreamState.LastEvent()) { (last, coder) throws(StateDamage) in
      try last.visit(&coder)
    }
    try coder.part(&renewal, RenewalInfo()) { (renewal, coder) throws(StateDamage) in
      try renewal.visit(&coder)
    }
    try coder.string(&previousOriginalTransactionId)
    try coder.optional(&revokedAt, from: lastEvent?.signedDate ?? 0)
    try coder.list(&transactions, Transaction()) { (transaction, coder) throws(StateDamage) in
      try transaction.visit(&coder)
    }
    try Self.visit(index: &head, in: transactions, &coder)
    let shown = transactions
    var last: Int64?
    let base = lastEvent?.signedDate ?? 0
    try coder.list(&spans, Span()) { (span, coder) throws(StateDamage) in
      // The first span begins at `Int64.min`, which is not written.
      if last != nil { try coder.integer(&span.from, from: last == .min ? base : last ?? base) }
      last = span.from
      try Self.visit(&span, of: shown, &coder)
    }
  }

  private static func visit(
    _ span: inout Span, of transactions: [Transaction], _ coder: inout some StateCoder
  ) throws(StateDamage) {
    var answer = span.answer
    try coder.integer(&answer)
    guard span.setAnswer(answer) else { throw StateDamage() }
    try visit(index: &span.transaction, in: transactions, &coder)
    let shown = span.transaction.map { transactions[$0] }
    try coder.optional(&span.expiresAt, from: shown?.expiresDate ?? 0)
    try coder.string(&span.productId)
  }

  private static func visit(
    index: inout Int?, in transactions: [Transaction], _ coder: inout some StateCoder
  ) throws(StateDamage) {
    // 0 stands for nil.
    var number = Int64(index.map { $0 + 1 } ?? 0)
    try coder.integer(&number)
    guard (0...Int64(transactions.count)).contains(number) else { throw StateDamage() }
    index = number == 0 ? nil : Int(number - 1)
  }
}

extension EntitlementRow.Span {
  fileprivate init() {
    self.init(from: .min, status: .expired, isPending: false, hasGap: false)
  }

  private static let statuses: [Entitlement.Status] = [
    .active, .gracePeriod, .billingRetry, .expired, .revoked,
  ]

  /// Status and flags as one small number: the flags are the two lowest bits.
  fileprivate var answer: Int64 {
    let status = Self.statuses.firstIndex(of: status) ?? 0
    return Int64(status) << 2 | (isPending ? 2 : 0) | (hasGap ? 1 : 0)
  }

  /// The inverse of `answer`. Returns false if the number stands for no status.
  fileprivate mutating func setAnswer(_ answer: Int64) -> Bool {
    let index = Int(answer >> 2)
    guard Self.statuses.indices.contains(index) else { return false }
    status = Self.statuses[index]
    isPending = answer & 2 != 0
    hasGap = answer & 1 != 0
    return true
  }
}

extension StreamState.Key {
  fileprivate init() {
    self.init(
      version: 0, signed: 0, notification: 0, isRevoked: false,
      uuid: NotificationUUID(high: 0, low: 0))
  }

  /// - Parameter base: the signed date of the object that the key belongs to.
  fileprivate mutating func visit(
    _ coder: inout some StateCoder, from base: Int64
  ) throws(StateDamage) {
    try coder.integer(&version)
    try coder.integer(&signed, from: base)
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

  fileprivate mutating func visit(
    _ coder: inout some StateCoder, from base: Int64
  ) throws(StateDamage) {
    try coder.integer(&signed, from: base)
    try coder.uuid(&uuid)
    try coder.integer(&status)
  }
}

extension StreamState.TransactionRegister {
  fileprivate mutating func visitKeys(_ coder: inout some StateCoder) throws(StateDamage) {
    try key.visit(&coder, from: transaction.signedDate)
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
    try coder.part(&isInBillingRetryPeriod, false) { (retry, coder) throws(StateDamage) in
      try coder.flag(&retry)
    }
  }
}
