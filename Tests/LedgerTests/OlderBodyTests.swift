import AppStore
import Audit
import Entitlements
import Foundation
import Ledger
import Queries
import Store
import StrictJSON
import Support
import Testing

/// Bodies of 2015 to 2021, with the members that break parsers.
@Suite struct OlderBodyTests {
  private func accepted(_ name: String, apps: [String] = []) throws -> TestLedger {
    let ledger = try TestLedger(secrets: [V1Fixtures.secret], apps: apps)
    #expect(try ledger.ingest(try V1Fixtures.fixture(name), at: 1_700_000_000_000) == .accepted(1))
    return ledger
  }

  /// Numbers, strings, three forms of each date.
  @Test func `a modern body with every member of Apple's page gives its row`() throws {
    let ledger = try accepted("modern.json")
    let event = try #require(try ledger.events().first)
    #expect(event.originalTransactionId == "150001223579830")
    #expect(event.environment == .production && event.bundleId == "com.example.app")
    #expect(event.signedDate == V1Fixtures.ms("20-02-10"))
    let row = try ledger.row("150001223579830", asOf: V1Fixtures.ms("20-02-11"))
    #expect(Row(row).description == "active basic.m 20-03-01 false")
    let json = try #require(row?.json)
    #expect(json["transaction_id"]?.text == "\"150001223579831\"")
    #expect(json["starts_at"]?.text == String(V1Fixtures.ms("20-02-01")))
    #expect(json["app_account_token"]?.text == "\"7e3fb204-2aa9-4d2c-9d5c-000000000001\"")
    #expect(json["subscription_group_id"]?.text == "\"20500001\"")
    #expect(json["ownership"]?.text == "\"PURCHASED\"")
    #expect(json["price"]?.text == "null")
    // The other product of the account is listed in the body, but has no row.
    #expect(try ledger.row("150001300000001", asOf: V1Fixtures.ms("20-02-11")) == nil)
  }

  /// `latest_receipt_info` as one object, with milliseconds in `expires_date`.
  @Test func `a renewal of before 2021 gives its row`() throws {
    let ledger = try accepted("older-renewal.json")
    let event = try #require(try ledger.events().first)
    #expect(event.originalTransactionId == "230000000000001")
    #expect(event.signedDate == 1_593_216_159_000)
    let row = try ledger.row("230000000000001", asOf: 1_595_808_158_999)
    #expect(row?.json["expires_at"]?.text == "1595808159000")
    #expect(row?.json["status"]?.text == "\"active\"" && row?.entitlement.autoRenew == true)
    #expect(
      try ledger.row("230000000000001", asOf: 1_595_808_159_000)?.entitlement.status == .expired)
  }

  /// Failures have `latest_expired_receipt_info` instead.
  @Test func `a failure of before 2021 gives its row`() throws {
    let ledger = try accepted("older-expired.json")
    #expect(try ledger.events().first?.signedDate == 1_595_232_000_000)
    let row = try ledger.row("230000000000001", asOf: 1_595_808_158_999)
    #expect(row?.entitlement.status == .active && row?.entitlement.autoRenew == false)
  }

  /// The cancellation has the billing key of the transaction that it is about.
  @Test func `a cancellation at the top of a body revokes its transaction`() throws {
    let ledger = try accepted("older-cancel.json")
    let row = try ledger.row("230000000000001", asOf: 1_593_864_000_000)
    #expect(row?.entitlement.status == .revoked)
    #expect(row?.entitlement.revokedAt == 1_593_864_000_000)
    #expect(try ledger.verify().findings.isEmpty)
  }

  /// The date had only its readable form at first.
  @Test func `a cancellation date without milliseconds is read`() throws {
    let body = try V1Fixtures.fixture("older-cancel.json")
      .split(separator: "\n").filter { !$0.contains("cancellation_date_") }.joined(separator: "\n")
    let ledger = try V1Fixtures.ledger()
    #expect(try ledger.ingest(body, at: 1) == .accepted(1))
    let row = try ledger.row("230000000000001", asOf: 1_593_864_000_000)
    #expect(row?.entitlement.revokedAt == 1_593_864_000_000)
  }

  /// An upgrade was a CANCEL of the old transaction; the body lists the new one.
  @Test func `a cancellation of another transaction does not revoke the listed one`() throws {
    let body = try V1Fixtures.fixture("older-cancel.json").replacingOccurrences(
      of: "\"web_order_line_item_id\": \"230000000000900\",\n  \"env",
      with: "\"web_order_line_item_id\": \"230000000000899\",\n  \"env")
    #expect(body.contains("230000000000899"))
    let ledger = try V1Fixtures.ledger()
    #expect(try ledger.ingest(body, at: 1) == .accepted(1))
    let row = try ledger.row("230000000000001", asOf: 1_593_864_000_001)
    #expect(row?.entitlement.status == .active && row?.entitlement.revokedAt == nil)
  }

  /// Numbers without quotes, several original ids, none at the top.
  @Test func `a receipt of 2015 gives the row of its newest transaction`() throws {
    let ledger = try TestLedger(secrets: [], apps: ["com.LHB.caocao"])
    let body = try V1Fixtures.fixture("receipt-2015.json")
      .replacingOccurrences(of: V1Fixtures.secret, with: "secret of com.LHB.caocao")
    #expect(try ledger.ingest(body, at: 1_700_000_000_000) == .accepted(1))
    let event = try #require(try ledger.events().first)
    // The stream of the newest transaction.
    #expect(event.originalTransactionId == "1000000151202398")
    #expect(event.environment == .sandbox && event.signedDate == 1_433_325_457_000)
    let row = try ledger.row(
      "1000000151202398", asOf: 1_433_325_500_000, environment: "Sandbox")
    #expect(row?.json["transaction_id"]?.text == "\"1000000157762774\"")
    #expect(row?.json["expires_at"]?.text == "1433325637000")
    #expect(
      try ledger.row("1000000151042480", asOf: 1_433_325_500_000, environment: "Sandbox") == nil)
  }

  @Test(arguments: [
    "CANCEL", "CONSUMPTION_REQUEST", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS",
    "DID_FAIL_TO_RENEW", "DID_RECOVER", "DID_RENEW", "INITIAL_BUY", "INTERACTIVE_RENEWAL",
    "PRICE_INCREASE_CONSENT", "REFUND", "RENEWAL", "REVOKE", "A_TYPE_OF_TOMORROW",
  ]) func `a body of any type is accepted`(_ type: String) throws {
    let ledger = try V1Fixtures.ledger()
    let body = V1Fixtures.purchase.replacingOccurrences(of: "INITIAL_BUY", with: type)
    let received = try ledger.receive(Array(body.utf8), at: 1)
    #expect(received.isUnknownType == (type == "A_TYPE_OF_TOMORROW"))
    #expect(ledger.submit(received) == .accepted(1))
    #expect(try ledger.events().first?.notificationType == type)
    let row = try ledger.row("1000", asOf: V1Fixtures.ms("20-01-15"))
    #expect(Row(row).description == "active basic.m 20-02-01 true")
  }

  @Test func `an empty string is an absent member`() throws {
    let entry = V1Fixtures.entry(
      "1000", "basic.m", "20-01-01", "20-02-01",
      ["cancellation_date_ms": "", "cancellation_date": "", "app_account_token": ""])
    let pending = V1Fixtures.pending(
      "basic.m", "1", ["grace_period_expires_date_ms": "", "expiration_intent": ""])
    let ledger = try V1Fixtures.ledger()
    let body = V1Fixtures.body(
      "INITIAL_BUY", [entry], [pending], top: ["auto_renew_status_change_date_ms": .string("")])
    #expect(try ledger.ingest(body, at: 1) == .accepted(1))
    let row = try ledger.row("1000", asOf: V1Fixtures.ms("20-01-15"))
    #expect(Row(row, also: "app_account_token").description == "active basic.m 20-02-01 true null")
  }

  /// A family member who loses access while renewing.
  @Test func `a renewal whose newest transaction is cancelled is revoked`() throws {
    let ledger = try V1Fixtures.ledger()
    let body = V1Fixtures.body(
      "DID_RENEW",
      [
        V1Fixtures.entry(
          "1001", "basic.m", "20-02-01", "20-03-01",
          [
            "cancellation_date_ms": String(V1Fixtures.ms("20-02-02")),
            "in_app_ownership_type": "FAMILY_SHARED",
          ]), V1Fixtures.entry("1000", "basic.m", "20-01-01", "20-02-01"),
      ], nil)
    #expect(try ledger.ingest(body, at: 1) == .accepted(1))
    let row = try ledger.row("1000", asOf: V1Fixtures.ms("20-02-03"))
    #expect(
      Row(row, also: "ownership").description == "revoked basic.m 20-03-01 null FAMILY_SHARED")
  }

  /// The refund of a consumable does not list its transaction.
  @Test func `a refund without its transaction is journaled and gives no access`() throws {
    let ledger = try V1Fixtures.ledger()
    let body = V1Fixtures.body("REFUND", nil, nil, top: ["original_transaction_id": .number("777")])
    #expect(try ledger.ingest(body, at: 1) == .accepted(1))
    let event = try #require(try ledger.events().first)
    #expect(event.originalTransactionId == "777" && event.signedDate == 0)
    #expect(try ledger.row("777", now: V1Fixtures.ms("20-01-01"))?.entitlement.givesAccess != true)
    #expect(try ledger.verify().findings.isEmpty)
  }

  /// If a customer cancels in the grace period, the next body has no renewal entry.
  @Test func `a renewal entry that is missing ends the grace period`() throws {
    let ledger = try V1Fixtures.ledger()
    let entry = V1Fixtures.entry("1000", "basic.m", "20-01-01", "20-02-01")
    let grace = [
      "is_in_billing_retry_period": "1", "expiration_intent": "2",
      "grace_period_expires_date_ms": String(V1Fixtures.ms("20-02-17")),
    ]
    try ledger.ingest(
      V1Fixtures.body("DID_FAIL_TO_RENEW", [entry], [V1Fixtures.pending("basic.m", "1", grace)]),
      at: 1)
    let then = try ledger.row("1000", asOf: V1Fixtures.ms("20-02-05"))
    #expect(then?.entitlement.status == .gracePeriod)
    try ledger.ingest(
      V1Fixtures.body(
        "DID_CHANGE_RENEWAL_STATUS", [entry], [],
        top: [
          "auto_renew_status": .string("false"), "auto_renew_product_id": .string("other.m"),
          "auto_renew_status_change_date_ms": .string(String(V1Fixtures.ms("20-02-04"))),
        ]), at: 2)
    let row = try ledger.row("1000", asOf: V1Fixtures.ms("20-02-05"))
    #expect(
      Row(row, also: "grace_period_expires_at", "pending_product_id").description
        == "expired basic.m 20-02-01 false null null")
  }
}
