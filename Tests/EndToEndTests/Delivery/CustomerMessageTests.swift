import Foundation
import Store
import StrictJSON
import Support
import Testing

/// What customers have by name is told (promise 12), and is a view of `subledger query`.
@Suite struct CustomerMessageTests {
  private static let admin = "e2e-token-for-everything-4719"
  private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
  private static let token = "0b2d6c1e-58b3-4f0e-9a0a-1c7b9d3c2a11"

  /// A daemon with a sink and a mapping of products.
  private final class World {
    let sinks: SinkWorld
    private(set) var daemon: RunningDaemon

    init(answer: Int = 204) throws {
      sinks = try SinkWorld()
      sinks.answer { _ in [.response(answer, "")] }
      try World.configure(sinks, "pro.*")
      daemon = try sinks.start()
      // What it finds in the beginning is told to nobody.
      try sinks.waitUntil("the first look") {
        daemon.log.split(separator: "\n").count { $0.contains("customers_looked_through") } == 2
      }
    }

    static func configure(_ sinks: SinkWorld, _ products: String) throws {
      let all = ["read", "submit", "claim", "grant", "erase"].map { JSONValue.string($0) }
      try sinks.configure(more: [
        (
          "readTokens",
          .array([
            Installation.token("backend", Installation.token, []),
            Installation.token("admin", CustomerMessageTests.admin, [("may", .array(all))]),
          ])
        ), ("entitlements", .object([("pro", .array([JSONValue.string(products)]))])),
        ("entitlementLossLimit", .null),
      ])
    }

    func reload(_ products: String) throws {
      try World.configure(sinks, products)
      daemon.command.signal(SIGHUP)
    }

    func post(
      _ number: Int, otid: String, ends: Int64, token: String? = nil, isTrial: Bool = false
    ) throws {
      let now = CustomerMessageTests.now
      let body = Sample.notification(number, otid: otid)
        .dated(now - 5000 + Int64(number))
        .setting("data.transaction.purchaseDate", .integer(ends - 30 * Sample.day))
        .setting("data.transaction.expiresDate", .integer(ends))
        .setting("data.renewalInfo.renewalDate", .integer(ends))
        .setting("data.transaction.appAccountToken", .optional(token))
        .setting("data.transaction.offerType", isTrial ? .integer(1) : .null)
        .setting("data.transaction.offerDiscountType", .optional(isTrial ? "FREE_TRIAL" : nil))
      #expect(daemon.client().post(try sinks.installation.sign(body))?.status == 200)
    }

    func ask(_ method: String, _ path: String, _ body: String = "") throws {
      let type = body.isEmpty ? "" : "Content-Type: application/json\r\n"
      let head =
        "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\(type)Authorization: Bearer "
        + "\(CustomerMessageTests.admin)\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
      let answer = try #require(daemon.client().send(head, Array(body.utf8)))
      #expect(answer.status == 200, "\(answer.text)")
    }

    func claim(_ account: String, _ id: String) throws {
      try ask(
        "PUT", "/v1/accounts/\(account)/transactions", "{\"originalTransactionId\":\"\(id)\"}")
    }

    /// The data of the messages by name that arrived.
    var told: [JSONElement] {
      sinks.messages.map(\.json).filter { $0["type"]?.string == "customer.entitlement_changed" }
        .compactMap { $0["data"] }
    }

    /// The messages as "by id active because".
    var lines: [String] {
      told.map { data in
        let parts = [
          data["customer"]?["by"]?.string, data["customer"]?["id"]?.string,
          data["after"]?["active"]?.boolean == true ? "active" : "inactive",
          data["because"]?.string,
        ]
        return parts.map { $0 ?? "?" }.joined(separator: " ")
      }
    }

    func wait(for line: String, _ count: Int = 1) throws {
      try sinks.waitUntil("\(count) of \(line), not \(lines)") {
        lines.count { $0 == line } >= count
      }
    }

    /// The table that a receiver has which takes the last message of each customer and name.
    var folded: [String: String] {
      var rows: [String: String] = [:]
      for data in told {
        let key = ["environment", "bundle_id", "name"].map { data[$0]?.string ?? "" }
        let customer = [data["customer"]?["by"]?.string, data["customer"]?["id"]?.string]
        rows[(key + customer.map { $0 ?? "" }).joined(separator: " ")] = data["after"]?.value.text
      }
      return rows
    }

    /// The same of the view; empty while the daemon has not made it.
    func view() throws -> [String: String] {
      let query = try sinks.installation.run(
        "query", "--json",
        "SELECT environment, bundle_id, name, customer_by, customer_id, active, basis, "
          + "expires_at_ms, product_id, trial FROM customer_entitlement_v1")
      #expect([0, 3].contains(query.code), "\(query)")
      var rows: [String: String] = [:]
      for row in try query.lines() {
        let key = ["environment", "bundle_id", "name", "customer_by", "customer_id"]
          .map { row[$0]?.string ?? "" }.joined(separator: " ")
        rows[key] =
          JSONValue.object([
            ("active", .boolean(row["active"]?.integer == 1)),
            ("basis", row["basis"]?.value ?? .null),
            ("expires_at", row["expires_at_ms"]?.value ?? .null),
            ("product_id", row["product_id"]?.value ?? .null),
            ("trial", .boolean(row["trial"]?.integer == 1)),
          ]).text
      }
      return rows
    }

    func restart(killing: Bool) throws {
      if killing { try daemon.crash() } else { _ = try daemon.stop() }
      daemon = try sinks.start()
    }
  }

  @Test func `a free trial and the first payment after it are told by name`() throws {
    let world = try World()
    let ends = Self.now + 5000
    try world.post(1, otid: "7001", ends: ends, token: Self.token, isTrial: true)
    try world.wait(for: "app_account_token \(Self.token) active event")
    try world.post(2, otid: "7001", ends: ends + 30 * Sample.day, token: Self.token)
    try world.sinks.waitUntil("the payment") {
      world.told.last?["after"]?["trial"]?.boolean == false
    }
    #expect(world.told.first?["after"]?["trial"]?.boolean == true)
    #expect(world.told.last?["before"]?["trial"]?.boolean == true)
    #expect(world.told.last?["at"]?.integer == ends)
    #expect(try world.view() == world.folded)
    #expect(try world.daemon.stop().code == 0)
  }

  @Test func `purchases, claims, grants, mappings and the time are told by name`() throws {
    let world = try World()
    let ends = Self.now + 20 * Sample.day
    try world.post(1, otid: "7001", ends: ends, token: Self.token)
    try world.wait(for: "app_account_token \(Self.token) active event")
    let first = try #require(world.told.first)
    #expect(first["environment"]?.string == "Production" && first["name"]?.string == "pro")
    #expect(first["bundle_id"]?.string == "com.example.app")
    #expect(first["before"]?["active"]?.boolean == false)
    #expect(first["after"]?["basis"]?.string == "paid")
    #expect(first["after"]?["expires_at"]?.integer == ends)
    #expect(first["after"]?["product_id"]?.string == "pro.monthly")
    #expect(first["after"]?["trial"]?.boolean == false)
    #expect(first["seq"]?.integer == 3)
    // After the event's own message.
    let types = world.sinks.messages.filter { $0.json["subject"]?.string != nil }
      .compactMap { $0.json["type"]?.string }
    #expect(types == ["app_store.did_renew", "customer.entitlement_changed"])

    // Whoever claims the purchase has what it gives, and the token no longer.
    try world.claim("user-1", "7001")
    try world.wait(for: "account user-1 active claim")
    try world.wait(for: "app_account_token \(Self.token) inactive claim")
    try world.ask("DELETE", "/v1/accounts/user-1/transactions/7001")
    try world.wait(for: "account user-1 inactive claim")
    try world.wait(for: "app_account_token \(Self.token) active claim")

    let until = Self.now + Sample.day
    try world.ask(
      "POST", "/v1/customers/user-2/grants?by=account",
      "{\"entitlement\":\"pro\",\"until\":\(until)}")
    try world.wait(for: "account user-2 active grant")
    #expect(world.told.last?["after"]?["basis"]?.string == "granted")

    // A letter is wrong, and is put right.
    try world.reload("pro.monthli")
    try world.wait(for: "app_account_token \(Self.token) inactive mapping")
    try world.reload("pro.*")
    try world.wait(for: "app_account_token \(Self.token) active mapping")
    #expect(world.told.last?["seq"]?.integer != nil)

    let soon = Self.now + 4000
    try world.post(2, otid: "7002", ends: soon)
    try world.wait(for: "original_transaction_id 7002 active event")
    try world.wait(for: "original_transaction_id 7002 inactive time")
    #expect(world.told.last?["at"]?.integer == soon && world.told.last?["seq"]?.kind == .null)
    var view = try world.view()
    #expect(view == world.folded)
    #expect(
      Set(world.sinks.messages.compactMap { $0.json["id"]?.string }).count
        == world.sinks.messages.count)
    #expect(try world.daemon.stop().code == 0)
    view = try world.view()
    #expect(view == world.folded)
    #expect(try world.sinks.installation.run("verify").code == 0)
  }

  @Test func `an erased account leaves nothing, and others are told what they have again`() throws {
    let world = try World(answer: 503)
    try world.post(1, otid: "7001", ends: Self.now + 20 * Sample.day, token: Self.token)
    // A claim that is there when the purchase is looked at first takes nothing from the token.
    try world.sinks.waitUntil("the purchase") { try !world.view().isEmpty }
    try world.claim("user-of-mine", "7001")
    let data = world.sinks.installation.data.path
    try world.sinks.waitUntil("the claim") {
      try world.view().keys.contains { $0.contains("user-of-mine") }
    }
    try world.ask("DELETE", "/v1/accounts/user-of-mine")
    try world.sinks.waitUntil("the erasure") {
      try !world.view().keys.contains { $0.contains("account user") }
        && world.view().values.contains { $0.contains("true") }
    }
    world.sinks.answer { _ in [.response(204, "")] }
    try world.wait(for: "app_account_token \(Self.token) active erasure")
    #expect(!world.lines.contains { $0.hasPrefix("account") }, "\(world.lines)")
    _ = try world.daemon.stop()
    for name in try FileManager.default.contentsOfDirectory(atPath: data) {
      let path = "\(data)/\(name)"
      guard let bytes = Scratch.bytes(of: path) else { continue }
      #expect(bytes.firstRange(of: Array("user-of-mine".utf8)) == nil, "\(name)")
    }
  }

  @Test func `a receiver that was away, and a daemon that was killed, end with the same table`()
    throws
  {
    let world = try World(answer: 503)
    let ends = Self.now + 20 * Sample.day
    for number in 1...6 { try world.post(number, otid: "700\(number)", ends: ends) }
    try world.restart(killing: true)
    try world.claim("user-1", "7001")
    try world.claim("user-1", "7002")
    for number in 7...9 { try world.post(number, otid: "700\(number)", ends: ends + 1000) }
    try world.restart(killing: true)
    try world.reload("pro.yearly")
    try world.sinks.waitUntil("the mapping") {
      let view = try world.view()
      return !view.isEmpty && !view.values.contains { $0.contains("true") }
    }
    try world.reload("pro.*")
    world.sinks.answer { _ in [.response(204, "")] }
    try world.sinks.waitUntil("the same table") {
      let view = try world.view()
      return view.values.contains { $0.contains("true") } && world.folded == view
    }
    // The file is lost: it is made anew, and nobody is told what is as it was.
    _ = try world.daemon.stop()
    let (before, count) = (try world.view(), world.told.count)
    for suffix in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(
        atPath: world.sinks.installation.data.path + "/customers.sqlite" + suffix)
    }
    let missing = try world.sinks.installation.run(
      "query", "SELECT * FROM customer_entitlement_v1")
    #expect(missing.code == 3 && missing.errors.contains("subledger serve"), "\(missing)")
    try world.restart(killing: false)
    try world.sinks.waitUntil("the file") {
      try world.view().filter { $0.value.contains("true") }
        == before.filter { $0.value.contains("true") }
    }
    #expect(world.told.count == count)
    _ = try world.daemon.stop()
  }

  /// Silence never grants access (promise 8), and what was missed is told (promise 12).
  @Test func `what a stopped daemon has not looked at gives nothing past its end`() throws {
    let world = try World()
    try world.post(1, otid: "7001", ends: Self.now + 20 * Sample.day)
    let soon = Self.now + 4000
    try world.post(2, otid: "7002", ends: soon)
    for id in ["7001", "7002"] {
      try world.wait(for: "original_transaction_id \(id) active event")
    }
    _ = try world.daemon.stop()
    // The moment is lost too.
    let file = world.sinks.installation.data.path + "/customers.sqlite"
    let connection = try SQLiteConnection.open(file, .write)
    try connection.execute(
      """
      UPDATE entitlement SET next_ms = NULL WHERE customer = CAST('7002' AS BLOB);
      DELETE FROM entitlement WHERE customer = CAST('7001' AS BLOB)
      """)
    connection.close()
    try world.sinks.waitUntil("the end of the period") { Self.now > soon }
    let query = try world.sinks.installation.run(
      "query", "--json", "SELECT * FROM customer_entitlement_v1 WHERE customer_id = '7002'")
    let row = try #require(try query.lines().first)
    #expect(row["active"]?.integer == 0 && row["since_ms"]?.integer == soon, "\(query)")
    for name in ["basis", "expires_at_ms", "product_id", "original_transaction_id"] {
      #expect(row[name]?.kind == .null, "\(name): \(query)")
    }
    try world.restart(killing: false)
    try world.daemon.logged("customers_damaged")
    try world.sinks.waitUntil("what was missed, not \(world.lines)") {
      world.lines.contains { $0.hasPrefix("original_transaction_id 7002 inactive") }
        && world.lines.count { $0.hasPrefix("original_transaction_id 7001 active") } == 2
    }
    #expect(try world.view() == world.folded)
    _ = try world.daemon.stop()
  }
}
