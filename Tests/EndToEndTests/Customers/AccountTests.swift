import Foundation
import SignedData
import StrictJSON
import Support
import Testing

/// Accounts of the owner, grants and erasure, over HTTP.
@Suite struct AccountTests {
  private static let writer = "e2e-token-that-writes-4713"
  private static let other = "e2e-token-of-another-app-4714"
  private static let claimer = "e2e-token-that-claims-4717"
  private static let granter = "e2e-token-that-grants-4718"

  private struct Served {
    let installation: Installation
    let daemon: RunningDaemon

    /// - Parameter hasSink: whether changes are sent to a receiver that is away.
    init(apps: [String] = ["com.example.app"], hasSink: Bool = false) throws {
      installation = try Installation()
      let secret = installation.folder.appending(path: "sink.whsec")
      try Data(WebhookSecret.generate().utf8).write(to: secret)
      chmod(secret.path, 0o600)
      let sink = JSONValue.object([
        ("name", .string("away")), ("kind", .string("webhook")),
        ("url", .string("http://127.0.0.1:1/hook")), ("privateNetwork", .boolean(true)),
        ("secretFile", .string(secret.path)), ("include", .array([.string("payload")])),
      ])
      let may = { (words: [String]) in ("may", JSONValue.array(words.map(JSONValue.string))) }
      let all = ["read", "submit", "claim", "grant", "erase"]
      try installation.configure(
        apps: apps.map { Installation.app($0) },
        with: [
          (
            "readTokens",
            .array([
              Installation.token("backend", Installation.token, []),
              Installation.token("writer", AccountTests.writer, [may(all)]),
              Installation.token("claimer", AccountTests.claimer, [may(["claim"])]),
              Installation.token("granter", AccountTests.granter, [may(["grant"])]),
              Installation.token(
                "other", AccountTests.other,
                [may(all), ("bundleIds", .array([.string("com.example.other")]))]),
            ])
          ), ("entitlements", .object([("pro", .array([.string("pro.*")]))])),
        ] + (hasSink ? [("sinks", .array([sink]))] : []))
      daemon = try installation.start()
      for number in 1...2 {
        let body = try installation.sign(Sample.notification(number, otid: "\(7000 + number)"))
        #expect(daemon.client().post(body)?.status == 200)
      }
    }

    @discardableResult
    func ask(
      _ method: String, _ path: String, _ body: String? = nil, token: String? = nil,
      fields: String = ""
    ) throws -> Client.Answer {
      let bytes = Array((body ?? "").utf8)
      let type = body == nil ? "" : "Content-Type: application/json\r\n"
      let head =
        "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\(type)\(fields)"
        + "Authorization: Bearer \(token ?? AccountTests.writer)\r\n"
        + "Content-Length: \(bytes.count)\r\n\r\n"
      return try #require(daemon.client().send(head, bytes))
    }

    func claim(_ account: String, _ id: String = "7001") throws -> Client.Answer {
      try ask(
        "PUT", "/v1/accounts/\(account)/transactions", "{\"originalTransactionId\":\"\(id)\"}")
    }

    func customer(_ id: String, by kind: String = "account") throws -> JSONElement {
      let answer = try ask(
        "GET", "/v1/customers/\(id)?by=\(kind)&as_of=\(Sample.start + Sample.day)")
      #expect(answer.status == 200, "\(answer.text)")
      return try #require(answer.json)
    }
  }

  @Test func `a claimed purchase answers for the account`() throws {
    let served = try Served()
    #expect(try served.customer("user-1")["known"]?.boolean == false)
    let claimed = try served.claim("user-1")
    #expect(claimed.status == 200, "\(claimed.text)")
    #expect(claimed.json?["outcome"]?.string == "accepted")
    let row = claimed.json?["entitlement"]
    #expect(row?["accounts"]?.elements.map(\.string) == ["user-1"])
    #expect(row?["shared_by_accounts"] == nil)
    #expect(try served.claim("user-1").json?["outcome"]?.string == "duplicate")
    let customer = try served.customer("user-1")
    #expect(customer["known"]?.boolean == true)
    #expect(customer["entitlements"]?["pro"]?["original_transaction_id"]?.string == "7001")
    let released = try served.ask("DELETE", "/v1/accounts/user-1/transactions/7001")
    #expect(released.json?["outcome"]?.string == "accepted", "\(released.text)")
    #expect(released.json?["entitlement"]?["accounts"] == nil)
    #expect(try served.customer("user-1")["known"]?.boolean == false)
    let history = try served.ask("GET", "/v1/entitlements/7001/history")
    let kinds = history.json?.events.map { $0["source"]?.string }
    #expect(kinds == ["v2", "account", "account"])
    let raw = try served.ask("GET", "/v1/entitlements/7001/history?raw=true")
    let claim = try #require(raw.json?["items"]?.elements[1]["payload"])
    #expect(claim["type"]?.string == "ACCOUNT_CLAIM" && claim["token"]?.string == "writer")
    #expect(claim["mac"] == nil)
    #expect(try served.installation.verify().code == 0)
  }

  @Test func `a token that may not read sees what it did and no row`() throws {
    let served = try Served()
    let path = "/v1/accounts/user-1/transactions"
    let claimed = try served.ask(
      "PUT", path, "{\"originalTransactionId\":\"7001\"}", token: Self.claimer)
    #expect(claimed.json?["outcome"]?.string == "accepted", "\(claimed.text)")
    #expect(claimed.json?["entitlement"]?.kind == .null, "\(claimed.text)")
    let released = try served.ask("DELETE", path + "/7001", token: Self.claimer)
    #expect(released.status == 200 && released.json?["entitlement"]?.kind == .null)
    let grants = "/v1/customers/user-1/grants?by=account"
    for token in [Self.writer, Self.granter] {
      let granted = try served.ask("POST", grants, "{\"entitlement\":\"pro\"}", token: token)
      #expect(granted.json?["grant"]?["entitlement"]?.string == "pro", "\(granted.text)")
    }
    func givers(_ token: String) throws -> [String?]? {
      try served.ask("GET", grants, token: token).json?["items"]?.elements
        .map { $0["granted_by"]?.string }
    }
    #expect(try givers(Self.granter) == ["granter"])
    #expect(try givers(Self.writer) == ["writer", "granter"])
  }

  @Test func `two accounts of one purchase are both answered, and marked`() throws {
    let served = try Served()
    _ = try served.claim("b")
    let row = try served.claim("a").json?["entitlement"]
    #expect(row?["accounts"]?.elements.map(\.string) == ["b", "a"])
    #expect(row?["shared_by_accounts"]?.boolean == true)
    let verified = try served.installation.verify()
    // The mappings of both environments are the owner's too.
    #expect(verified.report["statements"]?.integer == 4)
    for _ in 0..<600 {
      let metrics = try served.ask("GET", "/metrics").text
      if metrics.contains("subledger_shared_purchases 1\n") { break }
      usleep(100_000)
    }
    #expect(try served.ask("GET", "/metrics").text.contains("subledger_shared_purchases 1\n"))
    for account in ["a", "b"] {
      #expect(try served.customer(account)["known"]?.boolean == true)
    }
  }

  @Test func `a signed transaction claims without the permission to claim ids`() throws {
    let served = try Served()
    let signed = try served.installation.signedText(Sample.transaction(5)).text
    let put = try served.ask(
      "PUT", "/v1/accounts/user%7C5/transactions", "{\"signedTransaction\":\(signed)}")
    #expect(put.json?["outcome"]?.string == "accepted", "\(put.text)")
    #expect(try served.customer("user%7C5")["known"]?.boolean == true)
    let post = try served.ask(
      "POST", "/v1/transactions", "{\"signedTransaction\":\(signed),\"account\":\"user 6\"}")
    #expect(post.json?["outcome"]?.string == "accepted", "\(post.text)")
    let accounts = post.json?["entitlement"]?["accounts"]?.elements.map(\.string)
    #expect(accounts == ["user|5", "user 6"])
  }

  @Test func `a grant gives an entitlement by name and changes no row`() throws {
    let served = try Served()
    let token = Sample.uuid(77)
    let path = "/v1/customers/\(token)/grants"
    let key = "Idempotency-Key: first\r\n"
    let body = "{\"entitlement\":\"pro\",\"until\":\"2999-01-01\",\"reason\":\"press\"}"
    let first = try served.ask("POST", path, body, fields: key)
    #expect(first.json?["outcome"]?.string == "accepted", "\(first.text)")
    let id = try #require(first.json?["grant"]?["id"]?.string)
    let second = try served.ask("POST", path, body, fields: key)
    #expect(second.json?["outcome"]?.string == "duplicate")
    #expect(second.json?["grant"]?["id"]?.string == id)
    let reused = try served.ask("POST", path, "{\"entitlement\":\"pro\"}", fields: key)
    #expect(reused.status == 422 && reused.json?["code"]?.string == "idempotency_key")
    let now = try served.ask("GET", "/v1/customers/\(token)")
    let pro = now.json?["entitlements"]?["pro"]
    #expect(pro?["active"]?.boolean == true && pro?["basis"]?.string == "granted", "\(now.text)")
    #expect(now.json?["known"]?.boolean == true)
    #expect(now.json?["subscriptions"]?.elements.count == 0)
    let ended = try served.ask("DELETE", "\(path)/\(id)")
    #expect(ended.json?["grant"]?["revoked_at"]?.integer != nil, "\(ended.text)")
    #expect(try served.ask("DELETE", "\(path)/\(id)").json?["outcome"]?.string == "duplicate")
    let later = try served.ask("GET", "/v1/customers/\(token)")
    #expect(later.json?["entitlements"]?["pro"]?["active"]?.boolean == false)
    let listed = try served.ask("GET", path)
    #expect(listed.json?["items"]?.elements.map { $0["id"]?.string } == [id])
    _ = try served.ask("POST", path, body)
    let page = try served.ask("GET", "\(path)?limit=1")
    #expect(page.json?["items"]?.elements.map { $0["id"]?.string } == [id])
    let after = try #require(page.json?["next_page"]?.string)
    let rest = try served.ask("GET", "\(path)?limit=1&after=\(after)")
    #expect(rest.json?["items"]?.elements.count == 1, "\(rest.text)")
    #expect(rest.json?["next_page"]?.kind == .null)
    #expect(try served.ask("GET", "\(path)?after=x").status == 400)
    #expect(try served.installation.verify().code == 0)
  }

  @Test func `a repeated key is answered with the grant that it made, not an equal one`() throws {
    let served = try Served()
    let path = "/v1/customers/u/grants"
    func grant(_ key: String) throws -> (outcome: String?, id: String?) {
      let answer = try served.ask(
        "POST", "\(path)?by=account", "{\"entitlement\":\"pro\"}",
        fields: "Idempotency-Key: \(key)\r\n")
      return (answer.json?["outcome"]?.string, answer.json?["grant"]?["id"]?.string)
    }
    let made = try ["a", "b", "c"].map { try grant($0) }
    #expect(Set(made.compactMap(\.id)).count == 3 && made.allSatisfy { $0.outcome == "accepted" })
    let again = try ["a", "b", "c"].map { try grant($0) }
    #expect(again.map(\.id) == made.map(\.id) && again.allSatisfy { $0.outcome == "duplicate" })
    // Also after it was ended; the end is answered with the same grant however often it is said.
    for id in made.compactMap(\.id) + made.compactMap(\.id) {
      let ended = try served.ask("DELETE", "\(path)/\(id)?by=account")
      #expect(ended.json?["grant"]?["id"]?.string == id)
      #expect(ended.json?["grant"]?["revoked_at"]?.integer != nil, "\(ended.text)")
    }
    #expect(try grant("a").id == made[0].id)
  }

  @Test func `a grant is ended for its own app and environment alone`() throws {
    let served = try Served(apps: ["com.example.app", "com.example.other"])
    let (path, here) = ("/v1/customers/u/grants", "by=account&bundle_id=com.example.app")
    let made = try served.ask("POST", "\(path)?\(here)", "{\"entitlement\":\"pro\"}")
    let id = try #require(made.json?["grant"]?["id"]?.string)
    let elsewhere = "\(path)/\(id)?by=account&bundle_id=com.example.other"
    for (query, token) in [
      (elsewhere, Self.other), ("\(path)/\(id)?\(here)&environment=Sandbox", Self.writer),
    ] {
      let refused = try served.ask("DELETE", query, token: token)
      #expect(refused.status == 404 && refused.json?["code"]?.string == "no_such_grant")
    }
    #expect(try served.ask("GET", "/v1/customers/u?\(here)").text.contains("\"active\":true"))
    let ended = try served.ask("DELETE", "\(path)/\(id)?\(here)")
    #expect(ended.json?["outcome"]?.string == "accepted", "\(ended.text)")
    #expect(try served.ask("GET", "/v1/customers/u?\(here)").text.contains("\"active\":false"))
    #expect(try served.customer("u")["entitlements"]?["pro"]?["active"]?.boolean == false)
  }

  @Test func `of more purchases than are read, the claims of the environment and app count`() throws
  {
    let served = try Served()
    let client = served.daemon.client()
    for number in 100..<1101 {
      let sandbox = Sample.notification(number, otid: "9\(number)", environment: "Sandbox")
      #expect(client.post(try served.installation.sign(sandbox))?.status == 200)
      let claimed = try served.ask(
        "PUT", "/v1/accounts/u/transactions",
        "{\"originalTransactionId\":\"9\(number)\",\"environment\":\"Sandbox\"}")
      #expect(claimed.status == 200, "\(claimed.text)")
    }
    #expect(try served.claim("u").status == 200)
    let known = try served.customer("u")
    #expect(known["subscriptions"]?.elements.count == 1, "\(known.value.text)")
    #expect(known["more_purchases"]?.boolean == false)
    let sandbox = try served.ask("GET", "/v1/customers/u?by=account&environment=Sandbox")
    #expect(sandbox.json?["subscriptions"]?.elements.count == 1000)
    #expect(sandbox.json?["more_purchases"]?.boolean == true)
  }

  @Test func `after an erasure nothing names the account`() throws {
    let served = try Served(hasSink: true)
    let name = "to-be-erased-\(UInt64.random(in: 0...UInt64.max))"
    _ = try served.claim(name)
    let granted = try served.ask(
      "POST", "/v1/customers/\(name)/grants?by=account", "{\"entitlement\":\"pro\"}",
      fields: "Idempotency-Key: key-of-\(name)\r\n")
    #expect(granted.status == 200, "\(granted.text)")
    let past = try served.installation.run("query", "SELECT 1", "--known-at", "2026-01-01")
    #expect(past.code == 0, "\(past)")
    let erased = try served.ask("DELETE", "/v1/accounts/\(name)")
    #expect(erased.status == 200, "\(erased.text)")
    let files = try FileManager.default.contentsOfDirectory(atPath: served.installation.data.path)
    #expect(!files.contains { $0.hasPrefix("past-") }, "\(files)")
    #expect(try served.daemon.logged("\"erased\"", "\"status\":200").contains("writer"))
    #expect(try served.ask("DELETE", "/v1/accounts/\(name)").status == 404)
    let customer = try served.customer(name)
    #expect(customer["known"]?.boolean == false)
    let row = try served.ask("GET", "/v1/entitlements/7001")
    #expect(row.json?["accounts"] == nil)
    for path in ["/v1/entitlements/7001/history", "/v1/overview", "/metrics"] {
      #expect(try !served.ask("GET", path).text.contains(name), "\(path)")
    }
    for words in [["export"], ["events", "--json"], ["query", "SELECT * FROM journal_v1"]] {
      let printed = try served.installation.run(words)
      #expect(printed.code == 0 && !printed.output.contains(name), "\(words)")
    }
    let bundle = served.installation.folder.appending(path: "bundle.ndjson").path
    #expect(
      try served.installation.run("export", "--only", "7001", "--bundle", bundle).code == 0)
    let backup = served.installation.folder.appending(path: "backup").path
    #expect(try served.installation.run("backup", backup).code == 0)
    #expect(try served.installation.verify().code == 0)
    let found = try FileManager.default.subpathsOfDirectory(
      atPath: served.installation.folder.path
    ).filter { path in
      let file = served.installation.folder.appending(path: path).path
      return Scratch.bytes(of: file)?.firstRange(of: Array(name.utf8)) != nil
    }
    #expect(found == [])
    // The sink has its file, with what it could not send.
    #expect(try served.installation.files().keys.contains("sinks.sqlite"))
    #expect(!served.daemon.log.contains(name))
  }

  @Test(
    arguments: [
      ("PUT", "/v1/accounts/u/transactions", "{}", 400, "body"),
      ("PUT", "/v1/accounts/u/transactions", "{\"originalTransactionId\":5}", 400, "body"),
      (
        "PUT", "/v1/accounts/u/transactions", "{\"originalTransactionId\":\"1\",\"x\":1}", 400,
        "body"
      ),
      (
        "PUT", "/v1/accounts/u/transactions", "{\"originalTransactionId\":\"9999\"}", 404,
        "no_such_entitlement"
      ), ("PUT", "/v1/accounts/%00/transactions", "{}", 404, "no_such_route"),
      ("PUT", "/v1/accounts//transactions", "{}", 404, "no_such_route"),
      ("PUT", "/v1/accounts/u/transactions", "{\"signedTransaction\":\"a.b.c\"}", 400, nil),
      ("POST", "/v1/accounts/u/transactions", "{}", 405, "method"),
      ("DELETE", "/v1/accounts/u/transactions/7001", nil, 404, "no_such_entitlement"),
      ("DELETE", "/v1/accounts/u", nil, 404, "no_such_account"),
      ("POST", "/v1/customers/u/grants", "{\"entitlement\":\"pro\"}", 400, "query"),
      ("POST", "/v1/customers/u/grants?by=account", "{}", 400, "body"),
      ("POST", "/v1/customers/u/grants?by=account", "{\"entitlement\":\"max\"}", 400, "body"),
      (
        "POST", "/v1/customers/u/grants?by=account", "{\"entitlement\":\"pro\",\"until\":5}", 400,
        "body"
      ),
      (
        "POST", "/v1/customers/u/grants?by=account", "{\"entitlement\":\"pro\",\"reason\":\"\"}",
        400,
        "body"
      ), ("POST", "/v1/customers/u/grants?by=original_transaction_id", "{}", 400, "query"),
      ("DELETE", "/v1/customers/u/grants/1?by=account", nil, 404, "no_such_grant"),
    ] as [(String, String, String?, Int, String?)]) func `a statement that cannot hold is refused`(
      method: String, path: String, body: String?, status: Int, code: String?
    ) throws
  {
    let served = try Served()
    let answer = try served.ask(method, path, body)
    #expect(answer.status == status, "\(answer.text)")
    if let code { #expect(answer.json?["code"]?.string == code, "\(answer.text)") }
    let events = try served.installation.run("events", "--json").lines()
    #expect(events.filter { $0["source"]?.string != "catalog" }.count == 2)
  }

  @Test func `every wrong member of a statement's body is named`() throws {
    let served = try Served()
    let claims = [
      ("{}", "originalTransactionId", "missing"), ("[]", nil, "invalid"), ("", nil, "invalid"),
      ("{\"originalTransactionId\":5}", "originalTransactionId", "invalid"),
      ("{\"originalTransactionId\":\"1\",\"environment\":null}", "environment", "invalid"),
      ("{\"originalTransactionId\":\"1\",\"bundleId\":1}", "bundleId", "invalid"),
      ("{\"originalTransactionId\":\"1\",\"bundle_id\":\"x\"}", nil, "unknown"),
    ]
    let grants = [
      ("{}", "entitlement", "missing"), ("{\"entitlement\":null}", "entitlement", "missing"),
      ("{\"entitlement\":\"max\"}", "entitlement", "invalid"),
      ("{\"entitlement\":\"pro\",\"until\":\"x\"}", "until", "invalid"),
      ("{\"entitlement\":\"pro\",\"until\":5}", "until", "invalid"),
      ("{\"entitlement\":\"pro\",\"reason\":5}", "reason", "invalid"),
      ("{\"entitlement\":\"pro\",\"for\":1}", nil, "unknown"),
    ]
    let requests: [(String, String, [(String, String?, String)])] = [
      ("PUT", "/v1/accounts/u/transactions", claims),
      ("POST", "/v1/customers/u/grants?by=account", grants),
    ]
    for (method, path, bodies) in requests {
      for (body, parameter, reason) in bodies {
        let answer = try served.ask(method, path, body)
        #expect(answer.status == 400 && answer.json?["code"]?.string == "body", "\(body)")
        #expect(answer.json?["parameter"]?.string == parameter, "\(body): \(answer.text)")
        #expect(answer.json?["reason"]?.string == reason, "\(body): \(answer.text)")
      }
    }
    let unnamed = "{\"originalTransactionId\":\"7001\",\"bundleId\":null}"
    #expect(try served.ask("PUT", "/v1/accounts/u/transactions", unnamed).status == 200)
    let nulls = "{\"entitlement\":\"pro\",\"until\":null,\"reason\":null}"
    #expect(try served.ask("POST", "/v1/customers/u/grants?by=account", nulls).status == 200)
  }

  @Test func `a token without the permission, or of another app, says nothing`() throws {
    let served = try Served(apps: ["com.example.app", "com.example.other"])
    let requests: [(String, String, String?)] = [
      ("PUT", "/v1/accounts/u/transactions", "{\"originalTransactionId\":\"7001\"}"),
      ("DELETE", "/v1/accounts/u/transactions/7001?bundle_id=com.example.app", nil),
      ("DELETE", "/v1/accounts/u", nil),
      (
        "POST", "/v1/customers/u/grants?by=account&bundle_id=com.example.app",
        "{\"entitlement\":\"pro\"}"
      ), ("DELETE", "/v1/customers/u/grants/1?by=account&bundle_id=com.example.app", nil),
    ]
    for (method, path, body) in requests {
      let answer = try served.ask(method, path, body, token: Installation.token)
      #expect(answer.status == 403, "\(method) \(path): \(answer.text)")
    }
    // Which of two apps is meant is asked for by the name that the body or the query gives it.
    let claim = try served.ask("PUT", "/v1/accounts/u/transactions", requests[0].2)
    #expect(claim.status == 400 && claim.json?["parameter"]?.string == "bundleId")
    let grant = try served.ask("POST", "/v1/customers/u/grants?by=account", requests[3].2)
    #expect(grant.status == 400 && grant.json?["parameter"]?.string == "bundle_id")
    for (method, path, body) in requests.dropFirst() {
      let answer = try served.ask(method, path, body, token: Self.other)
      #expect(answer.status == 403, "\(method) \(path): \(answer.text)")
    }
  }
}
