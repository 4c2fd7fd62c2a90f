import Foundation
import StrictJSON
import Support
import Testing

/// A mirror in PostgreSQL has the rows that HTTP has, whatever is killed.
@Suite(.serialized)
struct MirrorTests {
  @Test func `it has the row of every customer, now and at twenty moments`() throws {
    let world = try MirrorWorld()
    try world.installation.live(customers: 40, days: 200)
    let daemon = try world.installation.start()
    try world.waitUntilCurrent(daemon)
    try world.compare(daemon)
    for moment in try world.moments() { try world.compare(daemon, at: moment) }
    let past = try world.pastMoments()
    #expect(past.count == 10)
    for moment in past { try world.compareSpans(at: moment) }
    let events = try world.rows("SELECT count(*) AS n FROM ledger.event_v1")
    #expect(events.first?["n"]?.integer == world.sink(daemon)?["seq"]?.integer)
    // What comes later follows.
    for number in 1...5 {
      let body = try world.installation.sign(
        Sample.notification(number, otid: "\(7000 + number % 2)"))
      #expect(daemon.client().post(body)?.status == 200)
    }
    try world.waitUntilCurrent(daemon)
    try world.compare(daemon)
    let list = try world.installation.run("sink", "list")
    #expect(list.output.contains("warehouse") && list.output.contains("up"), "\(list)")
    _ = try daemon.stop()
  }

  @Test func `a server that is killed and restored under load loses and doubles nothing`() throws {
    let world = try MirrorWorld()
    try world.installation.live(customers: 20, days: 200)
    let daemon = try world.installation.start()
    try world.waitUntilCurrent(daemon)
    try world.server.stop(.fast)
    try world.copy("data", to: "earlier")
    try world.server.start()
    var number = 0
    for round in 0..<5 {
      for _ in 0..<20 {
        number += 1
        let body = try world.installation.sign(
          Sample.notification(number, otid: "\(7000 + number % 7)"))
        #expect(daemon.client().post(body)?.status == 200)
        if number % 10 == 3 { try world.server.stop(round % 2 == 0 ? .immediate : .fast) }
        if number % 10 == 7 { try world.server.start() }
      }
      usleep(300_000)
    }
    try world.waitUntil("the mirror to be back") { world.sink(daemon)?["state"]?.string == "up" }
    try world.server.stop(.immediate)
    try world.copy("earlier", to: "data")
    try world.server.start()
    try world.resume()
    // What the sink said before the server ended may be shown for a moment.
    let head = try #require(daemon.client().get("/v1/events?limit=1")?.json?["head"]?.integer)
    try world.waitUntil("every event") {
      try world.sql("SELECT count(*), count(DISTINCT seq), max(seq) FROM ledger.event_v1")
        == "\(head)|\(head)|\(head)"
    }
    try world.waitUntilCurrent(daemon)
    try world.compare(daemon)
    for moment in try world.moments().prefix(3) { try world.compare(daemon, at: moment) }
    try daemon.logged("sink_down")
    try daemon.logged("sink_up")
    _ = try daemon.stop()
  }

  @Test func `tables of another journal are left alone until the operator says so`() throws {
    let world = try MirrorWorld()
    let daemon = try world.installation.start()
    try world.post(daemon, 1...3)
    try world.waitUntilCurrent(daemon)
    let cursor = try #require(world.sink(daemon)?["cursor"]?.string)
    _ = try daemon.stop()
    // Another journal at the same place.
    try FileManager.default.removeItem(at: world.installation.data)
    let other = try world.installation.start()
    try world.post(other, 9...9)
    try world.waitUntil("lost") { world.sink(other)?["state"]?.string == "lost" }
    #expect(world.sink(other)?["reason"]?.string == "its tables are of another journal")
    try other.logged("sink_lost")
    #expect(!other.log.contains("mirror_fills"))
    #expect(try world.sql("SELECT count(*), max(seq) FROM ledger.event_v1") == "3|3")
    #expect(try world.installation.run("sink", "pause", "warehouse").code == 1)
    let vague = try world.installation.run("sink", "resume", "warehouse")
    #expect(vague.code == 1 && vague.errors.contains("--from start"), "\(vague)")
    let wrong = try world.installation.run("sink", "resume", "warehouse", "--from", "now")
    #expect(wrong.code == 1 && wrong.errors.contains(cursor), "\(wrong)")
    // Its own word does not make the place one of this journal.
    _ = try world.installation.run("sink", "resume", "warehouse", "--from", cursor)
    try world.waitUntil("lost again") { world.sink(other)?["state"]?.string == "lost" }
    try world.resume("--from", "start")
    try world.waitUntil("the new rows") {
      try world.sql("SELECT original_transaction_id FROM ledger.entitlement_v1") == "7009"
    }
    try world.waitUntilCurrent(other)
    try world.compare(other)
    try world.waitUntil("the old rows to leave") {
      try world.sql("SELECT count(DISTINCT generation) FROM ledger.entitlement") == "1"
    }
    try other.logged("mirror_fills")
    _ = try other.stop()
  }

  @Test func `a journal that was restored to an earlier state asks before it fills`() throws {
    let world = try MirrorWorld()
    let installation = world.installation
    let earlier = installation.folder.appending(path: "earlier")
    let first = try installation.start()
    try world.post(first, 1...3)
    try world.waitUntilCurrent(first)
    _ = try first.stop()
    try FileManager.default.copyItem(at: installation.data, to: earlier)
    let second = try installation.start()
    try world.post(second, 4...8)
    try world.waitUntilCurrent(second)
    _ = try second.stop()
    try FileManager.default.removeItem(at: installation.data)
    try FileManager.default.moveItem(at: earlier, to: installation.data)
    let third = try installation.start()
    try world.post(third, 9...10)
    try world.waitUntil("lost") { world.sink(third)?["state"]?.string == "lost" }
    #expect(
      world.sink(third)?["reason"]?.string == "its tables are at a place that this journal lacks")
    #expect(try world.sql("SELECT count(*), max(seq) FROM ledger.event_v1") == "8|8")
    try world.resume("--from", "start")
    try world.waitUntilCurrent(third)
    try world.compare(third)
    #expect(try world.sql("SELECT count(*), max(seq) FROM ledger.event_v1") == "5|5")
    _ = try third.stop()
  }

  @Test func `requests for refunds are there with what the time makes of them`() throws {
    let world = try MirrorWorld()
    let daemon = try world.installation.start(posting: RefundListTests.events)
    func states() throws -> String {
      try world.waitUntilCurrent(daemon)
      return try world.sql(
        """
        SELECT concat_ws(' ', transaction_id, state, coalesce(outcome, '–'))
        FROM ledger.refund_request_v1 ORDER BY deadline
        """)
    }
    #expect(try states() == RefundListTests.states.joined(separator: "\n"))
    let decline = RefundListTests.event(8, "REFUND_DECLINED", "7004", at: RefundListTests.now)
    #expect(daemon.client().post(try world.installation.sign(decline))?.status == 200)
    #expect(
      try states()
        == (RefundListTests.states.dropLast() + ["70041 closed declined"]).joined(separator: "\n"))
    _ = try daemon.stop()
  }

  @Test func `a restore drill with the same configuration leaves the mirror alone`() throws {
    let world = try MirrorWorld()
    let daemon = try world.installation.start()
    try world.post(daemon, 1...3)
    try world.waitUntilCurrent(daemon)
    let copy = world.installation.folder.appending(path: "backup").path
    #expect(try world.installation.run("backup", copy).code == 0)
    let drill = try Installation(authority: world.installation.authority)
    try world.configure(of: drill)
    #expect(try drill.run("restore", copy).code == 0)
    let doctor = try drill.run("doctor", "--offline")
    #expect(doctor.output.contains("sink resume warehouse --from"), "\(doctor)")
    // Its head is the mirror's place, and then one further than it.
    let restored = try drill.start()
    try world.waitUntil("lost") { world.sink(restored)?["state"]?.string == "lost" }
    try world.post(restored, 20...20)
    try world.post(daemon, 4...5)
    try world.waitUntilCurrent(daemon)
    try world.compare(daemon)
    #expect(world.sink(restored)?["state"]?.string == "lost")
    #expect(try world.sql("SELECT count(*), max(seq) FROM ledger.event_v1") == "5|5")
    #expect(!daemon.log.contains("sink_lost") && !daemon.log.contains("sink_down"))
    _ = try restored.stop()
    _ = try daemon.stop()
  }

  @Test func `a restored journal that has the mirror's place goes on from it when told`() throws {
    let world = try MirrorWorld()
    let daemon = try world.installation.start()
    try world.post(daemon, 1...3)
    try world.waitUntilCurrent(daemon)
    let copy = world.installation.folder.appending(path: "backup").path
    #expect(try world.installation.run("backup", copy).code == 0)
    let cursor = try #require(world.sink(daemon)?["cursor"]?.string)
    _ = try daemon.stop()
    try FileManager.default.removeItem(at: world.installation.data)
    #expect(try world.installation.run("restore", copy).code == 0)
    let after = try world.installation.start()
    try world.waitUntil("lost") { world.sink(after)?["state"]?.string == "lost" }
    try world.resume("--from", cursor)
    try world.post(after, 4...4)
    try world.waitUntilCurrent(after)
    try world.compare(after)
    #expect(!after.log.contains("mirror_fills"))
    _ = try after.stop()
    // It is not asked again.
    let again = try world.installation.start()
    try world.waitUntilCurrent(again)
    _ = try again.stop()
  }

  @Test func `a folder that never stored the mirror goes on if it has the mirror's place`() throws {
    let world = try MirrorWorld()
    let daemon = try world.installation.start()
    try world.post(daemon, 1...3)
    try world.waitUntilCurrent(daemon)
    _ = try daemon.stop()
    for name in ["sinks.sqlite", "sinks.names"] {
      try? FileManager.default.removeItem(at: world.installation.data.appending(path: name))
    }
    let after = try world.installation.start()
    try world.post(after, 4...4)
    try world.waitUntilCurrent(after)
    try world.compare(after)
    #expect(!after.log.contains("mirror_fills") && !after.log.contains("sink_lost"))
    _ = try after.stop()
  }

  @Test func `an erased account leaves, and a claim is joined`() throws {
    let world = try MirrorWorld()
    let daemon = try world.installation.start()
    let body = try world.installation.sign(Sample.notification(1, otid: "7001"))
    #expect(daemon.client().post(body)?.status == 200)
    for account in ["user-1", "user-2"] {
      let claim = Array("{\"originalTransactionId\":\"7001\"}".utf8)
      let answer = daemon.client().send(
        "PUT /v1/accounts/\(account)/transactions HTTP/1.1\r\nHost: localhost\r\n"
          + "Content-Type: application/json\r\nAuthorization: Bearer \(Installation.token)\r\n"
          + "Content-Length: \(claim.count)\r\n\r\n", claim)
      #expect(answer?.status == 200, "\(answer?.text ?? "")")
    }
    try world.waitUntil("both") {
      try world.sql("SELECT account FROM ledger.account_v1 ORDER BY 1") == "user-1\nuser-2"
    }
    let erased = try world.installation.run("erase", "--account", "user-1", "--yes")
    #expect(erased.code == 0, "\(erased)")
    try world.waitUntil("the erasure") {
      try world.sql("SELECT account FROM ledger.account") == "user-2"
    }
    _ = try daemon.stop()
  }

  /// Columns join: the owner runs again what is printed, and the owner's own views stay.
  @Test func `what customers have by name is there, and leaves with an account`() throws {
    let world = try MirrorWorld()
    let mapping = { (products: String) in
      ("entitlements", JSONValue.object([("pro", .array([.string(products)]))]))
    }
    try world.configure([mapping("pro.*")])
    let daemon = try world.installation.start()
    let ends = Int64(Date().timeIntervalSince1970 * 1000) + 20 * Sample.day
    for number in 1...3 {
      let body = Sample.notification(number, otid: "700\(number)")
        .setting("data.transaction.purchaseDate", .integer(ends - 30 * Sample.day))
        .setting("data.transaction.expiresDate", .integer(ends))
      #expect(daemon.client().post(try world.installation.sign(body))?.status == 200)
    }
    func rows() throws -> String {
      try world.sql(
        "SELECT customer_by, customer_id, active, basis FROM ledger.customer_entitlement_v1 "
          + "ORDER BY 2")
    }
    func ask(_ method: String, _ path: String, _ body: String) throws {
      let answer = daemon.client().send(
        "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
          + "Authorization: Bearer \(Installation.token)\r\nContent-Length: "
          + "\(body.utf8.count)\r\n\r\n", Array(body.utf8))
      #expect(answer?.status == 200, "\(answer?.text ?? "")")
    }
    let id = "original_transaction_id"
    try world.waitUntil("the rows") {
      try rows() == (1...3).map { "\(id)|700\($0)|t|paid" }.joined(separator: "\n")
    }
    try ask("PUT", "/v1/accounts/user-1/transactions", "{\"originalTransactionId\":\"7001\"}")
    try ask("POST", "/v1/customers/user-2/grants?by=account", "{\"entitlement\":\"pro\"}")
    try world.waitUntil("the claim and the grant") {
      try rows()
        == """
        \(id)|7001|f|
        \(id)|7002|t|paid
        \(id)|7003|t|paid
        account|user-1|t|paid
        account|user-2|t|granted
        """
    }
    for user in ["user-1", "user-2"] {
      let erased = try world.installation.run("erase", "--account", user, "--yes")
      #expect(erased.code == 0, "\(erased)")
    }
    try world.waitUntil("the erasure") {
      try rows() == (1...3).map { "\(id)|700\($0)|t|paid" }.joined(separator: "\n")
    }
    _ = try daemon.stop()
    // While the daemon is away, nothing is active past the end that was known.
    try world.sql(
      "UPDATE ledger.customer_entitlement SET expires_at_ms = 5000 WHERE customer_id = '7002'")
    #expect(try rows() == "\(id)|7001|t|paid\n\(id)|7002|f|\n\(id)|7003|t|paid")
    let over = try world.sql(
      "SELECT since_ms, expires_at_ms, product_id, original_transaction_id "
        + "FROM ledger.customer_entitlement_v1 WHERE customer_id = '7002'")
    #expect(over == "5000|||")
    // Made anew after its loss, and copied anew.
    let file = world.installation.data.appending(path: "customers.sqlite")
    try FileManager.default.removeItem(at: file)
    try world.sql("DELETE FROM ledger.customer_entitlement WHERE customer_id = '7001'")
    let again = try world.installation.start()
    try world.waitUntil("the same rows") {
      try rows() == (1...3).map { "\(id)|700\($0)|t|paid" }.joined(separator: "\n")
    }
    _ = try again.stop()
  }

  @Test func `tables without later columns are filled, and anew when they have them`() throws {
    let world = try MirrorWorld(hasSchema: false)
    let older = Bundle.module.bundleURL.appending(path: "Fixtures/mirror-1.sql")
    try world.sql(try String(contentsOf: older, encoding: .utf8))
    try world.sql("CREATE VIEW own AS SELECT product_id FROM ledger.entitlement_v1")
    let daemon = try world.installation.start()
    try world.post(daemon, 1...3)
    try world.waitUntilCurrent(daemon)
    #expect(try world.rows("SELECT * FROM own").count == 3)
    #expect(world.sink(daemon)?["reason"]?.string?.contains("mirror-schema") == true)
    #expect(try world.sql("SELECT generation FROM ledger.mirror") == "1")
    let upgrade = "subledger sink mirror-schema warehouse | psql"
    let lacking = try world.installation.run("doctor")
    #expect(lacking.code == 1 && lacking.output.contains("warehouse is up: its tables lack"))
    #expect(lacking.output.contains(upgrade), "\(lacking)")
    for _ in 1...2 { try world.makeSchema() }
    let byName = try world.sql("SELECT pg_get_viewdef('ledger.customer_entitlement_v1'::regclass)")
    #expect(byName.contains("now()"), "\(byName)")
    try world.waitUntil("the fill") {
      try world.sql("SELECT generation FROM ledger.mirror") == "2"
    }
    try world.waitUntilCurrent(daemon)
    #expect(world.sink(daemon)?["reason"]?.kind == .null)
    let found = try world.sql("SELECT DISTINCT storefront FROM ledger.entitlement_v1")
    #expect(found == "USA")
    #expect(try world.sql("SELECT count(*) FROM ledger.transaction_v1") == "3")
    #expect(try !world.installation.run("doctor").output.contains("mirror-schema"))
    try world.compare(daemon)
    #expect(try world.rows("SELECT * FROM own").count == 3)
    _ = try daemon.stop()
  }

  @Test func `without its tables it says so, and the daemon's role makes none`() throws {
    let world = try MirrorWorld(hasSchema: false)
    let daemon = try world.installation.start()
    try world.waitUntil("the reason") {
      world.sink(daemon)?["reason"]?.string?.contains("mirror-schema") == true
    }
    try world.makeSchema()
    try world.waitUntil("up") { world.sink(daemon)?["state"]?.string == "up" }
    let right = try world.sql("SELECT has_schema_privilege('mirror', 'ledger', 'CREATE')")
    #expect(right == "f")
    let paused = try world.installation.run("sink", "pause", "warehouse")
    #expect(paused.code == 0 && paused.output.hasPrefix("warehouse is paused"), "\(paused)")
    #expect(try world.installation.run("sink", "skip", "warehouse", "1").code == 1)
    _ = try daemon.stop()
    let after = try world.installation.start()
    try world.waitUntil("still paused") { world.sink(after)?["state"]?.string == "paused" }
    try world.resume()
    try world.waitUntil("up again") { world.sink(after)?["state"]?.string == "up" }
    _ = try after.stop()
  }
}

extension MirrorWorld {
  func resume(_ flags: String...) throws {
    let resumed = try installation.run(["sink", "resume", "warehouse"] + flags)
    #expect(resumed.code == 0, "\(resumed)")
  }

  /// Posts notifications, each of a customer of its own.
  func post(_ daemon: RunningDaemon, _ numbers: ClosedRange<Int>) throws {
    for number in numbers {
      let body = try installation.sign(
        Sample.notification(number, otid: "\(7000 + number)")
          .setting("data.transaction.storefront", .string("USA")))
      #expect(daemon.client().post(body)?.status == 200)
    }
  }

  /// Copies a folder of the server, which is stopped.
  func copy(_ from: String, to: String) throws {
    for arguments in [["rm", "-rf", to], ["cp", "-a", from, to]] {
      let process = try SpawnedProcess(
        "/usr/bin/\(arguments[0])", Array(arguments.dropFirst()), in: server.folder,
        environment: [:], output: "/dev/null", errors: "/dev/null")
      try waitUntil(arguments[0]) { !process.isRunning }
      #expect(process.code == 0)
    }
  }
}
