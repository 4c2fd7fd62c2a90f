import Ledger
import Queries
import Store
import StrictJSON
import Support
import Testing

/// `as_of`, Apple's time, and `known_at`, our time.
@Suite struct ClockTests {
  /// A renewal signed in January and received, after an outage, in March; a refund of it.
  private func customer() throws -> ScenarioLedger {
    var customer = try ScenarioLedger()
    try customer.send(
      "SUBSCRIBED", signed: "25-01-01", received: "25-01-01T10:01",
      "1000 basic.m 25-01-01→25-02-01 bought", renewal: "renews basic.m 25-02-01")
    try customer.send(
      "DID_CHANGE_RENEWAL_STATUS", signed: "25-02-10", received: "25-02-10T10:01",
      "1000 basic.m 25-01-01→25-02-01 bought", renewal: "ends basic.m 25-02-01", status: 2)
    try customer.send(
      "DID_RENEW", signed: "25-01-31", received: "25-03-05",
      "1001 basic.m 25-02-01→25-03-01 renewed", renewal: "renews basic.m 25-03-01")
    try customer.send(
      "REFUND", signed: "25-02-20", received: "25-03-06",
      "1001 basic.m 25-02-01→25-03-01 renewed refunded 25-02-20", renewal: "ends basic.m 25-03-01",
      status: 5)
    return customer
  }

  @Test func `as_of folds what Apple had signed by then`() throws {
    let customer = try customer()
    for (time, row) in [
      ("24-12-31", "no row"), ("25-01-15", "✓ active basic.m until 25-02-01, renews"),
      ("25-02-05", "✓ active basic.m until 25-03-01, renews"),
      ("25-02-15", "✓ active basic.m until 25-03-01, ends"),
      ("25-02-20T09:59", "✓ active basic.m until 25-03-01, ends"),
      ("25-02-20", "✗ revoked basic.m until 25-03-01, ends, revoked 25-02-20"),
    ] { #expect(try customer.row("1000", asOf: time) == row, "as of \(time)") }
  }

  @Test func `known_at folds what had been received by then`() throws {
    let customer = try customer()
    for (time, row) in [
      ("25-01-01", "no row"), ("25-01-15", "✓ active basic.m until 25-02-01, renews"),
      // The renewal was signed by then, but had not been received.
      ("25-02-05", "✗ expired basic.m until 25-02-01, renews"),
      ("25-02-15", "✗ expired basic.m until 25-02-01, ends"),
      ("25-03-05", "✗ expired basic.m until 25-03-01, ends"),
      ("25-03-06", "✗ revoked basic.m until 25-03-01, ends, revoked 25-02-20"),
    ] { #expect(try customer.row("1000", knownAt: time) == row, "known at \(time)") }
  }

  /// How many of several had come by then is not stored.
  @Test func `known_at shows redeliveries only if all that are counted had come by then`() throws {
    let testLedger = try TestLedger()
    let start = DamagedRowTests.start
    let body = try SharedAuthority.sign(DamagedRowTests.notification(0))
    #expect(try testLedger.ingest(body, at: start + 1_000) == .accepted(1))
    for time in [start + 2_000, start + 3_000] {
      #expect(try testLedger.ingest(body, at: time) == .duplicate(1))
    }
    // The counts are written with the next event.
    let next = try SharedAuthority.sign(DamagedRowTests.notification(20))
    #expect(try testLedger.ingest(next, at: start + 4_000) == .accepted(2))
    func redeliveries(knownAt known: Int64?) throws -> Redeliveries? {
      let history = try testLedger.reader().history(
        "700", environment: nil, bundleId: nil,
        LedgerReader.Question(asOf: nil, knownAt: known, now: 0))
      return try #require(history?.entries.first).redeliveries
    }
    let all = Redeliveries(count: 2, firstAt: start + 2_000, lastAt: start + 3_000)
    #expect(try redeliveries(knownAt: nil) == all)
    #expect(try redeliveries(knownAt: start + 3_000) == all)
    #expect(try redeliveries(knownAt: start + 2_999) == nil)
    #expect(try redeliveries(knownAt: start + 1_000) == nil)
  }

  @Test func `as_of and known_at together fold what was signed and received by then`() throws {
    let customer = try customer()
    for (signed, known, row) in [
      ("25-02-05", "25-02-05", "✗ expired basic.m until 25-02-01, renews"),
      ("25-02-05", "25-03-05", "✓ active basic.m until 25-03-01, renews"),
      ("25-02-25", "25-03-05", "✓ active basic.m until 25-03-01, ends"),
      ("25-02-25", "25-03-06", "✗ revoked basic.m until 25-03-01, ends, revoked 25-02-20"),
    ] {
      #expect(try customer.row("1000", asOf: signed, knownAt: known) == row, "\(signed), \(known)")
    }
  }

  /// Later events do not change the answer about times before them, to the byte.
  @Test func `the answer for a pair of times never changes`() throws {
    var scenario = try ScenarioLedger()
    let days = ["25-01-01", "25-01-20", "25-02-05", "25-02-15", "25-03-10"]
    let events:
      [(type: String, signed: String, received: String, transaction: String, status: Int64)] =
        [
          ("SUBSCRIBED", "25-01-01", "25-01-01", "1000 basic.m 25-01-01→25-02-01 bought", 1),
          ("EXPIRED", "25-02-02", "25-02-02", "1000 basic.m 25-01-01→25-02-01 bought", 2),
          ("DID_RENEW", "25-01-31", "25-02-06", "1001 basic.m 25-02-01→25-03-01 renewed", 1),
          ("REFUND", "25-01-15", "25-02-16", "1000 basic.m 25-01-01→25-02-01 refunded 25-01-15", 5),
          ("DID_RENEW", "25-03-01", "25-03-11", "1002 pro.m 25-03-01→25-04-01 renewed", 1),
        ]
    var answers: [String: String] = [:]
    for event in events {
      try scenario.send(
        event.type, signed: event.signed, received: event.received, event.transaction,
        renewal: "renews basic.m 25-02-01", status: event.status)
      for signed in days {
        for known in days where try ScenarioSyntax.date(known) < ScenarioSyntax.date(event.received)
        {
          let row = try scenario.ledger.row(
            "1000", asOf: try ScenarioSyntax.date(signed), knownAt: try ScenarioSyntax.date(known))
          let answer = row?.json.text ?? "none"
          #expect(answers["\(signed) \(known)"] ?? answer == answer, "\(signed) \(known)")
          answers["\(signed) \(known)"] = answer
        }
      }
    }
    #expect(answers.count == 25)
  }

  @Test func `a row names the times it was asked for`() throws {
    let customer = try customer()
    let signed = try ScenarioSyntax.date("25-02-05")
    let known = try ScenarioSyntax.date("25-03-05")
    let row = try customer.ledger.row("1000", asOf: signed, knownAt: known)
    #expect(row?.json["as_of"]?.text == String(signed))
    #expect(row?.json["known_at"]?.text == String(known))
    #expect(row?.json["event_count"]?.text == "2")
    let now = try customer.ledger.row("1000", now: signed)
    #expect(now?.json["as_of"]?.text == String(signed) && now?.json["known_at"]?.text == "null")
    #expect(now?.json["event_count"]?.text == "4")
  }
}
