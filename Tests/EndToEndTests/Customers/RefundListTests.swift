import Foundation
import StrictJSON
import Support
import Testing

/// Requests of customers for refunds: `GET /v1/refund-requests`, `refund_request_v1` and `refunds`.
@Suite struct RefundListTests {
  private static let hour: Int64 = 3_600_000
  static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

  static func event(
    _ number: Int, _ type: String, _ otid: String, at time: Int64,
    _ change: [(String, JSONValue)] = []
  ) -> JSONValue {
    let all: [(String, JSONValue)] = [
      ("data.transaction.transactionId", .string("\(otid)1")),
      ("data.transaction.purchaseDate", .integer(Sample.start)),
      ("data.transaction.expiresDate", .integer(Sample.start + 30 * Sample.day)),
    ]
    return (all + change).reduce(Sample.notification(number, otid: otid, type: type).dated(time)) {
      $0.setting($1.0, $1.1)
    }
  }

  private static func request(
    _ number: Int, _ otid: String, at time: Int64, _ change: [(String, JSONValue)] = []
  ) -> JSONValue {
    event(
      number, "CONSUMPTION_REQUEST", otid, at: time,
      [("data.consumptionRequestReason", .string("LEGAL"))] + change)
  }

  /// One of each kind: declined after the deadline, refunded before it (which is told first),
  /// family-shared and waiting.
  private static let refund: [(String, JSONValue)] = [
    ("data.transaction.revocationDate", .integer(Sample.start + 5 * hour)),
    ("data.transaction.revocationType", .string("REFUND_PRORATED")),
    ("data.transaction.revocationPercentage", .integer(40_000)),
    ("data.transaction.price", .integer(9_990)), ("data.transaction.currency", .string("EUR")),
  ]
  static let events = [
    request(1, "7001", at: Sample.start),
    event(2, "REFUND_DECLINED", "7001", at: Sample.start + 20 * hour),
    event(3, "REFUND", "7002", at: Sample.start + 5 * hour, refund),
    request(4, "7002", at: Sample.start + hour),
    request(
      5, "7003", at: now - 2 * hour,
      [("data.transaction.inAppOwnershipType", .string("FAMILY_SHARED"))]),
    request(
      6, "7004", at: now - hour,
      [("data.transaction.appAccountToken", .string("0d9a3f0e-7c1b-4f52-9d7e-2f1c0a5b6e4d"))]),
    Sample.notification(7, otid: "7005"),
  ]

  static let states = [
    "70011 missed declined", "70021 closed refunded", "70031 waiting –", "70041 waiting –",
  ]

  private func served() throws -> (Installation, RunningDaemon) {
    let installation = try Installation()
    return (installation, try installation.start(posting: Self.events))
  }

  private func list(_ client: Client, _ query: String = "") throws -> [JSONElement] {
    let answer = try #require(client.get("/v1/refund-requests\(query)"))
    return try #require(answer.json?["items"], "\(query): \(answer.text)").elements
  }

  private func texts(_ items: [JSONElement]) -> [String] {
    items.map { item in
      ["transaction_id", "state", "outcome"].map { item[$0]?.string ?? "–" }
        .joined(separator: " ")
    }
  }

  @Test func `requests are listed by deadline with state and outcome`() throws {
    let (installation, daemon) = try served()
    let client = daemon.client()
    let all = try list(client)
    #expect(texts(all) == Self.states)
    #expect(all[0]["deadline"]?.integer == Sample.start + 12 * Self.hour)
    #expect(all[0]["reason"]?.string == "LEGAL" && all[0]["exclusion"]?.value == .null)
    #expect(all[1]["outcome_at"]?.integer == Sample.start + 5 * Self.hour)
    #expect(all[1]["revocation_percentage"]?.integer == 40_000)
    #expect(all[1]["refunded"]?.integer == 3_996 && all[0]["refunded"]?.value == .null)
    #expect(all[2]["exclusion"]?.string == "family_shared")

    let soon = "?state=waiting,answered&deadline_before=\(Self.now + Self.hour)"
    #expect(texts(try list(client, soon)).isEmpty)
    #expect(texts(try list(client, "?state=waiting")) == Array(Self.states[2...]))
    #expect(texts(try list(client, "?environment=Sandbox")).isEmpty)
    let token = "0D9A3F0E-7C1B-4F52-9D7E-2F1C0A5B6E4D"
    #expect(texts(try list(client, "?customer=\(token)")) == [Self.states[3]])
    let byId = "?customer=7002&by=original_transaction_id"
    #expect(texts(try list(client, byId)) == [Self.states[1]])

    let one = client.get("/v1/refund-requests/70021")?.json
    #expect(one?["object"]?.string == "refund_request" && one?["outcome"]?.string == "refunded")
    #expect(client.get("/v1/refund-requests/70051")?.status == 404)
    #expect(client.get("/v1/refund-requests?after=1")?.status == 400)
    #expect(try daemon.stop().code == 0)
    #expect(try installation.run("verify").code == 0)
  }

  @Test func `pages of requests have each of them once`() throws {
    let (installation, daemon) = try served()
    var (found, after): ([String], String?) = ([], nil)
    repeat {
      let query = "?limit=1" + (after.map { "&after=\($0)" } ?? "")
      let page = try #require(daemon.client().get("/v1/refund-requests\(query)")?.json)
      found += texts(page["items"]?.elements ?? [])
      after = page["next_page"]?.string
    } while after != nil && found.count < 9
    #expect(found == Self.states)
    #expect(try daemon.stop().code == 0 && installation.run("verify").code == 0)
  }

  @Test func `a rebuild and the view say what was folded event by event`() throws {
    let (installation, daemon) = try served()
    #expect(try daemon.stop().code == 0)
    func rows() throws -> String {
      let sql = "SELECT * FROM refund_request_v1 ORDER BY deadline_ms, notification_uuid"
      return try installation.run("query", sql, "--json").output
    }
    let before = try rows()
    let states = try before.split(separator: "\n").map {
      try JSONDocument(parsing: Array($0.utf8)).root
    }
    #expect(texts(states) == Self.states)
    #expect(try installation.run("rebuild", "--diff").code == 0)
    #expect(try installation.run("rebuild", "--apply").code == 0)
    #expect(try rows() == before)
    #expect(try installation.run("rebuild", "--only", "7002").code == 0)
    #expect(try rows() == before)
  }

  @Test func `a request that was changed or removed in the file is found`() throws {
    for sql in [
      "UPDATE refund_request SET outcome = 'refunded' WHERE transaction_id = '70011'",
      "DELETE FROM refund_request WHERE transaction_id = '70011'",
    ] {
      let (installation, daemon) = try served()
      #expect(try daemon.stop().code == 0)
      try installation.executeInProjection(sql)
      #expect(try installation.run("verify").code == 1, "\(sql)")
      // What is read is checked by itself; what is missing, with its row.
      if sql.hasPrefix("DELETE") { #expect(try installation.run("rebuild", "--apply").code == 0) }
      let again = try installation.start()
      let deadline = Date(timeIntervalSinceNow: 20)
      while try list(again.client()).first?["outcome"]?.string != "declined", Date() < deadline {
        Thread.sleep(forTimeInterval: 0.1)
      }
      #expect(texts(try list(again.client())) == Self.states, "\(sql)")
    }
  }

  @Test func `the command lists and shows what the route answers`() throws {
    let (installation, daemon) = try served()
    let listed = try installation.run("refunds", "list")
    #expect(listed.code == 0 && listed.output.contains("4 requests"), "\(listed)")
    #expect(listed.output.contains("waiting (family_shared)"))
    let json = try installation.run("refunds", "list", "--state", "missed", "--json").output
    #expect(texts([try JSONDocument(parsing: Array(json.utf8)).root]) == [Self.states[0]])
    let shown = try installation.run("refunds", "show", "70021", "--json").output
    let answered = try #require(daemon.client().get("/v1/refund-requests/70021"))
    #expect(try JSONDocument(parsing: Array(shown.utf8)).root.value == answered.json?.value)
    #expect(try installation.run("refunds", "show", "1").code == 1)
    #expect(try installation.run("refunds").code == 2)
  }
  @Test func `the newest come first, and what would be done is told of those that wait`() throws {
    let (installation, daemon) = try served()
    let newest = try list(daemon.client(), "?order=newest&limit=3")
    #expect(texts(newest) == Array(Self.states.reversed().prefix(3)))
    let before = daemon.client().get("/v1/refund-requests?order=newest&limit=3")?.json?["next_page"]
    let rest = try list(daemon.client(), "?order=newest&after=\(before?.string ?? "")")
    #expect(texts(rest) == [Self.states[0]])
    let all = try list(daemon.client(), "?include=outlook")
    #expect(all.map { $0["outlook"]?["action"]?.string } == [nil, nil, "withhold", "none"])
    #expect(all[2]["outlook"]?["withheld"]?.string == "family_shared")
    #expect(all[3]["outlook"]?["customer_consented"]?.value == .null)
    #expect(all[3]["outlook"]?["refunds_before"]?.integer == 0)
    #expect(try daemon.stop().code == 0 && installation.run("verify").code == 0)
  }

  @Test func `metrics and overview count requests, and outcomes by whose answer Apple took`() throws
  {
    let (installation, daemon) = try served()
    func metrics() -> MetricsText { MetricsText(daemon.client().get("/metrics")?.text ?? "") }
    let waiting = ["state": "waiting"]
    try daemon.command.wait(30, "the count") {
      metrics().value("subledger_refund_requests", waiting) == 2
    }
    #expect(metrics().value("subledger_refund_requests", ["state": "answered"]) == 0)
    #expect(metrics().value("subledger_refund_requests", ["state": "missed"]) == 1)
    for outcome in ["declined", "refunded"] {
      let labels = ["policy": "none", "outcome": outcome]
      #expect(metrics().value("subledger_refund_outcomes", labels) == 1, "\(outcome)")
    }
    #expect(metrics().value("subledger_refund_deadline_seconds") == 0)
    let counted = daemon.client().get("/v1/overview")?.json?["refund_requests"]?.elements ?? []
    #expect(
      counted.compactMap { $0["state"]?.string } == ["closed", "missed", "waiting"])
    #expect(counted.last?["count"]?.integer == 2)
    try installation.extendConfiguration([("refunds", .object([("policies", .array([]))]))])
    try daemon.reload()
    try daemon.command.wait(30, "the deadline") {
      (9 * 3600...10 * 3600).contains(metrics().value("subledger_refund_deadline_seconds") ?? 0)
    }
  }

  @Test func `explain and history say what was asked for and how it ended`() throws {
    let (installation, _) = try served()
    func words(_ arguments: String...) throws -> String {
      try installation.run(arguments).output.split { $0.isWhitespace }.joined(separator: " ")
    }
    let explained = try words("explain", "7001")
    #expect(explained.contains("A refund of 70011 was asked for (LEGAL), and Apple waited until"))
    #expect(explained.contains("it was told nothing that it took; Apple declined."))
    let told = try words("history", "7002")
    #expect(told.contains("a refund of 70021 was asked for"), "\(told)")
    #expect(told.contains("it decided before it was told anything; Apple refunded it"), "\(told)")
  }

  @Test func `the command refuses a share that is none, and says who builds the rows`() throws {
    let installation = try Installation()
    let answer = ["refunds", "answer", "70041", "--consented", "yes", "--consumed", "100001"]
    let refused = try installation.run(answer)
    #expect(refused.code == 2 && refused.errors.contains("from 0 to 100000"), "\(refused)")
    let signed = try Self.events.map(installation.sign)
    #expect(try installation.run("ingest", try installation.file("asked", signed)).code == 0)
    for name in try FileManager.default.contentsOfDirectory(atPath: installation.data.path)
    where name.hasPrefix("entitlements") {
      try FileManager.default.removeItem(at: installation.data.appending(path: name))
    }
    let absent = try installation.run("refunds", "list")
    #expect(absent.code != 0 && absent.errors.contains("start `subledger serve`"), "\(absent)")
  }
}
