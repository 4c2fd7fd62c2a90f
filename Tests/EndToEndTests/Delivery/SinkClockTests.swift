import Foundation
import Store
import StrictJSON
import Support
import Testing

/// What sinks get where a clock was ahead, or they were away for longer than changes are kept
/// (promise 12).
@Suite struct SinkClockTests {
  private static let (minute, hour, day): (Int64, Int64, Int64) = (60_000, 3_600_000, 86_400_000)
  private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

  /// A daemon with a sink, a mapping of products and a clock that can be set.
  private final class World {
    let sinks: SinkWorld
    let clock: AdjustableClock
    private(set) var daemon: RunningDaemon?

    init(status: Int = 204) throws {
      sinks = try SinkWorld()
      clock = try sinks.installation.adjustClock()
      sinks.answer { _ in [.response(status, "")] }
      try sinks.configure(more: [
        ("entitlements", .object([("pro", .array([JSONValue.string("pro.*")]))])),
        ("entitlementLossLimit", .null),
      ])
    }

    /// Starts the daemon; the first time also waits until it looked at all customers.
    func start() throws {
      let isFirst = !FileManager.default.fileExists(atPath: sinks.installation.journal.path)
      let daemon = try sinks.start()
      self.daemon = daemon
      guard isFirst else { return }
      try sinks.waitUntil("the first look") {
        daemon.log.split(separator: "\n").count { $0.contains("customers_looked_through") } == 2
      }
    }

    func stop() throws {
      #expect(try daemon?.stop().code == 0)
      daemon = nil
    }

    /// Posts what a customer bought, by Apple's clock, which is right.
    func post(_ number: Int, ends: Int64? = nil) throws {
      let (now, ends) = (SinkClockTests.now, ends ?? SinkClockTests.now + 20 * SinkClockTests.day)
      let body = Sample.notification(number, otid: "\(7000 + number)")
        .dated(now - 5000 + Int64(number))
        .setting("data.transaction.purchaseDate", .integer(ends - 30 * Sample.day))
        .setting("data.transaction.expiresDate", .integer(ends))
        .setting("data.renewalInfo.renewalDate", .integer(ends))
      let daemon = try #require(daemon)
      #expect(daemon.client().post(try sinks.installation.sign(body))?.status == 200)
    }

    /// The messages that the receiver took or refused, of this type.
    func told(_ type: String) -> [JSONElement] {
      sinks.messages.map(\.json).filter { $0["type"]?.string == type }
    }

    /// Waits until it was told by name that a customer has something, or has not.
    func waitForName(_ number: Int, isActive: Bool = true) throws {
      try sinks.waitUntil("\(7000 + number) by name") {
        told("customer.entitlement_changed").contains { message in
          let data = message["data"]
          return data?["customer"]?["id"]?.string == "\(7000 + number)"
            && data?["after"]?["active"]?.boolean == isActive
        }
      }
    }

    func waitForTurn(_ number: Int) throws {
      try sinks.waitUntil("the end of \(7000 + number)") {
        told("entitlement.status_changed").contains { $0["subject"]?.string == "\(7000 + number)" }
      }
    }

    var sink: JSONElement? { daemon.flatMap { sinks.sink($0) } }

    /// The number in a file of the data folder.
    func stored(_ file: String, _ sql: String) throws -> Int64 {
      let path = sinks.installation.data.path + "/\(file).sqlite"
      let connection = try SQLiteConnection.open(path, .read)
      defer { connection.close() }
      return try connection.statement(sql).first { $0.int(0) } ?? 0
    }

    /// Attempts about this customer by name.
    func attempts(_ number: Int) -> Int {
      told("customer.entitlement_changed").count {
        $0["data"]?["customer"]?["id"]?.string == "\(7000 + number)"
      }
    }

    /// Refuses what is told by name of these customers.
    func refuse(_ numbers: [Int]) {
      let refused = Set(numbers.map { "\(7000 + $0)" })
      sinks.answer { request in
        let data = (try? JSONDocument(parsing: request.body))?.root["data"]
        let customer = data?["customer"]?["id"]?.string ?? ""
        return [.response(refused.contains(customer) ? 500 : 204, "")]
      }
    }
  }

  @Test(arguments: [4 * minute, 2 * hour, day])
  func `a clock that was ahead for a moment silences nothing`(_ lead: Int64) throws {
    let world = try World()
    try world.start()
    try world.post(1)
    try world.waitForName(1)
    try world.clock.set(aheadBy: lead)
    try world.post(2)
    try world.waitForName(2)
    try world.clock.set(aheadBy: 0)
    try world.post(3)
    try world.waitForName(3)
    // Also what time alone changes.
    try world.post(4, ends: Self.now + 6000)
    try world.waitForName(4, isActive: false)
    try world.post(5, ends: Self.now + 6000)
    try world.stop()
    try world.start()
    try world.post(6)
    try world.waitForName(6)
    try world.waitForName(5, isActive: false)
    let ids = world.told("customer.entitlement_changed").compactMap { $0["id"]?.string }
    #expect(Set(ids).count == ids.count, "each once")
    try world.stop()
  }

  @Test(arguments: [minute, 4 * minute])
  func `what time alone changes is told though it was told further ahead`(_ lead: Int64) throws {
    let world = try World()
    try world.start()
    // Nothing is received meanwhile, which would count as received then.
    try world.clock.set(aheadBy: lead)
    // Of a sink that nothing is sent to, the clock is stored each ten seconds.
    try world.sinks.waitUntil("the sweep") {
      try world.stored("sinks", "SELECT clock_ms FROM sink") > Self.now + lead - 30_000
    }
    try world.clock.set(aheadBy: 0)
    try world.post(1, ends: Self.now + 6000)
    try world.waitForName(1, isActive: false)
    try world.waitForTurn(1)
    try world.stop()
  }

  @Test(arguments: [2 * hour, day])
  func `a daemon that began ahead says so, and tells what events cause`(_ lead: Int64) throws {
    let world = try World()
    try world.clock.set(aheadBy: lead)
    try world.start()
    try world.post(1)
    try world.waitForName(1)
    try world.stop()
    try world.clock.set(aheadBy: 0)
    try world.start()
    try world.post(2, ends: Self.now + 8000)
    try world.waitForName(2)
    let daemon = try #require(world.daemon)
    try daemon.logged("received_ahead", "warning")
    let ready = daemon.client().get("/readyz", token: nil)?.json
    let seconds = ready?["received_ahead_seconds"]?.integer ?? 0
    #expect(abs(seconds - lead / 1000) < 600, "\(seconds)")
    try world.sinks.waitUntil("the reason") { world.sink?["reason"]?.string != nil }
    #expect(world.sink?["state"]?.string == "up")
    // The clock is not as it was: what time alone changes waits for the operator.
    try daemon.logged("clock_stepped")
    #expect(try world.sinks.installation.run("sink", "resume", "backend").code == 0)
    // The message of the event said so already: it was received after the end, by that clock.
    try world.waitForName(2, isActive: false)
    try world.post(3)
    try world.waitForName(3)
    try world.stop()
  }

  // MARK: Away for longer than changes are kept

  @Test(arguments: [[2, 9], [1, 3, 5, 7], [10]])
  func `a receiver that was away for days gets what changed by name`(_ days: [Int64]) throws {
    let world = try World(status: 503)
    try world.start()
    for number in 1...20 { try world.post(number) }
    // Until all are found, and the first was tried.
    try world.sinks.waitUntil("the changes") {
      try world.stored("customers", "SELECT count(*) FROM change") == 20
        && world.sink?["state"]?.string == "down"
    }
    for day in days {
      try world.stop()
      try world.clock.set(aheadBy: day * Self.day)
      try world.start()
    }
    world.sinks.answer { _ in [.response(204, "")] }
    _ = try world.sinks.installation.run("sink", "resume", "backend")
    for number in 1...20 { try world.waitForName(number) }
    #expect(Set(world.told("app_store.did_renew").compactMap { $0["id"]?.string }).count == 20)
    try world.stop()
  }

  @Test func `what was refused is tried again after days, and told`() throws {
    let world = try World()
    world.refuse([3, 7, 11])
    try world.start()
    for number in 1...20 { try world.post(number) }
    try world.sinks.waitUntil("what is held") { world.sink?["held"]?.integer == 3 }
    try world.stop()
    try world.clock.set(aheadBy: 9 * Self.day)
    world.refuse([])
    try world.start()
    try world.sinks.waitUntil("what was held") {
      world.sink?["held"]?.integer == 0 && [3, 7, 11].allSatisfy { world.attempts($0) == 2 }
    }
    try world.stop()
  }

  @Test func `what is refused for days is given up, said, and sent on demand`() throws {
    let world = try World()
    world.refuse([1])
    try world.start()
    try world.post(1)
    try world.sinks.waitUntil("what is held") { world.sink?["held"]?.integer == 1 }
    // Each step is longer than any time between two attempts.
    for attempt in 2...10 {
      if attempt == 5 { try world.stop() }
      try world.clock.set(aheadBy: Int64(attempt) * 2 * Self.day)
      if attempt == 5 { try world.start() }
      try world.sinks.waitUntil("attempt \(attempt)") {
        let tables = "(SELECT attempts FROM held UNION SELECT attempts FROM dead)"
        return try world.stored("sinks", "SELECT max(attempts) FROM \(tables)") == attempt
      }
    }
    try world.sinks.waitUntil("the end") { world.sink?["dead"]?.integer == 1 }
    try #require(world.daemon).logged("message_dead")
    let attempts = world.attempts(1)
    world.refuse([])
    #expect(try world.sinks.installation.run("sink", "retry", "backend", "--dead").code == 0)
    try world.sinks.waitUntil("the message") { world.attempts(1) > attempts }
    try world.stop()
  }
}
