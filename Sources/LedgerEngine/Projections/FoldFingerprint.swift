import AppStore
import Encoding
import Entitlements
import SignedData
import StrictJSON

/// What this program's fold does, told by what it makes of a fixed set of notifications.
///
/// A version number says what somebody meant to change; a changed rule that nobody gave a number
/// must not be taken for the old one. So histories of every kind, always the same ones, go through
/// the decoders and the fold, and the rows they give are hashed. They are made by chance and know
/// no rule: a change that none of them shows changes no row of theirs.
enum FoldFingerprint {
  private static let histories = 320
  private static let events = 6

  /// The first 16 bytes of a SHA-256 over all rows, in lower-case hexadecimal.
  static let mark: String = {
    var dice = Dice(state: 20_260_101)
    var hash = SHA256()
    for history in 0..<histories {
      var state = StreamState()
      // Before June 2023 nobody was told a status.
      let hasStatus = !dice.once(in: 3)
      // An app was sent V1 alone, first V1 and then V2, or V2 alone.
      let v1Share = dice.pick([1, 3, .max, .max] as [Int64])
      for place in 0..<1 + Int(dice.below(Int64(events))) {
        let event = dice.once(in: v1Share) ? v1(&dice, history, place) : v2(&dice, place, hasStatus)
        if let event { state.evolve(event) }
      }
      hash.update(state.encoded())
    }
    return Hexadecimal.encode(Array(hash.finish().prefix(16)))
  }()

  // MARK: Notifications

  private static func v2(_ dice: inout Dice, _ place: Int, _ hasStatus: Bool) -> FoldEvent? {
    let signed = dice.time()
    let types = ["DID_RENEW", "SUBSCRIBED", "EXPIRED", "REFUND", "REFUND_REVERSED", "OTHER"]
    var data: [(String, JSONValue)] = [
      ("bundleId", .string("app")), ("environment", .string("Production")),
    ]
    if hasStatus { data.append(("status", .integer(dice.pick([1, 1, 1, 1, 2, 3, 4, 5, 6])))) }
    var nested: [[UInt8]] = []
    var ends: Int64?
    if !dice.once(in: 6) {
      data.append(("signedTransactionInfo", .string("0")))
      let sold = transaction(&dice, signed)
      nested.append(sold.bytes)
      if !dice.once(in: 4), case .integer(let date)? = sold["expiresDate"] { ends = date }
    }
    if !dice.once(in: 3) {
      data.append(("signedRenewalInfo", .string("\(nested.count)")))
      nested.append(renewal(&dice, signed, ends).bytes)
    }
    let payload = JSONValue.object([
      ("notificationType", .string(dice.pick(types))),
      ("notificationUUID", .string("00000000-0000-4000-8000-0000000000\(10 + place)")),
      ("signedDate", .integer(signed)), ("data", .object(data)),
    ])
    guard let root = try? JSONDocument(parsing: payload.bytes).root else { return nil }
    let notification = try? Notification(root) { (number, _) throws(Refusal) in
      let place = number.first.map { Int($0) - 48 } ?? 0
      guard nested.indices.contains(place),
        let document = try? JSONDocument(parsing: nested[place])
      else { throw .malformed("nested_payload") }
      return document.root
    }
    return notification?.foldEvent(seq: 0)
  }

  private static func transaction(_ dice: inout Dice, _ signed: Int64) -> JSONValue {
    let start = dice.time()
    var members: [(String, JSONValue)] = [
      ("transactionId", .string("\(dice.below(4))")), ("originalTransactionId", .string("1")),
      ("bundleId", .string("app")), ("environment", .string("Production")),
      ("productId", .string(dice.pick(["basic", "pro"]))), ("purchaseDate", .integer(start)),
      ("signedDate", .integer(dice.once(in: 2) ? signed : dice.time())),
      ("price", .integer(dice.below(99_990))), ("currency", .string("USD")),
      ("offerType", .integer(dice.below(4))), ("appAccountToken", .string("t\(dice.below(2))")),
      ("storefront", .string("USA")), ("inAppOwnershipType", .string("PURCHASED")),
    ]
    let isSubscription = !dice.once(in: 8)
    if isSubscription {
      members.append(("expiresDate", .integer(start + (1 + dice.below(9)) * Dice.day)))
      members.append(("type", .string("Auto-Renewable Subscription")))
    }
    if let reason = dice.pick([nil, "PURCHASE", "RENEWAL", "RENEWAL", "OTHER"]) {
      members.append(("transactionReason", .string(reason)))
    }
    if dice.once(in: 4) {
      let date = dice.once(in: 2) ? signed : start + dice.below(8) * Dice.day
      members.append(("revocationDate", .integer(date)))
      members.append(("revocationType", .string("REFUND_PRORATED")))
      members.append(("revocationPercentage", .integer(dice.below(100_000))))
    }
    if dice.once(in: 8) { members.append(("isUpgraded", .boolean(true))) }
    if dice.once(in: 6) { members.append(("billingPlanType", .string("MONTHLY"))) }
    if dice.once(in: 8) { members.append(("previousOriginalTransactionId", .string("7"))) }
    return .object(members)
  }

  /// - Parameter ends: when the transaction beside it does, where it renews then.
  private static func renewal(
    _ dice: inout Dice, _ signed: Int64, _ ends: Int64?
  ) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("originalTransactionId", .string("1")), ("environment", .string("Production")),
      ("signedDate", .integer(dice.once(in: 2) ? signed : dice.time())),
      ("productId", .string("basic")),
      ("autoRenewProductId", .string(dice.pick(["basic", "pro"]))),
    ]
    if !dice.once(in: 4) { members.append(("autoRenewStatus", .integer(dice.below(2)))) }
    if dice.once(in: 2) { members.append(("renewalDate", .integer(ends ?? dice.time()))) }
    if dice.once(in: 2) { members.append(("gracePeriodExpiresDate", .integer(dice.time()))) }
    if dice.once(in: 2) { members.append(("isInBillingRetryPeriod", .boolean(dice.once(in: 2)))) }
    if dice.once(in: 2) { members.append(("expirationIntent", .integer(dice.below(5)))) }
    if dice.once(in: 2) { members.append(("priceIncreaseStatus", .integer(dice.below(2)))) }
    return .object(members)
  }

  private static func v1(_ dice: inout Dice, _ history: Int, _ place: Int) -> FoldEvent? {
    func text(_ time: Int64) -> JSONValue { .string(String(time)) }
    var entries: [JSONValue] = []
    for _ in 0..<1 + dice.below(2) {
      let start = dice.time()
      var entry: [(String, JSONValue)] = [
        ("original_transaction_id", .string("1")), ("product_id", .string("basic")),
        ("transaction_id", .string("\(dice.below(4))")), ("purchase_date_ms", text(start)),
      ]
      if !dice.once(in: 6) { entry.append(("expires_date_ms", text(start + 5 * Dice.day))) }
      if dice.once(in: 4) {
        entry.append(("cancellation_date_ms", text(start + dice.below(8) * Dice.day)))
      }
      if dice.once(in: 8) { entry.append(("is_upgraded", .string("true"))) }
      entries.append(.object(entry))
    }
    let pending = JSONValue.object([
      ("original_transaction_id", .string("1")), ("auto_renew_product_id", .string("basic")),
      ("auto_renew_status", .string("\(dice.below(2))")),
      ("is_in_billing_retry_period", .string("\(dice.below(2))")),
      ("grace_period_expires_date_ms", text(dice.time())),
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
    guard let root = try? JSONDocument(parsing: body.bytes).root,
      let notification = try? V1Notification(root)
    else { return nil }
    let uuid = NotificationUUID(high: UInt64(history), low: UInt64(place))
    return notification.foldEvent(seq: 0, uuid: uuid)
  }

  /// The same numbers for ever: SplitMix64 (Steele, Lea and Flood 2014).
  private struct Dice {
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

    /// Few half days, so that things meet, touch and overlap.
    mutating func time() -> Int64 { 1_735_725_600_000 + below(36) * Self.day / 2 }
  }
}
