import Foundation
import Platform
import StrictJSON
import Support
import Testing

/// `reconcile` compares rows with what Apple says now.
@Suite struct ReconcileTests {
  private typealias Played = ImportTests.Played

  /// Ingests the first word of each customer alone.
  private func ingestFirst(_ played: Played) throws {
    let first = try played.store.bodies().filter { Self.type(of: $0) == "SUBSCRIBED" }
    let file = try played.store.installation.file("first", first)
    #expect(try played.store.installation.run("ingest", file).code == 0)
  }

  private func ingestAll(_ played: Played) throws {
    let file = try played.store.installation.file("all", try played.store.bodies())
    #expect(try played.store.installation.run("ingest", file).code == 0)
  }

  static func type(of body: [UInt8]) -> String? {
    guard let payload = try? JSONDocument(parsing: body).root["signedPayload"]?.string,
      let part = payload.split(separator: ".").dropFirst().first,
      let bytes = Base64URL.decode(ArraySlice(part.utf8))
    else { return nil }
    return try? JSONDocument(parsing: bytes).root["notificationType"]?.string
  }

  @Test func `reconcile finds what no notification told, and agrees then`() throws {
    let played = try Played(customers: 30, days: 150, seed: 9)
    let installation = played.store.installation
    try ingestFirst(played)
    let before = try ImportTests.rows(installation)
    let other = installation.folder.appending(path: "mistyped").path
    #expect(try installation.run("reconcile", "--due", "--data", other).code == 3)
    #expect(!FileManager.default.fileExists(atPath: other))
    let due = try installation.run("reconcile", "--due")
    #expect(due.code == 0, "\(due)")
    #expect(try ImportTests.rows(installation) != before, "those who renewed in silence")
    let all = try installation.run("reconcile", "--all", "--environment", "Production")
    #expect(all.code == 0, "\(all)")
    let known = Set(before.compactMap { $0.split(separator: ",").first })
    #expect(
      try ImportTests.rows(installation)
        == played.expected.filter { known.contains($0.split(separator: ",")[0]) })
    let again = try installation.run("reconcile", "--all", "--environment", "Production")
    #expect(
      again.output == "\(known.count) customers: \(known.count) agree with Apple, 0 differ; "
        + "0 rows changed\n")
    #expect(try installation.verify().code == 0)
  }

  @Test func `each field shows the row before, what Apple says, and the row now`() throws {
    let played = try Played(customers: 30, days: 150, seed: 9)
    let installation = played.store.installation
    try ingestFirst(played)
    let rows = try Self.entitlements(installation)
    let run = try installation.run(
      "reconcile", "--all", "--environment", "Production", "--json")
    #expect(run.code == 0, "\(run)")
    let after = try Self.entitlements(installation)
    var seen: Set<String> = []
    for found in try run.lines() {
      let id = try #require(found["original_transaction_id"]?.string)
      #expect(found["agreed"]?.boolean == true)
      for (name, field) in found["fields"]?.members ?? [] {
        seen.insert(name)
        #expect(field["before"]?.text == rows[id]?[name]?.text, "\(id) \(name)")
        #expect(field["after"]?.text == after[id]?[name]?.text, "\(id) \(name)")
        if let apple = field["apple"] { #expect(apple.text == field["after"]?.text) }
      }
    }
    for name in ["status", "expires_at", "transaction_id", "auto_renew", "gives_access"] {
      #expect(seen.contains(name), "\(name) in \(seen.sorted())")
    }
  }

  @Test func `after all notifications Apple agrees with every field of every row`() throws {
    let played = try Played(customers: 120, days: 400, seed: 12)
    try ingestAll(played)
    let run = try played.store.installation.run(
      "reconcile", "--all", "--environment", "Production", "--json")
    #expect(run.code == 0, "\(run)")
    let found = try run.lines()
    #expect(found.count == played.ids.count)
    for one in found where one["fields"]?.members.isEmpty == false {
      Issue.record("\(String(decoding: one.text, as: UTF8.self))")
    }
  }

  @Test func `a difference that remains is shown, and exits with 1`() throws {
    let played = try Played(customers: 6, days: 100, seed: 13)
    let installation = played.store.installation
    try ingestAll(played)
    let id = try #require(played.ids.first)
    try played.store.control(#"{"status":"unknown"}"#)
    let text = try installation.run("reconcile", id)
    #expect(text.code == 1 && text.output.hasPrefix("\(id)  Production  differs: Apple says"))
    let lines = text.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    #expect(lines.dropFirst().first == ["field", "before", "Apple", "now"], "\(text)")
    let status = try #require(lines.first { $0.first == "status" })
    #expect(status.dropFirst(2).first == "status" && status.last == "differs", "\(text)")
    let json = try #require(try installation.run("reconcile", id, "--json").lines().first)
    #expect(json["agreed"]?.boolean == false)
    #expect(json["fields"]?["status"]?["apple"]?.string == json["apple_status"]?.string)
    // What Apple says nothing about does not differ.
    try played.store.control(#"{"status":"without-renewal"}"#)
    let silent = try installation.run("reconcile", "--all", "--environment", "Production")
    #expect(silent.code == 0, "\(silent)")
  }

  @Test func `several customers are compared at once, and those that cannot be are named`() throws {
    let played = try Played(customers: 6, days: 100, seed: 14)
    let installation = played.store.installation
    try ingestAll(played)
    let ids = Array(played.ids.prefix(3))
    #expect(ids.count == 3)
    let all = try installation.run("reconcile", ids[0], ids[1], ids[2])
    #expect(all.code == 0, "\(all)")
    for id in ids { #expect(all.output.contains("\(id)  Production  agrees")) }
    #expect(all.output.hasSuffix("3 customers: 3 agree with Apple, 0 differ; 0 rows changed\n"))
    let some = try installation.run("reconcile", ids[0], "12345", ids[1])
    #expect(some.code == 1 && some.output.contains(ids[0]) && some.output.contains(ids[1]))
    #expect(some.errors.contains("the journal does not have 12345"))
    let other = try installation.run("reconcile", ids[0], "--environment", "Sandbox")
    #expect(other.code == 1 && other.output.isEmpty)
    #expect(other.errors.contains("com.example.app in Production, about which Apple is not asked"))
    #expect(try installation.run("reconcile").code == 2)
    #expect(try installation.run("reconcile", "--due", ids[0]).code == 2)
  }

  // MARK: Who is due

  private struct Silent {
    let id: String
    /// Days from now.
    let end: Double
    var signed = -30.0
    var renews = true
    var grace: Double?
    var isInRetry = false
    let isDue: Bool
  }

  private static let silent = [
    Silent(id: "7101", end: -2, isDue: true),
    Silent(id: "7102", end: -0.5, isDue: false),
    Silent(id: "7103", end: -2, renews: false, isDue: false),
    Silent(id: "7104", end: -2, signed: -1.9, isDue: false),
    Silent(id: "7105", end: -2, signed: -2.1, grace: 9, isInRetry: true, isDue: true),
    Silent(id: "7106", end: -2, signed: -2.1, isInRetry: true, isDue: true),
    Silent(id: "7107", end: 2, isDue: false),
  ]

  @Test func `due is who renews, and of whom Apple has said nothing since the end`() throws {
    let store = try PlayedStore(["--customers", "0"])
    let installation = store.installation
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    func time(_ days: Double) -> JSONValue { .integer(now + Int64(days * 86_400_000)) }
    let bodies = try Self.silent.enumerated().map { number, customer in
      var notification = Sample.notification(number, otid: customer.id)
        .setting("data.transaction.purchaseDate", time(customer.end - 30))
        .setting("data.transaction.expiresDate", time(customer.end))
        .setting("data.renewalInfo.renewalDate", time(customer.end))
        .setting("data.renewalInfo.autoRenewStatus", .integer(customer.renews ? 1 : 0))
      for part in ["signedDate", "data.transaction.signedDate", "data.renewalInfo.signedDate"] {
        notification = notification.setting(part, time(customer.signed))
      }
      if customer.isInRetry {
        notification = notification.setting(
          "data.renewalInfo.isInBillingRetryPeriod", .boolean(true)
        ).setting("data.status", .integer(customer.grace == nil ? 3 : 4))
      }
      if let grace = customer.grace {
        notification = notification.setting("data.renewalInfo.gracePeriodExpiresDate", time(grace))
      }
      return try installation.sign(notification)
    }
    #expect(try installation.run("ingest", try installation.file("silent", bodies)).code == 0)
    let states = try installation.run(
      "query", "--csv", "SELECT DISTINCT status FROM entitlement_v1 ORDER BY 1")
    #expect(
      states.output.split(whereSeparator: \.isNewline).dropFirst()
        == ["active", "billing_retry", "expired", "grace_period"])
    // The store knows none of them: whoever is asked about is named.
    let run = try installation.run("reconcile", "--due")
    #expect(run.code == 1, "\(run)")
    for customer in Self.silent {
      let isNamed = run.errors.contains("Apple does not know \(customer.id) in Production")
      #expect(isNamed == customer.isDue, "\(customer.id): \(run)")
    }
  }

  private static func entitlements(
    _ installation: Installation
  ) throws -> [String: JSONElement] {
    let daemon = try installation.start()
    defer { _ = try? daemon.stop() }
    let list = daemon.client().get("/v1/entitlements?limit=500&environment=Production")
    let items = try #require(list?.json?["items"]?.elements)
    return Dictionary(
      items.map { ($0["original_transaction_id"]?.string ?? "", $0) }, uniquingKeysWith: { $1 })
  }
}
