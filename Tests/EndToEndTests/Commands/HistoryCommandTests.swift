import Foundation
import Store
import StrictJSON
import Support
import Testing

/// One customer's timeline, as text, as JSON and over HTTP.
@Suite struct HistoryCommandTests {
  private func ingest(_ installation: Installation, _ lines: [[UInt8]], receivedAt: [Int64] = [])
    throws
  {
    let times = receivedAt.map(Optional.some) + Array(repeating: nil, count: lines.count)
    let lines = zip(lines, times).map { line, time in
      guard let time else { return line }
      return Array("{\"received_at_ms\":\(time),\"body\":".utf8) + line + Array("}".utf8)
    }
    let finished = try installation.run("ingest", try installation.file("lines", lines))
    #expect(finished.code == 0, "\(finished)")
  }

  private func history(_ installation: Installation, _ arguments: String...) throws -> CommandResult
  {
    try installation.launch(["history", "--config", installation.config.path] + arguments).finish()
  }

  /// A purchase, a renewal, a refund with a price, and a cancellation that arrived late.
  private func timeline() throws -> Installation {
    let installation = try Installation()
    let refund = Sample.notification(90, type: "REFUND")
      .setting("data.transaction.transactionId", .string("70005"))
      .setting("data.transaction.purchaseDate", .integer(Sample.start + 5 * 60_000))
      .setting(
        "data.transaction.expiresDate", .integer(Sample.start + 5 * 60_000 + 30 * Sample.day)
      )
      .setting("data.transaction.revocationDate", .integer(Sample.start + 80 * 60_000))
      .setting("data.transaction.revocationPercentage", .integer(67932))
      .setting("data.transaction.price", .integer(9990))
      .setting("data.transaction.currency", .string("DKK"))
    let off = Sample.notification(3, type: "DID_CHANGE_RENEWAL_STATUS")
      .setting("subtype", .string("AUTO_RENEW_DISABLED"))
      .setting("data.renewalInfo.autoRenewStatus", .integer(0))
    let all = [
      Sample.notification(1, type: "SUBSCRIBED").setting("subtype", .string("INITIAL_BUY")),
      Sample.notification(5), refund, off,
    ]
    try ingest(
      installation, try all.map(installation.sign),
      receivedAt: (0..<4).map { Sample.start + Int64($0) * 1000 })
    return installation
  }

  @Test func `the text shows each event with its changes`() throws {
    let installation = try timeline()
    let shown = try history(installation, "7000")
    #expect(shown.code == 0)
    let blocks = shown.output.components(separatedBy: "\n\n")
    #expect(blocks[0].hasPrefix("Production  com.example.app  7000\n4 events"), "\(shown)")
    #expect(
      blocks[1].hasPrefix(
        "#1  2026-01-01T00:01:00Z  subscribed for the first time  (SUBSCRIBED / INITIAL_BUY)\n"))
    #expect(blocks[1].contains("\n    received 2026-01-01T00:00:00Z\n"))
    // Names, and values from one column on.
    #expect(blocks[1].contains(#/\n    status +– → active\n/#))
    #expect(blocks[1].contains(#/\n    gives_access +– → yes\n/#))
    #expect(blocks[1].contains(#/\n    expires_at +– → 2026-01-31T00:01:00Z\n/#))
    let columns = blocks[1].matches(of: #/(?m)^( +[a-z_]+ +)– → /#).map { $0.1.count }
    #expect(columns.count > 5 && Set(columns).count == 1, "\(blocks[1])")
    #expect(blocks[2].hasPrefix("#2  2026-01-01T00:05:00Z  renewed  (DID_RENEW)\n"))
    #expect(blocks[2].contains("\n    expires_at      2026-01-31T00:01:00Z → 2026-01-31T00:05:00Z"))
    #expect(
      blocks[3].hasPrefix("#3  2026-01-01T01:30:00Z  refunded, 67.932 % of the price  (REFUND)\n"))
    #expect(
      blocks[3].contains(
        "    transaction 70005, 9.99 DKK, revoked as of 2026-01-01T01:20:00Z, 67.932 %\n"))
    #expect(blocks[3].contains("– → 9.99 DKK"))
    #expect(blocks[4].hasPrefix("#4  2026-01-01T00:03:00Z  auto-renewal turned off"))
    #expect(
      blocks[4].contains("\n    late: an event signed 1 h 27 min later was received before it\n"))
    #expect(
      blocks[4].contains("\n    changed nothing: events signed later, received before it, had told")
    )
    #expect(
      blocks[5].hasPrefix(
        "    2026-01-31T01:30:00Z  period ended: access yes → no\n    status  active → expired"))
    let lines = try history(installation, "7000", "--json").lines().withoutTransitions
    #expect(lines.map { $0["late_by"]?.integer } == [nil, nil, nil, Int64(87 * 60_000)])
    #expect(lines[0]["words"]?.string == "subscribed for the first time")
    #expect(lines[0]["changes"]?["expires_at"]?["after"]?.integer != nil)
    #expect(lines[3]["late"]?.boolean == true && lines[2]["money"]?["price"]?.integer == 9990)
    #expect(lines.allSatisfy { $0["redeliveries"]?.kind == .null && $0["payload"] == nil })
  }

  @Test func `since and limit show the newest entries, by the date in their first line`() throws {
    let installation = try timeline()
    func dates(_ arguments: String...) throws -> [String] {
      let shown = try installation.launch(
        ["history", "7000", "--config", installation.config.path] + arguments
      ).finish()
      #expect(shown.code == 0, "\(shown)")
      return shown.output.matches(of: #/(?m)^(?:#\d)? +(2026\S+)  /#).map { String($0.1) }
    }
    let all = [
      "2026-01-01T00:01:00Z", "2026-01-01T00:05:00Z", "2026-01-01T01:30:00Z",
      "2026-01-01T00:03:00Z", "2026-01-31T01:30:00Z",
    ]
    #expect(try dates() == all)
    #expect(try dates("--limit", "2") == Array(all.suffix(2)))
    #expect(try dates("--by", "signed") == all.sorted())
    #expect(try dates("--by", "signed", "--limit", "2") == Array(all.sorted().suffix(2)))
    let sorted = try history(installation, "7000", "--by", "signed").output
    #expect(sorted.contains("4 events, by date; times are UTC\n"), "\(sorted)")
    #expect(try history(installation, "7000", "--by", "name").code == 2)
    #expect(try dates("--since", "2026-01-01T00:05:00Z") == [all[1], all[2], all[4]])
    #expect(try dates("--since", "2026-01-01T00:05:00Z", "--limit", "1") == [all[4]])
    #expect(try history(installation, "7000", "--limit", "2", "--json").lines().count == 2)
    let cut = try history(installation, "7000", "--limit", "2").output
    #expect(cut.contains("4 events, as received; times are UTC; 2 of 5 entries shown\n"), "\(cut)")
    #expect(try history(installation, "7000", "--limit", "0").code == 2)
    #expect(try history(installation, "7000", "--since", "soon").code == 2)
  }

  @Test func `explain shows what decided each field, and takes since and limit`() throws {
    let installation = try timeline()
    func explained(_ arguments: String...) throws -> String {
      let shown = try installation.launch(
        ["explain", "7000", "--config", installation.config.path] + arguments
      ).finish()
      #expect(shown.code == 0, "\(shown)")
      return shown.output
    }
    let now = try explained("--as-of", "2026-03-01")
    #expect(now.contains(#/(?m)^status +expired +by time alone, 2026-01-31T01:30:00Z/#), "\(now)")
    #expect(now.contains("\n    after #3, signed 2026-01-01T01:30:00Z, received "), "\(now)")
    #expect(now.contains(#/(?m)^auto_renew +yes +by #3  /#), "\(now)")
    let newest = try explained("--as-of", "2026-03-01", "--limit", "1")
    #expect(newest.contains("\nstatus ") && !newest.contains("\ntransaction_id "), "\(newest)")
    let since = try explained("--as-of", "2026-03-01", "--since", "2026-01-31")
    #expect(since == newest)
    #expect(!(try explained("--as-of", "2026-01-01T02:00:00Z").contains("by time alone")))
  }

  @Test func `an event that was not posted shows how it arrived`() throws {
    let installation = try Installation()
    func line(_ number: Int, _ members: String) throws -> [UInt8] {
      Array("{\(members),\"body\":".utf8)
        + (try installation.sign(Sample.notification(number))) + Array("}".utf8)
    }
    try ingest(
      installation,
      [
        try line(3, #""received_at_ms":\#(Sample.start),"arrival":"import""#),
        try installation.sign(Sample.notification(1)), try line(2, #""arrival":"history""#),
        try line(2, #""arrival":"asked""#),
      ])
    let refused = try installation.file("bad", [try line(4, #""arrival":"found""#)])
    #expect(try installation.run("ingest", refused).errors.contains("refused: arrival"))
    let lines = try history(installation, "7000", "--json").lines().withoutTransitions
    #expect(lines.compactMap { $0["arrival"]?.string } == ["import", "posted", "history"])
    let shown = try history(installation, "7000").output
    #expect(
      shown.contains(", from Apple's history\n")
        && shown.contains(", by import\n"), "\(shown)")
  }

  @Test func `the text names offers and revocations, and shows unknown ones as they are`() throws {
    let installation = try Installation()
    func sent(_ number: Int, offer: Int64, revoked: String) -> JSONValue {
      let ended = Sample.start + Int64(number) * 60_000
      return Sample.notification(number, type: "REVOKE")
        .setting("data.transaction.inAppOwnershipType", .string("ASSIGNED"))
        .setting("data.transaction.offerType", .integer(offer))
        .setting("data.transaction.revocationDate", .integer(ended))
        .setting("data.transaction.revocationType", .string(revoked))
    }
    let all = [
      sent(1, offer: 5, revoked: "ASSIGNMENT_REVOKE"), sent(2, offer: 9, revoked: "LEASE_REVOKE"),
    ]
    try ingest(installation, try all.map(installation.sign))
    let shown = try history(installation, "7000").output
    #expect(shown.contains("  assigned seat withdrawn  (REVOKE)\n"))
    #expect(shown.contains("transaction 70001, offer 5, revoked as of"))
    #expect(shown.contains("ASSIGNMENT_REVOKE (assigned seat\n      withdrawn)\n"))
    #expect(shown.contains(#/ownership +– → ASSIGNED/#))
    #expect(
      shown.contains("transaction 70002, offer 9, revoked as of 2026-01-01T00:02:00Z, LEASE_"))
  }

  /// No line is wider than 100 columns or has a character that controls the terminal.
  @Test func `hostile data stays within 100 columns and has no control characters`() throws {
    let installation = try Installation()
    let wide = String(repeating: "産品", count: 90)
    let long = String(repeating: "very.long.product.", count: 40)
    let bad =
      "\u{1B}[2J\r\n\u{202E}evil\u{2066}" + String(repeating: "e\u{301}\u{302}\u{303}", count: 9)
    let id = String(repeating: "9", count: 128)
    let all = [
      Sample.notification(1, otid: id).setting("data.transaction.productId", .string(long)),
      Sample.notification(2, otid: id, type: String(repeating: "X", count: 300) + bad)
        .setting("data.transaction.productId", .string(wide + bad))
        .setting("data.transaction.offerType", .integer(3))
        .setting("data.transaction.offerIdentifier", .string(bad + wide)),
      Sample.notification(3, otid: id).setting("subtype", .string(bad)),
    ]
    try ingest(installation, try all.map(installation.sign))
    for arguments in [[id], [id, "--raw"]] {
      let shown = try installation.launch(
        ["history", "--config", installation.config.path] + arguments
      ).finish()
      #expect(shown.code == 0 && shown.output.contains("<U+202E>"))
      for line in shown.output.split(separator: "\n") {
        let columns = line.unicodeScalars.reduce(0) {
          $0 + ((0x3000...0x9FFF).contains($1.value) ? 2 : 1)
        }
        #expect(columns <= 100, "\(columns): \(line)")
        #expect(
          line.unicodeScalars.allSatisfy {
            $0.properties.generalCategory != .control && $0.properties.generalCategory != .format
          })
      }
      // No text is left out.
      let joined = shown.output.filter { $0 != "\n" && $0 != " " }
      #expect(joined.contains(long) && joined.contains(wide) && joined.contains(id))
    }
  }

  // MARK: Duplicates

  private func redeliveries(_ client: Client, _ count: Int64) throws -> JSONElement {
    for _ in 0..<2400 {
      let answer = client.get("/v1/entitlements/7000/history")?.json
      let found = answer?["items"]?.elements.first?["redeliveries"]
      if let found, found["count"]?.integer ?? 0 >= count { return found }
      usleep(25_000)
    }
    throw TestFailure("no \(count) redeliveries")
  }

  @Test func `redeliveries are counted`() throws {
    let installation = try Installation()
    let body = try installation.sign(Sample.notification(1))
    let daemon = try installation.start()
    let client = daemon.client()
    let begun = Int64(Date().timeIntervalSince1970 * 1000)
    for number in 0..<4 {
      let answer = try #require(client.post(body)?.json)
      #expect(answer["outcome"]?.string == (number == 0 ? "accepted" : "duplicate"))
    }
    // Written without a further event, after a second.
    let found = try redeliveries(client, 3)
    let times = [found["first_at"]?.integer ?? 0, found["last_at"]?.integer ?? 0]
    #expect(found["count"]?.integer == 3 && times == times.sorted() && times[0] >= begun)
    // Written with the next event, or at the end.
    #expect(client.post(body)?.status == 200)
    #expect(client.post(try installation.sign(Sample.notification(2)))?.status == 200)
    #expect(client.post(body)?.status == 200)
    #expect(try daemon.stop().code == 0)
    let lines = try history(installation, "7000", "--json").lines().withoutTransitions
    #expect(lines.map { $0["redeliveries"]?["count"]?.integer } == [5, nil])
    // Without the daemon, with the receive times of a file.
    let before = try installation.verify()
    let timed = Array("{\"received_at_ms\":\(Sample.start),\"body\":".utf8) + body + Array("}".utf8)
    #expect(try installation.run("ingest", try installation.file("again", [timed])).code == 0)
    let last = try history(installation, "7000", "--json").lines()
    #expect(last[0]["redeliveries"]?["count"]?.integer == 6)
    #expect(last[0]["redeliveries"]?["first_at"]?.integer == Sample.start)
    #expect(
      try history(installation, "7000").output.contains(
        "    delivered again 6 times, first 2026-01-01"))
    // Redeliveries after `known_at` are not counted.
    let known = try history(installation, "7000", "--json", "--known-at", "\(Sample.start - 1)")
    #expect(try known.code == 0 && known.lines().isEmpty)
    let after = try installation.verify()
    #expect(after.code == 0)
    #expect(after.report["digest"]?.string == before.report["digest"]?.string)
  }

  // MARK: Quarantine

  @Test func `quarantined notifications are shown where the token covers them`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    #expect(client.post(try installation.sign(Sample.notification(1)))?.status == 200)
    let strange = Sample.notification(2, bundleId: "com.example.other")
    #expect(client.post(try installation.sign(strange))?.status == 422)
    #expect(client.post(try installation.sign(Sample.notification(3)))?.status == 200)
    let otherId = Sample.notification(4, otid: "8000", bundleId: "com.example.other")
    #expect(client.post(try installation.sign(otherId))?.status == 422)
    let path = "/v1/entitlements/7000/history"
    let items = try #require(client.get(path)?.json?["items"]).elements.withoutTransitions
    #expect(items.map { $0["object"]?.string } == ["event", "quarantined", "event"])
    #expect(items[1]["reason"]?.string == "other_app" && items[1]["id"]?.integer == 1)
    // A token of another app sees only what is of that app; a token of neither sees nothing.
    let theirs = try #require(client.get(path, token: Installation.otherAppsToken)?.json)
    #expect(theirs["items"]?.elements.map { $0["object"]?.string } == ["quarantined"])
    #expect(client.get(path, token: Installation.sandboxToken)?.status == 404)
    #expect(client.get(path + "?environment=Sandbox")?.status == 404)
    let only = client.get(path + "?bundle_id=com.example.app")?.json?.events
    #expect(only?.count == 2)
    let shown = try history(installation, "7000").output
    #expect(shown.contains("2 events, 1 in quarantine"))
    #expect(shown.contains("\n\n    2026-01-01T00:02:00Z  in quarantine: other_app  (DID_RENEW)\n"))
    #expect(shown.contains("\n    of Production, com.example.other\n"))
    #expect(shown.contains("subledger quarantine admit 1\n"))
    let raw = try history(installation, "7000", "--raw", "--json").lines()
    #expect(
      raw[1]["payload"]?["data"]?["signedTransactionInfo"]?["transactionId"]?.string == "70002")
    #expect(try history(installation, "8000").output.hasPrefix("Production  com.example.other"))
    try daemon.stop()
  }

  /// Any developer can send genuine notifications that name this customer.
  @Test func `at most a hundred quarantined notifications are shown`() throws {
    let installation = try Installation()
    var bodies = try (1...101).map { number in
      try installation.sign(Sample.notification(number, bundleId: "com.example.other"))
    }
    bodies.append(
      try installation.sign(
        Sample.notification(102).setting("data.appAppleId", .integer(1))))
    let file = try installation.file("all", bodies)
    #expect(try installation.run("ingest", "--skip-bad", file).code == 1)
    let shown = try history(installation, "7000").output
    #expect(shown.contains("\n0 events, 100 or more in quarantine"))
    #expect(shown.contains("in quarantine: other_app_apple_id"))
    #expect(shown.hasSuffix("see: subledger quarantine list\n"))
    let daemon = try installation.start()
    let client = daemon.client()
    let path = "/v1/entitlements/7000/history"
    let all = try #require(client.get(path)?.json)
    #expect(all["items"]?.elements.count == 100 && all["more_quarantined"]?.boolean == true)
    // A token that does not cover all of them is not told that there are more.
    let theirs = try #require(client.get(path, token: Installation.otherAppsToken)?.json)
    #expect(theirs["items"]?.elements.count == 100)
    #expect(theirs["more_quarantined"]?.boolean == false)
    try daemon.stop()
  }

  /// A folder of schema 1 is read without a migration; the daemon migrates it at its start.
  @Test func `a folder of an older version is read and then migrated`() throws {
    let installation = try Installation()
    let bodies = try [
      Sample.notification(1), Sample.notification(2, bundleId: "com.example.other"),
    ].map(installation.sign)
    let file = try installation.file("all", bodies)
    #expect(try installation.run("ingest", "--skip-bad", file).code == 1)
    try OlderSchema.restore(DataFolder(path: installation.data.path))
    let before = try installation.files()["journal.sqlite"]
    #expect(try history(installation, "7000", "--json").lines().withoutTransitions.count == 1)
    #expect(try installation.verify().code == 0)
    #expect(try installation.files()["journal.sqlite"] == before)
    #expect(try installation.files()["journal.sqlite-wal"] == nil)
    let daemon = try installation.start()
    let client = daemon.client()
    var found = 0
    for _ in 0..<2400 where found < 2 {
      found =
        client.get("/v1/entitlements/7000/history")?.json?["items"]?.elements.withoutTransitions
        .count ?? 0
      usleep(25_000)
    }
    #expect(found == 2)
    #expect(client.post(bodies[0])?.status == 200)
    #expect(try daemon.stop().code == 0)
    let lines = try history(installation, "7000", "--json").lines().withoutTransitions
    #expect(lines.map { $0["redeliveries"]?["count"]?.integer } == [1, nil])
    #expect(try installation.verify().code == 0)
  }

  // MARK: Payloads

  @Test func `raw shows the members and values of Apple unchanged`() throws {
    let installation = try Installation()
    let big = "123456789012345678901234567890"
    let notification = Sample.notification(1)
      .setting("data.transaction.webOrderLineItemId", .number(big))
      .setting("data.renewalInfo.renewalPrice", .number("9007199254740993"))
      .setting("data.somethingNew", .array([.number("1.50"), .string("ä/\u{202E}")]))
    try ingest(installation, [try installation.sign(notification)])
    let line = try #require(try history(installation, "7000", "--raw", "--json").lines().first)
    let payload = try #require(line["payload"])
    #expect(payload["notificationUUID"]?.string == Sample.uuid(1))
    let transaction = try #require(payload["data"]?["signedTransactionInfo"])
    #expect(transaction["webOrderLineItemId"]?.number == big)
    #expect(transaction["productId"]?.string == "pro.monthly")
    #expect(
      payload["data"]?["signedRenewalInfo"]?["renewalPrice"]?.number == "9007199254740993")
    #expect(payload["data"]?["somethingNew"]?.value.text == "[1.50,\"ä/\u{202E}\"]")
    let shown = try history(installation, "7000", "--raw").output
    #expect(shown.contains("\"webOrderLineItemId\": \(big)"))
    #expect(shown.contains("<U+202E>") && !shown.contains("\u{202E}"))
    #expect(try !history(installation, "7000").output.contains("webOrderLineItemId"))
    let daemon = try installation.start()
    let client = daemon.client()
    let path = "/v1/entitlements/7000/history"
    let item = client.get(path + "?raw=true")?.json?["items"]?.elements.first
    #expect(item?.value.text == line.value.text)
    let plain = client.get(path + "?raw=false")?.json?["items"]?.elements.first
    #expect(plain?["seq"]?.integer == 1 && plain?["payload"] == nil)
    for value in ["", "1", "yes", "TRUE", "true&raw=true"] {
      #expect(client.get(path + "?raw=\(value)")?.status == 400, "\(value)")
    }
    #expect(client.get("/v1/entitlements/7000?raw=true")?.status == 400)
    #expect(client.get(path + "?raw=true", token: Installation.otherAppsToken)?.status == 404)
    try daemon.stop()
  }
}
