import Foundation
import StrictJSON
import Support
import Testing

/// How long non-renewing products last is the owner's word: compared, journaled, and with a past.
@Suite struct DurationChangeTests {
  private static let day: Int64 = 86_400_000

  private func durations(_ days: Int?, _ names: String...) -> [(String, JSONValue)] {
    [
      (
        "nonRenewingDurations",
        .object(days.map { [("season.pass", .string("P\($0)D"))] } ?? [])
      ), ("entitlements", .object(names.map { ($0, .array([.string("season.*")])) })),
    ]
  }

  /// A daemon with customers who bought a season pass 20 days ago.
  private func served(
    _ count: Int, with more: [(String, JSONValue)]
  ) throws -> (Installation, RunningDaemon) {
    let installation = try Installation()
    try installation.configure(with: more)
    let daemon = try installation.start()
    for number in 1...count {
      let body = try installation.sign(Self.purchase(number))
      #expect(daemon.client().post(body)?.status == 200)
    }
    return (installation, daemon)
  }

  private static func purchase(_ number: Int) -> JSONValue {
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    return Sample.notification(number, otid: "\(7000 + number)", type: "ONE_TIME_CHARGE")
      .setting("data.renewalInfo", nil)
      .setting("data.transaction.productId", .string("season.pass"))
      .setting("data.transaction.type", .string("Non-Renewing Subscription"))
      .setting("data.transaction.purchaseDate", .integer(now - 20 * day))
      .setting("data.transaction.expiresDate", nil)
  }

  private func reload(
    _ installation: Installation, _ daemon: RunningDaemon, with more: [(String, JSONValue)]
  ) throws {
    try installation.configure(with: more)
    try daemon.reload()
  }

  private func row(_ daemon: RunningDaemon, _ more: String = "") -> JSONElement? {
    daemon.client().get("/v1/entitlements/7001\(more)")?.json
  }

  private func hasPro(_ daemon: RunningDaemon, _ more: String = "") -> Bool? {
    daemon.client().get("/v1/customers/7001?by=original_transaction_id\(more)")?
      .json?["entitlements"]?["pro"]?["active"]?.boolean
  }

  /// Access by the row, by its list, by the views now and then, and by name.
  private func access(_ installation: Installation, _ daemon: RunningDaemon) throws -> [Bool?] {
    let list = daemon.client().get("/v1/entitlements?gives_access=true&limit=100")?.json?["items"]
    let view = try installation.run(
      "query", "--json",
      "SELECT gives_access FROM entitlement_v1 WHERE original_transaction_id = 7001")
    let spans = try installation.run(
      "query", "--json",
      """
      SELECT gives_access FROM entitlement_span_v1
      WHERE original_transaction_id = 7001 AND to_ms IS NULL
      """)
    return [
      row(daemon)?["gives_access"]?.boolean, list.map { !$0.elements.isEmpty },
      view.output.contains("\"gives_access\":1"), spans.output.contains("\"gives_access\":1"),
      hasPro(daemon),
    ]
  }

  @Test func `a shorter duration is refused above the limit, then accepted, and keeps the past`()
    throws
  {
    let (installation, daemon) = try served(30, with: durations(90, "pro"))
    let bought = try #require(row(daemon))
    #expect(bought["gives_access"]?.boolean == true)
    let end = try #require(bought["expires_at"]?.integer)
    try reload(installation, daemon, with: durations(10, "pro"))
    try daemon.logged("mapping_refused", "\"name\":\"pro\"", "\"would_lose\":30")
    #expect(row(daemon)?["gives_access"]?.boolean == true && hasPro(daemon) == true)
    #expect(row(daemon)?["expires_at"]?.integer == end)

    let other = installation.folder.appending(path: "other.json")
    try FileManager.default.copyItem(at: installation.config, to: other)
    let compared = try installation.run("entitlements", "--diff", other.path)
    #expect(compared.code == 1 && compared.output.contains("30 entitlements lost, 0 gained"))
    let before = Int64(Date().timeIntervalSince1970 * 1000)
    Thread.sleep(forTimeInterval: 0.05)
    let accepted = try installation.run("entitlements", "--accept", other.path)
    #expect(accepted.code == 0, "\(accepted)")
    try daemon.command.wait(60, "the end of the passes") {
      try access(installation, daemon) == [false, false, false, false, false]
    }
    #expect(row(daemon)?["expires_at"]?.integer == end - 80 * Self.day)
    for past in ["as_of", "known_at"] {
      #expect(row(daemon, "?\(past)=\(before)")?["gives_access"]?.boolean == true, "\(past)")
      #expect(hasPro(daemon, "&\(past)=\(before)") == true, "\(past)")
    }
    // The view has a span until the word, and one since.
    let spans = try installation.run(
      "query", "--json",
      """
      SELECT from_ms, to_ms, gives_access FROM entitlement_span_v1
      WHERE original_transaction_id = 7001 ORDER BY from_ms
      """)
    let said = try #require(
      daemon.client().get("/v1/events?source=catalog&include=payload")?.json?["items"]?
        .elements.last { $0["environment"]?.string == "Production" })
    let at = try #require(said["received_at"]?.integer)
    #expect(spans.output.contains("\"to_ms\":\(at),\"gives_access\":1"), "\(spans)")
    #expect(
      spans.output.contains("\"from_ms\":\(at),\"to_ms\":null,\"gives_access\":0"), "\(spans)")
    let payload = try #require(said["payload"])
    let lasts = ["durations", "durations_before"].map {
      payload[$0]?["season.pass"]?["lasts_ms"]?.integer
    }
    #expect(lasts == [10 * Self.day, 90 * Self.day])
    let log = try installation.run("entitlements", "--log")
    #expect(log.output.contains("  - season.pass lasts 90 d"), "\(log)")
    #expect(log.output.contains("  + season.pass lasts 10 d"), "\(log)")
    let history = try installation.run("history", "7001")
    #expect(history.output.contains("the mapping changed: season.pass lasts 10 days"), "\(history)")
    #expect(try installation.run("verify").code == 0)

    // The rows of a rebuild are the same.
    #expect(try installation.run("rebuild", "--apply").code == 0)
    #expect(try access(installation, daemon) == [false, false, false, false, false])
    #expect(row(daemon, "?as_of=\(before)")?["gives_access"]?.boolean == true)
    #expect(try daemon.stop().code == 0)
    // A start finds them in force, whatever it is configured with.
    let again = try installation.start()
    #expect(try access(installation, again) == [false, false, false, false, false])
    #expect(try again.stop().code == 0)
  }

  @Test func `the first durations of an app are compared with none, by a reload and by a start`()
    throws
  {
    let (installation, daemon) = try served(25, with: durations(nil, "pro"))
    let before = Int64(Date().timeIntervalSince1970 * 1000)
    #expect(row(daemon)?["expires_at"]?.kind == .null)
    let events = { (daemon: RunningDaemon) in
      daemon.client().get("/v1/events?source=catalog")?.json?["items"]?.elements.count
    }
    #expect(events(daemon) == 2, "without durations the mapping is as it always was")
    try reload(installation, daemon, with: durations(10, "pro"))
    try daemon.logged("mapping_refused", "\"would_lose\":25")
    #expect(row(daemon)?["gives_access"]?.boolean == true)
    #expect(try daemon.stop().code == 0)
    let compared = try installation.run("entitlements", "--diff", installation.config.path)
    #expect(compared.output.contains("25 entitlements lost"), "\(compared)")

    let again = try installation.start()
    try again.logged("mapping_refused", "\"would_lose\":25")
    #expect(row(again)?["gives_access"]?.boolean == true)
    try reload(
      installation, again, with: durations(10, "pro") + [("entitlementLossLimit", .null)])
    try again.command.wait(60, "the end") { row(again)?["gives_access"]?.boolean == false }
    #expect(row(again, "?as_of=\(before)")?["gives_access"]?.boolean == true)
    #expect(row(again, "?as_of=\(before)")?["expires_at"]?.kind == .null)
    #expect(try again.stop().code == 0)
  }

  @Test func `a file with the first durations is compared with what rows are evaluated by`() throws
  {
    let (installation, daemon) = try served(25, with: durations(nil, "pro"))
    try installation.configure(with: durations(10, "pro"))
    let file = installation.config.path
    let compared = try installation.run("entitlements", "--diff", file)
    #expect(compared.output.contains("25 entitlements lost, 0 gained"), "\(compared)")
    let before = Int64(Date().timeIntervalSince1970 * 1000)
    let accepted = try installation.run("entitlements", "--accept", file)
    #expect(accepted.output.contains("25 entitlements lost, 0 gained"), "\(accepted)")
    try daemon.command.wait(60, "the end") { row(daemon)?["gives_access"]?.boolean == false }
    #expect(row(daemon, "?as_of=\(before)")?["gives_access"]?.boolean == true)
    #expect(try daemon.stop().code == 0)
  }

  @Test func `what is ingested before the first start ends by what is configured, at every time`()
    throws
  {
    let installation = try Installation()
    try installation.configure(with: durations(10, "pro"))
    let lines = try installation.file("lines", [try installation.sign(Self.purchase(1))])
    #expect(try installation.run("ingest", lines).code == 0)
    let shown = try installation.run("entitlement", "7001", "--json")
    #expect(shown.output.contains("\"gives_access\":false"), "\(shown)")
    let daemon = try installation.start()
    #expect(try access(installation, daemon) == [false, false, false, false, false])
    let then = Int64(Date().timeIntervalSince1970 * 1000) - 5 * Self.day
    #expect(row(daemon, "?as_of=\(then)&knowledge=now")?["gives_access"]?.boolean == false)
    #expect(try daemon.stop().code == 0)
  }

  @Test func `a product that gives no name is compared by its rows`() throws {
    let (installation, daemon) = try served(25, with: durations(90))
    try reload(installation, daemon, with: durations(10))
    try daemon.logged("mapping_refused", "\"name\":\"product season.pass\"", "\"would_lose\":25")
    #expect(row(daemon)?["gives_access"]?.boolean == true)
    #expect(try daemon.stop().code == 0)
  }
}
