import Foundation
import StrictJSON
import Support
import Testing

/// What a token does not cover looks absent on every route that shows data: status, headers and
/// body are the same as for an id that does not exist.
@Suite struct ScopeTests {
  private static let account = "0a0b0c0d-0000-4000-8000-00000000cafe"
  private static let download = "7041234567"
  private static let alien = "com.example.alien"
  /// A token for the second app, in the Sandbox only.
  private static let narrow = "e2e-token-of-a-corner-4714"
  /// Tokens that do not cover the data.
  private static let tokens = [
    Installation.otherAppsToken, Installation.sandboxToken, narrow,
  ]

  /// 7000 of the first app in Production has two events; 7100 is only in quarantine.
  private func served() throws -> (Installation, RunningDaemon) {
    let installation = try Installation()
    try installation.configure(
      apps: [Installation.app(), Installation.app("com.example.other", id: 987_654_321)],
      with: [
        (
          "readTokens",
          .array([
            Installation.token("backend", Installation.token, []),
            Installation.token(
              "other", Installation.otherAppsToken,
              [("bundleIds", .array([.string("com.example.other")]))]),
            Installation.token(
              "sandbox", Installation.sandboxToken,
              [("environments", .array([.string("Sandbox")]))]),
            Installation.token(
              "narrow", Self.narrow,
              [
                ("bundleIds", .array([.string("com.example.other")])),
                ("environments", .array([.string("Sandbox")])),
              ]),
          ])
        )
      ])
    let daemon = try installation.start()
    let client = daemon.client()
    for number in 1...2 {
      let body = Sample.notification(number)
        .setting("data.transaction.appAccountToken", .string(Self.account))
        .setting("data.transaction.appTransactionId", .string(Self.download))
      #expect(client.post(try installation.sign(body))?.status == 200)
    }
    let quarantined = Sample.notification(3, otid: "7100", bundleId: Self.alien)
    #expect(client.post(try installation.sign(quarantined))?.status == 422)
    return (installation, daemon)
  }

  private static let queries = [
    "", "environment=Production", "environment=Sandbox", "bundle_id=com.example.app",
    "as_of=2026-01-01T00:01:30Z", "known_at=2039-01-01T00:00:00Z", "known_at=1",
    "as_of=1767225700000&known_at=2145916800000", "bundle_id=com.example.app&as_of=1",
  ]

  @Test func `purchases outside the scope take no place of those inside, and are not counted`()
    throws
  {
    let (installation, daemon) = try served()
    defer { withExtendedLifetime(installation) {} }
    let client = daemon.client()
    func post(_ number: Int, _ bundleId: String) throws {
      let body = Sample.notification(number, otid: "\(80_000 + number)", bundleId: bundleId)
        .setting("data.transaction.appAccountToken", .string(Self.account))
        .setting("data.transaction.appTransactionId", .string(Self.download))
        .setting(
          "data.appAppleId", .integer(bundleId == "com.example.app" ? 123_456_789 : 987_654_321))
      #expect(client.post(try installation.sign(body))?.status == 200)
    }
    // More than are read of one customer, all before the other app's in key order.
    for number in 100..<1_101 { try post(number, "com.example.app") }
    try post(2_000, "com.example.other")
    for (id, kind) in [(Self.account, "app_account_token"), (Self.download, "app_transaction_id")] {
      let path = "/v1/customers/\(id)?by=\(kind)"
      let narrow = client.get(path, token: Installation.otherAppsToken)?.json
      #expect(narrow?["known"]?.boolean == true, "\(kind)")
      #expect(narrow?["subscriptions"]?.elements.count == 1)
      #expect(narrow?["more_purchases"]?.boolean == false)
      #expect(client.get(path)?.json?["more_purchases"]?.boolean == true)
    }
    _ = try daemon.stop()
  }

  @Test func `a customer outside the scope looks like an absent one`() throws {
    let (installation, daemon) = try served()
    defer { withExtendedLifetime(installation) {} }
    let client = daemon.client()
    #expect(client.get("/v1/entitlements/7000/history?raw=true")?.status == 200)
    for token in Self.tokens {
      for query in Self.queries {
        var paths = [("", query), ("/history", query)]
        for raw in ["raw=true", "raw=false"] {
          paths.append(("/history", query.isEmpty ? raw : query + "&" + raw))
        }
        for (route, query) in paths {
          let end = route + (query.isEmpty ? "" : "?" + query)
          let absent = try #require(client.get("/v1/entitlements/1\(end)", token: token))
          #expect(absent.status == 404)
          for id in ["7000", "7100"] {
            let there = try #require(client.get("/v1/entitlements/\(id)\(end)", token: token))
            #expect(there.fields == absent.fields && there.body == absent.body, "\(id)\(end)")
          }
        }
      }
    }
    #expect(try daemon.stop().code == 0)
  }

  @Test func `lists outside the scope are empty`() throws {
    let (installation, daemon) = try served()
    defer { withExtendedLifetime(installation) {} }
    let client = daemon.client()
    let found = client.get("/v1/entitlements?app_account_token=\(Self.account)")
    #expect(found?.json?["items"]?.elements.count == 1)
    for token in Self.tokens {
      let absent = try #require(
        client.get("/v1/entitlements?app_account_token=\(UUID().uuidString)", token: token))
      #expect(absent.status == 200)
      for query in [
        "app_account_token=\(Self.account)", "app_account_token=\(Self.account)&limit=1",
        "app_transaction_id=\(Self.download)", "product_id=pro.monthly", "status=active",
        "status=expired", "environment=Production", "bundle_id=com.example.app", "limit=500", "",
        "limit=1",
      ] {
        let answer = try #require(client.get("/v1/entitlements?\(query)", token: token))
        #expect(answer.fields == absent.fields && answer.body == absent.body, "\(query)")
      }
    }
    #expect(try daemon.stop().code == 0)
  }

  /// An id that two apps have is ambiguous only to a token that covers both.
  @Test func `an app outside the scope makes no id ambiguous`() throws {
    let (installation, daemon) = try served()
    let client = daemon.client()
    let other = Sample.notification(7, bundleId: "com.example.other")
      .setting("data.appAppleId", .integer(987_654_321))
    #expect(client.post(try installation.sign(other))?.status == 200)
    for end in ["", "/history", "?as_of=2026-01-02T00:00:00Z", "/history?raw=true"] {
      #expect(client.get("/v1/entitlements/7000\(end)")?.status == 400)
      let own = try #require(
        client.get("/v1/entitlements/7000\(end)", token: Installation.otherAppsToken))
      #expect(own.status == 200 && !own.text.contains("com.example.app\""))
      let none = client.get("/v1/entitlements/7000\(end)", token: Self.narrow)
      #expect(none?.status == 404)
    }
    #expect(try daemon.stop().code == 0)
  }

  /// Whether another app's event is there or still to come, the answer and its time are the same.
  @Test func `min_seq tells a narrow token nothing about other apps`() throws {
    let (installation, daemon) = try served()
    let client = daemon.client()
    let own = Sample.notification(7, otid: "7007", bundleId: "com.example.other")
      .setting("data.appAppleId", .integer(987_654_321))
    let seq = try #require(client.post(try installation.sign(own))?.json?["seq"]?.integer)
    for path in ["/v1/entitlements/7007?", "/v1/entitlements?", "/v1/customers/7007?"] {
      func ask(_ seq: Int64) throws -> (answer: Client.Answer, seconds: Double) {
        let by = path.contains("customers") ? "by=original_transaction_id&" : ""
        let start = Date()
        let answer = try #require(
          client.get("\(path)\(by)min_seq=\(seq)", token: Installation.otherAppsToken))
        return (answer, Date().timeIntervalSince(start))
      }
      #expect(try ask(seq).answer.status == 200)
      let (others, future) = (try ask(1), try ask(1_000_000))
      for found in [others, future] {
        #expect(found.answer.status == 503 && found.seconds > 1.9, "\(found)")
      }
      #expect(others.answer.body == future.answer.body)
    }
    #expect(client.get("/v1/entitlements/7000?min_seq=1")?.status == 200)
    #expect(try daemon.stop().code == 0)
  }

  /// A cursor of another token is refused like one that was never issued.
  @Test func `a cursor works only with its own token`() throws {
    let (installation, daemon) = try served()
    let client = daemon.client()
    for number in 10..<14 {
      let body = Sample.notification(number, otid: "70\(number)", environment: "Sandbox")
      #expect(client.post(try installation.sign(body))?.status == 200)
    }
    let page = client.get("/v1/entitlements?environment=Sandbox&limit=1")
    let cursor = try #require(page?.json?["next_page"]?.string)
    let bad = try #require(client.get("/v1/entitlements?after=00"))
    for token in Self.tokens {
      let answer = try #require(client.get("/v1/entitlements?after=\(cursor)", token: token))
      #expect(answer.status == 400 && answer.fields == bad.fields && answer.body == bad.body)
    }
    #expect(try daemon.stop().code == 0)
  }

  /// The metrics of a narrowed token: two apps in both environments, one of them not configured.
  @Test func `a narrowed token sees only its own counts in the metrics`() throws {
    let (installation, daemon) = try served()
    let client = daemon.client()
    let other = Sample.notification(7, otid: "7200", bundleId: "com.example.other")
      .setting("data.appAppleId", .integer(987_654_321))
    let body = try installation.sign(other)
    for _ in 1...2 { #expect(client.post(body)?.status == 200) }
    let sandbox = Sample.notification(8, otid: "7300", environment: "Sandbox")
    #expect(client.post(try installation.sign(sandbox))?.status == 200)
    func read(_ token: String) throws -> MetricsText {
      let metrics = MetricsText(try #require(client.get("/metrics", token: token)).text)
      #expect(metrics.faults.isEmpty, "\(metrics.faults)")
      return metrics
    }
    let end = Date(timeIntervalSinceNow: 60)
    while try read(Installation.token).sum("subledger_rows") < 3, Date() < end { usleep(50_000) }
    let name = "subledger_notifications_total"
    let all = try read(Installation.token)
    #expect(all.sum(name) == 6 && all.sum("subledger_rows") == 3)
    #expect(all.value("subledger_duplicates_total") == 1)
    for (token, count, rows, duplicates) in [
      (Installation.otherAppsToken, 2.0, 1.0, 1.0), (Installation.sandboxToken, 1, 1, 0),
      (Self.narrow, 0, 0, 0),
    ] {
      let metrics = try read(token)
      #expect(metrics.sum(name) == count, "\(token)")
      #expect(metrics.sum("subledger_rows") == rows, "\(token)")
      #expect(metrics.value("subledger_duplicates_total") == duplicates, "\(token)")
      let families: Set = [
        name, "subledger_duplicates_total", "subledger_build_info", "subledger_rows",
        "subledger_rows_broken", "subledger_rows_age_seconds", "subledger_rows_confirmed",
        "subledger_confirmed_time_seconds", "subledger_last_notification_time_seconds",
        "subledger_last_test_time_seconds",
      ]
      #expect(Set(metrics.families.keys).isSubset(of: families), "\(metrics.families.keys)")
    }
    #expect(try daemon.stop().code == 0)
  }

  @Test func `only a token for everything sees the digest of all rows`() throws {
    let (installation, daemon) = try served()
    let client = daemon.client()
    #expect(client.get("/version")?.json?["digest"]?.string != nil)
    let strange = try #require(client.get("/version", token: nil))
    #expect(strange.status == 200 && strange.json?["version"]?.string != nil)
    #expect(strange.json?["digest"]?.kind == .null)
    // Another one is told what it may do.
    for token in Self.tokens {
      let answer = try #require(client.get("/version", token: token)?.json)
      #expect(answer["digest"]?.kind == .null)
      #expect(answer["may"]?.elements.compactMap(\.string) == ["read"])
    }
    #expect(client.get("/version", token: "unknown")?.body == strange.body)
    let more = Sample.notification(9, otid: "7400")
    #expect(client.post(try installation.sign(more))?.status == 200)
    #expect(client.get("/version", token: nil)?.body == strange.body, "it moves")
    #expect(try daemon.stop().code == 0)
  }
}
