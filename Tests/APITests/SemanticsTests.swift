import AppStoreSimulator
import Foundation
import Platform
import SignedData
import Store
import StrictJSON
import Support
import Testing

/// Rows S1 to S15 of the hostile inputs: odd content signed by the right key.
@Suite struct SemanticsTests {
  private let authority: Authority
  private let server: InProcessServer

  init() throws {
    authority = try Authority.shared.get()
    server = try InProcessServer(root: authority.root, reactors: 2)
  }

  private func row(_ otid: String, _ query: String = "", in server: InProcessServer? = nil)
    -> JSONElement?
  {
    (server ?? self.server).get("/v1/entitlements/\(otid)\(query)")?.json
  }

  private func accept(_ notification: JSONValue, _ row: String) throws {
    try server.accepts(signedPayload: try authority.signed(notification), row)
  }

  private func refuse(_ notification: JSONValue, _ row: String) throws {
    try server.refuses(signedPayload: try authority.signed(notification), 422, [], row)
  }

  // MARK: Duplicates

  @Test func `S1: one notification sent a hundred times at once is journaled once`() async throws {
    let jws = try authority.fresh()
    let server = self.server
    let responses = await withTaskGroup(of: String?.self) { group in
      for _ in 0..<100 {
        group.addTask {
          await withCheckedContinuation { continuation in
            Foundation.Thread.detachNewThread {
              continuation.resume(returning: server.post(signedPayload: jws)?.text)
            }
          }
        }
      }
      return await group.reduce(into: [String?]()) { $0.append($1) }
    }
    #expect(responses.filter { $0?.contains("accepted") == true }.count == 1, "S1")
    #expect(responses.filter { $0?.contains("duplicate") == true }.count == 99, "S1")
    let state = try server.state()
    #expect(state.head.seq == 1 && state.quarantined == 0, "S1")
  }

  @Test func `S2, S8: another content under the same UUID is a conflict and is quarantined`() throws
  {
    let uuid = Sample.uuid()
    try accept(Sample.notification(uuid: uuid), "S2 first")
    let head = try server.state().head
    let other = Sample.notification(uuid: uuid).with("subtype", .string("RESUBSCRIBE"))
    let response = try #require(server.post(signedPayload: try authority.signed(other)))
    #expect(response.status == 200 && response.text.contains("conflict"), "S2")
    #expect(try server.state() == InProcessServer.LedgerState(head: head, quarantined: 1), "S2")
    let metrics = try #require(server.get("/metrics")?.text)
    let counted = metrics.split(separator: "\n").filter { $0.contains("outcome=\"conflict\"") }
    #expect(counted.count == 1 && counted.first?.hasSuffix("} 1") == true, "S2")
    // S8: the id in upper case is the same id.
    let upper = Sample.notification(uuid: uuid.uppercased())
    let repeated = try #require(server.post(signedPayload: try authority.signed(upper)))
    #expect(repeated.status == 200 && repeated.text.contains("duplicate"), "S8")
    #expect(try server.state().head == head, "S8")
  }

  // MARK: Order

  /// The row of a server that received these bodies, without what depends on their order.
  private func outcome(_ bodies: [[UInt8]]) throws -> String {
    let server = try InProcessServer(root: authority.root)
    for body in bodies { #expect(server.post(signedPayload: body)?.status == 200) }
    let row = try #require(
      self.row("2000000000000001", "?as_of=\(Sample.purchase + 5000)", in: server))
    let value = row.value.with("last_event.seq", .integer(0))
    return value.text
  }

  @Test func `S3, S4: the order of arrival does not change the row`() throws {
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

  // MARK: Other apps

  @Test func `S5 to S7: other apps and environments are not admitted`() throws {
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
    // An app that is configured for Sandbox alone.
    let onlySandbox = both("com.example.sandbox").with("data.appAppleId", nil)
    try refuse(onlySandbox, "S7 production of a sandbox app")
    try accept(
      inEnvironment(.string("Sandbox")).with("data.appAppleId", nil), "Sandbox has no appAppleId")
  }

  @Test func `S8: a notificationUUID that is not a UUID is not admitted`() throws {
    let ids = [
      "", "x", "not-a-uuid", String(repeating: "a", count: 36), "{\(Sample.uuid())}",
      Sample.uuid() + " ", " " + Sample.uuid(), Sample.uuid().replacing("-", with: ""),
      String(repeating: "é", count: 18), String(repeating: "0", count: 100_000),
    ]
    for id in ids { try refuse(Sample.notification(uuid: id), "S8 \(id.prefix(9))") }
    try refuse(Sample.notification().with("notificationUUID", nil), "S8 missing")
    try refuse(Sample.notification().with("notificationUUID", .integer(1)), "S8 number")
    let long = Sample.notification(uuid: String(repeating: "0", count: 1 << 20))
    try server.refuses(signedPayload: try authority.signed(long), 413, ["too_large"], "S8 1 MiB")
  }

  @Test func `S9: a notification needs exactly one content`() throws {
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

  // MARK: Unknown content

  @Test func `S10, S11: unknown types and members are journaled and change no access`() throws {
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

  @Test func `S12: a signed date must be an integer and one ahead of the clock is counted`() throws
  {
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
      let counted = try server.count("subledger_signed_ahead_total")
      try accept(Sample.notification(signed: date), "S12b")
      #expect(
        try server.count("subledger_signed_ahead_total") == counted + (isAhead ? 1 : 0), "S12b")
    }
  }

  @Test func `S13: odd dates and numbers in a transaction give no access by mistake`() throws {
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
      // Without renewal info, to see what the transaction alone gives.
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

  @Test func `S14, D5: odd texts are journaled and read back unchanged`() throws {
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
    // All of them are read back unchanged, page by page.
    var found: [String] = []
    var after: String?
    repeat {
      let query = "?limit=1" + (after.map { "&after=\($0)" } ?? "")
      guard let page = server.get("/v1/entitlements" + query), page.status == 200 else {
        Issue.record("S14: the list broke off after \(found.count)")
        break
      }
      found += (page.json?["items"]?.elements ?? []).compactMap {
        $0["original_transaction_id"]?.string
      }
      after = page.json?["next_page"]?.string
    } while after != nil
    #expect(Set(found.map { Array($0.utf8) }).isSuperset(of: texts.map { Array($0.utf8) }), "S14")
    let log = try #require(server.get("/metrics")?.text)
    #expect(!log.contains("DROP") && !log.contains("script"))
  }

  /// SQL compares bytes, so the fold must not treat two spellings of one accent as one customer.
  @Test func `J26: two Unicode spellings of one id are two customers`() throws {
    let ids = ["caf\u{E9}", "cafe\u{301}", "\u{212B}", "\u{C5}", "A\u{30A}"]
    for id in ids + ids {
      _ = server.post(signedPayload: try authority.signed(Sample.notification(otid: id)))
    }
    let items = try #require(server.get("/v1/entitlements?limit=50")?.json?["items"]?.elements)
    #expect(items.count == ids.count)
    for item in items { #expect(item["event_count"]?.integer == 2) }
    let mixed = Sample.notification(otid: ids[0])
      .with("data.renewalInfo.originalTransactionId", .string(ids[1]))
    try refuse(mixed, "J26 spelling")
    let bundle = Sample.notification().with("data.bundleId", .string("com.ex\u{E1}mple"))
      .with("data.transaction.bundleId", .string("com.exa\u{301}mple"))
    try refuse(bundle, "J26 spelling")
  }

  @Test func `S15: notifications of many customers at once are all journaled`() async throws {
    let bodies = try (0..<200).map {
      try authority.signed(Sample.notification(otid: "\(4_000_000_000_000_000 + $0)"))
    }
    let server = self.server
    let statuses = await withTaskGroup(of: [Int].self) { group in
      for lane in 0..<8 {
        group.addTask {
          stride(from: lane, to: bodies.count, by: 8).map {
            server.post(signedPayload: bodies[$0])?.status ?? 0
          }
        }
      }
      return await group.reduce(into: [Int]()) { $0 += $1 }
    }
    #expect(statuses.allSatisfy { $0 == 200 || $0 == 503 }, "S15")
    let taken = Int64(statuses.filter { $0 == 200 }.count)
    #expect(try server.state().head.seq == taken, "S15")
  }
}
