import Foundation
import JournalStore
import Platform
import SignedData
import Simulator
import StrictJSON
import Support
import Testing

/// Rows S1 to S15: what was signed by the right key, and says odd things.
@Suite struct SemanticsTests {
  private let authority: Authority
  private let door: InProcessServer

  init() throws {
    authority = try Authority.shared.get()
    door = try InProcessServer(root: authority.root, reactors: 2)
  }

  private func row(_ otid: String, _ query: String = "", in door: InProcessServer? = nil)
    -> JSONElement?
  {
    (door ?? self.door).get("/v1/entitlements/\(otid)\(query)")?.json
  }

  private func accept(_ notification: JSONValue, _ row: String) throws {
    try door.accepts(signedPayload: try authority.signed(notification), row)
  }

  private func refuse(_ notification: JSONValue, _ row: String) throws {
    try door.refuses(signedPayload: try authority.signed(notification), 422, [], row)
  }

  // MARK: Again

  @Test func theSameHundredTimesAtOnce() async throws {
    let jws = try authority.fresh()
    let door = self.door
    let replies = await withTaskGroup(of: String?.self) { group in
      for _ in 0..<100 {
        group.addTask {
          await withCheckedContinuation { continuation in
            Foundation.Thread.detachNewThread {
              continuation.resume(returning: door.post(signedPayload: jws)?.text)
            }
          }
        }
      }
      return await group.reduce(into: [String?]()) { $0.append($1) }
    }
    #expect(replies.filter { $0?.contains("accepted") == true }.count == 1, "S1")
    #expect(replies.filter { $0?.contains("duplicate") == true }.count == 99, "S1")
    let stand = try door.stand()
    #expect(stand.head.seq == 1 && stand.quarantined == 0, "S1")
  }

  @Test func oneIdTwoContents() throws {
    let uuid = Sample.uuid()
    try accept(Sample.notification(uuid: uuid), "S2 first")
    let head = try door.stand().head
    let other = Sample.notification(uuid: uuid).with("subtype", .string("RESUBSCRIBE"))
    let reply = try #require(door.post(signedPayload: try authority.signed(other)))
    #expect(reply.status == 200 && reply.text.contains("duplicate"), "S2")
    #expect(try door.stand() == InProcessServer.Stand(head: head, quarantined: 1), "S2")
    let metrics = try #require(door.get("/metrics")?.text)
    let counted = metrics.split(separator: "\n").filter { $0.contains("outcome=\"conflict\"") }
    #expect(counted.count == 1 && counted.first?.hasSuffix("} 1") == true, "S2")
    // S8: the id in upper case is the same id.
    let upper = Sample.notification(uuid: uuid.uppercased())
    let twin = try #require(door.post(signedPayload: try authority.signed(upper)))
    #expect(twin.status == 200 && twin.text.contains("duplicate"), "S8")
    #expect(try door.stand().head == head, "S8")
  }

  // MARK: Order

  /// The row of a door that was told these, without what depends on the order of arrival.
  private func outcome(_ bodies: [[UInt8]]) throws -> String {
    let door = try InProcessServer(root: authority.root)
    for body in bodies { #expect(door.post(signedPayload: body)?.status == 200) }
    let row = try #require(
      self.row("2000000000000001", "?as_of=\(Sample.purchase + 5000)", in: door))
    let value = row.value.with("last_event.seq", .integer(0))
    return value.text
  }

  @Test func lateAndEqualDates() throws {
    let renewal = Sample.notification(signed: Sample.purchase + 4000)
      .with("notificationType", .string("DID_CHANGE_RENEWAL_STATUS"))
      .with("data.renewalInfo.autoRenewStatus", .integer(0))
    let first = try authority.signed(Sample.notification())
    let later = try authority.signed(renewal)
    #expect(try outcome([first, later]) == (try outcome([later, first])), "S3")
    #expect(try outcome([later, first, later, first]) == (try outcome([first, later])), "S3")
    let same = try authority.signed(
      Sample.notification().with("notificationType", .string("DID_RENEW"))
        .with("data.renewalInfo.autoRenewStatus", .integer(0))
        .with("data.transaction.price", .integer(1)))
    #expect(try outcome([first, same]) == (try outcome([same, first])), "S4")
  }

  // MARK: Not ours

  @Test func otherAppsAndEnvironments() throws {
    let base = { Sample.notification() }
    let both = { (name: String) in
      base().with("data.bundleId", .string(name)).with("data.transaction.bundleId", .string(name))
    }
    for name in ["com.example.other", "COM.EXAMPLE.APP", "com.example.app ", "com.example.", "*"] {
      try refuse(both(name), "S5 \(name)")
    }
    for id in [JSONValue.integer(123_456_788), .null, .string("123456789"), .number("123456789.0")]
    {
      try refuse(base().with("data.appAppleId", id), "S6")
    }
    try refuse(base().with("data.appAppleId", nil), "S6 missing")
    let inEnvironment = { (name: JSONValue?) in
      base().with("data.environment", name).with("data.transaction.environment", name)
        .with("data.renewalInfo.environment", name)
    }
    for name in [
      "Xcode", "production", "PRODUCTION", "PROD", "LocalTesting", "sandbox", "", " Sandbox",
    ] {
      try refuse(inEnvironment(.string(name)), "S7 \(name)")
    }
    try refuse(inEnvironment(nil), "S7 missing")
    try refuse(inEnvironment(.integer(1)), "S7 number")
    // An app that is known in the sandbox alone.
    let onlySandbox = both("com.example.sandbox").with("data.appAppleId", nil)
    try refuse(onlySandbox, "S7 production of a sandbox app")
    try accept(
      inEnvironment(.string("Sandbox")).with("data.appAppleId", nil), "the sandbox has no Apple id")
  }

  @Test func idsThatAreNone() throws {
    let ids = [
      "", "x", "not-a-uuid", String(repeating: "a", count: 36), "{\(Sample.uuid())}",
      Sample.uuid() + " ", " " + Sample.uuid(), Sample.uuid().replacing("-", with: ""),
      String(repeating: "é", count: 18), String(repeating: "0", count: 100_000),
    ]
    for id in ids { try refuse(Sample.notification(uuid: id), "S8 \(id.prefix(9))") }
    try refuse(Sample.notification().with("notificationUUID", nil), "S8 missing")
    try refuse(Sample.notification().with("notificationUUID", .integer(1)), "S8 number")
    let long = Sample.notification(uuid: String(repeating: "0", count: 1 << 20))
    try door.refuses(signedPayload: try authority.signed(long), 413, ["too_large"], "S8 1 MiB")
  }

  @Test func contentsThatAreNone() throws {
    let none = Sample.notification().with("data", nil)
    try refuse(none, "S9 none")
    let two = JSONValue.object([("bundleId", .string("com.example.app"))])
    for name in ["summary", "appData", "externalPurchaseToken"] {
      try refuse(Sample.notification().with(name, two), "S9 two")
      try refuse(
        none.with("notificationUUID", .string(Sample.uuid())).with(name, .null), "S9 \(name)")
      try refuse(
        none.with("notificationUUID", .string(Sample.uuid())).with(name, .object([])), "S9")
    }
    for wrong in [JSONValue.null, .array([]), .string("x"), .integer(0)] {
      try refuse(Sample.notification().with("data", wrong), "S9")
    }
  }

  // MARK: Unknown, and allowed

  @Test func whatNobodyKnowsYet() throws {
    let before = {
      self.row("2000000000000001", "?as_of=\(Sample.purchase + 1)")?.value
        .with("event_count", nil).with("last_event", nil).text
    }
    try accept(Sample.notification(), "S10 first")
    let first = before()
    #expect(first?.contains("\"gives_access\":true") == true)
    let bare = Sample.notification().with("data.transaction", nil).with("data.renewalInfo", nil)
    for (path, value) in [
      ("notificationType", JSONValue.string("NEVER_HEARD_OF")), ("subtype", .string("NOR_THIS")),
      ("data.status", .integer(99)), ("data.status", .string("1")), ("data.new", .object([])),
      ("data.status", .integer(.max)), ("subtype", .string("")), ("subtype", .integer(1)),
    ] {
      let notification = bare.with("data.status", nil).with(path, value)
        .with("notificationUUID", .string(Sample.uuid()))
      try accept(notification, "S10 \(path)")
    }
    #expect(before() == first, "S10")
    for version in [JSONValue.string("1.0"), .string("3.0"), .integer(2), .null] {
      try accept(Sample.notification().with("version", version), "S11")
    }
    try accept(Sample.notification().with("version", nil), "S11")
  }

  @Test func datesOfSigning() throws {
    for date in [
      nil, JSONValue.string("1767225600000"), .number("1767225600000.5"), .null, .number("1e12"),
    ] {
      try refuse(Sample.notification().with("signedDate", date), "S12")
    }
    let huge = Sample.notification().with("signedDate", .number("99999999999999999999999"))
    try refuse(huge, "S12 beyond 64 bits")
    let now = Clock.now()
    let year: Int64 = 365 * 86_400_000
    for (date, isAhead) in [(now + year, true), (now + 3_600_000, true), (now - 5 * year, false)] {
      let counted = try door.count("subledger_signed_ahead_total")
      try accept(Sample.notification(signed: date), "S12b")
      #expect(try door.count("subledger_signed_ahead_total") == counted + (isAhead ? 1 : 0), "S12b")
    }
  }

  @Test func oddTransactions() throws {
    func access(_ otid: String) throws -> Bool? {
      for time in [Int64.min, 0, Sample.purchase, Sample.purchase + 1000, .max] {
        let row = self.row(otid, "?as_of=\(time)")
        if row?["gives_access"]?.boolean == true { return true }
      }
      return row(otid)?["gives_access"]?.boolean
    }
    let rows: [(String, JSONValue?)] = [
      ("data.transaction.expiresDate", .integer(Sample.purchase - 1)),
      ("data.transaction.expiresDate", .integer(.min)),
      ("data.transaction.expiresDate", .integer(Sample.purchase)),
      ("data.transaction.purchaseDate", .integer(.max)),
    ]
    for (index, (path, value)) in rows.enumerated() {
      let otid = "30000000000000\(index)"
      // No word on renewal: this shows what the transaction alone would give.
      let notification = Sample.notification(otid: otid).with(path, value)
        .with("data.renewalInfo", nil)
      try accept(notification, "S13 \(path)")
      #expect(try access(otid) == false, "S13 \(path) \(value?.text ?? "")")
    }
    for (path, value) in [
      ("data.transaction.price", JSONValue.integer(-9990)),
      ("data.transaction.quantity", .integer(0)), ("data.transaction.price", .integer(.min)),
      ("data.transaction.quantity", .integer(-1)),
      ("data.transaction.revocationPercentage", .integer(.max)),
    ] {
      try accept(Sample.notification().with(path, value), "S13 \(path)")
    }
    let nameless = Sample.notification().with("data.transaction.originalTransactionId", nil)
      .with("data.renewalInfo.originalTransactionId", nil)
    try accept(nameless, "S13 no otid")
  }

  // MARK: Text

  @Test func oddTexts() throws {
    let texts = [
      "'; DROP TABLE journal;--", "\" OR 1=1 --", "<script>alert(1)</script>", "../../etc/passwd",
      "\r\nSet-Cookie: a=b", "\u{1B}[2J", "\u{202E}", "%00", "${jndi:ldap://x}", "\u{1F}",
      String(repeating: "9", count: 128), "\u{FEFF}1", "１２３", "\t", "null", "a\u{1F}b\u{1F}c",
    ]
    for text in texts {
      let value = JSONValue.string(text)
      try accept(Sample.notification(otid: text), "S14 otid")
      let all = Sample.notification().with("notificationType", value).with("subtype", value)
        .with("data.transaction.productId", value).with("data.transaction.appAccountToken", value)
        .with("data.transaction.type", value).with("data.bundleVersion", value)
        .with("data.transaction.currency", value).with("version", value)
      try accept(all, "D5 everywhere")
    }
    let long = String(repeating: "9", count: 20_000)
    try refuse(Sample.notification(otid: long), "S14 long")
    // All of them are read back as they were, page by page.
    var found: [String] = []
    var after: String?
    repeat {
      let query = "?limit=1" + (after.map { "&after=\($0)" } ?? "")
      guard let page = door.get("/v1/entitlements" + query), page.status == 200 else {
        Issue.record("S14: the list broke off after \(found.count)")
        break
      }
      found += (page.json?["items"]?.elements ?? []).compactMap {
        $0["original_transaction_id"]?.string
      }
      after = page.json?["next_page"]?.string
    } while after != nil
    #expect(Set(found.map { Array($0.utf8) }).isSuperset(of: texts.map { Array($0.utf8) }), "S14")
    let log = try #require(door.get("/metrics")?.text)
    #expect(!log.contains("DROP") && !log.contains("script"))
  }

  /// Two spellings of one accent are two ids to SQL, and must be two customers to the fold.
  @Test func spellingsAreNotMixed() throws {
    let ids = ["caf\u{E9}", "cafe\u{301}", "\u{212B}", "\u{C5}", "A\u{30A}"]
    for id in ids + ids {
      _ = door.post(signedPayload: try authority.signed(Sample.notification(otid: id)))
    }
    let items = try #require(door.get("/v1/entitlements?limit=50")?.json?["items"]?.elements)
    #expect(items.count == ids.count)
    for item in items { #expect(item["event_count"]?.integer == 2) }
    let mixed = Sample.notification(otid: ids[0])
      .with("data.renewalInfo.originalTransactionId", .string(ids[1]))
    try refuse(mixed, "J26 spelling")
    let bundle = Sample.notification().with("data.bundleId", .string("com.ex\u{E1}mple"))
      .with("data.transaction.bundleId", .string("com.exa\u{301}mple"))
    try refuse(bundle, "J26 spelling")
  }

  @Test func manyCustomersAtOnce() async throws {
    let bodies = try (0..<200).map {
      try authority.signed(Sample.notification(otid: "\(4_000_000_000_000_000 + $0)"))
    }
    let door = self.door
    let statuses = await withTaskGroup(of: [Int].self) { group in
      for lane in 0..<8 {
        group.addTask {
          stride(from: lane, to: bodies.count, by: 8).map {
            door.post(signedPayload: bodies[$0])?.status ?? 0
          }
        }
      }
      return await group.reduce(into: [Int]()) { $0 += $1 }
    }
    #expect(statuses.allSatisfy { $0 == 200 || $0 == 503 }, "S15")
    let taken = Int64(statuses.filter { $0 == 200 }.count)
    #expect(try door.stand().head.seq == taken, "S15")
  }
}
