import StrictJSON
import Support
import Testing

/// Every wrong query has its parameter named, and is told what would be valid.
@Suite struct ParameterFaultTests {
  private static let token = "0a0b0c0d-0000-4000-8000-00000000a11c"
  private static let row = "/v1/entitlements/7000"
  private static let customer = "/v1/customers/\(token)"

  /// A path with its query, the parameter that is wrong, and the reason.
  private static let table: [(String, String?, String)] =
    ["0", "501", "-1", "1e9", "abc", "", "9223372036854775808", "%31%00", "+1"].map {
      ("/v1/entitlements?limit=\($0)", "limit", "invalid")
    }
    + ["ACTIVE", "%", "%2", "%zz", "x", ""].map {
      ("/v1/entitlements?status=\($0)", "status", "invalid")
    }
    + ["x", "00", "zz", "%00"].map { ("/v1/entitlements?after=\($0)", "after", "invalid") }
    + ["", "42", "\(token)0", "%20"].map {
      ("/v1/entitlements?app_account_token=\($0)", "app_account_token", "invalid")
    }
    + ["%ff", "%C0%80", "%0a", ""].map {
      ("/v1/entitlements?product_id=\($0)", "product_id", "invalid")
    }
    + ["x", "", "2026-13-01", "2026-02-30", "9223372036854775808", "0x1"].flatMap { value in
      [row, "\(row)/history", customer].map { ("\($0)?as_of=\(value)", "as_of", "invalid") }
    }
    + ["Xcode", "production", ""].flatMap { value in
      [row, customer].map { ("\($0)?environment=\(value)", "environment", "invalid") }
    }
    + [
      ("\(row)?known_at=-", "known_at", "invalid"), ("\(row)/history?raw=yes", "raw", "invalid"),
      ("/v1/overview?hours=0", "hours", "invalid"), ("/v1/overview?hours=169", "hours", "invalid"),
      ("/v1/quarantine?after=0", "after", "invalid"),
      ("/v1/quarantine?after=x", "after", "invalid"),
      ("\(customer)?by=user", "by", "invalid"), ("/v1/customers/42", "id", "invalid"),
      ("\(row)?as_of=1&as_of=1", "as_of", "repeated"),
      ("/v1/search", "id", "missing"), ("/v1/search?id=", "id", "invalid"),
      ("/v1/entitlements?limit=1&limit=1", "limit", "repeated"),
      ("\(row)?limit=1", nil, "unknown"), ("\(row)?As_of=1", nil, "unknown"),
      ("\(customer)?raw=true", nil, "unknown"), ("/v1/rebuild?x=1", nil, "unknown"),
      ("/v1/entitlements?limit=1&=1", nil, "unknown"),
      ("/v1/entitlements?limit%00=1", nil, "unknown"),
    ]

  private func served() throws -> (Installation, RunningDaemon) {
    let installation = try Installation()
    return (installation, try installation.start())
  }

  @Test func `every wrong query has its parameter named`() throws {
    let (installation, daemon) = try served()
    defer { withExtendedLifetime(installation) {} }
    let client = daemon.client()
    #expect(Self.table.count >= 60)
    for (path, parameter, reason) in Self.table {
      let answer = try #require(client.get(path))
      let problem = answer.json
      #expect(answer.status == 400 && problem?["code"]?.string == "query", "\(path)")
      #expect(problem?["parameter"]?.string == parameter, "\(path): \(answer.text)")
      #expect(problem?["reason"]?.string == reason, "\(path)")
      if reason == "invalid" { #expect(problem?["expected"]?.kind == .object, "\(path)") }
    }
    let limit = client.get("/v1/entitlements?status=active&limit=501")?.json
    #expect(limit?["position"]?.integer == 2)
    #expect(limit?["expected"]?["minimum"]?.integer == 1)
    #expect(limit?["expected"]?["maximum"]?.integer == 500)
    let unknown = client.get("/v1/overview?hour=1")?.json
    let names = unknown?["expected"]?["enum"]?.elements.compactMap(\.string)
    #expect(names == ["hours", "environment", "bundle_id"])
    #expect(try daemon.stop().code == 0)
  }

  @Test func `every wrong member of a query's body is named`() throws {
    let (installation, daemon) = try served()
    defer { withExtendedLifetime(installation) {} }
    let client = daemon.client()
    let ids = "\"ids\":[\"\(Self.token)\"]"
    for (body, parameter, reason) in [
      ("{}", "ids", "missing"), ("{\"ids\":[]}", "ids", "invalid"),
      ("{\"ids\":\"x\"}", "ids", "invalid"), ("{\"ids\":[1]}", "ids", "invalid"),
      ("{\"ids\":[\"42\"]}", "ids", "invalid"), ("{\(ids),\"by\":\"user\"}", "by", "invalid"),
      ("{\(ids),\"as_of\":\"x\"}", "as_of", "invalid"),
      ("{\(ids),\"environment\":1}", "environment", "invalid"),
      ("{\(ids),\"bundle_id\":null}", "bundle_id", "invalid"),
      ("{\(ids),\"limit\":1}", nil, "unknown"), ("[]", nil, "invalid"), ("", nil, "invalid"),
      ("{\(ids),\(ids)}", nil, "invalid"),
    ] as [(String, String?, String)] {
      let head =
        "POST /v1/customers/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
        + "\(Installation.token)\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
      let answer = try #require(client.send(head, Array(body.utf8)))
      #expect(answer.status == 400 && answer.json?["code"]?.string == "body", "\(body)")
      #expect(answer.json?["parameter"]?.string == parameter, "\(body): \(answer.text)")
      #expect(answer.json?["reason"]?.string == reason, "\(body)")
    }
    #expect(try daemon.stop().code == 0)
  }

  @Test func `an id of the other environment is told from an unknown one`() throws {
    let (installation, daemon) = try served()
    defer { withExtendedLifetime(installation) {} }
    let client = daemon.client()
    let body = Sample.notification(1, otid: "7010", environment: "Sandbox")
    #expect(client.post(try installation.sign(body))?.status == 200)
    for end in ["", "/history", "?as_of=2026-01-10T00:00:00Z"] {
      let wrong = client.get("/v1/entitlements/7010\(end)")
      #expect(wrong?.status == 404 && wrong?.json?["code"]?.string == "wrong_environment")
      let unknown = client.get("/v1/entitlements/1\(end)")
      #expect(unknown?.status == 404 && unknown?.json?["code"]?.string == "no_such_entitlement")
      // It would tell a token of the Sandbox alone nothing that it may not know; nor one of an app.
      for token in [Installation.otherAppsToken, Installation.sandboxToken] {
        let hidden = client.get("/v1/entitlements/7010\(end)", token: token)
        #expect(hidden?.json?["code"]?.string == "no_such_entitlement", "\(end)")
      }
    }
    #expect(client.get("/v1/entitlement/7010")?.json?["code"]?.string == "no_such_route")
    #expect(try daemon.stop().code == 0)
  }
}
