import AppStore
import Audit
import Entitlements
import Ledger
import Queries
import Store
import StrictJSON
import Support
import Testing

/// Signed facts that came by asking, beside notifications: E01 to E12. Each set of facts is told in
/// its order, which gives the row that is written, and then in every other order, which must give
/// the same row (promise 6).
@Suite struct EvidenceScenarioTests {
  typealias Fact = EvidenceFact

  /// - Parameters:
  ///   - row: status, product, day of the end, whether it renews.
  ///   - now: the day of the question; the newest that was told by default.
  @discardableResult
  private func expect(
    _ facts: [Fact], _ row: String, events: Int64? = nil, confirmed: Int? = nil, on now: Int? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> TestLedger {
    let day = now ?? facts.map(\.day).max() ?? 0
    let ledger = try TestLedger()
    for fact in facts { try fact.tell(ledger) }
    let document = try ledger.row(Fact.original, now: Fact.time(day))
    #expect(Self.text(document) == row, sourceLocation: sourceLocation)
    if let events { #expect(document?.eventCount == events, sourceLocation: sourceLocation) }
    if let confirmed {
      #expect(document?.confirmedAt == Fact.time(confirmed), sourceLocation: sourceLocation)
    }
    #expect(try ledger.verify().findings.map(\.what) == [], sourceLocation: sourceLocation)
    for order in permutations(of: facts.count) {
      let other = try TestLedger()
      // Renewal information is asked for with its transactions, so it comes again.
      var again: [Fact] = []
      for index in order where try facts[index].tell(other) == .refused("no_transaction") {
        again.append(facts[index])
      }
      for fact in again { try fact.tell(other) }
      let told = Self.text(try other.row(Fact.original, now: Fact.time(day)))
      #expect(told == row, "in the order \(order)", sourceLocation: sourceLocation)
    }
    return ledger
  }

  private static func text(_ row: RowDocument?) -> String {
    guard let row, let end = row.entitlement.expiresAt else { return "no row" }
    let day = (end - Sample.start) / Sample.day
    let renews = row.entitlement.autoRenew.map { $0 ? "on" : "off" } ?? "-"
    let product = row.entitlement.productId ?? "-"
    let gap = row.entitlement.hasGap ? " gap" : ""
    return "\(row.entitlement.status.rawValue) \(product) \(day) \(renews)\(gap)"
  }

  @Test func `E01: what was asked and is known confirms the row`() throws {
    try expect(
      [.notification("SUBSCRIBED", on: 0), .transaction(on: 10), .renewal(on: 10)],
      "active basic 30 on", events: 1, confirmed: 10)
  }

  @Test func `E02: held evidence is journaled when a late notification makes it new`() throws {
    let off = Fact.notification(
      "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", on: 5, Fact.Period(),
      Fact.Renewal(isOn: false))
    try expect(
      [.notification("SUBSCRIBED", on: 0), .transaction(on: 10), .renewal(on: 10), off],
      "active basic 30 on", events: 3, confirmed: 10)
  }

  @Test func `E03: a notification that comes after its evidence changes nothing`() throws {
    let facts: [Fact] = [
      .transaction(on: 10), .renewal(on: 10), .notification("SUBSCRIBED", on: 0),
    ]
    // Without a transaction nobody knows which app renewal information belongs to.
    let ledger = try TestLedger()
    for fact in facts { try fact.tell(ledger) }
    #expect(
      Self.text(try ledger.row(Fact.original, now: Fact.time(10))) == "active basic 30 on")
  }

  @Test func `E04: a renewal that no notification told leaves no gap`() throws {
    let next = Fact.Period(id: "B", days: 30..<60, reason: "RENEWAL")
    try expect(
      [
        .notification("SUBSCRIBED", on: 0), .transaction(on: 31), .transaction(next, on: 31),
        .renewal(on: 31),
      ], "active basic 60 on")
  }

  @Test func `E05: newer renewal information outweighs the status of a notification`() throws {
    let failed = Fact.notification(
      "DID_FAIL_TO_RENEW", on: 30, status: 3, Fact.Period(), Fact.Renewal(isInRetry: true))
    try expect(
      [
        .notification("SUBSCRIBED", on: 0), failed, .transaction(on: 33),
        .renewal(Fact.Renewal(isInRetry: true, graceUntil: 46), on: 33),
      ], "grace_period basic 30 on")
  }

  @Test func `E06: the same renewal information leaves the status in force`() throws {
    let grace = Fact.Renewal(isInRetry: true, graceUntil: 46)
    try expect(
      [
        .notification("SUBSCRIBED", on: 0),
        .notification(
          "DID_FAIL_TO_RENEW", "GRACE_PERIOD", on: 30, status: 4, Fact.Period(), grace),
        .renewal(grace, on: 33),
      ], "grace_period basic 30 on", events: 2, confirmed: 33)
  }

  @Test func `E07: an old transaction does not undo a refund`() throws {
    let refund = Fact.notification("REFUND", on: 12, status: 5, Fact.Period(revokedOn: 12))
    let ledger = try expect(
      [.notification("SUBSCRIBED", on: 0), refund, .transaction(on: 3)], "revoked basic 30 on")
    let past = try ledger.row(Fact.original, asOf: Fact.time(11))
    #expect(Self.text(past) == "active basic 30 on")
  }

  @Test func `E08: a transaction without its revocation shows that Apple reversed it`() throws {
    let year = Fact.Period(days: 0..<365)
    let refunded = Fact.Period(days: 0..<365, revokedOn: 12)
    let ledger = try expect(
      [
        .notification("SUBSCRIBED", on: 0, year),
        .notification("REFUND", on: 12, status: 5, refunded), .transaction(year, on: 40),
      ], "active basic 365 on")
    let before = try ledger.row(Fact.original, asOf: Fact.time(39))
    #expect(Self.text(before) == "revoked basic 365 on")
  }

  @Test func `E09: a first fill shows all periods and nothing before it was signed`() throws {
    let periods = ["A", "B", "C"].enumerated().map { index, id in
      Fact.Period(
        id: id, days: (40 + index * 30)..<(70 + index * 30),
        reason: index == 0 ? "PURCHASE" : "RENEWAL")
    }
    let ledger = try TestLedger()
    for period in periods { try Fact.transaction(period, on: 101).tell(ledger) }
    try Fact.renewal(on: 101).tell(ledger)
    #expect(
      Self.text(try ledger.row(Fact.original, now: Fact.time(101))) == "active basic 130 on")
    #expect(try ledger.row(Fact.original, asOf: Fact.time(100)) == nil)
    #expect(try ledger.history(Fact.original)?.entries.count == 4)
    #expect(try ledger.verify().findings.isEmpty)
  }

  @Test func `E10: evidence of another environment is refused and not kept`() throws {
    let ledger = try TestLedger()
    let answer = try Fact.transaction(Fact.Period(environment: "Sandbox"), on: 1).tell(ledger)
    #expect(answer == .refused("wrong_environment"))
    #expect(try ledger.events().isEmpty && ledger.quarantine().isEmpty)
  }

  @Test func `E11: renewal information without a proven transaction is refused`() throws {
    let ledger = try TestLedger()
    #expect(try Fact.renewal(on: 1).tell(ledger) == .refused("no_transaction"))
    #expect(try ledger.events().isEmpty && ledger.quarantine().isEmpty)
    // Nothing is left of it, not even its id.
    let journal = try JournalReader.open(ledger.folder)
    #expect(try journal.streams(withOriginalTransactionId: Fact.original).isEmpty)
    #expect(try ledger.verify().findings.isEmpty)
  }

  @Test func `E12: an upgrade that no notification told is found by asking`() throws {
    let upgraded = Fact.Period(isUpgraded: true)
    let pro = Fact.Period(id: "P", product: "pro", days: 8..<38)
    let ledger = try expect(
      [
        .notification("SUBSCRIBED", on: 0), .transaction(upgraded, on: 10),
        .transaction(pro, on: 10), .renewal(Fact.Renewal(product: "pro"), on: 10),
      ], "active pro 38 on")
    #expect(try ledger.history(Fact.original)?.entries.count == 4)
  }

  @Test func `the same JWS again is a duplicate, journaled or held`() throws {
    let ledger = try TestLedger()
    let jws = try SharedAuthority.sign(payload: Self.transaction(on: 1))
    #expect(ledger.ingest(evidence: jws, "transaction", at: 1) == .accepted(1))
    #expect(ledger.ingest(evidence: jws, "transaction", at: 2) == .duplicate(1))
    let later = try SharedAuthority.sign(payload: Self.transaction(on: 2))
    #expect(ledger.ingest(evidence: later, "transaction", at: 3) == .confirmed)
    #expect(
      ledger.ingest(evidence: later, "transaction", at: 4)
        == .other("Optional(Store.Outcome.held(isNew: false))"))
    #expect(try JournalReader.open(ledger.folder).heldEvidenceCount() == 1)
    #expect(try ledger.events().count == 1)
  }

  @Test func `of old held evidence the newest of each week stays`() throws {
    let ledger = try TestLedger()
    try Fact.transaction(Fact.Period(days: 0..<900), on: 0).tell(ledger)
    for day in 1...28 { try Fact.transaction(Fact.Period(days: 0..<900), on: day).tell(ledger) }
    let reader = try JournalReader.open(ledger.folder)
    #expect(try reader.heldEvidenceCount() == 28)
    try Fact.transaction(Fact.Period(days: 0..<900), on: 200).tell(ledger)
    // Four weeks, of which one is cut in two by the weeks of the calendar.
    #expect((5...6).contains(try reader.heldEvidenceCount()))
    #expect(try ledger.verify().findings.isEmpty)
  }

  @Test func `held evidence that is changed or removed is a finding`() throws {
    for (sql, what) in [
      ("DELETE FROM held_evidence", "rows, the journal's writer counted 1"),
      ("UPDATE held_evidence SET signed_date_ms = 1", "column signed_date_ms differs"),
      ("UPDATE held_evidence SET body = x'00'", "the body was changed"),
      ("UPDATE held_evidence SET transaction_id = 'x'", "column transaction_id differs"),
    ] {
      let ledger = try TestLedger()
      try Fact.transaction(on: 0).tell(ledger)
      try Fact.transaction(on: 1).tell(ledger)
      try ledger.whileStopped {
        let connection = try SQLiteConnection.open(ledger.folder.journal, .write)
        try connection.execute(sql)
        try connection.checkpointTruncate()
        connection.close()
      }
      let found = try ledger.verify().findings.map(\.what)
      #expect(found.contains { $0.contains(what) }, "\(sql): \(found)")
    }
  }

  private static func transaction(on day: Int) -> JSONValue {
    .object([
      ("transactionId", .string("1")), ("originalTransactionId", .string("1")),
      ("bundleId", .string(TestLedger.bundleId)), ("environment", .string("Production")),
      ("purchaseDate", .integer(Sample.start)), ("signedDate", .integer(Fact.time(day))),
    ])
  }
}
