import Foundation
import StrictJSON
import Support
import Testing

/// `GET /v1/customers/{id}`, `POST /v1/customers/query` and `subledger customer`.
@Suite struct CustomerRouteTests {
  private static let alice = "0a0b0c0d-0000-4000-8000-00000000a11c"
  private static let nobody = "0a0b0c0d-0000-4000-8000-000000000000"
  /// The subscription of `Sample.notification(1)` is active at this time.
  private static let asOf = "as_of=2026-01-10T00:00:00Z"

  private func products(_ list: String...) -> JSONValue { .array(list.map(JSONValue.string)) }

  private func served() throws -> (Installation, RunningDaemon) {
    let installation = try Installation()
    try installation.configure(with: [
      (
        "entitlements",
        .object([("pro", products("pro.*")), ("remove_ads", products("lifetime", "pro.monthly"))])
      )
    ])
    let daemon = try installation.start()
    for (number, otid, environment) in [(1, "7000", "Production"), (2, "7010", "Sandbox")] {
      let body = Sample.notification(number, otid: otid, environment: environment)
        .setting("data.transaction.appAccountToken", .string(Self.alice))
        .setting("data.transaction.appTransactionId", .string("7041234567"))
      #expect(daemon.client().post(try installation.sign(body))?.status == 200)
    }
    return (installation, daemon)
  }

  private func query(_ client: Client, _ body: String, token: String = Installation.token)
    -> Client.Answer?
  {
    client.send(
      "POST /v1/customers/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n"
        + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n",
      Array(body.utf8))
  }

  @Test func `one request answers whether a customer may use a feature`() throws {
    let (installation, daemon) = try served()
    defer { withExtendedLifetime(installation) {} }
    let client = daemon.client()
    for path in [
      "\(Self.alice)?\(Self.asOf)", "\(Self.alice.uppercased())?\(Self.asOf)",
      "7041234567?by=app_transaction_id&\(Self.asOf)",
      "7000?by=original_transaction_id&\(Self.asOf)",
      "\(Self.alice)?environment=Sandbox&\(Self.asOf)",
    ] {
      let customer = try #require(client.get("/v1/customers/\(path)")?.json)
      #expect(customer["object"]?.string == "customer" && customer["known"]?.boolean == true)
      for name in ["pro", "remove_ads"] {
        let found = customer["entitlements"]?[name]
        #expect(found?["active"]?.boolean == true && found?["basis"]?.string == "paid", "\(path)")
      }
      #expect(customer["subscriptions"]?.elements.count == 1, "\(path)")
    }
    // Long after the end nothing is active, and the customer is known.
    let now = try #require(client.get("/v1/customers/\(Self.alice)")?.json)
    #expect(now["known"]?.boolean == true)
    let ended = now["entitlements"]?["pro"]
    #expect(ended?["active"]?.boolean == false && ended?["reason"]?.string == "ended")
    #expect(ended?["product_id"]?.string == "pro.monthly")
    #expect(ended?["ended_at"]?.integer == now["subscriptions"]?.elements[0]["expires_at"]?.integer)
    let shown = try installation.run("customer", Self.alice)
    #expect(shown.output.contains(/pro +no: ended 20\S+Z \(pro\.monthly\)/), "\(shown)")
    #expect(try daemon.stop().code == 0)
  }

  @Test func `a product that is mapped to nothing is named`() throws {
    let (installation, daemon) = try served()
    try daemon.stop()
    try installation.configure(with: [
      ("entitlements", .object([("team", products("team.*"))]))
    ])
    let asked = ["customer", Self.alice, "--as-of", "2026-01-10T00:00:00Z"]
    // Not in force before a start.
    let unchanged = try installation.run(asked + ["--mapping", "now"])
    #expect(unchanged.output.contains(/pro +yes/), "\(unchanged)")
    let again = try installation.start()
    try again.logged("mapping_in_force")
    try again.stop()
    #expect(try installation.run(asked).output.contains(/pro +yes/))
    let shown = try installation.run(asked + ["--mapping", "now"])
    #expect(shown.output.contains("no: pro.monthly gives none of these"), "\(shown)")
  }

  @Test func `an unknown customer is told from one without access`() throws {
    let (installation, daemon) = try served()
    defer { withExtendedLifetime(installation) {} }
    let client = daemon.client()
    let unknown = try #require(client.get("/v1/customers/\(Self.nobody)"))
    #expect(unknown.status == 200 && unknown.json?["known"]?.boolean == false)
    #expect(unknown.json?["entitlements"]?["pro"]?["active"]?.boolean == false)
    #expect(try daemon.stop().code == 0)
  }

  @Test func `a token sees no customer outside its scope`() throws {
    let (installation, daemon) = try served()
    defer { withExtendedLifetime(installation) {} }
    let client = daemon.client()
    for (token, isSeen) in [
      (Installation.otherAppsToken, ["Production": false, "Sandbox": false]),
      (Installation.sandboxToken, ["Production": false, "Sandbox": true]),
    ] {
      for (environment, isSeen) in isSeen {
        for id in [
          "\(Self.alice)?", "7041234567?by=app_transaction_id&",
          "\(environment == "Sandbox" ? 7010 : 7000)?by=original_transaction_id&",
        ] {
          let path = "/v1/customers/\(id)environment=\(environment)"
          let answer = try #require(client.get(path, token: token))
          #expect(answer.status == 200 && answer.json?["known"]?.boolean == isSeen, "\(path)")
        }
      }
    }
    #expect(client.get("/v1/customers/\(Self.alice)", token: nil)?.status == 401)
    #expect(query(client, "{\"ids\":[\"\(Self.alice)\"]}", token: "wrong")?.status == 401)
    #expect(try daemon.stop().code == 0)
  }

  @Test func `an account token is found in either spelling, however the app wrote it`() throws {
    let (installation, daemon) = try served()
    let token = "AABBCCDD-0000-4000-8000-00000000ABCD"
    let body = try installation.sign(
      Sample.notification(600, otid: "7600")
        .setting("data.transaction.appAccountToken", .string(token)))
    #expect(daemon.client().post(body)?.status == 200)
    for id in [token, token.lowercased()] {
      let customer = daemon.client().get("/v1/customers/\(id)")
      #expect(customer?.json?["known"]?.boolean == true, "\(customer?.text ?? "")")
      let list = daemon.client().get("/v1/entitlements?app_account_token=\(id)")
      #expect(list?.json?["items"]?.elements.count == 1, "\(list?.text ?? "")")
    }
    #expect(try daemon.stop().code == 0)
  }

  @Test func `a purchase whose account token was replaced entitles the new one alone`() throws {
    let (installation, daemon) = try served()
    let tokens = (1...2).map { "0199b363-41dd-4f0d-bb44-7fd6b755a74\($0)" }
    for (number, token) in zip([700, 701], tokens) {
      let body = try installation.sign(
        Sample.notification(number, otid: "7700")
          .setting("data.transaction.appAccountToken", .string(token)))
      #expect(daemon.client().post(body)?.status == 200)
    }
    let active = try tokens.map { token in
      let customer = try #require(
        daemon.client().get("/v1/customers/\(token)?\(Self.asOf)")?.json)
      #expect(customer["known"]?.boolean == true && customer["subscriptions"]?.elements.count == 1)
      return customer["entitlements"]?["pro"]?["active"]?.boolean
    }
    #expect(active == [false, true])
    #expect(try daemon.stop().code == 0)
  }

  @Test func `a query takes the longest ids in any spelling, and no parameter`() throws {
    let (installation, daemon) = try served()
    defer { withExtendedLifetime(installation) {} }
    let client = daemon.client()
    let id = String(repeating: "\\ud83d\\ude00", count: 128)
    let list = Array(repeating: "\"\(id)\"", count: 500).joined(separator: ",")
    let answer = query(client, "{\"by\":\"account\",\"ids\":[\(list)]}")
    #expect(answer?.status == 200, "\(answer?.text.prefix(200) ?? "")")
    let body = Array("{\"ids\":[\"\(Self.alice)\"]}".utf8)
    let head =
      "POST /v1/customers/query?environment=Sandbox HTTP/1.1\r\nHost: h\r\n"
      + "Content-Type: application/json\r\nAuthorization: Bearer \(Installation.token)\r\n"
      + "Content-Length: \(body.count)\r\n\r\n"
    #expect(client.send(head, body)?.status == 400)
    #expect(client.get("/v1/events?type=,")?.status == 400)
    #expect(try daemon.stop().code == 0)
  }

  @Test func `a query answers two spellings of an account each`() throws {
    let (installation, daemon) = try served()
    defer { withExtendedLifetime(installation) {} }
    let ids = ["caf\u{E9}", "cafe\u{301}", "caf\u{E9}"]
    let list = ids.map { "\"\($0)\"" }.joined(separator: ",")
    let answer = query(daemon.client(), "{\"by\":\"account\",\"ids\":[\(list)]}")
    let found = answer?.json?["items"]?.elements.compactMap { $0["id"]?.string } ?? []
    #expect(found.map { Array($0.utf8) } == ids.prefix(2).map { Array($0.utf8) })
    #expect(try daemon.stop().code == 0)
  }

  @Test func `a query answers for many customers in the order of their ids`() throws {
    let (installation, daemon) = try served()
    defer { withExtendedLifetime(installation) {} }
    let client = daemon.client()
    let ids = (0..<499).map { String(format: "0a0b0c0d-0000-4000-8000-%012d", $0) } + [Self.alice]
    let list = ids.map { "\"\($0)\"" }.joined(separator: ",")
    let answer = try #require(query(client, "{\"ids\":[\(list)]}"))
    let items = answer.json?["items"]?.elements ?? []
    #expect(answer.status == 200 && items.compactMap { $0["id"]?.string } == ids)
    #expect(items.map { $0["known"]?.boolean == true } == ids.map { $0 == Self.alice })
    let past = try #require(
      query(
        client,
        """
        {"ids":["7000","7010"],"by":"original_transaction_id","as_of":"2026-01-10T00:00:00Z",
        "environment":"Production","known_at":2145916800000}
        """))
    let known = past.json?["items"]?.elements.map { $0["known"]?.boolean }
    #expect(known == [true, false])
    let alone = client.get(
      "/v1/customers/7000?by=original_transaction_id&\(Self.asOf)&known_at=2145916800000")
    #expect(alone?.json?.value.text == past.json?["items"]?.elements.first?.value.text)
    #expect(query(client, "{\"ids\":[\(list),\"\(Self.nobody)\"]}")?.status == 400)
    #expect(try daemon.stop().code == 0)
  }

  @Test func `a reload changes which products give an entitlement`() throws {
    let (installation, daemon) = try served()
    let client = daemon.client()
    let path = "/v1/customers/\(Self.alice)?\(Self.asOf)&mapping=now"
    #expect(client.get(path)?.json?["entitlements"]?["pro"]?["active"]?.boolean == true)
    try installation.configure(with: [
      ("entitlements", .object([("gold", products("pro.monthly"))]))
    ])
    daemon.command.signal(SIGHUP)
    try daemon.command.wait(60, "the reload") {
      client.get(path)?.json?["entitlements"]?["gold"] != nil
    }
    let entitlements = try #require(client.get(path)?.json?["entitlements"])
    #expect(entitlements.members.map(\.name) == ["gold"])
    #expect(entitlements["gold"]?["active"]?.boolean == true)
    #expect(try daemon.stop().code == 0)
  }

  @Test func `the command prints the same as the route`() throws {
    let (installation, daemon) = try served()
    let (time, moment) = ("2026-01-10T00:00:00Z", "1768003200000")
    let shown = try installation.run("customer", Self.alice, "--as-of", time, "--json")
    let answer = daemon.client().get("/v1/customers/\(Self.alice)?as_of=\(moment)")
    #expect(try shown.lines().first?.value.text == answer?.json?.value.text && shown.code == 0)
    let text = try installation.run(
      "customer", "7000", "--by", "original_transaction_id", "--as-of", time)
    #expect(text.code == 0 && text.output.contains("yes (paid) until 2026-01-31T00:01:00Z, renews"))
    #expect(try installation.run("customer", Self.nobody).code == 1)
    #expect(try installation.run("customer", "42").code == 2)
    #expect(try installation.run("customer", "42", "--by", "user").code == 2)
    #expect(try daemon.stop().code == 0)
  }

  @Test func `every id of Apple's that a page shows finds its purchase`() throws {
    let (installation, daemon) = try served()
    defer { withExtendedLifetime(installation) {} }
    let client = daemon.client()
    func found(_ id: String, token: String = Installation.token) -> [JSONElement]? {
      client.get("/v1/search?id=\(id)", token: token)?.json?["items"]?.elements
    }
    let ids = [
      ("7010", "original_transaction_id"), ("70102", "transaction_id"),
      (Sample.uuid(2), "notification_uuid"),
    ]
    for (id, kind) in ids {
      let items = try #require(found(id))
      #expect(items.map { $0["original_transaction_id"]?.string } == ["7010"], "\(id)")
      #expect(items.map { $0["environment"]?.string } == ["Sandbox"], "\(id)")
      #expect(items.map { $0["kind"]?.string } == [kind])
      #expect(found(id, token: Installation.otherAppsToken)?.isEmpty == true, "\(id)")
    }
    #expect(found("70109")?.isEmpty == true && found("MX1")?.isEmpty == true)
    #expect(try daemon.stop().code == 0)
  }
}
