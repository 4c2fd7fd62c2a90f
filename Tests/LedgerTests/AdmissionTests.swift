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

/// Which app and stream a V1 body belongs to, and what becomes of a body that is not admitted.
@Suite struct AdmissionTests {
  @Test
  func `a body without an original transaction id belongs to the stream of its newest transaction`()
    throws
  {
    let ledger = try V1Fixtures.ledger()
    let body = V1Fixtures.body(
      "DID_RENEW",
      [
        V1Fixtures.entry("1000", "basic.m", "20-01-01", "20-02-01"),
        V1Fixtures.entry("2001", "pro.m", "20-02-01", "20-03-01", otid: "2000"),
        V1Fixtures.entry("2000", "pro.m", "20-01-01", "20-02-01", otid: "2000"),
      ], [V1Fixtures.pending("basic.m", "0"), V1Fixtures.pending("pro.m", "1", otid: "2000")],
      top: ["original_transaction_id": JSONValue?.none])
    #expect(try ledger.ingest(body, at: 1) == .accepted(1))
    let row = try ledger.row("2000", now: V1Fixtures.ms("20-02-15"))
    #expect(Row(row).description == "active pro.m 20-03-01 true")
    #expect(try ledger.row("1000", now: V1Fixtures.ms("20-02-15")) == nil)
  }

  @Test func `a body without transactions becomes an event without a stream`() throws {
    let ledger = try V1Fixtures.ledger()
    let body = V1Fixtures.body(
      "DID_FAIL_TO_RENEW", nil, nil, top: ["original_transaction_id": JSONValue?.none])
    #expect(try ledger.ingest(body, at: 1) == .accepted(1))
    #expect(try ledger.events().first?.originalTransactionId == nil)
    #expect(try ledger.reader().projection().count() == 0)
    #expect(try ledger.verify().findings.isEmpty)
  }

  @Test func `a body without a bundle id is for the app whose secret matched`() throws {
    let ledger = try TestLedger(secrets: [V1Fixtures.secret], apps: ["com.example.other"])
    for (secret, bundle) in [
      (V1Fixtures.secret, TestLedger.bundleId),
      ("secret of com.example.other", "com.example.other"),
    ] {
      let body = V1Fixtures.body(
        "INITIAL_BUY", [V1Fixtures.entry("1000", "basic.m", "20-01-01", "20-02-01")], nil,
        top: ["bid": JSONValue?.none, "password": .string(secret), "x": .string(bundle)])
      guard case .accepted = try ledger.ingest(body, at: 1) else {
        Issue.record("not accepted")
        continue
      }
      #expect(try ledger.events().last?.bundleId == bundle)
    }
    #expect(try ledger.verify().findings.isEmpty)
  }

  @Test func `the secret of one app does not admit a notification of another`() throws {
    let ledger = try TestLedger(secrets: [V1Fixtures.secret], apps: ["com.example.other"])
    for bundle in ["com.example.other", "com.example.foreign"] {
      let body = V1Fixtures.body("INITIAL_BUY", [], [], top: ["bid": .string(bundle)])
      #expect(try ledger.ingest(body, at: 1) == .quarantined("other_app"))
    }
    #expect(try ledger.events().isEmpty && ledger.quarantine().count == 2)
    #expect(try ledger.verify().findings.isEmpty)
  }

  @Test func `a body is admitted only if its environments agree and are configured`() throws {
    let ledger = try TestLedger(secrets: [V1Fixtures.secret], environments: ["Production"])
    let cases: [(String?, String?, TestLedger.Answer)] = [
      ("PROD", "Production", .accepted(1)), ("PROD", nil, .accepted(2)),
      (nil, "Production", .accepted(3)), ("PROD", "Sandbox", .quarantined("environment")),
      ("Sandbox", "Sandbox", .quarantined("other_environment")),
      ("prod", nil, .quarantined("environment")), ("Xcode", nil, .quarantined("environment")),
      (nil, nil, .quarantined("environment")),
    ]
    for (top, inner, answer) in cases {
      let receipt = inner.map { [("environment", JSONValue.string($0))] } ?? []
      var members: [(String, JSONValue)] = [
        ("notification_type", .string("INITIAL_BUY")), ("password", .string(V1Fixtures.secret)),
        ("unified_receipt", .object(receipt)),
      ]
      if let top { members.append(("environment", .string(top))) }
      #expect(try ledger.ingest(JSONValue.object(members).bytes, at: 1) == answer)
    }
  }

  /// The body is genuine, so it is stored for the operator.
  @Test(arguments: [
    ("expires_date_ms", "soon"), ("expires_date_ms", "1.5e12"), ("purchase_date_ms", "yesterday"),
    ("expires_date_ms", "99999999999999999999"), ("cancellation_date_ms", "2020-01-10"),
  ]) func `a body with an unreadable date is quarantined`(_ name: String, _ value: String) throws {
    let ledger = try V1Fixtures.ledger()
    let entry = V1Fixtures.entry("1000", "basic.m", "20-01-01", "20-02-01", [name: value])
    let answer = try ledger.ingest(V1Fixtures.body("INITIAL_BUY", [entry], []), at: 1)
    #expect(answer == .quarantined("date"))
    #expect(try ledger.quarantine().count == 1 && ledger.events().isEmpty)
    #expect(try ledger.row("1000", now: V1Fixtures.ms("20-01-15")) == nil)
  }

  @Test func `a body without a type is quarantined once`() throws {
    let ledger = try V1Fixtures.ledger()
    let types: [JSONValue?] = [nil, .string(""), .array([]), .null]
    for type in types {
      let body = V1Fixtures.body("", [], [], top: ["notification_type": type])
      for _ in 1...2 {
        #expect(try ledger.ingest(body, at: 1) == .quarantined("notification_type"))
      }
    }
    #expect(try ledger.events().isEmpty && ledger.quarantine().count == types.count)
  }

  @Test func `a period that ends before it begins gives no access`() throws {
    let ledger = try V1Fixtures.ledger()
    let entry = V1Fixtures.entry("1000", "basic.m", "20-02-01", "20-01-01")
    #expect(try ledger.ingest(V1Fixtures.body("INITIAL_BUY", [entry], []), at: 1) == .accepted(1))
    for day in ["20-01-15", "20-01-31T12:00", "20-02-01", "20-02-02"] {
      #expect(try ledger.row("1000", now: V1Fixtures.ms(day))?.entitlement.givesAccess == false)
    }
  }

  @Test func `a quarantined notification is admitted after the configuration is corrected`() throws
  {
    let ledger = try TestLedger(secrets: [V1Fixtures.secret], environments: ["Sandbox"])
    #expect(try ledger.ingest(V1Fixtures.purchase, at: 1) == .quarantined("other_environment"))
    let item = try #require(try ledger.quarantine().first)
    #expect(item.environment == "Production" && item.bundleId == TestLedger.bundleId)
    #expect(ledger.admit(item.id, at: 2) == .quarantined("other_environment"))
    try ledger.reconfigure(secrets: ["another secret by now"])
    #expect(ledger.admit(item.id, at: 3) == .accepted(1))
    #expect(try ledger.quarantine().isEmpty)
    let row = try ledger.row("1000", now: V1Fixtures.ms("20-01-15"))
    #expect(Row(row).description == "active basic.m 20-02-01 true")
    #expect(try ledger.verify().findings.isEmpty)
    // Apple sends it again.
    try ledger.reconfigure(secrets: [V1Fixtures.secret])
    #expect(try ledger.ingest(V1Fixtures.purchase, at: 4) == .duplicate(1))
  }

  /// Quarantine records the app, because the secret is not stored.
  @Test func `a quarantined body without a bundle id is admitted for the app whose secret matched`()
    throws
  {
    let ledger = try TestLedger(
      secrets: [V1Fixtures.secret], apps: ["com.example.other"], environments: ["Sandbox"])
    let body = V1Fixtures.body(
      "INITIAL_BUY", [V1Fixtures.entry("1000", "basic.m", "20-01-01", "20-02-01")], nil,
      top: ["bid": JSONValue?.none, "password": .string("secret of com.example.other")])
    #expect(try ledger.ingest(body, at: 1) == .quarantined("other_environment"))
    let item = try #require(try ledger.quarantine().first)
    #expect(item.bundleId == "com.example.other")
    try ledger.reconfigure(secrets: [V1Fixtures.secret], apps: ["com.example.other"])
    #expect(ledger.admit(item.id, at: 2) == .accepted(1))
    #expect(try ledger.events().first?.bundleId == "com.example.other")
    #expect(try ledger.verify().findings.isEmpty)
  }

  /// Apple sends TEST in the form of version 2 even to an address set up for version 1.
  @Test func `a TEST in the form of version 2 is accepted`() throws {
    let ledger = try V1Fixtures.ledger()
    let test = try SharedAuthority.sign(
      .object([
        ("notificationType", .string("TEST")),
        ("notificationUUID", .string("3838df56-31ab-4e2e-9535-e6e9377c4c77")),
        ("version", .string("2.0")), ("signedDate", .integer(1_700_000_000_000)),
        (
          "data",
          .object([
            ("bundleId", .string(TestLedger.bundleId)), ("environment", .string("Sandbox")),
          ])
        ),
      ]))
    #expect(try ledger.ingest(test, at: 1_700_000_000_500) == .accepted(1))
    #expect(try ledger.events().first?.source == .v2)
    #expect(try ledger.reader().projection().count() == 0)
  }

  @Test func `a configured duration ends a product that does not renew`() throws {
    let ledger = try TestLedger(secrets: [V1Fixtures.secret], durations: ["season.pass": "P90D"])
    let pass = V1Fixtures.entry("1000", "season.pass", "20-01-01", nil)
    try ledger.ingest(V1Fixtures.body("CONSUMPTION_REQUEST", [pass], []), at: 1)
    let other = V1Fixtures.entry("2000", "lifetime", "20-01-01", nil, otid: "2000")
    let top: [String: JSONValue?] = ["original_transaction_id": .string("2000")]
    try ledger.ingest(V1Fixtures.body("CONSUMPTION_REQUEST", [other], [], top: top), at: 1)
    // 1 January plus ninety days, in a leap year.
    for (day, row) in [
      ("20-03-30", "active season.pass 20-03-31 null"),
      ("20-03-31", "expired season.pass 20-03-31 null"),
    ] {
      #expect(Row(try ledger.row("1000", now: V1Fixtures.ms(day))).description == row)
      let lifetime = Row(try ledger.row("2000", now: V1Fixtures.ms(day)))
      #expect(lifetime.description == "active lifetime null null")
    }
  }
}
