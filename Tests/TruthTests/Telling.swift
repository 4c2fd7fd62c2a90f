import AppStore
import Entitlements
import Support

/// What Apple signs and sends about a life: as events of the fold.
struct Telling {
  let life: Life
  var chance: SplitMix64

  static let stream = "1000"
  private static let codes: [Entitlement.Status: Int64] = [
    .active: 1, .expired: 2, .billingRetry: 3, .gracePeriod: 4, .revoked: 5,
  ]

  mutating func uuid() -> NotificationUUID {
    NotificationUUID(high: chance.next(), low: chance.next())
  }

  // MARK: Version 2

  mutating func notification(_ step: Life.Step) -> Fact {
    let state = life.state(at: step.at)
    // What is nested was signed some milliseconds earlier.
    let nested = step.at - chance.below(100)
    let truth = life.truth(since: step.at, at: step.at)
    let status = step.status ?? truth.flatMap { Self.codes[$0.status] }
    let renewal = state.flatMap { renewalInfo($0, signed: nested) }
    let event = FoldEvent(
      seq: 1, uuid: uuid(), notificationType: step.type, subtype: step.subtype,
      signedDate: step.at, status: life.isSubscription ? status : nil,
      transactions: state.map { [transaction(step.purchase, of: $0, signed: nested)] } ?? [],
      renewal: renewal)
    return Fact(
      moment: step.at, event: event, purchases: [step.purchase],
      renewal: renewal == nil ? nil : .signed)
  }

  /// - Parameter isSecond: names the second id of the purchase, if it has one.
  func transaction(
    _ index: Int, of state: State, signed: Int64, isSecond: Bool = false
  ) -> Transaction {
    let purchase = state.purchases[index]
    var transaction = Transaction()
    transaction.transactionId = Self.id(index, isSecond: isSecond && purchase.hasSecondId)
    transaction.originalTransactionId = Self.stream
    transaction.webOrderLineItemId = life.isSubscription ? "\(9000 + index)" : nil
    transaction.productId = purchase.product
    transaction.type = life.productType
    transaction.inAppOwnershipType = life.ownership
    transaction.transactionReason = purchase.isRenewal ? "RENEWAL" : "PURCHASE"
    transaction.purchaseDate = purchase.begins
    transaction.expiresDate = purchase.expires
    transaction.isUpgraded = purchase.isUpgraded
    transaction.revocationDate = purchase.revoked
    transaction.signedDate = signed
    if purchase.isTrial {
      (transaction.offerType, transaction.offerDiscountType) = (1, "FREE_TRIAL")
    }
    return transaction
  }

  static func id(_ index: Int, isSecond: Bool) -> String { "\((isSecond ? 1500 : 1000) + index)" }

  /// The purchase that a transaction id is of.
  static func purchase(_ id: String) -> Int? { Int(id).map { ($0 - 1000) % 500 } }

  func renewalInfo(_ state: State, signed: Int64) -> RenewalInfo? {
    guard let renewal = state.renewal else { return nil }
    var info = RenewalInfo()
    info.originalTransactionId = Self.stream
    info.productId = renewal.product
    info.autoRenewProductId = renewal.next
    info.autoRenewStatus = renewal.isOn ? 1 : 0
    info.renewalDate = renewal.renewalDate
    info.isInBillingRetryPeriod = renewal.isRetrying
    info.gracePeriodExpiresDate = renewal.graceEnd
    info.expirationIntent = renewal.intent
    info.priceIncreaseStatus = renewal.priceIncrease
    info.signedDate = signed
    return info
  }

  // MARK: Evidence

  /// What Apple answers when it is asked at a moment, or what the app hands over then: transactions
  /// and renewal information, each signed on its own.
  ///
  /// - Parameter secondIds: how often, in percent, the second id is named in place of the first.
  mutating func evidence(
    at moment: Int64, of purchases: [Int], withRenewal: Bool, secondIds: Int = 0
  ) -> [Fact] {
    guard let state = life.state(at: moment) else { return [] }
    var facts = purchases.map { index in
      let signed = transaction(index, of: state, signed: moment, isSecond: chance.hits(secondIds))
      return Fact(
        moment: moment,
        event: FoldEvent(
          seq: 1, uuid: uuid(), notificationType: "TRANSACTION_INFO", subtype: nil,
          signedDate: moment, source: .transaction, transactions: [signed]),
        purchases: [index], renewal: nil)
    }
    if withRenewal, let info = renewalInfo(state, signed: moment) {
      facts.append(
        Fact(
          moment: moment,
          event: FoldEvent(
            seq: 1, uuid: uuid(), notificationType: "RENEWAL_INFO", subtype: nil,
            signedDate: moment, source: .renewal, renewal: info),
          purchases: [], renewal: .signed))
    }
    return facts
  }

  /// All transactions and the renewal information.
  mutating func everything(at moment: Int64) -> [Fact] {
    let all = life.state(at: moment)?.purchases.indices.map { $0 } ?? []
    return evidence(at: moment, of: all, withRenewal: true)
  }

  /// An app receipt made at a moment. It lists all purchases and says nothing of the renewal.
  mutating func receipt(at moment: Int64) -> [Fact] {
    guard let state = life.state(at: moment) else { return [] }
    let records = state.purchases.indices.map { index in
      var record = transaction(index, of: state, signed: moment, isSecond: chance.hits(30))
      record.transactionReason = nil
      record.inAppOwnershipType = nil
      // A receipt does not say that a purchase was replaced; Apple cancels it then.
      if record.isUpgraded { record.revocationDate = state.purchases[index].ends }
      record.isUpgraded = false
      return record
    }
    let event = FoldEvent(
      seq: 1, uuid: uuid(), notificationType: "RECEIPT", subtype: nil, signedDate: moment,
      source: .receipt, transactions: records, receiptDate: moment)
    return [
      Fact(moment: moment, event: event, purchases: Set(state.purchases.indices), renewal: nil)
    ]
  }
}
