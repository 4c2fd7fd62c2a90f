import AppStore
import AppStoreSimulator
import Audit
import Entitlements
import Queries
import Store
import StrictJSON
import Support
import Testing

/// Seats: a purchase of several, those added in its period, and what is given back of them.
@Suite struct SeatTests {
  private static let (start, day) = (Sample.start, Sample.day)

  /// A purchase of seats for a month from `start` on, at 10.00 for a seat unless tiers are given.
  private static func seats(
    _ number: Int, _ count: Int64, added day: Int64? = nil, type: String = "SUBSCRIBED",
    subtype: String? = nil, signed: Int64? = nil, tiers: [(Int64, Int64)]? = nil,
    refunded: Int64? = nil, revoked: Int64? = nil, product: String = "pro.monthly",
    notification: Int? = nil
  ) -> JSONValue {
    let bought = start + (day ?? 0) * Self.day
    let all = tiers ?? [(10_000, count)]
    var info: [(String, JSONValue)] = [
      ("invitationManagement", .string("DEVELOPER")),
      (
        "priceTiers",
        .array(all.map { .object([("price", .integer($0.0)), ("quantity", .integer($0.1))]) })
      ),
    ]
    if let refunded { info.append(("revokedSeatQuantity", .integer(refunded))) }
    let total = all.reduce(0) { $0 + $1.0 * $1.1 }
    var told = Sample.notification(notification ?? number, type: type)
      .dated(signed ?? bought + 1_000)
      .setting("data.renewalInfo.renewalDate", .integer(start + 30 * Self.day))
      .setting("subtype", subtype.map(JSONValue.string))
    let members: [(String, JSONValue?)] = [
      ("transactionId", .string("7000\(number)")), ("purchaseDate", .integer(bought)),
      ("expiresDate", .integer(start + 30 * Self.day)), ("transactionReason", .string("PURCHASE")),
      ("quantity", .integer(count)), ("price", .integer(total / count)),
      ("currency", .string("EUR")), ("productId", .string(product)),
      ("webOrderLineItemId", .string("55")), ("multiSeatInfo", .object(info)),
      ("additionalTransactionReason", day == nil ? nil : .string("SEAT_ADDITION")),
      ("revocationDate", revoked.map(JSONValue.integer)),
      ("revocationReason", revoked.map { _ in .integer(0) }),
    ]
    for (name, value) in members { told = told.setting("data.transaction.\(name)", value) }
    return told
  }

  private static func ledger(_ told: [JSONValue]) throws -> TestLedger {
    let ledger = try TestLedger()
    for notification in told {
      let answer = try ledger.ingest(try SharedAuthority.sign(notification), at: start)
      guard case .accepted = answer else { throw TestFailure("\(answer)") }
    }
    return ledger
  }

  private static func row(_ ledger: TestLedger, day: Int64) throws -> JSONValue {
    try #require(try ledger.row("7000", now: start + day * Self.day)).json
  }

  private static func lines(_ ledger: TestLedger) throws -> [JSONValue] {
    let question = LedgerReader.Question(now: start + 20 * day)
    let found = try #require(
      try ledger.reader().transactions(
        "7000", environment: .production, bundleId: nil, question))
    return found.map { TransactionLine.object.json($0) }
  }

  private static let five = seats(1, 5)
  private static let two = seats(
    2, 2, added: 4, type: "DID_CHANGE_RENEWAL_PREF", subtype: "INCREASE_QUANTITY")

  @Test func `added seats replace nothing, and their refund ends nothing`() throws {
    let refund = Self.seats(
      2, 2, added: 4, type: "REFUND", signed: Self.start + 6 * Self.day, refunded: 2,
      revoked: Self.start + 6 * Self.day, notification: 3)
    let told = [Self.five, Self.two, refund]
    for order in permutations(of: told.count) {
      let ledger = try Self.ledger(order.map { told[$0] })
      for (day, seats) in [(1, 5), (5, 7), (7, 5), (29, 5)] as [(Int64, Int64)] {
        let row = try Self.row(ledger, day: day)
        #expect(row["status"] == .string("active") && row["gives_access"] == .boolean(true))
        #expect(row["seats"] == .integer(seats), "day \(day)")
        #expect(row["revoked_at"] == .null)
      }
      let over = try Self.row(ledger, day: 31)
      #expect(over["status"] == .string("expired") && over["gives_access"] == .boolean(false))
      let lines = try Self.lines(ledger)
      #expect(lines.map { $0["seats"] } == [.integer(5), .integer(2)])
      #expect(lines.map { $0["refunded_seats"] } == [.integer(0), .integer(2)])
      #expect(lines.map { $0["refunded"] } == [.integer(0), .integer(20_000)])
      #expect(lines.map { $0["replaced_by"] } == [.null, .null])
      #expect(try ledger.verify().findings.isEmpty)
    }
  }

  @Test func `access ends when all purchases of the period are revoked`() throws {
    let refunds = [(1, 5, 8), (2, 2, 9)].map { number, count, day in
      Self.seats(
        number, Int64(count), added: number == 1 ? nil : 4, type: "REFUND",
        signed: Self.start + Int64(day) * Self.day, revoked: Self.start + Int64(day) * Self.day,
        notification: number + 5)
    }
    let ledger = try Self.ledger([Self.five, Self.two] + refunds)
    #expect(try Self.row(ledger, day: 8)["status"] == .string("active"))
    #expect(try Self.row(ledger, day: 8)["seats"] == .integer(2))
    let gone = try Self.row(ledger, day: 10)
    #expect(gone["status"] == .string("revoked"))
    #expect(gone["revoked_at"] == .integer(Self.start + 9 * Self.day))
  }

  @Test func `an upgrade to a product with seats replaces, and seats of it replace nothing`() throws
  {
    let team = Self.seats(2, 5, added: 3, product: "team.monthly")
    let more = Self.seats(3, 2, added: 5, product: "team.monthly")
    let ledger = try Self.ledger([Self.seats(1, 1), team, more])
    let lines = try Self.lines(ledger)
    #expect(lines.map { $0["replaced_by"] } == [.string("70002"), .null, .null])
    #expect(try Self.row(ledger, day: 6)["seats"] == .integer(7))
    #expect(try Self.row(ledger, day: 6)["product_id"] == .string("team.monthly"))
  }

  @Test(
    arguments: [
      ([(10_000, 5)], 20_000), ([(10_000, 3), (8_000, 2)], nil), ([], nil),
    ] as [([(Int64, Int64)], Int64?)])
  func `some refunded seats keep access, and cost what is known`(
    _ tiers: [(Int64, Int64)], _ refunded: Int64?
  ) throws {
    let average = tiers.isEmpty ? [(10_000, 5)] : tiers
    func told(_ more: JSONValue) -> JSONValue {
      tiers.isEmpty ? more.setting("data.transaction.multiSeatInfo.priceTiers", nil) : more
    }
    let refund = Self.seats(
      1, 5, type: "REFUND", subtype: "SEATS", signed: Self.start + 6 * Self.day, tiers: average,
      refunded: 2, notification: 2)
    let ledger = try Self.ledger([told(Self.seats(1, 5, tiers: average)), told(refund)])
    let row = try Self.row(ledger, day: 7)
    #expect(row["status"] == .string("active") && row["seats"] == .integer(3))
    let line = try #require(try Self.lines(ledger).first)
    let total = average.reduce(0) { $0 + $1.0 * $1.1 }
    #expect(line["price"]?["milliunits"] == .integer(total))
    #expect(line["seat_price"] == .integer(total / 5))
    #expect(line["refunded_seats"] == .integer(2))
    #expect(line["refunded"] == refunded.map(JSONValue.integer) ?? .null)
    #expect(line["seats_refunded_at"] == .integer(Self.start + 6 * Self.day))
    let words = try #require(try ledger.history("7000")).entries.map(\.description)
    #expect(words.last == "2 seats refunded")
    #expect(try ledger.verify().findings.isEmpty)
  }

  @Test func `what the next renewal costs is the total of its seats`() throws {
    let tier = JSONValue.object([("price", .integer(9_000)), ("quantity", .integer(4))])
    let told = Self.five.setting("data.renewalInfo.renewalQuantity", .integer(4))
      .setting("data.renewalInfo.renewalPrice", .integer(9_000))
      .setting("data.renewalInfo.currency", .string("EUR"))
      .setting(
        "data.renewalInfo.multiSeatInfo", .object([("renewalPriceTiers", .array([tier]))]))
    let row = try Self.row(try Self.ledger([told]), day: 1)
    #expect(
      row["renewal_price"]?.text == #"{"milliunits":36000,"currency":"EUR"}"#)
    #expect(row["renewal_quantity"] == .integer(4))
  }

  @Test func `an unclaimed seat is an event of its purchase`() throws {
    let unclaim = JSONValue.object([
      ("notificationType", .string("UNCLAIM_SEATS")),
      ("notificationUUID", .string(Sample.uuid(9))), ("version", .string("2.0")),
      ("signedDate", .integer(Self.start + Self.day)),
      (
        "unclaimInfo",
        .object([
          ("bundleId", .string("com.example.app")), ("environment", .string("Production")),
          ("originalTransactionId", .string("7000")),
          ("unclaimSeatIds", .array([.string(Sample.uuid(10))])),
        ])
      ),
    ])
    let ledger = try Self.ledger([Self.five, unclaim])
    let history = try #require(try ledger.history("7000"))
    let entry = try #require(history.entries.last)
    #expect(entry.description == "access to be taken from those who hold some seats")
    #expect(
      entry.json["others"]?["unclaimInfo.unclaimSeatIds"]
        == .array([.string(Sample.uuid(10))]))
    #expect(try Self.row(ledger, day: 2)["seats"] == .integer(5))
    #expect(try ledger.verify().findings.isEmpty)
  }

  @Test func `teams of a simulated App Store have the seats and the access of its books`() throws {
    let seed = TestSeed.drawn
    let teams = TeamBook.all(
      TestCount.teams.number, seed: seed, endingAt: Self.start + 400 * Self.day)
    let ledger = try TestLedger()
    var told = teams.flatMap(\.notifications)
    var random = SplitMix64(state: seed)
    told.shuffle(using: &random)
    for notification in told {
      let answer = try ledger.ingest(
        try SharedAuthority.sign(notification.payload), at: Self.start)
      guard case .accepted = answer else { throw TestFailure("\(answer)") }
    }
    let reader = try ledger.reader()
    for book in teams {
      let row = try #require(
        try ledger.row(book.originalTransactionId, asOf: book.time, now: book.time)
      ).json
      #expect(
        row["gives_access"] == .boolean(book.hasAccess), "\(seed) \(book.time) \(row.text)")
      if book.hasAccess {
        #expect(row["seats"] == .integer(book.seats), "\(seed) \(book.time) \(row.text)")
      }
      let found = try #require(
        try reader.transactions(
          book.originalTransactionId, environment: .production, bundleId: nil,
          LedgerReader.Question(asOf: book.time, now: book.time)))
      for bought in book.purchases {
        let line = TransactionLine.object.json(
          try #require(found.first { $0.transactionId == bought.id }))
        let told = "\(seed) \(book.time) \(line.text)"
        #expect(line["price"]?["milliunits"] == .integer(bought.price), "\(told)")
        #expect(line["refunded_seats"] == .integer(bought.refundedSeats), "\(told)")
      }
    }
    let findings = try ledger.verify().findings.map(\.what)
    #expect(findings == [], "\(seed)")
  }
}
