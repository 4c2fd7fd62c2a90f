import Foundation
import StrictJSON
import Support
import Testing

/// `/v1/overview`, `/v1/quarantine` and `/v1/rebuild`: the counts, and which token may see them.
@Suite struct OverviewTests {
  private static let hour: Int64 = 3_600_000

  private func overview(
    _ client: Client, _ query: String = "", token: String = Installation.token
  ) throws -> JSONElement {
    let end = Date(timeIntervalSinceNow: 60)
    while true {
      let answer = try #require(client.get("/v1/overview\(query)", token: token))
      let json = try #require(answer.json, "\(answer.text)")
      let isComplete = json["counted_from"]?.integer == json["from"]?.integer
      if answer.status == 200, isComplete, json["rows"]?.kind == .object { return json }
      guard Date() < end else { throw TestFailure("never counted: \(answer.text)") }
      usleep(20_000)
    }
  }

  /// The count of notifications with an outcome and a type, over all hours.
  private func sum(
    _ overview: JSONElement, _ outcome: String, _ type: String? = nil
  ) -> Int64 {
    (overview["notifications"]?.elements ?? []).filter { item in
      item["outcome"]?.string == outcome
        && (type == nil || item["notification_type"]?.string == type)
    }.reduce(0) { $0 + ($1["count"]?.integer ?? 0) }
  }

  private func statuses(_ overview: JSONElement) -> [String: Int64] {
    let items = overview["rows"]?["by_status"]?.elements ?? []
    let pairs = items.map { ($0["status"]?.string ?? "", $0["count"]?.integer ?? 0) }
    return Dictionary(pairs, uniquingKeysWith: +)
  }

  /// Ingests events with receive times over several days, which the file gives.
  private func ingest(_ installation: Installation, now: Int64) throws {
    let ages: [(Int64, String, String)] = [
      (200, "6001", "DID_RENEW"), (100, "6002", "DID_RENEW"), (30, "6003", "REFUND"),
      (5, "6004", "SUBSCRIBED"), (5, "6005", "SUBSCRIBED"), (0, "6006", "DID_RENEW"),
    ]
    let lines = try ages.enumerated().map { number, event in
      let body = try installation.sign(
        Sample.notification(number, otid: event.1, type: event.2))
      let time = now - event.0 * Self.hour
      return Array("{\"received_at_ms\":\(time),\"body\":".utf8) + body + Array("}".utf8)
    }
    let finished = try installation.run("ingest", try installation.file("lines", lines))
    #expect(finished.code == 0, "\(finished)")
  }

  @Test func `notifications are counted by hour, type and outcome`() throws {
    let installation = try Installation()
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    try ingest(installation, now: now)
    let daemon = try installation.start()
    let client = daemon.client()
    let day = try overview(client)
    #expect(sum(day, "accepted") == 3 && sum(day, "accepted", "SUBSCRIBED") == 2)
    #expect(day["through_seq"]?.integer == 6 && day["hours"]?.integer == 24)
    #expect(sum(try overview(client, "?hours=1"), "accepted") == 1)
    #expect(sum(try overview(client, "?hours=48"), "accepted") == 4)
    #expect(sum(try overview(client, "?hours=168"), "accepted") == 5)
    // Every `hour` is the beginning of an hour in the time that was asked for.
    let from = try #require(day["from"]?.integer)
    let hours = (day["notifications"]?.elements ?? []).compactMap { $0["hour"]?.integer }
    #expect(hours.allSatisfy { $0 % Self.hour == 0 && $0 >= from && $0 <= now + Self.hour })

    // Later notifications are added to the counts; those that make no event are counted too.
    #expect(
      client.post(try installation.sign(Sample.notification(20, otid: "6020")))?.status == 200)
    #expect(
      client.post(try installation.sign(Sample.notification(20, otid: "6020")))?.status == 200)
    #expect(client.post(Array("{}".utf8))?.status == 400)
    #expect(client.post(try Installation().sign(Sample.notification(21)))?.status == 401)
    let foreign = Sample.notification(22, bundleId: "com.example.foreign")
    #expect(client.post(try installation.sign(foreign))?.status == 422)
    let after = try overview(client, "?hours=2")
    #expect(sum(after, "accepted") == 2 && sum(after, "duplicate", "DID_RENEW") == 1)
    #expect(sum(after, "refused") == 2)
    #expect(after["through_seq"]?.integer == 7)
    let last = after["apps"]?.elements.first { $0["environment"]?.string == "Production" }
    #expect(last?["last_event"]?["seq"]?.integer == 7)
    #expect(last?["configured"]?.boolean == true)
    let sandbox = after["apps"]?.elements.first { $0["environment"]?.string == "Sandbox" }
    #expect(sandbox?["last_event"]?.kind == .null)
  }

  /// Quarantine is counted again after a pause, not for each question.
  @Test func `quarantine is counted by reason and listed newest first`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    for number in 0..<5 {
      let foreign = Sample.notification(number).setting("data.appAppleId", .integer(4))
      #expect(client.post(try installation.sign(foreign))?.status == 422)
    }
    let foreign = Sample.notification(7, bundleId: "com.example.foreign")
    #expect(client.post(try installation.sign(foreign))?.status == 422)
    var seen: JSONElement?
    try daemon.command.wait(20, "the count of the quarantine") {
      seen = try overview(client)["quarantine"]
      return seen?["count"]?.integer == 6
    }
    #expect(seen?["only_counted"]?.integer == 0)
    let reasons = (seen?["by_reason"]?.elements ?? []).map { item in
      "\(item["reason"]?.string ?? "") \(item["count"]?.integer ?? 0)"
    }
    #expect(reasons == ["other_app_apple_id 5", "other_app 1"])
    var ids: [Int64] = []
    var page = ""
    repeat {
      let answer = try #require(client.get("/v1/quarantine?limit=2\(page)")?.json)
      ids += (answer["items"]?.elements ?? []).compactMap { $0["id"]?.integer }
      page = answer["next_page"]?.string.map { "&after=\($0)" } ?? ""
    } while page != "" && ids.count < 20
    #expect(ids == [6, 5, 4, 3, 2, 1])
    // Another app's token sees no entry and no count.
    let other = try overview(client, token: Installation.otherAppsToken)
    #expect(other["quarantine"]?["count"]?.integer == 0)
    #expect(other["quarantine"]?["only_counted"]?.kind == .null)
    let none = client.get("/v1/quarantine", token: Installation.otherAppsToken)?.json
    #expect(none?["items"]?.elements.isEmpty == true)
  }

  @Test func `a token only sees counts of its own apps and environments`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    for number in 0..<3 {
      let body = try installation.sign(Sample.notification(number, otid: "61\(number)"))
      #expect(client.post(body)?.status == 200)
      #expect(client.post(body)?.status == 200)
    }
    let sandbox = Sample.notification(9, otid: "6109", environment: "Sandbox")
    #expect(client.post(try installation.sign(sandbox))?.status == 200)
    #expect(client.post(Array("{}".utf8))?.status == 400)
    let all = try overview(client)
    #expect(sum(all, "accepted") == 4 && sum(all, "duplicate") == 3 && sum(all, "refused") == 1)
    let narrow = try overview(client, token: Installation.sandboxToken)
    #expect(sum(narrow, "accepted") == 1 && sum(narrow, "duplicate") == 0)
    #expect(sum(narrow, "refused") == 0, "a refused notification belongs to no environment")
    #expect(narrow["apps"]?.elements.count == 1)
    let none = try overview(client, token: Installation.otherAppsToken)
    #expect(sum(none, "accepted") == 0 && none["rows"]?["total"]?.integer == 0)
    #expect(none["apps"]?.elements.isEmpty == true)
    let asked = try overview(client, "?environment=Sandbox&bundle_id=com.example.app")
    #expect(sum(asked, "accepted") == 1 && asked["rows"]?["total"]?.integer == 1)
  }

  @Test func `counts by status equal the lists by status`() throws {
    let installation = try Installation()
    try installation.live(customers: 60, days: 300)
    let daemon = try installation.start()
    let client = daemon.client()
    let counted = statuses(try overview(client))
    var listed: [String: Int64] = [:]
    for status in ["active", "grace_period", "billing_retry", "expired", "revoked"] {
      let page = try #require(client.get("/v1/entitlements?limit=500&status=\(status)")?.json)
      let number = page["items"]?.elements.count ?? 0
      if number > 0 { listed[status] = Int64(number) }
    }
    #expect(counted == listed && counted.count > 1)
    #expect(counted.values.reduce(0, +) == (try overview(client))["rows"]?["total"]?.integer)
  }

  /// The last events are 300 and 900 hours old; only the last 168 hours are counted.
  @Test func `apps without recent events are shown with their last event`() throws {
    let installation = try Installation()
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    let lines = try [("Sandbox", 900), ("Production", 300)].enumerated().map { number, item in
      let body = try installation.sign(
        Sample.notification(number, otid: "63\(number)", environment: item.0))
      let time = now - Int64(item.1) * Self.hour
      return Array("{\"received_at_ms\":\(time),\"body\":".utf8) + body + Array("}".utf8)
    }
    #expect(try installation.run("ingest", try installation.file("old", lines)).code == 0)
    let daemon = try installation.start()
    let seen = try overview(daemon.client(), "?hours=1")
    #expect(sum(seen, "accepted") == 0)
    let seqs = (seen["apps"]?.elements ?? []).map { $0["last_event"]?["seq"]?.integer }
    #expect(seqs == [2, 1])
  }

  @Test func `an app without a key is one that Apple is not asked about`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let recovery = try #require(daemon.client().get("/v1/overview")?.json?["recovery"])
    let apps = recovery["apps"]?.elements ?? []
    #expect(apps.map { $0["environment"]?.string } == ["Production", "Sandbox"])
    #expect(apps.allSatisfy { $0["recover"]?.string == "no_key" })
    #expect(apps.allSatisfy { $0["last_recovery"]?.kind == .null })
    #expect(recovery["next_at"]?.kind == .null && recovery["recovered_at"]?.kind == .null)
    let other = daemon.client().get("/v1/overview", token: Installation.otherAppsToken)?.json
    #expect(other?["recovery"]?["apps"]?.elements.isEmpty == true)
  }

  @Test func `the last comparison is stored and served`() throws {
    let installation = try Installation.renewing(4)
    let daemon = try installation.start()
    let client = daemon.client()
    #expect(client.get("/v1/rebuild")?.status == 404)
    #expect(try daemon.stop().code == 0)
    try installation.executeInProjection(
      "DELETE FROM entitlement WHERE original_transaction_id = '70002'")
    let at = Sample.start + 3 * Sample.day
    let found = try installation.run("rebuild", "--diff", "--json", "--at", "\(at)")
    #expect(found.code == 1, "\(found)")
    let again = try installation.start()
    let stored = try #require(again.client().get("/v1/rebuild")?.json)
    let printed = try #require(try found.lines().last)
    for (name, value) in printed.members {
      #expect(stored[name]?.text == value.text, "\(name)")
    }
    #expect(stored["added"]?.integer == 1 && stored["gain_access"]?.integer == 1)
    let samples = stored["samples"]?.elements ?? []
    #expect(samples.map { $0["original_transaction_id"]?.string } == ["70002"])
    let other = again.client().get("/v1/rebuild", token: Installation.sandboxToken)?.json
    #expect(other?["equal"]?.integer == 0 && other?["samples"]?.elements.isEmpty == true)
    // The seq counts the events of all apps.
    #expect(stored["through_seq"]?.integer != nil && other?["through_seq"]?.kind == .null)
    // A damaged file is treated as missing.
    try Data("{".utf8).write(to: installation.data.appending(path: "comparison.json"))
    #expect(again.client().get("/v1/rebuild")?.status == 404)
  }
}
