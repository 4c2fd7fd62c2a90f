import Foundation
import StrictJSON
import Support
import Testing

/// What the console's lists ask: newest events first, filters, quarantine in parts.
@Suite struct ConsoleRoutesTests {
  private struct Served {
    let installation: Installation
    let daemon: RunningDaemon
    var client: Client { daemon.client() }

    /// Six events: renewals and purchases of one app, the last one in Sandbox.
    init() throws {
      installation = try Installation()
      daemon = try installation.start()
      for number in 1...6 {
        let body = try installation.sign(
          Sample.notification(
            number, otid: "\(7_000 + number)", type: number % 2 == 0 ? "SUBSCRIBED" : "DID_RENEW",
            environment: number == 6 ? "Sandbox" : "Production"))
        #expect(client.post(body)?.status == 200)
      }
    }

    func page(_ query: String, token: String = Installation.token) throws -> JSONElement {
      let answer = try #require(client.get("/v1/events?\(query)", token: token))
      #expect(answer.status == 200, "\(query): \(answer.text)")
      return try #require(answer.json)
    }

    func seqs(_ query: String, token: String = Installation.token) throws -> [Int64] {
      try page(query, token: token)["items"]?.elements.compactMap { $0["seq"]?.integer } ?? []
    }
  }

  @Test func `the newest events come first, page by page, to the first one`() throws {
    let served = try Served()
    for limit in [1, 2, 4, 5, 6, 100] {
      var found: [Int64] = []
      var query = "order=newest&limit=\(limit)"
      while true {
        let page = try served.page(query)
        found += page["items"]?.elements.compactMap { $0["seq"]?.integer } ?? []
        guard page["has_more"]?.boolean == true, found.count < 20 else { break }
        query = "order=newest&limit=\(limit)&after=\(page["next_page"]?.string ?? "")"
      }
      #expect(found == [6, 5, 4, 3, 2, 1], "\(limit)")
    }
    #expect(try served.seqs("order=newest&type=DID_RENEW") == [5, 3, 1])
    let several = "order=newest&type=DID_RENEW,SUBSCRIBED&environment=Production"
    #expect(try served.seqs(several) == [5, 4, 3, 2, 1])
    #expect(try served.seqs("order=newest", token: Installation.sandboxToken) == [6])
    #expect(try served.seqs("order=newest", token: Installation.otherAppsToken).isEmpty)
    #expect(try served.seqs("source=transaction,renewal").isEmpty)
    #expect(try served.seqs("source=v2,v1").count == 6)
    let words = try served.page("limit=1")["items"]?.elements.first?["words"]?.string
    #expect(words == "renewed")
    for wrong in ["order=newest&wait=1", "order=old", "source=v3", "since=x", "until="] {
      #expect(served.client.get("/v1/events?\(wrong)")?.status == 400, "\(wrong)")
    }
    // An empty journal.
    let empty = try Installation()
    let daemon = try empty.start()
    let none = try #require(daemon.client().get("/v1/events?order=newest")?.json)
    #expect(none["items"]?.elements.isEmpty == true && none["has_more"]?.boolean == false)
  }

  @Test func `events are limited to a time of receiving in either order`() throws {
    let served = try Served()
    let times =
      try served.page("limit=100")["items"]?.elements
      .compactMap { $0["received_at"]?.integer } ?? []
    #expect(times.count == 6)
    for (since, until) in [(times[1], times[4]), (times[0], times[0] + 1), (times[5], Int64.max)] {
      let expected = (1...6).map(Int64.init).filter { seq in
        times[Int(seq) - 1] >= since && times[Int(seq) - 1] < until
      }
      let range = "since=\(since)" + (until == .max ? "" : "&until=\(until)")
      #expect(try served.seqs(range) == expected)
      #expect(try served.seqs("order=newest&\(range)") == expected.reversed())
      #expect(try served.page(range)["has_more"]?.boolean == false)
      #expect(try served.page("order=newest&\(range)")["has_more"]?.boolean == false)
    }
    #expect(try served.seqs("since=\(times[5] + 1_000)").isEmpty)
    #expect(try served.seqs("order=newest&since=\(times[5] + 1_000)").isEmpty)
    #expect(try served.seqs("order=newest&until=\(times[0])").isEmpty)
  }

  @Test func `quarantine is listed in parts, with payloads if asked`() throws {
    let served = try Served()
    for number in 10..<13 {
      let foreign = Sample.notification(number, bundleId: "com.example.foreign")
      #expect(served.client.post(try served.installation.sign(foreign))?.status == 422)
    }
    let other = Sample.notification(13).setting("data.appAppleId", .integer(4))
    #expect(served.client.post(try served.installation.sign(other))?.status == 422)
    func ids(_ query: String, token: String = Installation.token) throws -> [Int64] {
      let answer = try #require(served.client.get("/v1/quarantine?\(query)", token: token))
      #expect(answer.status == 200, "\(answer.text)")
      return answer.json?["items"]?.elements.compactMap { $0["id"]?.integer } ?? []
    }
    #expect(try ids("reason=other_app") == [3, 2, 1])
    #expect(try ids("reason=other_app&limit=2&after=3") == [2, 1])
    #expect(try ids("bundle_id=com.example.app") == [4])
    #expect(try ids("environment=Production").count == 4 && ids("environment=Sandbox").isEmpty)
    #expect(try ids("reason=none").isEmpty)
    #expect(try ids("raw=true", token: Installation.sandboxToken).isEmpty)
    let raw = served.client.get("/v1/quarantine?raw=true&limit=1")?.json?["items"]?.elements.first
    #expect(raw?["payload"]?["notificationUUID"]?.string == Sample.uuid(13))
    let plain = served.client.get("/v1/quarantine?limit=1")?.json?["items"]?.elements.first
    #expect(plain?["payload"] == nil && plain?["id"]?.integer == 4)
  }

  @Test func `subscriptions of several statuses are one list`() throws {
    let installation = try Installation()
    try installation.live(customers: 60, days: 300)
    let daemon = try installation.start()
    func ids(_ status: String) -> [String] {
      let list = daemon.client().get("/v1/entitlements?limit=500&status=\(status)")?.json
      return list?["items"]?.elements.compactMap { $0["original_transaction_id"]?.string } ?? []
    }
    let both = ids("active,expired")
    #expect(Set(both) == Set(ids("active") + ids("expired")) && both.count > 10)
    #expect(both.count == ids("active").count + ids("expired").count)
    for wrong in ["active,", ",active", "active,none"] {
      #expect(daemon.client().get("/v1/entitlements?status=\(wrong)")?.status == 400, "\(wrong)")
    }
  }

  /// Evidence is journaled, and is no notification.
  @Test func `evidence counts as evidence, and is no app's last notification`() throws {
    let installation = try Installation()
    try installation.configure(with: [
      (
        "readTokens",
        .array([
          Installation.token("backend", Installation.token, []),
          Installation.token(
            "app", Installation.otherAppsToken, [("may", .array([.string("submit")]))]),
        ])
      )
    ])
    // Older than all that is counted by hour.
    let old = Int64(Date().timeIntervalSince1970 * 1000) - 300 * 3_600_000
    let line =
      Array("{\"received_at_ms\":\(old),\"body\":".utf8)
      + (try installation.sign(Sample.notification(1))) + Array("}".utf8)
    #expect(try installation.run("ingest", try installation.file("old", [line])).code == 0)
    let daemon = try installation.start()
    let client = daemon.client()
    let signed = try installation.signedText(Sample.transaction(3, otid: "7001"))
    let body = JSONValue.object([("signedTransaction", signed)]).bytes
    let submitted = client.send(
      "POST /v1/transactions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        + "Authorization: Bearer \(Installation.otherAppsToken)\r\n"
        + "Content-Length: \(body.count)\r\n\r\n", body)
    #expect(submitted?.status == 200, "\(submitted?.text ?? "")")
    let before = try overview(client, throughSeq: 2)
    #expect(before.outcomes == ["evidence"])
    #expect(before.app("Production")?["last_event"]?["seq"]?.integer == 2)
    #expect(before.app("Production")?["last_notification"]?["seq"]?.integer == 1)
    #expect(before.app("Sandbox")?["last_notification"]?.kind == .null)
    #expect(client.post(try installation.sign(Sample.notification(5)))?.status == 200)
    let after = try overview(client, throughSeq: 3)
    #expect(Set(after.outcomes) == ["accepted", "evidence"])
    #expect(after.app("Production")?["last_notification"]?["seq"]?.integer == 3)
  }

  private struct OverviewOfApps {
    let json: JSONElement
    var outcomes: [String] {
      json["notifications"]?.elements.compactMap { $0["outcome"]?.string } ?? []
    }

    func app(_ environment: String) -> JSONElement? {
      json["apps"]?.elements.first { $0["environment"]?.string == environment }
    }
  }

  /// The overview once everything is counted.
  private func overview(_ client: Client, throughSeq seq: Int64) throws -> OverviewOfApps {
    let end = Date(timeIntervalSinceNow: 60 * RunningCommand.waitFactor)
    while true {
      let found = OverviewOfApps(json: try #require(client.get("/v1/overview")?.json))
      let isCounted =
        found.json["counted_from"]?.integer == found.json["from"]?.integer
        && found.json["through_seq"]?.integer == seq
        && found.app("Production")?["last_notification"]?.kind == .object
      if isCounted { return found }
      guard Date() < end else { throw TestFailure("never counted: \(found.json)") }
      usleep(20_000)
    }
  }

  @Test func `the root leads to the console`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let answer = try #require(daemon.client().get("/", token: nil))
    #expect(answer.status == 302 && answer.field("Location") == "/console")
    #expect(answer.field("Cache-Control") == "no-store" && answer.body.isEmpty)
    #expect(daemon.client().ask("POST", "/")?.field("Allow") == "GET, HEAD")
  }
}
