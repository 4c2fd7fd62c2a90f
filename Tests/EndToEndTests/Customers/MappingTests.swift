import Foundation
import StrictJSON
import Support
import Testing

/// The mapping of products to entitlements: compared, then journaled as it takes effect.
@Suite struct MappingTests {
  private static let day: Int64 = 86_400_000

  private func mapping(_ products: String...) -> (String, JSONValue) {
    ("entitlements", .object([("pro", .array(products.map(JSONValue.string)))]))
  }

  /// A daemon with customers of `pro.monthly` whose period includes now.
  private func served(
    _ count: Int, with more: [(String, JSONValue)]
  ) throws -> (Installation, RunningDaemon) {
    let installation = try Installation()
    try installation.configure(with: more)
    let daemon = try installation.start()
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    for number in 1...count {
      let body = Sample.notification(number, otid: "\(7000 + number)")
        .setting("data.transaction.purchaseDate", .integer(now - Self.day))
        .setting("data.transaction.expiresDate", .integer(now + 20 * Self.day))
      #expect(daemon.client().post(try installation.sign(body))?.status == 200)
    }
    return (installation, daemon)
  }

  private func pro(_ daemon: RunningDaemon, _ id: Int = 7001, _ more: String = "") -> JSONElement? {
    daemon.client().get("/v1/customers/\(id)?by=original_transaction_id\(more)")?
      .json?["entitlements"]?["pro"]
  }

  private func reload(
    _ installation: Installation, _ daemon: RunningDaemon, with more: [(String, JSONValue)]
  ) throws {
    try installation.configure(with: more)
    try daemon.reload()
  }

  @Test func `a mapping is journaled as it takes effect, and the past keeps its own`() throws {
    let (installation, daemon) = try served(1, with: [mapping("pro.*")])
    let client = daemon.client()
    let first = try #require(client.get("/v1/events?source=catalog")?.json?["items"]?.elements)
    #expect(first.map { $0["seq"]?.integer } == [1, 2])
    #expect(Set(first.map { $0["environment"]?.string }) == ["Production", "Sandbox"])
    #expect(first.allSatisfy { $0["notification_type"]?.string == "CATALOG" })
    #expect(pro(daemon)?["active"]?.boolean == true)
    let before = Int64(Date().timeIntervalSince1970 * 1000)
    Thread.sleep(forTimeInterval: 0.05)

    // A letter is wrong.
    try reload(installation, daemon, with: [mapping("pro.yearly", "pro.monthli")])
    try daemon.command.wait(60, "the mapping") { pro(daemon)?["active"]?.boolean == false }
    #expect(pro(daemon)?["reason"]?.string == "unmapped")
    for past in ["as_of", "known_at"] {
      #expect(pro(daemon, 7001, "&\(past)=\(before)")?["active"]?.boolean == true, "\(past)")
      let now = pro(daemon, 7001, "&\(past)=\(before)&mapping=now")
      #expect(now?["active"]?.boolean == false, "\(past)")
    }
    #expect(client.get("/v1/customers/1?by=account&mapping=then")?.status == 400)

    let history = try #require(
      client.get("/v1/entitlements/7001/history")?.json?["items"]?.elements)
    let change = try #require(history.first { $0["object"]?.string == "mapping" })
    #expect(change["lost"]?.elements.map(\.string) == ["pro"] && change["seq"]?.integer == 4)
    let all = client.get("/v1/events?source=catalog&include=payload")?.json?["items"]?.elements
    let said = try #require(all?.last?["payload"])
    #expect(said["type"]?.string == "CATALOG" && said["token"]?.string == "configuration")
    #expect(said["before"]?["pro"]?["products"]?.elements.map(\.string) == ["pro.*"])
    #expect(
      said["entitlements"]?["pro"]?["products"]?.elements.map(\.string)
        == ["pro.yearly", "pro.monthli"])
    #expect(all?.first?["payload"]?["before"]?.kind == .null)
    let explained = try installation.run("explain", "7001")
    #expect(explained.output.contains("pro.monthly gives no entitlement"), "\(explained)")
    #expect(explained.output.contains("by #4  CATALOG"), "\(explained)")
    let doctor = try installation.run("doctor")
    #expect(doctor.output.contains("did you mean pro.monthly?"), "\(doctor)")

    let shown = try installation.run("entitlements", "--json")
    #expect(
      try shown.lines().count == 2
        && shown.lines().allSatisfy {
          $0["configured"]?.boolean == true
        })
    #expect(try installation.run("verify").code == 0)
    // An export has them, and another ledger takes them in their places.
    let (lines, copy) = ("\(installation.folder.path)/lines", "\(installation.folder.path)/copy")
    #expect(try installation.run("export", "--output", lines).code == 0)
    let ingested = try installation.run("ingest", lines, "--keep-chain", "--data", copy)
    #expect(ingested.code == 0, "\(ingested)")
    #expect(try installation.run("verify", "--data", copy).code == 0)
    #expect(
      try installation.run("entitlements", "--json", "--data", copy).output == shown.output)
    #expect(try daemon.stop().code == 0)
    // Nothing changed, so nothing is journaled.
    let again = try installation.start()
    #expect(again.client().get("/v1/events?source=catalog")?.json?["items"]?.elements.count == 4)
    #expect(try again.stop().code == 0)
  }

  @Test func `a mapping by which too many would lose waits for an operator`() throws {
    let (installation, daemon) = try served(30, with: [mapping("pro.*")])
    let other = installation.folder.appending(path: "other.json")
    try reload(installation, daemon, with: [mapping("pro.yearly")])
    try daemon.logged("mapping_refused", "\"would_lose\":30", "\"having\":30")
    #expect(pro(daemon)?["active"]?.boolean == true)
    let metrics = try #require(client(daemon, "/metrics"))
    #expect(metrics.contains("subledger_mapping_refused 1"))
    let refused = daemon.client().get("/v1/overview")?.json?["refused_mapping"]?.elements ?? []
    try #require(refused.count == 1)
    #expect(refused[0]["name"]?.string == "pro")
    #expect(refused[0]["would_lose"]?.integer == 30 && refused[0]["having"]?.integer == 30)
    let doctor = try installation.run("doctor")
    #expect(doctor.output.contains("is not in force"), "\(doctor)")

    // Who would lose, and how the exit codes are.
    try FileManager.default.copyItem(at: installation.config, to: other)
    let file = installation.folder.appending(path: "diff.csv").path
    let compared = try installation.run("entitlements", "--diff", other.path, "--output", file)
    #expect(compared.code == 1 && compared.output.contains("30 entitlements lost, 0 gained"))
    #expect(compared.output.contains(/lose: 30 +pro +pro\.monthly/), "\(compared)")
    let written = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    #expect(written.count == 31)
    let row = "Production,com.example.app,original_transaction_id,7001,pro,lost,pro.monthly,"
    #expect(written[1].hasPrefix(row))
    let gained = try installation.run(
      "entitlements", "--diff", other.path, "--fail-on", "gained-access")
    #expect(gained.code == 0)
    #expect(try installation.run("entitlements", "--diff", other.path, "--fail-on", "x").code == 2)

    let accepted = try installation.run("entitlements", "--accept", other.path)
    #expect(accepted.code == 0, "\(accepted)")
    #expect(pro(daemon)?["active"]?.boolean == false)
    try daemon.command.wait(60, "the metric") {
      client(daemon, "/metrics")?.contains("subledger_mapping_refused 0") == true
    }
    #expect(try installation.run("entitlements", "--diff", other.path).code == 0)
    let overview = daemon.client().get("/v1/overview")?.json
    #expect(overview?["refused_mapping"]?.elements.isEmpty == true)

    // What was in force when, and who said so.
    let log = try installation.run("entitlements", "--log")
    let lines = log.output.split(separator: "\n").map { $0.replacing(#/ {2,}/#, with: "  ") }
    #expect(lines.count == 10, "\(log)")
    #expect(lines[0].contains(#/#\d+  Production  com.example.app, by configuration/#), "\(log)")
    #expect(lines[1] == "  + pro  pro.*")
    #expect(lines.contains { $0.contains("by command") })
    #expect(lines.suffix(2) == ["  - pro  pro.*", "  + pro  pro.yearly"], "\(log)")
    let changes = try installation.run("entitlements", "--log", "--json").lines()
    let (first, last) = (changes[0], changes[changes.count - 1])
    #expect(first["before"]?.kind == .null)
    #expect(last["before"]?["pro"]?["products"]?.elements.map(\.string) == ["pro.*"])
    let then = try installation.run(
      "entitlements", "--as-of", "\((last["at"]?.integer ?? 0) - 1)", "--json"
    ).lines().first { $0["environment"]?.string == last["environment"]?.string }
    #expect(then?["entitlements"]?["pro"]?["products"]?.elements.first?.string == "pro.*")
    let never = try installation.run("entitlements", "--as-of", "2020-01-01T00:00:00Z")
    #expect(never.code == 0 && never.output.hasPrefix("none was in force then"), "\(never)")

    // Without a limit, and back again: who gains is no loss.
    try reload(
      installation, daemon, with: [mapping("pro.*"), ("entitlementLossLimit", .null)])
    try daemon.command.wait(60, "the mapping") { pro(daemon)?["active"]?.boolean == true }
    try reload(
      installation, daemon, with: [mapping("pro.yearly"), ("entitlementLossLimit", .null)])
    try daemon.command.wait(60, "the mapping") { pro(daemon)?["active"]?.boolean == false }
    #expect(try daemon.stop().code == 0)
  }

  @Test func `a name that too many would lose holds up no other, and no other environment`() throws
  {
    let (installation, daemon) = try served(20, with: [mapping("pro.*")])
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    for number in 1...20 {
      let body = Sample.notification(100 + number, otid: "\(8000 + number)", environment: "Sandbox")
        .setting("data.transaction.purchaseDate", .integer(now - Self.day))
        .setting("data.transaction.expiresDate", .integer(now + 20 * Self.day))
      #expect(daemon.client().post(try installation.sign(body))?.status == 200)
    }
    func changed(_ limit: JSONValue) -> [(String, JSONValue)] {
      let names = [("pro", "pro.yearly"), ("plus", "pro.monthly")].map { name, product in
        (name, JSONValue.array([.string(product)]))
      }
      return [("entitlements", .object(names)), ("entitlementLossLimit", limit)]
    }
    func names(_ id: Int, _ environment: String) -> [String] {
      let path = "/v1/customers/\(id)?by=original_transaction_id&environment=\(environment)"
      let all = daemon.client().get(path)?.json?["entitlements"]
      return ["plus", "pro"].filter { all?[$0]?["active"]?.boolean == true }
    }
    // Nobody may lose in the Sandbox either.
    try reload(
      installation, daemon,
      with: changed(.object([("Production", .integer(5)), ("Sandbox", .integer(5))])))
    try daemon.command.wait(60, "what is not refused") {
      names(7001, "Production") == ["plus", "pro"] && names(8001, "Sandbox") == ["plus", "pro"]
    }
    func refused() -> [String?] {
      (daemon.client().get("/v1/overview")?.json?["refused_mapping"]?.elements ?? []).map {
        $0["environment"]?.string
      }.sorted { $0 ?? "" < $1 ?? "" }
    }
    #expect(refused() == ["Production", "Sandbox"])
    try daemon.command.wait(60, "what differs") {
      client(daemon, "/metrics")?.contains("subledger_mapping_differs 2") == true
    }
    let ready = daemon.client().get("/readyz", token: nil)?.json?["other_mappings"]?.elements ?? []
    #expect(ready.map { $0["token"]?.string } == ["configuration", "configuration"])
    // Production alone has a limit.
    try reload(installation, daemon, with: changed(.integer(5)))
    try daemon.command.wait(60, "the mapping") { names(8001, "Sandbox") == ["plus"] }
    #expect(names(7001, "Production") == ["plus", "pro"] && refused() == ["Production"])
    // A restart decides the same, and says nothing new.
    #expect(try daemon.stop().code == 0)
    let again = try installation.start()
    try again.logged("mapping_refused", "\"name\":\"pro\"", "\"environment\":\"Production\"")
    #expect(again.client().get("/v1/events?source=catalog")?.json?["items"]?.elements.count == 5)
    #expect(try again.stop().code == 0)
  }

  @Test func `a start compares as a reload does`() throws {
    let (installation, daemon) = try served(20, with: [mapping("pro.*")])
    #expect(try daemon.stop().code == 0)
    try installation.configure(with: [mapping("pro.yearly")])
    let refused = try installation.start()
    try refused.logged("mapping_refused")
    #expect(pro(refused)?["active"]?.boolean == true)
    #expect(try refused.stop().code == 0)
    // Without a daemon an operator decides too.
    let accepted = try installation.run("entitlements", "--accept", installation.config.path)
    #expect(accepted.code == 0, "\(accepted)")
    let again = try installation.start()
    #expect(pro(again)?["active"]?.boolean == false)
    #expect(try again.stop().code == 0)
  }

  @Test func `a reload of the limit alone puts in force what was refused`() throws {
    let (installation, daemon) = try served(20, with: [mapping("pro.*")])
    try reload(installation, daemon, with: [mapping("pro.yearly")])
    try daemon.logged("mapping_refused")
    #expect(pro(daemon)?["active"]?.boolean == true)
    try reload(
      installation, daemon, with: [mapping("pro.yearly"), ("entitlementLossLimit", .null)])
    try daemon.command.wait(60, "the mapping") { pro(daemon)?["active"]?.boolean == false }
    #expect(try daemon.stop().code == 0)
  }

  @Test func `each change says what it gives and takes, also where few lose`() throws {
    let (installation, daemon) = try served(5, with: [mapping("pro.*")])
    try reload(installation, daemon, with: [mapping("pro.yearly")])
    try daemon.logged("mapping_takes_access", "\"lost\":5", "\"having\":5", "\"name\":\"pro\"")
    try daemon.logged(
      "mapping_in_force", "\"said_by\":\"configuration\"", "\"names\":[\"pro\"]", "\"lost\":5",
      "\"gained\":0")
    #expect(pro(daemon)?["active"]?.boolean == false)
    #expect(try daemon.stop().code == 0)
    // A start says it too.
    try installation.configure(with: [mapping("pro.*")])
    let again = try installation.start()
    try again.logged("mapping_in_force", "\"lost\":0", "\"gained\":5")
    #expect(try again.stop().code == 0)
  }

  @Test func `a reload compares with what is in force, and not with what was read before`() throws {
    let (installation, daemon) = try served(5, with: [mapping("pro.*")])
    let other = installation.folder.appending(path: "other.json")
    let configured = try Data(contentsOf: installation.config)
    try installation.configure(with: [mapping("pro.yearly")])
    try FileManager.default.moveItem(at: installation.config, to: other)
    try configured.write(to: installation.config)
    let accepted = try installation.run("entitlements", "--accept", other.path)
    #expect(accepted.code == 0 && accepted.output.contains("5 entitlements lost"), "\(accepted)")
    #expect(accepted.errors.contains("is not the configuration of the daemon"), "\(accepted)")
    #expect(pro(daemon)?["active"]?.boolean == false)
    try reload(installation, daemon, with: [mapping("pro.*")])
    try daemon.command.wait(60, "the mapping") { pro(daemon)?["active"]?.boolean == true }
    // Each environment has a mapping of its own, and that of the Sandbox comes second.
    try daemon.command.wait(60, "both environments") {
      let shown = try? installation.run("entitlements", "--json").lines()
      return shown?.allSatisfy { $0["configured"]?.boolean == true } ?? false
    }
    let same = try installation.run("entitlements", "--accept", installation.config.path)
    #expect(same.output.contains("in force already") && same.errors.isEmpty, "\(same)")
    #expect(try daemon.stop().code == 0)
  }

  private func client(_ daemon: RunningDaemon, _ path: String) -> String? {
    daemon.client().get(path).map { String(decoding: $0.body, as: UTF8.self) }
  }
}
