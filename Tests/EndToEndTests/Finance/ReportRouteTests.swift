import Foundation
import StrictJSON
import Support
import Testing

/// `GET /v1/reports`, apart from what reports sum.
@Suite struct ReportRouteTests {
  private static let scopes: [(name: String, scope: [(String, JSONValue)])] = [
    ("everything", []),
    ("one app", [("bundleIds", .array([.string("com.example.app")]))]),
    ("another app", [("bundleIds", .array([.string("com.example.other")]))]),
    ("the sandbox", [("environments", .array([.string("Sandbox")]))]),
    ("no reader", [("may", .array([.string("submit")]))]),
  ]

  /// 9.99 of one app in January, and 5.00 of another.
  private func world() throws -> (installation: Installation, daemon: RunningDaemon) {
    let installation = try Installation()
    let apps = ["com.example.app", "com.example.other"].map { id in
      JSONValue.object([("bundleId", .string(id)), ("appAppleId", .integer(123_456_789))])
    }
    try installation.configure(with: [
      ("apps", .array(apps)),
      (
        "readTokens",
        .array(Self.scopes.map { Installation.token($0.name, "token of \($0.name)", $0.scope) })
      ),
    ])
    let january = try Finance.time("2026-01-10")
    try Finance.ingest(
      [("com.example.app", 9_990), ("com.example.other", 5_000)].enumerated().map { number, app in
        (
          Sample.notification(number + 1, otid: "700\(number)", bundleId: app.0).dated(january)
            .setting("data.transaction.purchaseDate", .integer(january))
            .setting("data.transaction.price", .integer(app.1))
            .setting("data.transaction.currency", .string("EUR")), january
        )
      }, installation)
    return (installation, try installation.start())
  }

  @Test func `a report counts the apps and environments of the token alone`() throws {
    let world = try world()
    let daemon = world.daemon
    func charged(_ scope: String, _ query: String = "") throws -> [String] {
      let path = "/v1/reports/charges\(query)"
      let answer = try #require(daemon.client().get(path, token: "token of \(scope)"))
      #expect(answer.status == 200, "\(answer.text)")
      #expect(answer.json?["is_whole"]?.boolean == true)
      return (answer.json?["items"]?.elements ?? []).map { line in
        "\(line["month"]?.string ?? "") \(line["charged"]?.value.text ?? "")"
      }
    }
    #expect(try charged("everything") == ["2026-01 14.99"])
    #expect(try charged("one app") == ["2026-01 9.99"])
    #expect(try charged("another app", "?month=2026-01") == ["2026-01 5.0"])
    #expect(try charged("another app", "?month=2026-02") == [])
    #expect(try charged("the sandbox") == [])
    let refused = daemon.client().get("/v1/reports/charges", token: "token of no reader")
    #expect(refused?.status == 403)
    // Whatever a report reads, it reads in place of the views.
    for name in Finance.reports {
      let path = "/v1/reports/\(name)\(name == "customer" ? "?customer=x" : "")"
      let narrow = try #require(daemon.client().get(path, token: "token of the sandbox"))
      #expect(narrow.status == 200 && narrow.json?["items"]?.elements.isEmpty == true, "\(name)")
    }
    #expect(try daemon.stop().code == 0)
    #expect(try world.installation.run("verify").code == 0)
  }

  @Test func `reports are listed, and an impossible question is refused`() throws {
    let world = try world()
    let daemon = world.daemon
    func get(_ path: String) throws -> (status: Int, json: JSONElement?) {
      let answer = try #require(daemon.client().get(path, token: "token of everything"))
      return (answer.status, answer.json)
    }
    let listed = try get("/v1/reports").json?["items"]?.elements ?? []
    #expect(listed.compactMap { $0["name"]?.string } == Finance.reports)
    #expect(try get("/v1/reports/chargs").json?["code"]?.string == "no_such_report")
    for path in [
      "charges?month=2026-13", "charges?day=2026-01-01", "subscriptions?day=2026-02-30",
      "customer", "customer?customer=", "charges?limit=5",
    ] {
      #expect(try get("/v1/reports/\(path)").status == 400, "\(path)")
    }
    #expect(try get("/v1/reports/subscriptions").json?["day"]?.string?.count == 10)
    #expect(try daemon.stop().code == 0)
    #expect(try world.installation.run("verify").code == 0)
  }
}
