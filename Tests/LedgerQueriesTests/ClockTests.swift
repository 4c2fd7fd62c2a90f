import JournalStore
import LedgerEngine
import LedgerQueries
import StrictJSON
import Support
import Testing

/// Two clocks: what Apple had signed by T, what we had received by W.
@Suite struct ClockTests {
  /// A renewal signed in January and received, after an outage, in March; a refund of it.
  private func life() throws -> Library {
    var life = try Library()
    try life.send(
      "SUBSCRIBED", signed: "25-01-01", came: "25-01-01T10:01",
      "1000 basic.m 25-01-01→25-02-01 bought", renewal: "renews basic.m 25-02-01")
    try life.send(
      "DID_CHANGE_RENEWAL_STATUS", signed: "25-02-10", came: "25-02-10T10:01",
      "1000 basic.m 25-01-01→25-02-01 bought", renewal: "ends basic.m 25-02-01", status: 2)
    try life.send(
      "DID_RENEW", signed: "25-01-31", came: "25-03-05",
      "1001 basic.m 25-02-01→25-03-01 renewed", renewal: "renews basic.m 25-03-01")
    try life.send(
      "REFUND", signed: "25-02-20", came: "25-03-06",
      "1001 basic.m 25-02-01→25-03-01 renewed refunded 25-02-20", renewal: "ends basic.m 25-03-01",
      status: 5)
    return life
  }

  @Test func asOf() throws {
    let life = try life()
    for (time, row) in [
      ("24-12-31", "no row"), ("25-01-15", "✓ active basic.m until 25-02-01, renews"),
      ("25-02-05", "✓ active basic.m until 25-03-01, renews"),
      ("25-02-15", "✓ active basic.m until 25-03-01, ends"),
      ("25-02-20T09:59", "✓ active basic.m until 25-03-01, ends"),
      ("25-02-20", "✗ revoked basic.m until 25-03-01, ends, revoked 25-02-20"),
    ] { #expect(try life.row("1000", asOf: time) == row, "as of \(time)") }
  }

  @Test func knownAt() throws {
    let life = try life()
    for (time, row) in [
      ("25-01-01", "no row"), ("25-01-15", "✓ active basic.m until 25-02-01, renews"),
      // The renewal was signed by then, and had not come.
      ("25-02-05", "✗ expired basic.m until 25-02-01, renews"),
      ("25-02-15", "✗ expired basic.m until 25-02-01, ends"),
      ("25-03-05", "✗ expired basic.m until 25-03-01, ends"),
      ("25-03-06", "✗ revoked basic.m until 25-03-01, ends, revoked 25-02-20"),
    ] { #expect(try life.row("1000", knownAt: time) == row, "known at \(time)") }
  }

  @Test func both() throws {
    let life = try life()
    for (signed, known, row) in [
      ("25-02-05", "25-02-05", "✗ expired basic.m until 25-02-01, renews"),
      ("25-02-05", "25-03-05", "✓ active basic.m until 25-03-01, renews"),
      ("25-02-25", "25-03-05", "✓ active basic.m until 25-03-01, ends"),
      ("25-02-25", "25-03-06", "✗ revoked basic.m until 25-03-01, ends, revoked 25-02-20"),
    ] {
      #expect(try life.row("1000", asOf: signed, knownAt: known) == row, "\(signed), \(known)")
    }
  }

  /// Whatever comes later, what was said of a pair of times is said again, to the byte.
  @Test func anAnswerForAPairOfTimesNeverChanges() throws {
    var library = try Library()
    let days = ["25-01-01", "25-01-20", "25-02-05", "25-02-15", "25-03-10"]
    let events: [(type: String, signed: String, came: String, transaction: String, status: Int64)] =
      [
        ("SUBSCRIBED", "25-01-01", "25-01-01", "1000 basic.m 25-01-01→25-02-01 bought", 1),
        ("EXPIRED", "25-02-02", "25-02-02", "1000 basic.m 25-01-01→25-02-01 bought", 2),
        ("DID_RENEW", "25-01-31", "25-02-06", "1001 basic.m 25-02-01→25-03-01 renewed", 1),
        ("REFUND", "25-01-15", "25-02-16", "1000 basic.m 25-01-01→25-02-01 refunded 25-01-15", 5),
        ("DID_RENEW", "25-03-01", "25-03-11", "1002 pro.m 25-03-01→25-04-01 renewed", 1),
      ]
    var said: [String: String] = [:]
    for event in events {
      try library.send(
        event.type, signed: event.signed, came: event.came, event.transaction,
        renewal: "renews basic.m 25-02-01", status: event.status)
      for signed in days {
        for known in days where try Words.date(known) < Words.date(event.came) {
          let row = try library.ledger.row(
            "1000", asOf: try Words.date(signed), knownAt: try Words.date(known))
          let answer = row?.json.text ?? "none"
          #expect(said["\(signed) \(known)"] ?? answer == answer, "\(signed) \(known)")
          said["\(signed) \(known)"] = answer
        }
      }
    }
    #expect(said.count == 25)
  }

  /// The clocks are those of the answer, too.
  @Test func theRowSaysWhichTimesItIsOf() throws {
    let life = try life()
    let signed = try Words.date("25-02-05")
    let known = try Words.date("25-03-05")
    let row = try life.ledger.row("1000", asOf: signed, knownAt: known)
    #expect(row?.json["as_of"]?.text == String(signed))
    #expect(row?.json["known_at"]?.text == String(known))
    #expect(row?.json["event_count"]?.text == "2")
    let now = try life.ledger.row("1000", now: signed)
    #expect(now?.json["as_of"]?.text == String(signed) && now?.json["known_at"]?.text == "null")
    #expect(now?.json["event_count"]?.text == "4")
  }
}
