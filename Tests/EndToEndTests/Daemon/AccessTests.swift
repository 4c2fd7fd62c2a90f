import Foundation
import StrictJSON
import Support
import Testing

/// What a token may read, and what logs and answers never contain.
@Suite struct AccessTests {
  /// A daemon with rows of six customers.
  private struct Served {
    let installation: Installation
    let daemon: RunningDaemon
    let client: Client
  }

  private func served() throws -> Served {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    for number in 1...6 {
      let body = try installation.sign(Sample.notification(number, otid: "700\(number)"))
      #expect(client.post(body)?.status == 200)
    }
    return Served(installation: installation, daemon: daemon, client: client)
  }

  @Test func `every read needs exactly one valid token`() throws {
    let served = try served()
    let (daemon, client) = (served.daemon, served.client)
    defer { withExtendedLifetime(served) {} }
    let token = Installation.token
    let wrong: [[String]] = [
      [], ["Authorization: Basic \(token)"], ["Authorization: \(token)"],
      ["Authorization: Bearer \(token)x"], ["Authorization: Bearer"],
      ["Authorization: Bearer \(token)", "Authorization: Bearer \(token)"],
      ["Authorization: Bearer " + String(repeating: "a", count: 4000)],
    ]
    for path in [
      "/v1/entitlements", "/v1/entitlements/7001", "/v1/entitlements/7001/history",
      "/metrics", "/v1/entitlements/7001?token=\(token)", "/v1/entitlements?access_token=\(token)",
    ] {
      for fields in wrong {
        let answer = try #require(daemon.client().ask("GET", path, fields))
        #expect(answer.status == 401, "\(path) \(fields)")
        #expect(answer.field("WWW-Authenticate") == "Bearer")
        #expect(answer.field("Content-Type") == "application/problem+json")
      }
    }
    let long = ["Authorization: Bearer " + String(repeating: "a", count: 10_240)]
    let tooLong = try #require(daemon.client().ask("GET", "/metrics", long))
    #expect(tooLong.status == 431 || tooLong.status == 401)
    for path in ["/healthz", "/readyz", "/version"] {
      #expect(client.get(path, token: nil)?.status == 200, "\(path)")
    }
    #expect(client.get("/v1/entitlements/7001")?.status == 200)
  }

  @Test func `a token for metrics may read these and nothing else`() throws {
    let installation = try Installation()
    let scraper = "e2e-token-of-the-scraper-4720"
    try installation.configure(with: [
      (
        "readTokens",
        .array([
          Installation.token("backend", Installation.token, []),
          Installation.token("scraper", scraper, [("may", .array([.string("metrics")]))]),
        ])
      )
    ])
    let daemon = try installation.start()
    let client = daemon.client()
    #expect(client.post(try installation.sign(Sample.notification(1, otid: "7001")))?.status == 200)
    #expect(client.get("/metrics", token: scraper)?.status == 200)
    #expect(client.get("/metrics")?.status == 200, "read includes it")
    for path in ["/v1/entitlements", "/v1/entitlements/7001", "/v1/events", "/v1/sinks"] {
      let answer = try #require(client.get(path, token: scraper))
      #expect(answer.status == 403 && answer.json?["code"]?.string == "not_allowed", "\(path)")
    }
    #expect(client.get("/version", token: scraper)?.json?["digest"]?.kind == .null)
    _ = try daemon.stop()
  }

  @Test func `no guessed token is accepted`() throws {
    let served = try served()
    defer { withExtendedLifetime(served) {} }
    let accepted = (0..<2_000).filter { guess in
      served.daemon.client().get("/v1/entitlements/7001", token: "guess-\(guess)")?.status != 401
    }
    #expect(accepted == [])
  }

  @Test(arguments: [Installation.otherAppsToken, Installation.sandboxToken])
  func `rows outside the scope of a token look absent`(token: String) throws {
    let served = try served()
    let client = served.client
    defer { withExtendedLifetime(served) {} }
    for path in ["", "/history"] {
      let there = try #require(client.get("/v1/entitlements/7001\(path)", token: token))
      let absent = try #require(client.get("/v1/entitlements/1\(path)", token: token))
      #expect(there.status == 404)
      #expect(there.fields == absent.fields && there.body == absent.body)
    }
    let list = try #require(client.get("/v1/entitlements?limit=9", token: token)?.json)
    #expect(list["items"]?.elements.isEmpty == true)
  }

  @Test func `lists are paged and refuse impossible queries`() throws {
    let served = try served()
    let client = served.client
    defer { withExtendedLifetime(served) {} }
    var ids: [String] = []
    var path: String? = "/v1/entitlements?limit=2"
    var cursor: String?
    while let next = path {
      let page = try #require(client.get(next)?.json)
      ids += page["items"]?.elements.compactMap { $0["original_transaction_id"]?.string } ?? []
      cursor = page["next_page"]?.string ?? cursor
      path = page["next_page"]?.string.map { "/v1/entitlements?limit=2&after=\($0)" }
      #expect(ids.count <= 6)
    }
    #expect(ids == (1...6).map { "700\($0)" })
    let good = try #require(cursor)
    for value in [
      "limit=-1", "limit=1e9", "limit=abc", "limit=0", "limit=1000000000", "limit=",
      "after=x", "after=\(good.dropLast(2))", "after=\(good.dropFirst(2))", "after=00\(good)",
      "after=", "status=alive", "environment=production", "unknown=1", "limit=1&limit=2",
    ] {
      let answer = try #require(client.get("/v1/entitlements?\(value)"))
      #expect(answer.status == 400, "\(value): \(answer.status)")
      #expect(!answer.text.contains(value))
    }
    let theirs = client.get("/v1/entitlements?after=\(good)", token: Installation.otherAppsToken)
    #expect(theirs?.status == 400)
    for path in ["as_of=x", "known_at=-", "environment=Xcode", "limit=1", "as_of=1&as_of=2"] {
      #expect(client.get("/v1/entitlements/7001?\(path)")?.status == 400, "\(path)")
    }
  }

  @Test func `no other method or path writes anything`() throws {
    let served = try served()
    let (installation, daemon, client) = (served.installation, served.daemon, served.client)
    let before = try installation.events().count
    let token = ["Authorization: Bearer \(Installation.token)"]
    for path in [
      "/v1/entitlements", "/v1/entitlements/7001", "/v1/entitlements/7001/history",
      "/v1/overview", "/v1/quarantine", "/v1/rebuild", "/openapi.json", "/console",
      "/", "/healthz", "/readyz", "/version", "/metrics",
    ] {
      for method in ["POST", "PUT", "PATCH", "DELETE"] {
        for fields in [[], token] {
          let answer = try #require(daemon.client().ask(method, path, fields))
          #expect(answer.status == 405, "\(method) \(path)")
          #expect(answer.field("Allow")?.contains("GET") == true)
        }
      }
    }
    for path in [
      "/control/ingest", "/control/adopt", "/control/quarantine/admit",
      "/control/quarantine/drop", "/control/events", "/v1/quarantine/1", "/v1",
    ] {
      for method in ["POST", "DELETE", "GET"] {
        #expect(daemon.client().ask(method, path, token)?.status == 404, "\(method) \(path)")
      }
    }
    for path in [
      "%27%20OR%201=1--", "..", "%00", "7001%00", "７００１",
      String(repeating: "7", count: 1500),
    ] {
      let answer = daemon.client().ask("GET", "/v1/entitlements/\(path)", token)
      #expect(
        [400, 404].contains(answer?.status ?? 0), "\(path.prefix(30)) \(answer?.status ?? 0)")
    }
    #expect(client.get("/healthz", token: nil)?.status == 200)
    #expect(try installation.events().count == before)
  }

  @Test func `the log holds no secret`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let canary = "ca11ab1e-0000-4000-8000-00000000beef"
    let wrong = "wrong-token-canary-0815"
    var bodies: [[UInt8]] = []
    let accountable = Sample.notification(1)
      .setting("data.transaction.appAccountToken", .string(canary))
      .setting("data.renewalInfo.appAccountToken", .string(canary))
    bodies.append(try installation.sign(accountable))
    bodies.append(try installation.sign(accountable.setting("data.bundleId", .string("x.y"))))
    bodies.append(bodies[0].dropLast(8) + Array("AAAAAA\"}".utf8))
    bodies.append(Array("{\"appAccountToken\":\"\(canary)\"".utf8))
    let hostile = "\u{1B}[2J\r\nfake\u{202E}" + String(repeating: "A", count: 65_536)
    bodies.append(
      try installation.sign(
        Sample.notification(4, type: hostile).setting("data.bundleId", .string("x.y"))))
    let client = daemon.client()
    let answers = bodies.map { client.post($0)?.status ?? 0 }
    #expect(answers == [200, 422, 401, 400, 422])
    let found = client.get("/v1/entitlements?app_account_token=\(canary)")
    #expect(found?.json?["items"]?.elements.count == 1)
    _ = client.get("/v1/entitlements/7000?token=\(Installation.token)", token: wrong)
    _ = daemon.client().ask("GET", "/\(canary)/\u{1B}[2J", ["User-Agent: \(canary)"])
    #expect(try daemon.stop().code == 0)
    let log = daemon.log
    let part = String(decoding: bodies[0][20..<60], as: UTF8.self)
    let secrets = [Installation.token, canary, wrong, part]
    for secret in secrets { #expect(!log.contains(secret), "the log has \(secret)") }
    let lines = log.split(separator: "\n")
    #expect(lines.count >= 5)
    for line in lines {
      #expect(line.utf8.count <= 2048 && !line.unicodeScalars.contains("\u{1B}"))
      #expect((try? JSONDocument(parsing: Array(line.utf8))) != nil, "\(line)")
    }
  }
}
