public import AppStore

/// An event as the fold sees it: what was proven, and its place in the journal.
///
/// The journal holds a uuid once (promise 4), so the fold need not remember which it has seen.
public struct FoldEvent: Sendable {
  public var seq: Int64
  public var uuid: NotificationUUID
  public var notificationType: String
  public var subtype: String?
  public var signedDate: Int64
  /// 1 for V2, 0 for V1, whose `signedDate` is its evidence time.
  public var version: Int64
  public var status: Int64?
  /// One at most in V2; all of the stream in V1, with `revocationDate` their cancellation date.
  public var transactions: [Transaction]
  public var renewal: RenewalInfo?

  public init(
    seq: Int64, uuid: NotificationUUID, notificationType: String, subtype: String?,
    signedDate: Int64, version: Int64 = 1, status: Int64? = nil,
    transactions: [Transaction] = [], renewal: RenewalInfo? = nil
  ) {
    self.seq = seq
    self.uuid = uuid
    self.notificationType = notificationType
    self.subtype = subtype
    self.signedDate = signedDate
    self.version = version
    self.status = status
    self.transactions = transactions
    self.renewal = renewal
  }
}

extension FoldEvent {
  /// The key of a register that an object of this event asks for.
  fileprivate func key(signed: Int64, isRevoked: Bool) -> StreamState.Key {
    version == 1
      ? StreamState.Key(
        version: 1, signed: signed, notification: signedDate, isRevoked: isRevoked, uuid: uuid)
      : StreamState.Key(
        version: 0, signed: signedDate, notification: Int64(transactions.count),
        isRevoked: isRevoked, uuid: uuid)
  }
}

/// The fold: which rules made a projection. A change of any rule is a new version.
public enum Fold {
  public static let version: Int64 = 1
}

extension StreamState {
  /// One step of the fold: every register takes the event's object where its key is greater.
  public mutating func evolve(_ event: FoldEvent) {
    eventCount += 1
    remember(event)
    for transaction in event.transactions { fold(transaction, of: event) }
    if let renewal = event.renewal { fold(renewal, of: event) }
    if let code = event.status, (1...5).contains(code) { fold(status: code, of: event) }
  }

  private mutating func remember(_ event: FoldEvent) {
    if let last = lastEvent,
      (last.signedDate, last.uuid) >= (event.signedDate, event.uuid)
    {
      return
    }
    lastEvent = LastEvent(
      seq: event.seq, uuid: event.uuid, notificationType: event.notificationType,
      subtype: event.subtype, signedDate: event.signedDate)
  }

  private mutating func fold(_ transaction: Transaction, of event: FoldEvent) {
    let key = event.key(
      signed: transaction.signedDate, isRevoked: transaction.revocationDate != nil)
    let id = transaction.transactionId
    transactions[id, default: TransactionRegister(key: key, transaction: transaction)]
      .fold(transaction, key, of: event)
    if let previous = transaction.previousOriginalTransactionId { remember(previous: previous) }
  }

  private mutating func remember(previous id: String) {
    let place =
      previousOriginalTransactionIds.firstIndex { !$0.utf8.lexicographicallyPrecedes(id.utf8) }
      ?? previousOriginalTransactionIds.endIndex
    let isKnown =
      place < previousOriginalTransactionIds.endIndex
      && previousOriginalTransactionIds[place].utf8.elementsEqual(id.utf8)
    if !isKnown { previousOriginalTransactionIds.insert(id, at: place) }
  }

  private mutating func fold(_ info: RenewalInfo, of event: FoldEvent) {
    let key = event.key(signed: info.signedDate, isRevoked: false)
    if let renewal, renewal.key >= key { return }
    renewal = RenewalRegister(key: key, renewal: info)
  }

  private mutating func fold(status code: Int64, of event: FoldEvent) {
    if let status, (status.signed, status.uuid) >= (event.signedDate, event.uuid) { return }
    status = StatusRegister(signed: event.signedDate, uuid: event.uuid, status: code)
  }
}

extension StreamState.TransactionRegister {
  fileprivate mutating func fold(
    _ transaction: Transaction, _ key: StreamState.Key, of event: FoldEvent
  ) {
    if key > self.key {
      self.key = key
      self.transaction = transaction
    }
    if event.version == 1 {
      first = min(first ?? .max, transaction.signedDate)
      if event.notificationType == "REFUND_REVERSED" {
        clear = max(clear ?? .min, transaction.signedDate)
      }
    } else if let date = transaction.revocationDate, !transaction.isUpgraded {
      // A cancellation date beside is_upgraded is the upgrade's, not a refund's.
      cancel = min(cancel ?? .max, date)
    }
  }
}
