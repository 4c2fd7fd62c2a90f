import AppStore
import Entitlements
import StrictJSON

/// Generated histories of single streams, the same in every version of the program.
///
/// They have everything that a rule may ask for: all sources and environments, every kind of
/// product, purchases under two ids, streams that name a predecessor, monthly payments, grace
/// periods with and without a date, revocations that move and are reversed. They know no rule:
/// dates, ids and states are drawn from few values, so that all of them meet.
struct FoldHistories {
  static let count = 480
  private static let events: Int64 = 6

  private var random = Generator(state: 20_260_101)
  private var number: UInt64 = 0

  /// The events of the next history.
  mutating func next() -> [FoldEvent] {
    number += 1
    // Apple sends a status since June 2023.
    let hasStatus = !random.once(in: 3)
    // Apps were sent V1 alone, first V1 and then V2, or V2 alone.
    let v1Share = random.pick([1, 3, .max, .max] as [Int64])
    let environment: Environment = random.once(in: 4) ? .sandbox : .production
    return (0..<1 + random.below(Self.events)).compactMap { index in
      let event = random.once(in: v1Share) ? v1(index) : v2(index, hasStatus)
      return event.map { varied($0, environment) }
    }
  }

  /// An event of another source, and with what its body does not say.
  private mutating func varied(_ event: FoldEvent, _ environment: Environment) -> FoldEvent {
    var event = event
    event.environment = environment
    if event.source == .v1 {
      if random.once(in: 3), event.transactions.first != nil {
        (event.source, event.notificationType, event.renewal) = (.receipt, "RECEIPT", nil)
        event.receiptDate = event.signedDate
      } else {
        event.receiptDate = random.once(in: 2) ? random.time() : 0
        event.renewalChangeDate = random.once(in: 2) ? random.time() : nil
      }
    } else if random.once(in: 5), let transaction = event.transactions.first {
      (event.source, event.notificationType) = (.transaction, "TRANSACTION_INFO")
      (event.subtype, event.status, event.renewal) = (nil, nil, nil)
      event.signedDate = transaction.signedDate
    }
    return event
  }

  private func uuid(_ index: Int64) -> NotificationUUID {
    NotificationUUID(high: number, low: UInt64(index))
  }

  // MARK: Version 2

  private mutating func v2(_ index: Int64, _ hasStatus: Bool) -> FoldEvent? {
    let signed = random.time()
    var data: [(String, JSONValue)] = [
      ("bundleId", .string("app")), ("environment", .string("Production")),
    ]
    if hasStatus {
      data.append(("status", .integer(random.pick([1, 1, 1, 1, 2, 3, 4, 4, 5, 6]))))
    }
    var nested = NestedPayloads()
    var ends: Int64?
    if !random.once(in: 6) {
      let sold = transaction(signed)
      nested.transaction = Self.element(sold)
      if !random.once(in: 4), case .integer(let date)? = sold["expiresDate"] { ends = date }
    }
    if !random.once(in: 3) { nested.renewal = Self.element(renewal(signed, ends)) }
    let (type, subtype) = random.pick([
      ("DID_RENEW", nil), ("SUBSCRIBED", nil), ("EXPIRED", nil), ("REFUND", nil),
      ("REFUND_REVERSED", nil), ("DID_FAIL_TO_RENEW", "GRACE_PERIOD"), ("DID_FAIL_TO_RENEW", nil),
      ("OTHER", nil),
    ])
    var outer: [(String, JSONValue)] = [
      ("notificationType", .string(type)), ("notificationUUID", .string(uuid(index).description)),
      ("signedDate", .integer(signed)), ("data", .object(data)),
    ]
    if let subtype { outer.append(("subtype", .string(subtype))) }
    guard let root = Self.element(.object(outer)),
      let payload = try? DecodedNotification.payload(root)
    else { return nil }
    // No row has the seq of an event in it.
    return (try? DecodedNotification(payload, nested))?.foldEvent(seq: 0)
  }

  private static func element(_ value: JSONValue) -> JSONElement? {
    try? JSONDocument(parsing: value.bytes).root
  }

  private mutating func transaction(_ signed: Int64) -> JSONValue {
    let start = random.time()
    var members: [(String, JSONValue)] = [
      ("transactionId", .string("\(random.below(4))")), ("originalTransactionId", .string("1")),
      ("bundleId", .string("app")), ("environment", .string("Production")),
      ("productId", .string(random.pick(["basic", "pro"]))), ("purchaseDate", .integer(start)),
      ("signedDate", .integer(random.once(in: 2) ? signed : random.time())),
      ("price", .integer(random.below(99_990))), ("currency", .string("USD")),
      ("quantity", .integer(random.once(in: 40) ? 0 : 1)),
      ("appAccountToken", .string(random.pick(["t0", "t1", ""]))), ("storefront", .string("USA")),
      ("inAppOwnershipType", .string(random.pick(["PURCHASED", "FAMILY_SHARED"]))),
    ]
    if !random.once(in: 6) {
      let end = start + (1 + random.below(9)) * Generator.day
      members.append(
        ("expiresDate", random.once(in: 40) ? .string(String(end)) : .integer(end)))
      members.append(("type", .string("Auto-Renewable Subscription")))
    } else if let kind = random.pick([
      nil, "Consumable", "Non-Consumable", "Non-Renewing Subscription",
      "Auto-Renewable Subscription", "Another Kind",
    ]) {
      members.append(("type", .string(kind)))
    }
    if let item = random.pick([nil, "0", "", "8", "8", "9"]) {
      members.append(("webOrderLineItemId", .string(item)))
    }
    if let reason = random.pick([nil, "PURCHASE", "RENEWAL", "RENEWAL", "OTHER"]) {
      members.append(("transactionReason", .string(reason)))
    }
    if random.once(in: 4) {
      let date = random.once(in: 2) ? signed : start + random.below(8) * Generator.day
      members.append(("revocationDate", .integer(date)))
      members.append(("revocationType", .string("REFUND_PRORATED")))
      members.append(("revocationPercentage", .integer(random.below(100_000))))
    }
    return .object(members + optionalMembers())
  }

  /// Members of a transaction that few have.
  private mutating func optionalMembers() -> [(String, JSONValue)] {
    var members: [(String, JSONValue)] = []
    if random.once(in: 8) { members.append(("isUpgraded", .boolean(true))) }
    if random.once(in: 6) { members.append(("billingPlanType", .string("MONTHLY"))) }
    if number.isMultiple(of: 4) {
      let refunded = Int64(number / 4 % 2)
      let seats = JSONValue.object([("revokedSeatQuantity", .integer(refunded))])
      members += [
        ("multiSeatInfo", seats), ("additionalTransactionReason", .string("SEAT_ADDITION")),
      ]
    }
    if random.once(in: 6) {
      members.append(
        (
          "commitmentInfo",
          .object([
            ("billingPeriodNumber", .integer(random.pick([1, 11, 12]))),
            ("totalBillingPeriods", .integer(12)),
            ("commitmentExpiresDate", .integer(random.time())),
          ])
        ))
    }
    if random.once(in: 8) {
      members.append(("previousOriginalTransactionId", .string(random.pick(["7", "8"]))))
    }
    if random.once(in: 2) {
      members.append(("subscriptionGroupIdentifier", .string(random.pick(["g", "h"]))))
    }
    if random.once(in: 2) { members.append(("appTransactionId", .string("a"))) }
    if random.once(in: 3) {
      members += [
        ("offerType", .integer(1 + random.below(4))), ("offerIdentifier", .string("o")),
        ("offerDiscountType", .string("FREE_TRIAL")), ("offerPeriod", .string("P1M")),
      ]
    }
    return members
  }

  /// - Parameter ends: when the transaction beside it expires, if the renewal is due then.
  private mutating func renewal(_ signed: Int64, _ ends: Int64?) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("originalTransactionId", .string("1")), ("environment", .string("Production")),
      ("signedDate", .integer(random.once(in: 2) ? signed : random.time())),
      ("productId", .string(random.pick(["basic", "basic", "pro"]))),
      ("autoRenewProductId", .string(random.pick(["basic", "pro"]))),
    ]
    if !random.once(in: 4) { members.append(("autoRenewStatus", .integer(random.below(2)))) }
    if random.once(in: 2) {
      // Sometimes of a period that was not told.
      let later = random.once(in: 3) ? 30 * Generator.day : 0
      members.append(("renewalDate", .integer(ends.map { $0 + later } ?? random.time())))
    }
    if random.once(in: 2) { members.append(("gracePeriodExpiresDate", .integer(random.time()))) }
    if random.once(in: 2) {
      members.append(("isInBillingRetryPeriod", .boolean(random.once(in: 2))))
    }
    if random.once(in: 2) { members.append(("expirationIntent", .integer(random.below(5)))) }
    if random.once(in: 2) { members.append(("priceIncreaseStatus", .integer(random.below(2)))) }
    if random.once(in: 4) {
      members.append(
        (
          "commitmentInfo",
          .object([("commitmentAutoRenewStatus", .integer(random.below(2)))])
        ))
    }
    return .object(members)
  }

  // MARK: Version 1

  private mutating func v1(_ index: Int64) -> FoldEvent? {
    var entries: [JSONValue] = []
    for _ in 0..<1 + random.below(2) { entries.append(entry()) }
    let pending = JSONValue.object([
      ("original_transaction_id", .string("1")), ("auto_renew_product_id", .string("basic")),
      ("auto_renew_status", .string("\(random.below(2))")),
      ("is_in_billing_retry_period", .string("\(random.below(2))")),
      ("grace_period_expires_date_ms", Self.text(random.time())),
    ])
    let type = random.pick([
      "DID_RENEW", "CANCEL", "REFUND", "DID_CHANGE_RENEWAL_STATUS", "INTERACTIVE_RENEWAL",
    ])
    let body = JSONValue.object([
      ("notification_type", .string(type)), ("environment", .string("PROD")),
      ("original_transaction_id", .string("1")),
      (
        "unified_receipt",
        .object([
          ("latest_receipt_info", .array(entries)), ("pending_renewal_info", .array([pending])),
        ])
      ),
    ])
    guard let root = Self.element(body), let notification = try? V1Notification(root) else {
      return nil
    }
    let receiptDate = random.once(in: 2) ? 0 : random.time()
    return DecodedNotification(notification, uuid: uuid(index), receiptDate: receiptDate)
      .foldEvent(seq: 0)
  }

  private static func text(_ time: Int64) -> JSONValue { .string(String(time)) }

  /// One transaction of a receipt.
  private mutating func entry() -> JSONValue {
    let start = random.time()
    var entry: [(String, JSONValue)] = [
      ("original_transaction_id", .string("1")), ("product_id", .string("basic")),
      ("transaction_id", .string("\(random.below(4))")), ("purchase_date_ms", Self.text(start)),
    ]
    if !random.once(in: 6) {
      entry.append(("expires_date_ms", Self.text(start + 5 * Generator.day)))
    }
    if random.once(in: 4) {
      let date = start + random.below(8) * Generator.day
      entry.append(("cancellation_date_ms", Self.text(date)))
    }
    if random.once(in: 8) { entry.append(("is_upgraded", .string("true"))) }
    if random.once(in: 4) { entry.append(("is_trial_period", .string("true"))) }
    // No other number is drawn for these.
    let days = start / Generator.day
    if days % 4 == 0 { entry.append(("app_account_token", .string("t2"))) }
    if days % 3 == 1 { entry.append(("offer_code_ref_name", .string("o"))) }
    if let item = random.pick([nil, "0", "8", "9"]) {
      entry.append(("web_order_line_item_id", .string(item)))
    }
    return .object(entry)
  }

  // MARK: Chance

  /// SplitMix64 (Steele, Lea and Flood 2014): the same numbers in every version of the program.
  private struct Generator {
    var state: UInt64

    static let day: Int64 = 86_400_000

    mutating func below(_ bound: Int64) -> Int64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
      return Int64((mixed ^ mixed >> 31) % UInt64(bound))
    }

    mutating func once(in count: Int64) -> Bool { below(count) == 0 }

    mutating func pick<Value>(_ values: [Value]) -> Value {
      values[Int(below(Int64(values.count)))]
    }

    /// One of few half days, so that periods meet, touch and overlap; sometimes seconds later.
    mutating func time() -> Int64 {
      let time = 1_735_725_600_000 + below(36) * Self.day / 2
      return time + pick([0, 0, 0, 0, 0, 30_000, 90_000] as [Int64])
    }
  }
}
