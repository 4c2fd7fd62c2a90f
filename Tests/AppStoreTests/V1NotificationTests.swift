import AppStore
import StrictJSON
import Testing

/// Decoding of V1 notifications. Environments, evidence dates and whole bodies of several years are
/// tested through the ledger, in LedgerEngineTests.
@Suite struct V1NotificationTests {
  /// The form since 2021: lists in the unified receipt, all values strings.
  private static let modern: Members = [
    "notification_type": .string("DID_CHANGE_RENEWAL_STATUS"), "bid": .string("com.example.app"),
    "environment": .string("PROD"), "auto_renew_status_change_date_ms": .string("1500"),
    "unified_receipt": .object([
      ("environment", .string("Production")),
      ("latest_receipt_info", .array([entry.value])),
      ("pending_renewal_info", .array([pending.value])),
    ]),
  ]
  private static let entry: Members = [
    "transaction_id": .string("2"), "original_transaction_id": .string("1"),
    "web_order_line_item_id": .string("5"), "product_id": .string("a"),
    "purchase_date_ms": .string("1000"), "expires_date_ms": .string("2000"),
    "quantity": .string("1"), "is_upgraded": .string("true"), "is_trial_period": .string("true"),
  ]
  private static let pending: Members = [
    "original_transaction_id": .string("1"), "product_id": .string("a"),
    "auto_renew_product_id": .string("b"), "auto_renew_status": .string("0"),
    "is_in_billing_retry_period": .string("1"), "expiration_intent": .string("2"),
    "grace_period_expires_date_ms": .string("3000"), "price_consent_status": .string("1"),
  ]
  /// The same values in the other form of each.
  private static let otherEntry: Members = [
    "transaction_id": .integer(2), "original_transaction_id": .integer(1),
    "web_order_line_item_id": .integer(5), "product_id": .string("a"),
    "purchase_date_ms": .integer(1000), "expires_date": .string("2000"), "quantity": .integer(1),
    "is_upgraded": .boolean(true), "is_trial_period": .integer(1),
  ]
  private static let otherPending: Members = [
    "original_transaction_id": .integer(1), "product_id": .string("a"),
    "auto_renew_product_id": .string("b"), "auto_renew_status": .boolean(false),
    "is_in_billing_retry_period": .boolean(true), "expiration_intent": .integer(2),
    "grace_period_expires_date": .string("1970-01-01 00:00:03 Etc/GMT"),
    "price_increase_status": .integer(1),
  ]

  private func decode(_ members: Members) throws -> V1Notification {
    try V1Notification(members.parsed())
  }

  @Test func `every member of the modern form is decoded`() throws {
    let notification = try decode(Self.modern)
    #expect(notification.notificationType == "DID_CHANGE_RENEWAL_STATUS")
    #expect(notification.environment.rawValue == "Production")
    #expect(notification.bundleId == "com.example.app")
    #expect(notification.originalTransactionId == "1")
    // The end of the period that could not be charged.
    #expect(notification.evidenceDate == 2_000)
    var transaction = Transaction()
    (transaction.transactionId, transaction.originalTransactionId) = ("2", "1")
    (transaction.webOrderLineItemId, transaction.productId) = ("5", "a")
    (transaction.purchaseDate, transaction.expiresDate) = (1_000, 2_000)
    (transaction.signedDate, transaction.quantity) = (2_000, 1)
    (transaction.type, transaction.isUpgraded) = ("Auto-Renewable Subscription", true)
    (transaction.offerType, transaction.offerDiscountType) = (1, "FREE_TRIAL")
    #expect(notification.transactions == [transaction])
    var renewal = RenewalInfo()
    (renewal.originalTransactionId, renewal.productId) = ("1", "a")
    (renewal.autoRenewProductId, renewal.autoRenewStatus) = ("b", 0)
    (renewal.isInBillingRetryPeriod, renewal.expirationIntent) = (true, 2)
    (renewal.gracePeriodExpiresDate, renewal.priceIncreaseStatus) = (3_000, 1)
    #expect(notification.renewal == renewal)
  }

  @Test func `values are decoded as strings, as numbers and as booleans`() throws {
    let modern = try decode(Self.modern)
    let receipt = JSONValue.object([
      ("latest_receipt_info", .array([Self.otherEntry.value])),
      ("pending_renewal_info", .array([Self.otherPending.value])),
    ])
    let other = try decode(Self.modern.with("unified_receipt", receipt))
    #expect(other.transactions == modern.transactions && other.renewal == modern.renewal)
    #expect(other.evidenceDate == modern.evidenceDate)
  }

  @Test(arguments: ["latest_receipt_info", "latest_expired_receipt_info"])
  func `the older form has one transaction at the top, and the renewal beside it`(
    _ name: String
  ) throws {
    let older = Self.modern.with("unified_receipt", nil).with(name, Self.entry.value)
      .with("auto_renew_status", .string("false")).with("auto_renew_product_id", .string("b"))
    let notification = try decode(older)
    #expect(notification.transactions.map(\.transactionId) == ["2"])
    #expect(notification.originalTransactionId == "1" && notification.evidenceDate == 1_500)
    #expect(notification.renewal.autoRenewStatus == 0)
    #expect(notification.renewal.autoRenewProductId == "b")
  }

  @Test func `unknown members are ignored`() throws {
    let plain = try decode(Self.modern)
    let notification = try decode(Self.modern.with("new", .object([("bid", .string("other"))])))
    #expect(notification.transactions == plain.transactions)
    #expect(notification.renewal == plain.renewal && notification.bundleId == plain.bundleId)
  }

  @Test(arguments: ["transaction_id", "purchase_date_ms"])
  func `an entry without id or purchase date is not used`(_ name: String) throws {
    let older = Self.modern.with("unified_receipt", nil)
      .with("latest_receipt_info", Self.entry.with(name, nil).value)
    #expect(try decode(older).transactions.isEmpty)
  }

  @Test func `NUL in an identifier is refused`() {
    for name in ["notification_type", "bid", "original_transaction_id"] {
      #expect(throws: PayloadFault.nul) {
        try decode(Self.modern.with(name, .string("A\0")))
      }
    }
  }
}
