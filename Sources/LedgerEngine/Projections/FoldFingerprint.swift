import AppStore
import Encoding
import Entitlements
import JournalStore
import StrictJSON

/// Identifies this program's fold by its results: a hash of the rows that it makes of a fixed set
/// of generated notifications.
///
/// The fold's version number only shows changes that were declared. A changed rule with an
/// unchanged number must not continue the projection of the old rule, so the fingerprint is
/// computed by the running program and is not a constant that could be out of date. The
/// notifications are random and know no rule; a change that alters none of their rows is not
/// detected.
///
/// Costs about 15 ms of processor time, once per process, when a projection is opened or examined
/// (release build, measured with `subledger version`); every later use reads the stored text.
enum FoldFingerprint {
  private static let histories = 320
  private static let events = 6

  /// The first 16 bytes of a SHA-256 over all rows, in lower-case hexadecimal.
  static let value: String = {
    var random = Generator(state: 20_260_101)
    var digest = SetDigest()
    for history in 0..<histories {
      var state = StreamState()
      // Apple sends a status since June 2023.
      let hasStatus = !random.once(in: 3)
      // Apps were sent V1 alone, first V1 and then V2, or V2 alone.
      let v1Share = random.pick([1, 3, .max, .max] as [Int64])
      for index in 0..<1 + Int(random.below(Int64(events))) {
        let event =
          random.once(in: v1Share) ? v1(&random, history, index) : v2(&random, index, hasStatus)
        if let event { state.evolve(event) }
      }
      let key = StreamKey(
        environment: .production, bundleId: "app", originalTransactionId: "\(history)")
      digest.add(FoldedStream(key, state))
    }
    return Hexadecimal.encode(Array(digest.bytes.prefix(16)))
  }()

  // MARK: Notifications

  private static func v2(_ random: inout Generator, _ index: Int, _ hasStatus: Bool) -> FoldEvent? {
    let signed = random.time()
    let types = ["DID_RENEW", "SUBSCRIBED", "EXPIRED", "REFUND", "REFUND_REVERSED", "OTHER"]
    var data: [(String, JSONValue)] = [
      ("bundleId", .string("app")), ("environment", .string("Production")),
    ]
    if hasStatus { data.append(("status", .integer(random.pick([1, 1, 1, 1, 2, 3, 4, 5, 6])))) }
    var nested = NestedPayloads()
    var ends: Int64?
    if !random.once(in: 6) {
      let sold = transaction(&random, signed)
      nested.transaction = element(sold)
      if !random.once(in: 4), case .integer(let date)? = sold["expiresDate"] { ends = date }
    }
    if !random.once(in: 3) { nested.renewal = element(renewal(&random, signed, ends)) }
    let outer = JSONValue.object([
      ("notificationType", .string(random.pick(types))),
      ("notificationUUID", .string("00000000-0000-4000-8000-0000000000\(10 + index)")),
      ("signedDate", .integer(signed)), ("data", .object(data)),
    ])
    guard let root = element(outer), let payload = try? DecodedNotification.payload(root) else {
      return nil
    }
    // No row has the seq of an event in it.
    return (try? DecodedNotification(payload, nested))?.foldEvent(seq: 0)
  }

  private static func element(_ value: JSONValue) -> JSONElement? {
    try? JSONDocument(parsing: value.bytes).root
  }

  private static func transaction(_ random: inout Generator, _ signed: Int64) -> JSONValue {
    let start = random.time()
    var members: [(String, JSONValue)] = [
      ("transactionId", .string("\(random.below(4))")), ("originalTransactionId", .string("1")),
      ("bundleId", .string("app")), ("environment", .string("Production")),
      ("productId", .string(random.pick(["basic", "pro"]))), ("purchaseDate", .integer(start)),
      ("signedDate", .integer(random.once(in: 2) ? signed : random.time())),
      ("price", .integer(random.below(99_990))), ("currency", .string("USD")),
      ("offerType", .integer(random.below(4))), ("appAccountToken", .string("t\(random.below(2))")),
      ("storefront", .string("USA")), ("inAppOwnershipType", .string("PURCHASED")),
    ]
    let isSubscription = !random.once(in: 8)
    if isSubscription {
      members.append(("expiresDate", .integer(start + (1 + random.below(9)) * Generator.day)))
      members.append(("type", .string("Auto-Renewable Subscription")))
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
    if random.once(in: 8) { members.append(("isUpgraded", .boolean(true))) }
    if random.once(in: 6) { members.append(("billingPlanType", .string("MONTHLY"))) }
    if random.once(in: 8) { members.append(("previousOriginalTransactionId", .string("7"))) }
    return .object(members)
  }

  /// - Parameter ends: when the transaction beside it expires, if the renewal is due then.
  private static func renewal(
    _ random: inout Generator, _ signed: Int64, _ ends: Int64?
  ) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("originalTransactionId", .string("1")), ("environment", .string("Production")),
      ("signedDate", .integer(random.once(in: 2) ? signed : random.time())),
      ("productId", .string("basic")),
      ("autoRenewProductId", .string(random.pick(["basic", "pro"]))),
    ]
    if !random.once(in: 4) { members.append(("autoRenewStatus", .integer(random.below(2)))) }
    if random.once(in: 2) { members.append(("renewalDate", .integer(ends ?? random.time()))) }
    if random.once(in: 2) { members.append(("gracePeriodExpiresDate", .integer(random.time()))) }
    if random.once(in: 2) {
      members.append(("isInBillingRetryPeriod", .boolean(random.once(in: 2))))
    }
    if random.once(in: 2) { members.append(("expirationIntent", .integer(random.below(5)))) }
    if random.once(in: 2) { members.append(("priceIncreaseStatus", .integer(random.below(2)))) }
    return .object(members)
  }

  private static func v1(_ random: inout Generator, _ history: Int, _ index: Int) -> FoldEvent? {
    func text(_ time: Int64) -> JSONValue { .string(String(time)) }
    var entries: [JSONValue] = []
    for _ in 0..<1 + random.below(2) {
      let start = random.time()
      var entry: [(String, JSONValue)] = [
        ("original_transaction_id", .string("1")), ("product_id", .string("basic")),
        ("transaction_id", .string("\(random.below(4))")), ("purchase_date_ms", text(start)),
      ]
      if !random.once(in: 6) { entry.append(("expires_date_ms", text(start + 5 * Generator.day))) }
      if random.once(in: 4) {
        entry.append(("cancellation_date_ms", text(start + random.below(8) * Generator.day)))
      }
      if random.once(in: 8) { entry.append(("is_upgraded", .string("true"))) }
      entries.append(.object(entry))
    }
    let pending = JSONValue.object([
      ("original_transaction_id", .string("1")), ("auto_renew_product_id", .string("basic")),
      ("auto_renew_status", .string("\(random.below(2))")),
      ("is_in_billing_retry_period", .string("\(random.below(2))")),
      ("grace_period_expires_date_ms", text(random.time())),
    ])
    let body = JSONValue.object([
      ("notification_type", .string("DID_RENEW")), ("environment", .string("PROD")),
      ("original_transaction_id", .string("1")),
      (
        "unified_receipt",
        .object([
          ("latest_receipt_info", .array(entries)), ("pending_renewal_info", .array([pending])),
        ])
      ),
    ])
    guard let root = element(body), let notification = try? V1Notification(root) else { return nil }
    let uuid = NotificationUUID(high: UInt64(history), low: UInt64(index))
    let receiptDate = random.once(in: 2) ? 0 : random.time()
    return DecodedNotification(notification, uuid: uuid, receiptDate: receiptDate)
      .foldEvent(seq: 0)
  }

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

    /// One of few half days, so that periods meet, touch and overlap.
    mutating func time() -> Int64 { 1_735_725_600_000 + below(36) * Self.day / 2 }
  }
}
