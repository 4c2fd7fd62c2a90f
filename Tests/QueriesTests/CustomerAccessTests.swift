import AppStore
import Entitlements
import Queries
import StrictJSON
import Testing

/// What gives a customer an entitlement by name, until when, and what time changes.
@Suite struct CustomerAccessTests {
  private static let pro = ["pro": ["pro.*"], "basic": ["basic.m"]]

  @Test func `a paid subscription gives its entitlements until its end`() throws {
    var ledger = try CustomerLedger(Self.pro)
    try ledger.send(
      "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01")
    #expect(
      try ledger.text("pro", now: "25-01-20")
        == "paid pro.m 1000 until 25-02-01, renews; no from 25-02-01")
    #expect(try ledger.text("basic", now: "25-01-20") == "no")
    #expect(try ledger.text("pro", now: "25-02-01") == "no")
    #expect(
      try ledger.text("pro", now: "25-02-01T09:59")
        == "paid pro.m 1000 until 25-02-01, renews; no from 25-02-01")
  }

  @Test func `a name that is not active says why`() throws {
    var ledger = try CustomerLedger(Self.pro)
    try ledger.send(
      "ONE_TIME_CHARGE", "25-01-01", "4000 student.m 25-01-01 bought of 4000 non-consumable")
    #expect(try ledger.reason("pro", now: "25-01-02") == "unmapped student.m 4000")
    try ledger.send(
      "ONE_TIME_CHARGE", "25-01-01", "6000 coins 25-01-01 bought of 6000 consumable 3")
    try ledger.send(
      "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01")
    #expect(try ledger.reason("pro", now: "25-01-20") == nil)
    #expect(try ledger.reason("pro", now: "25-02-02") == "ended pro.m 1000 25-02-01")
    try ledger.send(
      "DID_FAIL_TO_RENEW", "25-02-01T10:01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01 retrying", status: 3)
    #expect(try ledger.reason("pro", now: "25-02-02") == "billing_retry pro.m 1000 25-02-01")
    try ledger.send(
      "REFUND", "25-02-03", "1000 pro.m 25-01-01→25-02-01 bought refunded 25-01-25",
      renewal: "ends pro.m 25-02-01", status: 5)
    #expect(try ledger.reason("pro", now: "25-02-04") == "refunded pro.m 1000 25-01-25")
    #expect(try ledger.reason("basic", now: "25-02-04") == "unmapped student.m 4000")
    ledger.catalog.add("student", NamedEntitlement(products: ["student.*"]), for: nil)
    #expect(try ledger.reason("basic", now: "25-02-04") == "never_bought")
  }

  @Test func `a cancelled subscription does not renew, nor one that changes to other products`()
    throws
  {
    var ledger = try CustomerLedger(Self.pro)
    try ledger.send(
      "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "ends pro.m 25-02-01")
    #expect(
      try ledger.text("pro", now: "25-01-20") == "paid pro.m 1000 until 25-02-01; no from 25-02-01")
    try ledger.send(
      "DID_CHANGE_RENEWAL_PREF", "25-01-21", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews basic.m 25-02-01")
    #expect(
      try ledger.text("pro", now: "25-01-22") == "paid pro.m 1000 until 25-02-01; no from 25-02-01")
  }

  @Test func `a product that the subscription moves to ends the entitlement of the one before`()
    throws
  {
    var ledger = try CustomerLedger(Self.pro)
    try ledger.send(
      "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews basic.m 25-02-01")
    try ledger.send(
      "DID_RENEW", "25-01-31", "1001 basic.m 25-02-01→25-03-01 renewed",
      renewal: "renews basic.m 25-03-01")
    #expect(
      try ledger.text("pro", now: "25-01-31T12:00")
        == "paid pro.m 1000 until 25-02-01; no from 25-02-01")
    #expect(try ledger.text("basic", now: "25-01-31T12:00") == "no; yes from 25-02-01")
    #expect(
      try ledger.text("basic", now: "25-02-01")
        == "paid basic.m 1001 until 25-03-01, renews; no from 25-03-01".replacing(
          "1001", with: "1000"))
  }

  @Test func `a grace period gives access until its end and billing retry none`() throws {
    var ledger = try CustomerLedger(Self.pro)
    try ledger.send(
      "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01")
    try ledger.send(
      "DID_FAIL_TO_RENEW", "25-02-01T10:01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01 retrying grace 25-02-17", status: 4)
    #expect(
      try ledger.text("pro", now: "25-02-02")
        == "grace pro.m 1000 until 25-02-17, renews; no from 25-02-17")
    #expect(try ledger.text("pro", now: "25-02-17") == "no")
  }

  @Test func `passes add up where the owner says so, but for one that is refunded`() throws {
    var ledger = try CustomerLedger(
      ["season": ["season"], "camp": ["camp"]], durations: ["season": "P30D+", "camp": "P30D"])
    func buy(_ pass: String, _ id: String, _ date: String) throws {
      try ledger.send(
        "ONE_TIME_CHARGE", date, "\(id) \(pass) \(date) bought of \(id) non-renewing")
    }
    for pass in ["season", "camp"] {
      let id = pass == "season" ? "500" : "600"
      try buy(pass, id + "0", "25-01-01")
      try buy(pass, id + "1", "25-01-11")
    }
    // 30 days from the end of the first, and from the second's own date.
    #expect(
      try ledger.text("season", now: "25-01-12")
        == "one_time season 5001 until 25-03-02; no from 25-03-02")
    #expect(
      try ledger.text("camp", now: "25-01-12")
        == "one_time camp 6001 until 25-02-10; no from 25-02-10")
    #expect(try ledger.text("season", now: "25-03-02") == "no")
    // Not from an end that is over.
    try buy("season", "5002", "25-06-01")
    #expect(
      try ledger.text("season", now: "25-06-02")
        == "one_time season 5002 until 25-07-01; no from 25-07-01")
    try buy("season", "5003", "25-06-11")
    try ledger.send(
      "REFUND", "25-06-12", "5002 season 25-06-01 bought of 5002 non-renewing refunded 25-06-12")
    #expect(
      try ledger.text("season", now: "25-06-13")
        == "one_time season 5003 until 25-07-11; no from 25-07-11")
  }

  @Test func `a product that does not renew gives access for ever, or for its configured time`()
    throws
  {
    var ledger = try CustomerLedger(
      ["ads": ["lifetime"], "season": ["season"], "coins": ["coins"]],
      durations: ["season": "P90D"])
    try ledger.send(
      "ONE_TIME_CHARGE", "25-01-01", "4000 lifetime 25-01-01 bought of 4000 non-consumable")
    try ledger.send(
      "ONE_TIME_CHARGE", "25-01-01", "5000 season 25-01-01 bought of 5000 non-renewing")
    try ledger.send(
      "ONE_TIME_CHARGE", "25-01-01", "6000 coins 25-01-01 bought of 6000 consumable 3")
    #expect(try ledger.text("ads", now: "25-01-02") == "one_time lifetime 4000 for ever")
    #expect(
      try ledger.text("season", now: "25-01-02")
        == "one_time season 5000 until 25-04-01; no from 25-04-01")
    #expect(try ledger.text("season", now: "25-04-01") == "no")
    #expect(try ledger.text("coins", now: "25-01-02") == "no", "a consumable is not kept")
    let customer = try ledger.customer(now: "25-01-02")
    #expect(customer.rows.count == 3)
    try ledger.send(
      "REFUND", "25-01-05", "4000 lifetime 25-01-01 bought of 4000 non-consumable refunded 25-01-05"
    )
    #expect(try ledger.text("ads", now: "25-01-06") == "no")
  }

  @Test(arguments: [("family", "family"), ("seat", "assigned")])
  func `family and seats are told from purchases`(word: String, basis: String) throws {
    var ledger = try CustomerLedger(Self.pro)
    try ledger.send("SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought \(word)")
    #expect(
      try ledger.text("pro", now: "25-01-20")
        == "\(basis) pro.m 1000 until 25-02-01; no from 25-02-01")
    try ledger.send(
      "REVOKE", "25-01-25",
      "1000 pro.m 25-01-01→25-02-01 bought \(word) \(word == "seat" ? "unassigned" : "unshared") 25-01-25"
    )
    #expect(try ledger.text("pro", now: "25-01-26") == "no")
  }

  @Test func `of several purchases the one that lasts longest answers, then one that renews`()
    throws
  {
    var ledger = try CustomerLedger(["pro": ["pro.*", "lifetime"]])
    func buy(_ id: String, until end: String, _ verb: String) throws {
      try ledger.send(
        "SUBSCRIBED", "25-01-01", "\(id) pro.m 25-01-01→\(end) bought of \(id)",
        renewal: "\(verb) pro.m \(end)")
    }
    try buy("3000", until: "25-02-01", "ends")
    try buy("2000", until: "25-03-01", "ends")
    #expect(
      try ledger.text("pro", now: "25-01-20") == "paid pro.m 2000 until 25-03-01; no from 25-03-01")
    try buy("4000", until: "25-03-01", "renews")
    #expect(
      try ledger.text("pro", now: "25-01-20")
        == "paid pro.m 4000 until 25-03-01, renews; no from 25-03-01")
    try buy("1000", until: "25-03-01", "renews")
    #expect(try ledger.text("pro", now: "25-01-20").hasPrefix("paid pro.m 1000 until 25-03-01"))
    try ledger.send(
      "ONE_TIME_CHARGE", "25-01-01", "9000 lifetime 25-01-01 bought of 9000 non-consumable")
    #expect(try ledger.text("pro", now: "25-01-20") == "one_time lifetime 9000 for ever, renews")
  }

  @Test func `time alone ends an entitlement only when its last purchase ends`() throws {
    var ledger = try CustomerLedger(Self.pro)
    try ledger.send("SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought of 1000")
    try ledger.send("SUBSCRIBED", "25-01-01", "2000 pro.y 25-02-01→26-02-01 bought of 2000")
    // The second begins when the first ends: there is no time without access.
    #expect(
      try ledger.text("pro", now: "25-01-20") == "paid pro.m 1000 until 25-02-01; no from 26-02-01")
  }

  // MARK: Leeway

  @Test func `leeway keeps access while no word has come after a period that was to renew`() throws
  {
    var ledger = try CustomerLedger(Self.pro, leeway: 6)
    try ledger.send(
      "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01")
    #expect(
      try ledger.text("pro", now: "25-01-20")
        == "paid pro.m 1000 until 25-02-01, renews; no from 25-02-01T16:00")
    #expect(
      try ledger.text("pro", now: "25-02-01")
        == "leeway pro.m 1000 until 25-02-01T16:00, renews; no from 25-02-01T16:00")
    #expect(try ledger.text("pro", now: "25-02-01T15:59").hasPrefix("leeway"))
    #expect(try ledger.text("pro", now: "25-02-01T16:00") == "no")
    // The row itself stays strict (promise 8).
    let rows = try ledger.customer(now: "25-02-01").rows
    #expect(rows.map(\.entitlement.givesAccess) == [false])
    #expect(try ledger.text("basic", now: "25-02-01") == "no")
    try ledger.send(
      "DID_FAIL_TO_RENEW", "25-02-01T10:30", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01 retrying", status: 3)
    #expect(try ledger.text("pro", now: "25-02-01T11:00") == "no", "the word has come")
    #expect(try ledger.text("pro", now: "30-01-01", asOf: "25-02-01T10:20").hasPrefix("leeway"))
  }

  @Test(arguments: [
    ("renews pro.m 25-02-01", 1, true), ("ends pro.m 25-02-01", 1, false),
    ("renews basic.m 25-02-01", 1, false), ("renews pro.y 25-02-01", 1, true),
  ])
  func `leeway is given to what was to renew to the same entitlement`(
    renewal: String, status: Int64, isGiven: Bool
  ) throws {
    var ledger = try CustomerLedger(Self.pro, leeway: 6)
    try ledger.send(
      "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought", renewal: renewal,
      status: status)
    #expect(try ledger.text("pro", now: "25-02-01T12:00").hasPrefix("leeway") == isGiven)
  }

  @Test func `leeway is given neither after a refund nor without access before`() throws {
    var ledger = try CustomerLedger(Self.pro, leeway: 6)
    try ledger.send(
      "REFUND", "25-01-20", "1000 pro.m 25-01-01→25-02-01 bought refunded 25-01-20",
      renewal: "renews pro.m 25-02-01")
    #expect(try ledger.text("pro", now: "25-02-01T12:00") == "no")
    // A subscription without an end gives no access (promise 8), so there is none to keep.
    try ledger.send(
      "SUBSCRIBED", "25-03-01", "2000 pro.m 25-03-01T10:00 bought of 2000",
      renewal: "renews pro.m")
    #expect(try ledger.text("pro", now: "25-03-01T12:00") == "no")
  }

  @Test func `leeway gives way to everything else that gives access`() throws {
    var ledger = try CustomerLedger(Self.pro, leeway: 6)
    try ledger.send(
      "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01")
    try ledger.send("SUBSCRIBED", "25-01-01", "2000 pro.y 25-01-02→25-02-01T11:00 bought of 2000")
    #expect(
      try ledger.text("pro", now: "25-02-01T10:30")
        == "paid pro.y 2000 until 25-02-01T11:00; no from 25-02-01T16:00")
  }

  // MARK: Successors

  @Test func `a subscription that was replaced gives what its successor does`() throws {
    var ledger = try CustomerLedger(Self.pro)
    try ledger.send(
      "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01")
    let previous: [String: JSONValue] = ["previousOriginalTransactionId": .string("1000")]
    try ledger.send(
      "MIGRATION", "25-01-15", "5000 pro.y 25-01-15→25-02-01 bought of 5000",
      renewal: "ends pro.y 25-02-01", more: previous)
    #expect(
      try ledger.text("pro", now: "25-01-20") == "paid pro.y 5000 until 25-02-01; no from 25-02-01")
    // By the id from before, the successor is found too.
    let old = try ledger.customer("1000", .originalTransactionId, now: "25-01-20")
    #expect(old.rows.map(\.key.originalTransactionId) == ["1000", "5000"])
    try ledger.send(
      "REFUND", "25-01-21", "5000 pro.y 25-01-15→25-02-01 bought of 5000 refunded 25-01-21",
      renewal: "ends pro.y 25-02-01", more: previous)
    // A stream that gives access is never dropped.
    #expect(
      try ledger.text("pro", now: "25-01-22")
        == "paid pro.m 1000 until 25-02-01; no from 25-02-01")
  }

  @Test func `a replaced subscription has no leeway where its successor says what is left`()
    throws
  {
    for (product, isGiven) in [("pro.y", false), ("generic", true)] {
      var ledger = try CustomerLedger(Self.pro, leeway: 6)
      try ledger.send(
        "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought",
        renewal: "renews pro.m 25-02-01")
      try ledger.send(
        "MIGRATION", "25-01-15", "5000 \(product) 25-01-15→25-01-20 bought of 5000",
        renewal: "ends \(product) 25-01-20",
        more: ["previousOriginalTransactionId": .string("1000")])
      let before = try ledger.text("pro", now: "25-01-25")
      let during = try ledger.text("pro", now: "25-02-01T12:00")
      #expect(
        before == "paid pro.m 1000 until 25-02-01"
          + (isGiven ? ", renews; no from 25-02-01T16:00" : "; no from 25-02-01"), "\(product)")
      #expect(during.hasPrefix("leeway") == isGiven, "\(product): \(during)")
    }
  }

  @Test func `of streams that name each other the one that gives access answers`() throws {
    var ledger = try CustomerLedger(Self.pro)
    try ledger.send("SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought")
    try ledger.send(
      "MIGRATION", "25-01-15", "5000 pro.y 25-01-15→25-03-01 bought of 5000",
      more: ["previousOriginalTransactionId": .string("1000")])
    try ledger.send(
      "MIGRATION", "25-01-20", "1009 pro.m 25-01-20→25-02-20 bought of 1000",
      more: ["previousOriginalTransactionId": .string("5000")])
    try ledger.send(
      "REFUND", "25-01-21", "1009 pro.m 25-01-20→25-02-20 bought of 1000 refunded 25-01-21",
      more: ["previousOriginalTransactionId": .string("5000")])
    #expect(try ledger.text("pro", now: "25-01-25").hasPrefix("paid pro.y 5000 until 25-03-01"))
  }

  @Test func `it will renew where any purchase that gives it will be charged again`() throws {
    var ledger = try CustomerLedger(["pro": ["pro.*"]])
    try ledger.send(
      "ONE_TIME_CHARGE", "25-01-01", "2000 pro.x 25-01-01 bought of 2000 non-consumable")
    #expect(try ledger.text("pro", now: "25-01-22") == "one_time pro.x 2000 for ever")
    try ledger.send(
      "SUBSCRIBED", "25-01-02", "1000 pro.m 25-01-02→25-02-02 bought",
      renewal: "renews pro.m 25-02-02")
    #expect(try ledger.text("pro", now: "25-01-22") == "one_time pro.x 2000 for ever, renews")
    #expect(try ledger.text("pro", now: "25-03-22") == "one_time pro.x 2000 for ever")
    try ledger.send(
      "DID_CHANGE_RENEWAL_STATUS", "25-01-05", "1000 pro.m 25-01-02→25-02-02 bought",
      renewal: "ends pro.m 25-02-02")
    #expect(try ledger.text("pro", now: "25-01-22") == "one_time pro.x 2000 for ever")
  }

  /// Apple leaves auto-renew on while payments of the commitment are left.
  @Test func `it will not renew in the last period of a commitment that is not renewed`() throws {
    for (period, renews) in [(11, true), (12, false)] {
      for isRenewed in [true, false] {
        let key = StreamKey(
          environment: .production, bundleId: "app", originalTransactionId: "1")
        var purchase = Purchase(
          transactionId: "1", productType: "Auto-Renewable Subscription", ownership: nil,
          subscriptionGroupId: nil, startsAt: 0)
        purchase.commitment = .init(
          billingPeriodNumber: Int64(period), totalBillingPeriods: 12, commitmentExpiresDate: nil)
        var row = EntitlementRow()
        (row.autoRenew, row.commitmentAutoRenew) = (true, isRenewed)
        row.purchases = [purchase]
        row.spans = [
          EntitlementRow.Span(
            from: 0, status: .active, givesAccess: true, purchase: 0, productId: "pro.y",
            expiresAt: 9, hasGap: false)
        ]
        var catalog = EntitlementCatalog()
        catalog.add("pro", NamedEntitlement(products: ["pro.*"], accessLeeway: 0), for: nil)
        let stream = CustomerStream(key: key, row: row, succeededBy: nil, confirmedAt: nil)
        let answer = catalog.answer("pro", [stream], at: 1, durations: AppDurations())
        #expect(answer.access?.willRenew == (renews || isRenewed), "\(period) \(isRenewed)")
      }
    }
  }

  @Test func `a subscription whose successor gives nothing of the name keeps its own`() throws {
    var ledger = try CustomerLedger(Self.pro)
    try ledger.send("SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought")
    try ledger.send(
      "MIGRATION", "25-01-15", "5000 generic 25-01-15→25-02-01 bought of 5000",
      more: ["previousOriginalTransactionId": .string("1000")])
    #expect(
      try ledger.text("pro", now: "25-01-20") == "paid pro.m 1000 until 25-02-01; no from 25-02-01")
  }
}
