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

  public init(
    seq: Int64, uuid: NotificationUUID, notificationType: String, subtype: String?,
    signedDate: Int64, source: EventSource = .v2, environment: Environment = .production,
    status: Int64? = nil, transactions: [Transaction] = [], renewal: RenewalInfo? = nil,
    receiptDate: Int64 = 0, renewalChangeDate: Int64? = nil
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
  }

  /// Whether Apple signed the objects one by one: V2 and evidence but receipts.
  public var isSigned: Bool { source != .v1 && source != .receipt }
}

extension FoldEvent {
  /// The key under which an object of this event competes for a register.
  fileprivate func key(signed: Int64, isRevoked: Bool) -> StreamState.Key {
    isSigned
      ? StreamState.Key(
        version: 1, signed: signed, notification: signedDate, isRevoked: isRevoked, uuid: uuid)
      : StreamState.Key(
        version: 0, signed: signedDate, notification: Int64(transactions.count),
        isRevoked: isRevoked, uuid: uuid)
  }
}

/// Identifies the rules that made a projection.
public enum Fold {
  /// A change of any rule is a new version.
  public static let version: Int64 = 2
}

extension StreamState {
  /// One step of the fold: the event's objects replace those of registers with a smaller key.
  public mutating func evolve(_ event: FoldEvent) {
    eventCount += 1
    foldLastEvent(event)
    for index in event.transactions.indices { fold(transaction: index, of: event) }
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

  /// - Parameter index: of one of the event's transactions, which are not copied: each has sixteen
  ///   strings.
  private mutating func fold(transaction index: Int, of event: FoldEvent) {
    let key = event.key(
      signed: event.transactions[index].signedDate,
      isRevoked: event.transactions[index].revocationDate != nil)
    let id = event.transactions[index].transactionId
    let previous = event.transactions[index].previousOriginalTransactionId
    transactions[
      id, default: TransactionRegister(key: key, held: .init(event.transactions[index]))
    ].fold(transaction: index, key, of: event)
    if let previous { Self.insert(previous, into: &previousOriginalTransactionIds) }
  }

  private mutating func fold(_ info: RenewalInfo, of event: FoldEvent) {
    let key = event.key(signed: info.signedDate, isRevoked: false)
    if let known = renewal?.key, known >= key { return }
    renewal = RenewalRegister(key: key, renewal: info)
  }

  private mutating func fold(status code: Int64, of event: FoldEvent) {
    if let signed = status?.signed, let uuid = status?.uuid,
      (signed, uuid) >= (event.signedDate, event.uuid)
    {
      return
    }
    status = StatusRegister(
      signed: event.signedDate, uuid: event.uuid, status: code, renewal: event.renewal)
  }
}

extension StreamState.TransactionRegister {
  fileprivate mutating func fold(
    transaction index: Int, _ key: StreamState.Key, of event: FoldEvent
  ) {
    if key > self.key {
      self.key = key
      held = Held(event.transactions[index])
    }
    let signed = event.transactions[index].signedDate
    if event.isSigned {
      first = min(first ?? .max, signed)
      if event.notificationType == "REFUND_REVERSED" { clear = max(clear ?? .min, signed) }
    } else if let date = event.transactions[index].revocationDate,
      !event.transactions[index].isUpgraded
    {
      // With is_upgraded, the cancellation date is that of the upgrade, not of a refund.
      cancel = min(cancel ?? .max, date)
    }
  }
}
