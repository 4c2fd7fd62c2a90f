import Audit
import Entitlements
import Foundation
import Ledger
import Queries
import Store
import StrictJSON
import Support
import Testing

/// V1 bodies have no date of their own. They are dated by their content, never by their arrival.
@Suite struct EvidenceTests {
  private static let january = V1Fixtures.entry("1000", "basic.m", "20-01-01", "20-02-01")
  private static let february = V1Fixtures.entry("1001", "basic.m", "20-02-01", "20-03-01")

  private func evidence(_ body: String) throws -> String {
    let ledger = try V1Fixtures.ledger()
    #expect(try ledger.ingest(body, at: 1_700_000_000_000) == .accepted(1))
    let event = try #require(try ledger.events().first)
    #expect(try ledger.verify().findings.isEmpty)
    return event.signedDate == 0 ? "none" : Row.day(event.signedDate)
  }

  private static func ms(_ day: String) -> String { String(V1Fixtures.ms(day)) }

  @Test func `the newest purchase dates a body`() throws {
    #expect(
      try evidence(V1Fixtures.body("DID_RENEW", [Self.february, Self.january], [])) == "20-02-01")
    #expect(
      try evidence(V1Fixtures.body("DID_RENEW", [Self.january, Self.february], [])) == "20-02-01")
  }

  @Test func `a cancellation dates a body`() throws {
    let cancelled = V1Fixtures.entry(
      "1000", "basic.m", "20-01-01", "20-02-01", ["cancellation_date_ms": Self.ms("20-02-10")])
    #expect(try evidence(V1Fixtures.body("CANCEL", [Self.february, cancelled], [])) == "20-02-10")
  }

  @Test func `a change of the renewal status dates a body`() throws {
    let top: [String: JSONValue?] = [
      "auto_renew_status_change_date_ms": .string(Self.ms("20-02-15"))
    ]
    let body = V1Fixtures.body("DID_CHANGE_RENEWAL_STATUS", [Self.february], [], top: top)
    #expect(try evidence(body) == "20-02-15")
  }

  @Test func `the end of a period that could not be charged dates a body`() throws {
    let retrying = V1Fixtures.pending("basic.m", "1", ["is_in_billing_retry_period": "1"])
    #expect(
      try evidence(V1Fixtures.body("DID_FAIL_TO_RENEW", [Self.january], [retrying])) == "20-02-01")
    // The charge of another product does not date this one.
    let other = V1Fixtures.pending("other.m", "1", ["is_in_billing_retry_period": "1"])
    #expect(
      try evidence(V1Fixtures.body("DID_FAIL_TO_RENEW", [Self.january], [other])) == "20-01-01")
  }

  @Test func `transactions of other streams do not date a body`() throws {
    let other = V1Fixtures.entry("2000", "pro.m", "20-06-01", "20-07-01", otid: "2000")
    #expect(try evidence(V1Fixtures.body("DID_RENEW", [other, Self.january], [])) == "20-01-01")
  }

  @Test func `a body without evidence has no date`() throws {
    #expect(try evidence(V1Fixtures.body("DID_FAIL_TO_RENEW", nil, nil)) == "none")
  }

  /// A retry has a receipt with newer dates.
  @Test func `the receipt's dates do not date a body`() throws {
    let more: [(String, JSONValue)] = [("request_date_ms", .string(Self.ms("24-01-01")))]
    #expect(
      try evidence(V1Fixtures.body("DID_RENEW", [Self.january], [], receipt: more)) == "20-01-01")
  }

  @Test func `an older body that arrives later does not change the row`() throws {
    let ledger = try V1Fixtures.ledger()
    try ledger.ingest(
      V1Fixtures.body(
        "DID_RENEW", [Self.february, Self.january], [V1Fixtures.pending("basic.m", "0")]),
      at: 1)
    try ledger.ingest(V1Fixtures.purchase, at: 1_700_000_000_000)
    let row = try ledger.row("1000", now: V1Fixtures.ms("20-02-15"))
    #expect(Row(row).description == "active basic.m 20-03-01 false")
  }

  @Test func `of two bodies of one date the one with more transactions is the later`() throws {
    for isReversed in [false, true] {
      let ledger = try V1Fixtures.ledger()
      let retrying = V1Fixtures.pending("basic.m", "1", ["is_in_billing_retry_period": "1"])
      let bodies = [
        V1Fixtures.body("DID_FAIL_TO_RENEW", [Self.january], [retrying]),
        V1Fixtures.body(
          "DID_RECOVER", [Self.february, Self.january], [V1Fixtures.pending("basic.m", "1")]),
      ]
      for body in isReversed ? bodies.reversed() : bodies { try ledger.ingest(body, at: 1) }
      let row = try ledger.row("1000", now: V1Fixtures.ms("20-03-02"))
      #expect(Row(row).description == "expired basic.m 20-03-01 true")
    }
  }

  @Test func `the newest body says whether a purchase is cancelled, and when`() throws {
    let cancelled = V1Fixtures.entry(
      "1000", "basic.m", "20-01-01", "20-02-01", ["cancellation_date_ms": Self.ms("20-01-10")])
    let later = V1Fixtures.entry(
      "1000", "basic.m", "20-01-01", "20-02-01", ["cancellation_date_ms": Self.ms("20-01-12")])
    let off: [String: JSONValue?] = [
      "auto_renew_status_change_date_ms": .string(Self.ms("20-01-20"))
    ]
    let bodies = [
      V1Fixtures.purchase, V1Fixtures.body("CANCEL", [cancelled], []),
      V1Fixtures.body("CANCEL", [later], []),
      V1Fixtures.body("DID_CHANGE_RENEWAL_STATUS", [Self.january], [], top: off),
    ]
    for (told, answer) in [
      (Array(bodies.dropLast()), "revoked basic.m 20-02-01 null 20-01-12"),
      (bodies, "active basic.m 20-02-01 null null"),
    ] {
      for shift in told.indices {
        let ledger = try V1Fixtures.ledger()
        for body in told[shift...] + told[..<shift] { try ledger.ingest(body, at: 1) }
        let row = try ledger.row("1000", now: V1Fixtures.ms("20-01-25"))
        #expect(Row(row, also: "revoked_at").description == answer)
      }
    }
  }

  @Test func `a cancellation counts in either list that names its transaction`() throws {
    let cancelled = V1Fixtures.entry(
      "1000", "basic.m", "20-01-01", "20-02-01", ["cancellation_date_ms": Self.ms("20-01-10")])
    let body = V1Fixtures.body(
      "CANCEL", [Self.january], [], top: ["latest_receipt_info": cancelled])
    let ledger = try V1Fixtures.ledger()
    try ledger.ingest(body, at: 1)
    let row = try ledger.row("1000", now: V1Fixtures.ms("20-01-25"))
    #expect(row?.entitlement.status == .revoked)
  }

  /// A Double cannot represent them.
  @Test func `numbers beyond 2 to the 53 keep all their digits`() throws {
    let id = "9007199254740993000001"
    let entry = V1Fixtures.entry(
      "9007199254740993000003", "basic.m", "20-01-01", "20-02-01", otid: id)
    let body = V1Fixtures.body(
      "INITIAL_BUY", [entry], [V1Fixtures.pending("basic.m", "1", otid: id)],
      top: ["original_transaction_id": .number(id)])
    let ledger = try V1Fixtures.ledger()
    try ledger.ingest(body, at: 1)
    let row = try ledger.row(id, now: V1Fixtures.ms("20-01-25"))
    #expect(row?.json["transaction_id"]?.text == "\"9007199254740993000003\"")
    let text = String(decoding: try #require(try ledger.events().first).body, as: UTF8.self)
    #expect(text.contains("\"original_transaction_id\":\(id),"))
  }
}
