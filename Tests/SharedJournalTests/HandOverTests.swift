import Foundation
import SignedData
import StrictJSON
import Support
import Testing

/// The sinks pass from one daemon to another, and nothing is lost or out of order (promise 12).
@Suite struct HandOverTests {
  private let receiver: ScriptedServer
  private let group: DaemonGroup

  init() throws {
    receiver = try ScriptedServer { _ in [.response(204, "")] }
    let shared = try SharedInstallations()
    try Self.configure(shared.installations, receiver, Self.settings(shared))
    group = try DaemonGroup(shared)
  }

  private static func settings(_ shared: SharedInstallations) -> [(String, JSONValue)] {
    let address = shared.server.address(shared.database, user: shared.role)
    return [("sharedJournal", shared.settings(address))]
  }

  /// Configures one sink, with one secret.
  private static func configure(
    _ installations: [Installation], _ receiver: ScriptedServer, _ more: [(String, JSONValue)]
  ) throws {
    let secret = WebhookSecret.generate()
    let sink: [(String, JSONValue)] = [
      ("name", .string("backend")), ("kind", .string("webhook")),
      ("url", .string(receiver.address + "/hook")), ("secretFile", .string("a.whsec")),
      ("privateNetwork", .boolean(true)),
    ]
    for installation in installations {
      let path = installation.folder.appending(path: "a.whsec").path
      try Data(secret.utf8).write(to: URL(filePath: path))
      chmod(path, 0o600)
      try installation.configure(with: [("sinks", .array([.object(sink)]))] + more)
    }
  }

  /// The daemon that has the sink, once it has.
  private func holder(in group: DaemonGroup? = nil) throws -> Int {
    let group = group ?? self.group
    var holder: Int?
    try TemporaryPostgres.wait(60, "the sink") {
      holder = group.daemons.firstIndex { daemon in
        daemon?.client().get("/v1/sinks")?.json?["items"]?.elements.isEmpty == false
      }
      return holder != nil
    }
    return try #require(holder)
  }

  private var messages: [JSONElement] {
    receiver.requests.compactMap { try? JSONDocument(parsing: $0.body).root }
  }

  /// The events that were told, each once, in the order of their first messages.
  private var told: [(seq: Int64, customer: String)] {
    var known: Set<Int64> = []
    return messages.compactMap { message in
      guard let seq = message["data"]?["seq"]?.integer, known.insert(seq).inserted else {
        return nil
      }
      return (seq, message["subject"]?.string ?? "")
    }
  }

  /// Who has `pro`, by the last message about each, without the first requests.
  private static func having(_ receiver: ScriptedServer, after count: Int = 0) -> Set<String> {
    var having: Set<String> = []
    for request in receiver.requests.dropFirst(count) {
      guard let message = try? JSONDocument(parsing: request.body).root,
        message["type"]?.string == "customer.entitlement_changed",
        let id = message["data"]?["customer"]?["id"]?.string
      else { continue }
      let isActive = message["data"]?["after"]?["active"]?.boolean == true
      if isActive { having.insert(id) } else { having.remove(id) }
    }
    return having
  }

  private func wait(for count: Int, within seconds: Double) throws {
    try TemporaryPostgres.wait(seconds, "\(count) events, of which \(told.count) were told") {
      told.count == count
    }
  }

  private func expectOrder() {
    for (customer, seqs) in Dictionary(grouping: told, by: \.customer) {
      #expect(seqs.map(\.seq) == seqs.map(\.seq).sorted(), "\(customer)")
    }
  }

  @Test func `a daemon that stops hands its sinks over, and nothing is sent twice`() throws {
    let bodies = try group.bodies(0..<60)
    let first = try holder()
    group.traffic.send(Array(bodies[..<20]), connections: 4)
    try wait(for: 20, within: 20)
    let stopped = try group.stop(first)
    #expect(stopped?.code == 0)
    group.traffic.send(Array(bodies[20..<40]), connections: 4)
    try wait(for: 40, within: 20)
    try group.start(first)
    group.traffic.send(Array(bodies[40...]), connections: 4)
    try wait(for: 60, within: 20)
    #expect(messages.count == 60)
    expectOrder()
    try group.settle()
    try group.expectNothingLostOrTwice()
  }

  @Test func `a sink that was paused, or set back, is so with the next daemon too`() throws {
    let bodies = try group.bodies(0..<20)
    let first = try holder()
    group.traffic.send(bodies, connections: 4)
    try wait(for: 20, within: 20)
    // The other one had it, and has places of its own.
    _ = try group.stop(first)
    let second = try holder()
    try group.start(first)
    let installation = group.shared.installations[second]
    #expect(try installation.run("sink", "pause", "backend").code == 0)
    _ = try group.stop(second)
    #expect(try holder() == first)
    let daemon = try #require(group.daemons[first])
    let state = { daemon.client().get("/v1/sinks")?.json?["items"]?.elements.first?["state"] }
    #expect(state()?.string == "paused")
    let other = group.shared.installations[first]
    #expect(try other.run("sink", "resume", "backend", "--from", "start").code == 0)
    try TemporaryPostgres.wait(60, "all again") { messages.count == 40 }
    try group.start(second)
    try group.settle()
    try group.expectNothingLostOrTwice()
  }

  @Test func `a sink whose duty a peer keeps for a hundred years says so where it was sent`()
    throws
  {
    let bodies = try group.bodies(0..<5)
    let first = try holder()
    group.traffic.send(bodies, connections: 2)
    try wait(for: 5, within: 20)
    _ = try group.shared.sql(
      """
      UPDATE duty SET holder = 'nobody', epoch = epoch + 1, until = now() + interval '100 years'
      WHERE name = 'sinks' RETURNING name
      """)
    let client = try #require(group.daemons[first]).client()
    var sink: JSONElement? { client.get("/v1/sinks")?.json?["items"]?.elements.first }
    try TemporaryPostgres.wait(60, "the state") { sink?["state"]?.string == "elsewhere" }
    #expect(sink?["reason"]?.string == "another daemon of the shared journal has the duty to send")
    let text = try group.shared.installations[first].run("sink", "list")
    #expect(text.output.contains("elsewhere"), "\(text)")
  }

  @Test func `the next daemon goes on telling what customers have by name`() throws {
    let receiver = try ScriptedServer { _ in [.response(204, "")] }
    let shared = try SharedInstallations()
    let mapping = ("entitlements", JSONValue.object([("pro", .array([.string("pro.*")]))]))
    try Self.configure(shared.installations, receiver, Self.settings(shared) + [mapping])
    let group = try DaemonGroup(shared)
    let ends = Int64(Date().timeIntervalSince1970 * 1000) + 20 * Sample.day
    let bodies = try (1...40).map { number in
      let body = Sample.notification(number, otid: "\(7000 + number)")
        .setting("data.transaction.purchaseDate", .integer(ends - 30 * Sample.day))
        .setting("data.transaction.expiresDate", .integer(ends))
      return (uuid: Sample.uuid(number), body: try shared.installations[0].sign(body))
    }
    func having() -> Set<String> { Self.having(receiver) }
    let first = try holder(in: group)
    // What a daemon finds first it tells nobody.
    for daemon in group.daemons { try daemon?.logged("customers_looked_through") }
    group.traffic.send(Array(bodies[..<20]), connections: 4)
    try TemporaryPostgres.wait(60, "the first") { having().count == 20 }
    // Of some of these the one that stops may have told, of others not.
    group.traffic.send(Array(bodies[20...]), connections: 4)
    _ = try group.stop(first)
    #expect(try holder(in: group) != first)
    try TemporaryPostgres.wait(60, "all") { having().count == 40 }
    // What is told again has the id that it had.
    let changes = receiver.requests.compactMap { try? JSONDocument(parsing: $0.body).root }
      .filter { $0["type"]?.string == "customer.entitlement_changed" }
    #expect(Set(changes.map { $0["id"]?.string }).count == 40)
    try group.start(first)
    try group.settle()
    try group.expectNothingLostOrTwice()
  }

  @Test func `a daemon that began later tells what customers have that nobody told before it`()
    throws
  {
    let isUp = Flag()
    let receiver = try ScriptedServer { _ in [.response(isUp.isSet ? 204 : 503, "")] }
    let shared = try SharedInstallations()
    let mapping = ("entitlements", JSONValue.object([("pro", .array([.string("pro.*")]))]))
    try Self.configure(shared.installations, receiver, Self.settings(shared) + [mapping])
    let (first, second) = (shared.installations[0], shared.installations[1])
    let before = try first.startWithoutProjection()
    try before.logged("customers_looked_through")
    let ends = Int64(Date().timeIntervalSince1970 * 1000) + 20 * Sample.day
    for number in 1...10 {
      let body = Sample.notification(number, otid: "\(7000 + number)")
        .setting("data.transaction.purchaseDate", .integer(ends - 30 * Sample.day))
        .setting("data.transaction.expiresDate", .integer(ends))
      #expect(before.client().post(try first.sign(body))?.status == 200)
    }
    // This one finds them all when it looks first.
    let after = try second.startWithoutProjection()
    try TemporaryPostgres.wait(60, "the second") {
      try second.run("query", "SELECT count(*) FROM customer_entitlement_v1", "--csv").output
        .contains("10")
    }
    try before.stop()
    let refused = receiver.requests.count
    isUp.set()
    try TemporaryPostgres.wait(60, "all") {
      Self.having(receiver, after: refused).count == 10
    }
    try after.stop()
  }

  @Test func `an uploaded journal leaves the places of its sinks to any daemon`() throws {
    let isUp = Flag()
    let receiver = try ScriptedServer { _ in [.response(isUp.isSet ? 204 : 503, "")] }
    let shared = try SharedInstallations()
    let (first, second) = (shared.installations[0], shared.installations[1])
    try Self.configure([first], receiver, [])
    let alone = try first.start()
    let client = alone.client()
    try TemporaryPostgres.wait(60, "the sink") {
      client.get("/v1/sinks")?.json?["items"]?.elements.isEmpty == false
    }
    for number in 0..<10 {
      #expect(client.post(try first.sign(Sample.notification(number)))?.status == 200)
    }
    try alone.stop()
    try Self.configure([first, second], receiver, Self.settings(shared))
    #expect(try first.run("shared-journal", "init").code == 0)
    isUp.set()
    let daemon = try second.startWithoutProjection()
    try TemporaryPostgres.wait(60, "all events") {
      let seqs = receiver.requests.compactMap {
        try? JSONDocument(parsing: $0.body).root["data"]?["seq"]?.integer
      }
      return Set(seqs.suffix(10)) == Set(1...10)
    }
    try daemon.stop()
  }

  /// The place of a new sink is stored before anything is sent to it.
  @Test(.enabled(if: SharedStormTests.isLong, "a lease ends after half a minute"))
  func `when a daemon is killed another one goes on with its sinks`() throws {
    let bodies = try group.bodies(0..<400)
    let first = try holder()
    group.traffic.send(Array(bodies[..<200]), connections: 8)
    try wait(for: 200, within: 20)
    let start = Date()
    try group.crash(first, startingAgain: false)
    group.traffic.send(Array(bodies[200...]), connections: 8)
    try wait(for: 400, within: 60)
    print(
      "shared sinks: the other daemon went on after \(Int(Date().timeIntervalSince(start))) s, "
        + "\(messages.count - 400) of 400 messages were sent twice")
    expectOrder()
    try group.start(first)
    try group.settle()
    try group.expectNothingLostOrTwice()
  }
}
