import AppStoreSimulator
import Foundation
import Platform
import StrictJSON
import Support
import Testing

/// The questions of the page about finance, answered by hand.
@Suite struct FinanceTests {
  private static let day = Sample.day

  private func purchase(
    _ number: Int, of customer: Int, _ product: String, price: Int64, bought: Int64, days: Int64,
    _ type: String = "DID_RENEW", signed: Int64? = nil, _ more: [(String, JSONValue)] = []
  ) -> (JSONValue, Int64) {
    let all: [(String, JSONValue)] = [
      ("purchaseDate", .integer(bought)), ("expiresDate", .integer(bought + days * Self.day)),
      ("price", .integer(price)), ("currency", .string("EUR")), ("productId", .string(product)),
      ("transactionReason", .string(type == "DID_RENEW" ? "RENEWAL" : "PURCHASE")),
      ("transactionId", .string("\(customer)\(number)")),
      ("webOrderLineItemId", .string("5\(customer)\(number)")),
    ]
    let date = signed ?? bought
    let notification = Sample.notification(
      customer * 100 + number + Int(date % 1000) + Int(date / Self.day % 1000) * 10_000,
      otid: "\(7000 + customer)", type: type)
    return (
      (all + more).reduce(notification.dated(date)) {
        $0.setting("data.transaction.\($1.0)", $1.1)
      },
      date
    )
  }

  /// January: 10.00 + 10.00 + 60.00 = 80.00; February: 10.00. 40 % of 10.00 are given back in
  /// February, and 60.00 in March: 80.00, 10.00 - 4.00 = 6.00, and -60.00.
  @Test func `charges less refunds, of three customers by hand`() throws {
    let installation = try Installation()
    let (january, february) = (try Finance.time("2026-01-10"), try Finance.time("2026-02-10"))
    let back = [
      ("revocationDate", JSONValue.integer(february + 1)),
      ("revocationPercentage", .integer(40_000)),
    ]
    let all = [("revocationDate", JSONValue.integer(february + 30 * Self.day))]
    try Finance.ingest(
      [
        purchase(1, of: 1, "pro", price: 10_000, bought: january, days: 31, "SUBSCRIBED"),
        purchase(1, of: 2, "pro", price: 10_000, bought: january, days: 31, "SUBSCRIBED"),
        purchase(1, of: 3, "year", price: 60_000, bought: january, days: 365, "SUBSCRIBED"),
        purchase(2, of: 1, "pro", price: 10_000, bought: february, days: 28),
        purchase(
          1, of: 2, "pro", price: 10_000, bought: january, days: 31, "REFUND", signed: february + 1,
          back),
        purchase(
          1, of: 3, "year", price: 60_000, bought: january, days: 365, "REFUND",
          signed: february + 30 * Self.day + 2, all),
      ], installation)
    #expect(
      try Finance.answer(1, installation) == ["2026-01 EUR 3 80000 0", "2026-02 EUR 1 10000 0"])
    #expect(
      try Finance.answer(2, installation) == [
        "2026-02 2026-01 EUR 1 4000 0 0", "2026-03 2026-01 EUR 1 60000 0 0",
      ])
    #expect(
      try Finance.answer(3, installation) == [
        "2026-01 EUR 80000 0", "2026-02 EUR 6000 0", "2026-03 EUR -60000 0",
      ])
  }

  /// 5.00 of 14.97 are given back in June and 4.98 more in July, as Apple's shares are of all that
  /// was given back by then; in August Apple takes all of it again. A refund without a share is of
  /// an amount that nobody knows, and a family member pays nothing.
  @Test func `refunds and reversals stay in their months, by hand`() throws {
    let installation = try Installation()
    let may = try Finance.time("2026-05-10")
    let (june, july) = (try Finance.time("2026-06-10"), try Finance.time("2026-07-10"))
    let august = try Finance.time("2026-08-10")
    func refund(_ date: Int64, _ share: Int64?) -> [(String, JSONValue)] {
      [
        ("revocationDate", .integer(date)), ("revocationType", .string("REFUND_PRORATED")),
        ("revocationPercentage", .optional(share)),
      ]
    }
    let family: [(String, JSONValue)] = [("inAppOwnershipType", .string("FAMILY_SHARED"))]
    try Finance.ingest(
      [
        purchase(1, of: 1, "pro", price: 14_970, bought: may, days: 365, "SUBSCRIBED"),
        purchase(
          1, of: 1, "pro", price: 14_970, bought: may, days: 365, "REFUND", signed: june + 1,
          refund(june, 33_400)),
        purchase(
          1, of: 1, "pro", price: 14_970, bought: may, days: 365, "REFUND", signed: july + 2,
          refund(july, 66_667)),
        purchase(1, of: 2, "pro", price: 9_990, bought: may, days: 365, "SUBSCRIBED"),
        purchase(
          1, of: 2, "pro", price: 9_990, bought: may, days: 365, "REFUND", signed: june + 4,
          refund(june, nil)),
        purchase(1, of: 3, "pro", price: 9_990, bought: may, days: 365, "SUBSCRIBED", family),
        purchase(
          1, of: 3, "pro", price: 9_990, bought: may, days: 365, "REVOKE", signed: june + 5,
          family + [
            ("revocationDate", .integer(june)), ("revocationType", .string("FAMILY_REVOKE")),
          ]),
      ], installation)
    #expect(try Finance.answer(1, installation) == ["2026-05 EUR 2 24960 0"])
    let before = ["2026-06 2026-05 EUR 2 5000 0 1", "2026-07 2026-05 EUR 1 4980 0 0"]
    #expect(try Finance.answer(2, installation) == before)
    try Finance.ingest(
      [
        purchase(
          1, of: 1, "pro", price: 14_970, bought: may, days: 365, "REFUND_REVERSED",
          signed: august)
      ], installation)
    let after = try Finance.answer(2, installation)
    #expect(after == before + ["2026-08 2026-05 EUR 0 -9980 1 0"])
    #expect(
      try Finance.answer(3, installation) == [
        "2026-05 EUR 24960 0", "2026-06 EUR -5000 1", "2026-07 EUR -4980 0",
        "2026-08 EUR 9980 0",
      ])
    #expect(try installation.run("verify").code == 0)
  }

  /// Who buys for a family of six pays 9.99, and the charge for the next month fails: the five
  /// others paid nothing and have no charge. A team pays 5 x 3.00 = 15.00, and four of its seats
  /// are streams of their own. The sandbox's 99.99 is nobody's money. 9.99 + 15.00 = 24.99.
  @Test func `a family, a team and the sandbox count what customers paid, by hand`() throws {
    let installation = try Installation()
    let now = Clock.now()
    let ends = Finance.monthStart(now) - 2 * Self.day
    let bought = ends - 20 * Self.day
    let token = "29d2418e-ea95-4508-906f-8ee14f585de7"
    func owned(_ ownership: String) -> [(String, JSONValue)] {
      [("inAppOwnershipType", .string(ownership)), ("appAccountToken", .string(token))]
    }
    func seats(_ ownership: String) -> [(String, JSONValue)] {
      let tier = JSONValue.object([("price", .integer(3_000)), ("quantity", .integer(5))])
      return owned(ownership) + [
        ("quantity", .integer(ownership == "PURCHASED" ? 5 : 1)),
        ("multiSeatInfo", .object([("priceTiers", .array([tier]))])),
      ]
    }
    var all: [(JSONValue, Int64)] = []
    for member in 1...6 {
      var failed = purchase(
        1, of: member, "family", price: 9_990, bought: bought, days: 20, "DID_FAIL_TO_RENEW",
        signed: ends + 1_000 + Int64(member), owned(member == 1 ? "PURCHASED" : "FAMILY_SHARED"))
      failed.0 = failed.0.setting("data.renewalInfo.isInBillingRetryPeriod", .boolean(true))
        .setting("data.renewalInfo.expirationIntent", .integer(2))
        .setting("data.renewalInfo.productId", .string("family"))
        .setting("data.renewalInfo.autoRenewProductId", .string("family"))
        .setting("data.renewalInfo.renewalDate", nil).setting("data.status", .integer(3))
      all.append(failed)
    }
    for member in 11...15 {
      all.append(
        purchase(
          1, of: member, "team", price: 3_000, bought: bought, days: 365, "SUBSCRIBED",
          signed: bought + Int64(member), seats(member == 11 ? "PURCHASED" : "ASSIGNED")))
    }
    var sandbox = purchase(
      1, of: 21, "family", price: 99_990, bought: bought, days: 365, "SUBSCRIBED",
      signed: bought + 21, owned("PURCHASED") + [("environment", .string("Sandbox"))])
    sandbox.0 = sandbox.0.setting("data.environment", .string("Sandbox"))
      .setting("data.renewalInfo.environment", .string("Sandbox"))
      .setting("data.appAppleId", nil)
    try Finance.ingest(all + [sandbox], installation)
    let month = Date(timeIntervalSince1970: Double(bought) / 1000).ISO8601Format().prefix(7)
    #expect(try Finance.answer(1, installation) == ["\(month) EUR 2 24990 0"])
    #expect(try Finance.answer(2, installation) == [])
    #expect(try Finance.answer(3, installation) == ["\(month) EUR 24990 0"])
    let day = Date(timeIntervalSince1970: Double(now) / 1000).ISO8601Format().prefix(10)
    #expect(try Finance.answer(6, installation, String(day)) == ["team 1"])
    #expect(try Finance.answer(7, installation) == ["charge fails, still tried 1"])
    #expect(try Finance.answer(8, installation) == ["billing_retry EUR 1 9990 1 0"])
    #expect(try Finance.answer(9, installation) == [])
    #expect(try Finance.answer(10, installation, token) == ["EUR 2 24990 0 0"])
    #expect(try installation.run("verify").code == 0)
  }

  /// A plan of a week for 1.99 is due in two days, and then each week: on days 2, 9, 16, 23 and 30
  /// but for the last, which is a moment too late.
  @Test func `a plan of a week is due each week`() throws {
    let installation = try Installation()
    let due = Clock.now() + 2 * Self.day + 60_000
    try Finance.ingest(
      [purchase(1, of: 1, "week", price: 1_990, bought: due - 7 * Self.day, days: 7)].map {
        (
          $0.0.setting("data.renewalInfo.renewalDate", nil)
            .setting("data.renewalInfo.productId", .string("week"))
            .setting("data.renewalInfo.autoRenewProductId", .string("week")), $0.1
        )
      }, installation)
    let days = [0, 7, 14, 21].map { number in
      let date = Date(timeIntervalSince1970: Double(due) / 1000 + Double(number) * 86_400)
      return "\(date.ISO8601Format().prefix(10)) EUR 1 1990 1 0"
    }
    let found = try Finance.answer(5, installation)
    #expect(found == days)
  }

  /// Two trials in January, of which one is paid for later; one of them upgrades in February, five
  /// days into a month, and goes back to the smaller product with its renewal in March.
  @Test func `trials and changes of the product, of two customers by hand`() throws {
    let installation = try Installation()
    let january = try Finance.time("2026-01-10")
    let trial: [(String, JSONValue)] = [
      ("offerType", .integer(1)), ("offerDiscountType", .string("FREE_TRIAL")),
    ]
    let (paid, upgraded) = (january + 7 * Self.day, january + 30 * Self.day)
    try Finance.ingest(
      [
        purchase(1, of: 1, "basic", price: 0, bought: january, days: 7, "SUBSCRIBED", trial),
        purchase(1, of: 2, "basic", price: 0, bought: january, days: 7, "SUBSCRIBED", trial),
        purchase(2, of: 1, "basic", price: 5_000, bought: paid, days: 31),
        purchase(
          3, of: 1, "pro", price: 10_000, bought: upgraded, days: 31, "DID_CHANGE_RENEWAL_PREF"),
        purchase(4, of: 1, "basic", price: 5_000, bought: upgraded + 31 * Self.day, days: 31),
      ], installation)
    #expect(try Finance.answer(4, installation) == ["2026-01 2 1 0 0 0"])
    #expect(
      try Finance.answer(9, installation) == [
        "2026-02 upgrade basic pro 1", "2026-03 at renewal pro basic 1",
      ])
    #expect(
      try Finance.answer(6, installation, "2026-02-15") == ["pro 1"])
  }

  /// One that renews in ten days for 10.00, one whose charge fails, for 5.00, and one that ended
  /// last month because the customer switched renewal off.
  @Test func `what is due, at risk and gone, of three customers by hand`() throws {
    let installation = try Installation()
    let now = Clock.now()
    let gone = Finance.monthStart(now) - 10 * Self.day
    let (due, failed) = (now + 10 * Self.day, now - 2 * Self.day)
    var off = purchase(
      1, of: 3, "pro", price: 10_000, bought: gone - 30 * Self.day, days: 30, "SUBSCRIBED")
    off.0 = off.0.setting("data.renewalInfo.autoRenewStatus", .integer(0))
    var retry = purchase(
      1, of: 2, "basic", price: 5_000, bought: failed - 30 * Self.day, days: 30,
      "DID_FAIL_TO_RENEW", signed: failed + 1_000)
    retry.0 = retry.0.setting("data.renewalInfo.isInBillingRetryPeriod", .boolean(true))
      .setting("data.renewalInfo.expirationIntent", .integer(2))
      .setting("data.status", .integer(3))
    try Finance.ingest(
      [
        off, purchase(1, of: 1, "pro", price: 10_000, bought: due - 30 * Self.day, days: 30), retry,
      ].map { ($0.0.setting("data.renewalInfo.renewalDate", nil), $0.1) }, installation)
    let date = Date(timeIntervalSince1970: Double(due) / 1000).ISO8601Format().prefix(10)
    #expect(try Finance.answer(5, installation) == ["\(date) EUR 1 10000 1 0"])
    #expect(try Finance.answer(8, installation) == ["billing_retry EUR 1 5000 1 0"])
    #expect(try Finance.answer(7, installation).contains("switched off 1"))
  }

  /// Twelve payments of 10.00. The eleventh runs until tomorrow, and the twelfth is due; of another
  /// customer the twelfth runs, and he does not commit himself again.
  @Test func `the last payment of a commitment is not due again`() throws {
    let installation = try Installation()
    let due = Clock.now() + Self.day
    try Finance.ingest(
      [(1, 11), (2, 12)].map { (customer: Int, number: Int64) in
        let commitment: [(String, JSONValue)] = [
          ("billingPeriodNumber", .integer(number)), ("totalBillingPeriods", .integer(12)),
          ("commitmentExpiresDate", .integer(due + (12 - number) * 30 * Self.day)),
        ]
        let (payload, signed) = purchase(
          1, of: customer, "pro", price: 10_000, bought: due - 30 * Self.day, days: 30, "DID_RENEW",
          [("commitmentInfo", .object(commitment)), ("billingPlanType", .string("MONTHLY"))])
        let next = JSONValue.object([("commitmentAutoRenewStatus", .integer(0))])
        return (
          payload.setting("data.renewalInfo.commitmentInfo", next)
            .setting("data.renewalInfo.renewalDate", nil)
            .setting("data.renewalInfo.productId", .string("pro"))
            .setting("data.renewalInfo.autoRenewProductId", .string("pro")), signed
        )
      }, installation)
    let day = Date(timeIntervalSince1970: Double(due) / 1000).ISO8601Format().prefix(10)
    #expect(try Finance.answer(5, installation) == ["\(day) EUR 1 10000 1 0"])
  }

  /// A free week from 10 January, and a month from the 17th, which cost something.
  @Test func `what version 1 alone told counts without a price`() throws {
    let installation = try Installation()
    let secret = installation.folder.appending(path: "v1.secret")
    try Data((ScenarioRun.secretV1 + "\n").utf8).write(to: secret)
    chmod(secret.path, 0o600)
    try installation.configure(
      apps: [Installation.app().setting("v1SharedSecretFile", .string(secret.path))])
    let trial = try Finance.time("2026-01-10")
    let paid = trial + 7 * Self.day
    func purchase(_ id: String, _ bought: Int64, days: Int64, isTrial: Bool) -> JSONValue {
      .object([
        ("transaction_id", .string(id)), ("original_transaction_id", .string("7300")),
        ("product_id", .string("pro")), ("quantity", .string("1")),
        ("purchase_date_ms", .string("\(bought)")),
        ("original_purchase_date_ms", .string("\(trial)")),
        ("expires_date_ms", .string("\(bought + days * Self.day)")),
        ("is_trial_period", .string(isTrial ? "true" : "false")),
        ("web_order_line_item_id", .string("5\(id)")),
        ("in_app_ownership_type", .string("PURCHASED")),
        ("subscription_group_identifier", .string("20500001")),
      ])
    }
    let told = [
      purchase("7301", paid, days: 31, isTrial: false),
      purchase("7300", trial, days: 7, isTrial: true),
    ]
    let body = JSONValue.object([
      ("notification_type", .string("DID_RENEW")), ("password", .string(ScenarioRun.secretV1)),
      ("environment", .string("PROD")), ("bid", .string("com.example.app")),
      ("original_transaction_id", .string("7300")),
      (
        "unified_receipt",
        .object([
          ("environment", .string("Production")), ("latest_receipt_info", .array(told)),
        ])
      ),
    ])
    let line = Array("{\"received_at_ms\":\(paid),\"body\":".utf8) + body.bytes + [0x7D]
    let finished = try installation.run("ingest", try installation.file("v1", [line]))
    #expect(finished.code == 0, "\(finished)")
    #expect(try Finance.answer(1, installation) == ["2026-01  1 0 1"])
    #expect(try Finance.answer(3, installation) == ["2026-01  0 1"])
    #expect(try Finance.answer(4, installation) == ["2026-01 1 1 0 0 0"])
  }
}
