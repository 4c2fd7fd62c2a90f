public import AppStore

/// An event as the fold reads it: what was proven, and its position in the journal.
///
/// The journal holds each uuid once (promise 4), so the fold does not store which uuids it has
/// seen.
public struct FoldEvent: Sendable {
  public var seq: Int64
  public var uuid: NotificationUUID
  public var notificationType: String
  public var subtype: String?
  /// Milliseconds since 1970; the evidence time for V1.
  public var signedDate: Int64
  public var source: EventSource
  public var environment: Environment
  /// Apple's `data.status`, 1 to 5. The fold ignores other values.
  public var status: Int64?
  /// V2: at most one. V1: all transactions of the stream; their `revocationDate` is V1's
  /// cancellation date.
  public var transactions: [Transaction]
  public var renewal: RenewalInfo?
  /// When the receipt was created that this event is or contains, milliseconds since 1970; 0 where
  /// none is proven by Apple's own root.
  public var receiptDate: Int64
  /// V1: auto_renew_status_change_date, milliseconds since 1970.
  public var renewalChangeDate: Int64?
  /// Why the customer asks for a refund of the transaction.
  public var consumptionRequestReason: String?

  public init(
    seq: Int64, uuid: NotificationUUID, notificationType: String, subtype: String?,
    signedDate: Int64, source: EventSource = .v2, environment: Environment = .production,
    status: Int64? = nil, transactions: [Transaction] = [], renewal: RenewalInfo? = nil,
    receiptDate: Int64 = 0, renewalChangeDate: Int64? = nil,
    consumptionRequestReason: String? = nil
  ) {
    self.seq = seq
    self.uuid = uuid
    self.notificationType = notificationType
    self.subtype = subtype
    self.signedDate = signedDate
    self.source = source
    self.environment = environment
    self.status = status
    self.transactions = transactions
    self.renewal = renewal
    self.receiptDate = receiptDate
    self.renewalChangeDate = renewalChangeDate
    self.consumptionRequestReason = consumptionRequestReason
  }

  /// Whether Apple signed the objects one by one: V2 and evidence but receipts.
  public var isSigned: Bool { source != .v1 && source != .receipt }
}

extension FoldEvent {
  /// The key under which an object of this event competes for a register.
  fileprivate func key(signed: Int64, isRevoked: Bool) -> StreamState.Key {
    isSigned
      ? StreamState.Key(
        isSigned: true, signed: signed, notification: signedDate, isRevoked: isRevoked, uuid: uuid)
      : StreamState.Key(
        isSigned: false, signed: signedDate, notification: receiptDate,
        renewalChange: renewalChangeDate ?? 0, transactions: Int64(transactions.count),
        isRevoked: isRevoked, uuid: uuid)
  }

  /// V1: the end of the period that the renewal information is about: that of the newest
  /// transaction of its product, else of the newest of all.
  fileprivate var renewalPeriodEnd: Int64? {
    func newest(_ isMeant: (Transaction) -> Bool) -> Int64? {
      transactions.filter { $0.expiresDate != nil && isMeant($0) }
        .max { ($0.purchaseDate, $0.expiresDate ?? 0) < ($1.purchaseDate, $1.expiresDate ?? 0) }?
        .expiresDate
    }
    let product = renewal?.productId
    return newest { $0.productId == product } ?? newest { _ in true }
  }

  /// A time that lies surely before it was made: of a receipt when it was; of V1 by its dates. A
  /// renewal is charged up to a day before it begins, and a failed charge is told up to a day
  /// before the period ends.
  fileprivate var certainDate: Int64 {
    guard source == .v1 else { return signedDate }
    var dates = [renewalChangeDate ?? 0] + transactions.compactMap(\.revocationDate)
    let isSandbox = environment == .sandbox
    for transaction in transactions {
      let start = transaction.purchaseDate
      let isRenewal = transactions.contains { $0.expiresDate == start }
      let ahead = isRenewal ? transaction.chargedAhead(isSandbox: isSandbox) : 0
      dates.append(start.advanced(orBoundBy: -ahead))
    }
    if renewal?.isInBillingRetryPeriod != nil, let product = renewal?.productId {
      for transaction in transactions where transaction.productId == product {
        let ahead = transaction.chargedAhead(isSandbox: isSandbox)
        transaction.expiresDate.map { dates.append($0.advanced(orBoundBy: -ahead)) }
      }
    }
    return dates.max() ?? 0
  }
}

extension StreamState {
  /// One step of the fold: the event's objects replace those of registers with a smaller key.
  public mutating func evolve(_ event: FoldEvent) {
    eventCount += 1
    isSandbox = event.environment == .sandbox
    foldLastEvent(event)
    let certain = event.isSigned ? 0 : event.certainDate
    for index in event.transactions.indices { fold(transaction: index, of: event, certain) }
    if event.source == .v1 { certainV1 = max(certainV1 ?? .min, certain) }
    if let renewal = event.renewal { fold(renewal, of: event) }
    if let code = event.status, (1...5).contains(code) { fold(status: code, of: event) }
  }

  private mutating func foldLastEvent(_ event: FoldEvent) {
    if let signed = lastEvent?.signedDate, let uuid = lastEvent?.uuid,
      (signed, uuid) >= (event.signedDate, event.uuid)
    {
      return
    }
    lastEvent = LastEvent(
      seq: event.seq, uuid: event.uuid, notificationType: event.notificationType,
      subtype: event.subtype, signedDate: event.signedDate)
  }

  /// - Parameters:
  ///   - index: of one of the event's transactions, which are not copied: each has sixteen strings.
  ///   - certain: the event's `certainDate`.
  private mutating func fold(transaction index: Int, of event: FoldEvent, _ certain: Int64) {
    let key = event.key(
      signed: event.transactions[index].signedDate,
      isRevoked: event.transactions[index].revocationDate != nil)
    let id = event.transactions[index].transactionId
    let previous = event.transactions[index].previousOriginalTransactionId
    transactions[
      id, default: TransactionRegister(key: key, held: .init(event.transactions[index]))
    ].fold(transaction: index, key, of: event, certain)
    let known = seqs[id]
    seqs[id] = min(known?.lowerBound ?? .max, event.seq)...max(known?.upperBound ?? .min, event.seq)
    if let previous { Self.insert(previous, into: &previousOriginalTransactionIds) }
    if let token = event.transactions[index].appAccountToken {
      Self.insert(token, into: &toldAccountTokens)
    }
  }

  private mutating func fold(_ info: RenewalInfo, of event: FoldEvent) {
    let key = event.key(signed: info.signedDate, isRevoked: false)
    if let token = info.appAccountToken { Self.insert(token, into: &toldAccountTokens) }
    let periodEnd = event.isSigned ? nil : event.renewalPeriodEnd
    if let until = info.gracePeriodExpiresDate,
      let end = periodEnd ?? info.renewalDate ?? event.transactions.first?.expiresDate
    {
      fold(Grace(periodEnd: end, until: until))
    }
    let known = event.isSigned ? renewal?.key : renewalV1?.key
    if let known, known >= key { return }
    let register = RenewalRegister(key: key, renewal: info, periodEnd: periodEnd)
    if event.isSigned { renewal = register } else { renewalV1 = register }
  }

  private mutating func fold(_ grace: Grace) {
    let index = graces.partitionPoint { $0.periodEnd < grace.periodEnd }
    if index < graces.count, graces[index].periodEnd == grace.periodEnd {
      graces[index].until = max(graces[index].until, grace.until)
    } else {
      graces.insert(grace, at: index)
    }
  }

  private mutating func fold(status code: Int64, of event: FoldEvent) {
    if let signed = status?.signed, let uuid = status?.uuid,
      (signed, uuid) >= (event.signedDate, event.uuid)
    {
      return
    }
    let isGracePeriod =
      event.notificationType == "DID_FAIL_TO_RENEW" && event.subtype == "GRACE_PERIOD"
    status = StatusRegister(
      signed: event.signedDate, uuid: event.uuid, status: code, isGracePeriod: isGracePeriod,
      renewal: event.renewal)
  }
}

extension StreamState.TransactionRegister {
  fileprivate mutating func fold(
    transaction index: Int, _ key: StreamState.Key, of event: FoldEvent, _ certain: Int64
  ) {
    if key > self.key {
      let before = (key: self.key, held: held)
      self.key = key
      held = Held(event.transactions[index])
      keepOlder(before.held.transaction, before.key)
    } else if key < self.key {
      keepOlder(event.transactions[index], key)
    }
    if let reason = event.consumptionRequestReason {
      var kept = older ?? Older()
      kept.requestReason.keep(reason, key, unless: false)
      older = kept
    }
    let (revoked, signed) = (
      event.transactions[index].revocationDate, event.transactions[index].signedDate
    )
    if event.isSigned {
      first = min(first ?? .max, signed)
      if event.notificationType == "REFUND_REVERSED" {
        clear = max(clear ?? .min, signed)
        keepReversal(at: signed)
      }
      fold(revocation: revoked, signed: signed)
      if revoked != nil || event.transactions[index].advancedCommerce != nil {
        keepRefunds(of: event.transactions[index])
      }
      event.transactions[index].multiSeatInfo?.revokedSeatQuantity.map {
        fold(refundedSeats: $0, signed: signed)
      }
    } else {
      // The cancellation date beside it is that of the upgrade, not of a refund.
      let isUpgraded = event.transactions[index].isUpgraded
      isUpgradedByV1 = isUpgradedByV1 || isUpgraded
      keep(
        Unsigned(
          certain: certain, expires: event.transactions[index].statedEnd,
          cancel: isUpgraded ? nil : revoked), key)
    }
  }

  /// Keeps the newest by the times that are certain.
  private mutating func keep(_ unsigned: Unsigned, _ key: StreamState.Key) {
    if let known = older?.unsigned,
      (known.value.certain, known.key) >= (unsigned.certain, key)
    {
      return
    }
    var kept = older ?? Older()
    kept.unsigned = Told(key: key, value: unsigned)
    older = kept
  }

  /// Apple has moved the date of a refund. Dates told before the last snapshot without one are
  /// void.
  private mutating func fold(revocation date: Int64?, signed: Int64) {
    guard let date else {
      let last = max(restored ?? .min, signed)
      restored = last
      revocations.removeAll { $0.signed <= last }
      return
    }
    guard signed > restored ?? .min else { return }
    let index = revocations.partitionPoint { $0.date < date }
    if index < revocations.count, revocations[index].date == date {
      revocations[index].signed = max(revocations[index].signed, signed)
    } else {
      revocations.insert(Revocation(date: date, signed: signed), at: index)
    }
  }

  private mutating func fold(refundedSeats quantity: Int64, signed: Int64) {
    let index = seatRefunds.partitionPoint { $0.quantity < quantity }
    if index < seatRefunds.count, seatRefunds[index].quantity == quantity {
      seatRefunds[index].signed = min(seatRefunds[index].signed, signed)
    } else {
      seatRefunds.insert(SeatRefund(quantity: quantity, signed: signed), at: index)
    }
  }

  /// Keeps what a snapshot that is not the newest says, where the newest says nothing. What a
  /// source cannot say it does not erase: receipts have no ownership, group or price, and neither
  /// account token nor code of an offer; V1 has no price, and a reason of one type alone.
  private mutating func keepOlder(_ snapshot: Transaction, _ key: StreamState.Key) {
    let hasOwnership = held.transaction.inAppOwnershipType != nil
    let hasGroup = held.transaction.subscriptionGroupIdentifier != nil
    let hasPrice = Purchase.Price(held.transaction) != nil
    let hasReason = held.transaction.transactionReason != nil
    if older == nil, self.key.isSigned, hasOwnership, hasGroup, hasPrice, hasReason { return }
    var kept = older ?? Older()
    kept.ownership.keep(snapshot.inAppOwnershipType, key, unless: hasOwnership)
    kept.subscriptionGroup.keep(snapshot.subscriptionGroupIdentifier, key, unless: hasGroup)
    kept.price.keep(Purchase.Price(snapshot), key, unless: hasPrice)
    kept.reason.keep(snapshot.transactionReason, key, unless: hasReason)
    let isSigned = self.key.isSigned
    kept.accountToken.keep(
      snapshot.appAccountToken, key, unless: isSigned || held.transaction.appAccountToken != nil)
    let named = snapshot.offerIdentifier == nil ? nil : Purchase.Offer(snapshot)
    kept.offer.keep(named, key, unless: isSigned || held.transaction.offerIdentifier != nil)
    older = kept == Older() ? nil : kept
  }
}

extension Optional {
  fileprivate mutating func keep<Value>(
    _ value: Value?, _ key: StreamState.Key, unless isSaid: Bool
  ) where Wrapped == StreamState.TransactionRegister.Told<Value> {
    guard !isSaid else { return self = nil }
    guard let value, self.map({ $0.key < key }) ?? true else { return }
    self = Wrapped(key: key, value: value)
  }
}
