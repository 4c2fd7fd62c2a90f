public import AppStore
import Platform

/// Encodes a state as bytes for a projection. Equal states always give equal bytes.
///
/// The last event's `seq` is left out, because nothing else in a state depends on the order of
/// arrival (promise 6): a projection stores it in a column.
///
/// One description serves both directions: a coder receives every member by reference, and either
/// writes it or fills it. Dates of a transaction are relative to its purchase date, and the dates
/// of its key to its signed date.
extension StreamState {
  /// The encoding of all registers.
  public func encoded() -> [UInt8] { encoded(Periods(self)) }

  func encoded(_ periods: consuming Periods) -> [UInt8] {
    var state = self
    var writer = StateWriter()
    // Nothing throws here: a writer accepts every value, and the fold makes none that `visit`
    // refuses.
    try? state.visit(&periods.registers, &writer)
    return writer.bytes
  }

  /// The row of the state, and its encoding: at less cost than one after the other.
  ///
  /// - Parameter times: at which the row is valid, milliseconds since 1970; nil: always.
  package func rowAndEncoding(
    by fold: Fold, at times: ClosedRange<Int64>? = nil
  ) -> (row: EntitlementRow, bytes: [UInt8]) {
    let periods = Periods(self)
    return (EntitlementRow(self, periods, by: fold, at: times), encoded(periods))
  }

  /// What a projection stores of a stream: its row, the lines of its purchases, and the encoding.
  package func folded(
    _ key: StreamKey, by fold: Fold
  ) -> (row: EntitlementRow, lines: [TransactionLine], bytes: [UInt8]) {
    let periods = Periods(self)
    return (
      EntitlementRow(self, periods, by: fold), periods.lines(of: key, seqs), encoded(periods)
    )
  }

  /// The purchases of the stream, in the order in which they were made.
  public func lines(of key: StreamKey) -> [TransactionLine] { Periods(self).lines(of: key, seqs) }

  /// Returns nil if the bytes were not made by `encoded()`: the projection is damaged.
  ///
  /// - Parameter seq: the position of the last event in the journal.
  public init?(decoding bytes: [UInt8], lastSeq seq: Int64? = nil) {
    self.init()
    var reader = StateReader(bytes)
    var registers: [TransactionRegister] = []
    do throws(StateDamage) {
      try visit(&registers, &reader)
    } catch {
      return nil
    }
    guard reader.isAtEnd else { return nil }
    lastEvent?.seq = seq ?? 0
    for register in registers {
      // No state has one transaction twice, and a few bytes that repeat one many times would take
      // much memory.
      let id = register.transaction.transactionId
      guard transactions.updateValue(register, forKey: id) == nil else { return nil }
    }
  }

  private mutating func visit(
    _ registers: inout [TransactionRegister], _ coder: inout some StateCoder
  ) throws(StateDamage) {
    try coder.integer(&eventCount)
    // The bound is more than any journal holds. A damaged count near the maximum of Int64 would
    // trap when the next event is added.
    guard (0..<1 << 53).contains(eventCount) else { throw StateDamage() }
    try coder.part(&lastEvent, LastEvent()) { (last, coder) throws(StateDamage) in
      try last.visit(&coder)
    }
    let last = lastEvent?.signedDate ?? 0
    try coder.flag(&isSandbox)
    let blankRenewal = RenewalRegister(key: Key(), renewal: RenewalInfo())
    try coder.part(&renewal, blankRenewal) { (register, coder) throws(StateDamage) in
      try register.visit(&coder)
    }
    try coder.part(&renewalV1, blankRenewal) { (register, coder) throws(StateDamage) in
      try register.visit(&coder)
      try coder.optional(&register.periodEnd, from: register.key.signed)
    }
    try coder.optional(&certainV1, from: last)
    try coder.list(&graces, Grace(periodEnd: 0, until: 0)) { (grace, coder) throws(StateDamage) in
      try coder.integer(&grace.periodEnd, from: last)
      try coder.integer(&grace.until, from: grace.periodEnd)
    }
    try Self.requireAscending(graces.map(\.periodEnd)) { $0 < $1 }
    let info = renewal?.renewal
    try coder.part(&status, StatusRegister()) { (status, coder) throws(StateDamage) in
      try status.visit(&coder, from: last, info)
    }
    try coder.list(&previousOriginalTransactionIds, "") { (id, coder) throws(StateDamage) in
      try coder.text(&id)
    }
    try Self.requireAscending(previousOriginalTransactionIds, ByteSearch.precedes)
    try coder.list(&toldAccountTokens, "") { (token, coder) throws(StateDamage) in
      try coder.text(&token)
    }
    try Self.requireAscending(toldAccountTokens, ByteSearch.precedes)
    let blank = TransactionRegister(key: Key(), held: .init(Transaction()))
    try coder.list(&registers, blank) { (register, coder) throws(StateDamage) in
      try register.visit(&coder)
    }
  }

  /// Each element comes before the next, and none is there twice.
  fileprivate static func requireAscending<Element>(
    _ elements: [Element], _ isBefore: (Element, Element) -> Bool
  ) throws(StateDamage) {
    for (one, next) in zip(elements, elements.dropFirst()) {
      guard isBefore(one, next) else { throw StateDamage() }
    }
  }
}

extension StreamState.RenewalRegister {
  fileprivate mutating func visit(_ coder: inout some StateCoder) throws(StateDamage) {
    try renewal.visit(&coder)
    try key.visit(&coder, from: renewal.signedDate)
  }
}

extension StreamState.Key {
  fileprivate init() {
    self.init(
      isSigned: false, signed: 0, notification: 0, isRevoked: false,
      uuid: NotificationUUID(high: 0, low: 0))
  }

  /// - Parameter base: the signed date of the object that the key belongs to.
  fileprivate mutating func visit(
    _ coder: inout some StateCoder, from base: Int64
  ) throws(StateDamage) {
    try coder.flag(&isSigned)
    try coder.integer(&signed, from: base)
    try coder.integer(&notification, from: signed)
    try coder.integer(&renewalChange)
    try coder.integer(&transactions)
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
    self.init(
      signed: 0, uuid: NotificationUUID(high: 0, low: 0), status: 0, isGracePeriod: false)
  }

  /// - Parameter info: the renewal information in force, which is mostly that of the same event.
  fileprivate mutating func visit(
    _ coder: inout some StateCoder, from base: Int64, _ info: RenewalInfo?
  ) throws(StateDamage) {
    try coder.integer(&signed, from: base)
    try coder.uuid(&uuid)
    try coder.integer(&status)
    try coder.flag(&isGracePeriod)
    var isInForce = false
    if let info, let renewal {
      isInForce = renewal.signedDate == info.signedDate && renewal.saysTheSame(as: info)
    }
    try coder.flag(&isInForce)
    guard !isInForce else {
      guard let info else { throw StateDamage() }
      renewal = info
      return
    }
    try coder.part(&renewal, RenewalInfo()) { (renewal, coder) throws(StateDamage) in
      try renewal.visit(&coder)
    }
  }
}

extension StreamState.TransactionRegister {
  fileprivate mutating func visit(_ coder: inout some StateCoder) throws(StateDamage) {
    // A copy: writing it back takes a new object, which only a reader needs.
    var transaction = transaction
    try transaction.visit(&coder)
    if coder is StateReader { held = Held(transaction) }
    try key.visit(&coder, from: transaction.signedDate)
    try coder.optional(&first, from: key.signed)
    try coder.optional(&clear, from: key.signed)
    try coder.optional(&restored, from: key.signed)
    let signed = key.signed
    try coder.list(&revocations, Revocation(date: 0, signed: 0)) {
      (revocation, coder) throws(StateDamage) in
      try coder.integer(&revocation.date, from: signed)
      try coder.integer(&revocation.signed, from: signed)
    }
    try StreamState.requireAscending(revocations.map(\.date)) { $0 < $1 }
    try coder.list(&seatRefunds, SeatRefund(quantity: 0, signed: 0)) {
      (refund, coder) throws(StateDamage) in
      try coder.integer(&refund.quantity)
      try coder.integer(&refund.signed, from: signed)
    }
    try StreamState.requireAscending(seatRefunds.map(\.quantity)) { $0 < $1 }
    try coder.flag(&isUpgradedByV1)
    try coder.part(&older, Older()) { (older, coder) throws(StateDamage) in
      try older.visit(&coder, from: signed)
    }
  }
}

extension StreamState.TransactionRegister.Older {
  fileprivate mutating func visit(
    _ coder: inout some StateCoder, from base: Int64
  ) throws(StateDamage) {
    try Self.visit(&ownership, &coder, from: base)
    try Self.visit(&subscriptionGroup, &coder, from: base)
    try Self.visit(&reason, &coder, from: base)
    try Self.visit(&accountToken, &coder, from: base)
    let none = Purchase.Offer(type: 0, identifier: nil, discountType: nil, period: nil)
    try Self.visit(&offer, none, &coder, from: base) { (offer, coder) throws(StateDamage) in
      try coder.integer(&offer.type)
      try coder.string(&offer.identifier)
      try coder.string(&offer.discountType)
      try coder.string(&offer.period)
    }
    let blank = StreamState.TransactionRegister.Unsigned(certain: 0)
    try Self.visit(&unsigned, blank, &coder, from: base) { (unsigned, coder) throws(StateDamage) in
      try coder.integer(&unsigned.certain, from: base)
      try coder.optional(&unsigned.expires, from: base)
      try coder.optional(&unsigned.cancel, from: base)
    }
    let free = Purchase.Price(milliunits: 0, currency: nil)
    try Self.visit(&price, free, &coder, from: base) { (price, coder) throws(StateDamage) in
      try coder.integer(&price.milliunits)
      try coder.string(&price.currency)
    }
    try Self.visit(&requestReason, "", &coder, from: base) { (text, coder) throws(StateDamage) in
      try coder.text(&text)
    }
    try coder.list(&refunds, .init(date: 0, signed: 0)) { (refund, coder) throws(StateDamage) in
      try coder.integer(&refund.date, from: base)
      try coder.integer(&refund.signed, from: base)
      try coder.optional(&refund.percentage, from: 0)
      try coder.optional(&refund.amount, from: 0)
      try coder.string(&refund.type)
    }
    try StreamState.requireAscending(refunds.map(\.date)) { $0 < $1 }
    try coder.list(&reversals, 0) { (date, coder) throws(StateDamage) in
      try coder.integer(&date, from: base)
    }
    try StreamState.requireAscending(reversals) { $0 < $1 }
  }

  private static func visit(
    _ told: inout StreamState.TransactionRegister.Told<String>?, _ coder: inout some StateCoder,
    from base: Int64
  ) throws(StateDamage) {
    try visit(&told, "", &coder, from: base) { (text, coder) throws(StateDamage) in
      try coder.text(&text)
    }
  }

  private static func visit<Value, Coder: StateCoder>(
    _ told: inout StreamState.TransactionRegister.Told<Value>?, _ blank: Value,
    _ coder: inout Coder, from base: Int64,
    _ value: (inout Value, inout Coder) throws(StateDamage) -> Void
  ) throws(StateDamage) {
    let first = StreamState.TransactionRegister.Told(key: StreamState.Key(), value: blank)
    try coder.part(&told, first) { (told, coder) throws(StateDamage) in
      try told.key.visit(&coder, from: base)
      try value(&told.value, &coder)
    }
  }
}
