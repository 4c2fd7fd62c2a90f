import Foundation
import SignedData
import StrictJSON
import Support
import Testing

/// One of the daemons of a shared journal has a clock that is ahead of the database's.
@Suite struct SharedClockTests {
  private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

  /// Two daemons with one sink, of which the first one's clock can be set.
  private final class World {
    let receiver: ScriptedServer
    let shared: SharedInstallations
    let clock: AdjustableClock
    private(set) var group: DaemonGroup

    init(aheadBy lead: Int64) throws {
      receiver = try ScriptedServer { _ in [.response(204, "")] }
      shared = try SharedInstallations()
      let address = shared.server.address(shared.database, user: shared.role)
      let sink: [(String, JSONValue)] = [
        ("name", .string("backend")), ("kind", .string("webhook")),
        ("url", .string(receiver.address + "/hook")), ("secretFile", .string("a.whsec")),
        ("privateNetwork", .boolean(true)),
      ]
      let secret = WebhookSecret.generate()
      for installation in shared.installations {
        let path = installation.folder.appending(path: "a.whsec").path
        try Data(secret.utf8).write(to: URL(filePath: path))
        chmod(path, 0o600)
        try installation.configure(with: [
          ("sharedJournal", shared.settings(address)), ("sinks", .array([.object(sink)])),
          ("entitlements", .object([("pro", .array([.string("pro.*")]))])),
        ])
      }
      clock = try shared.installations[0].adjustClock()
      try clock.set(aheadBy: lead)
      group = try DaemonGroup(shared)
      // What came before the sinks began is told to nobody.
      var number = 100
      try TemporaryPostgres.wait(60, "a message by name") {
        number += 1
        try post(number, to: 0)
        return isTold { _ in true }
      }
    }

    func post(_ number: Int, to daemon: Int) throws {
      let ends = SharedClockTests.now + 20 * Sample.day
      let body = Sample.notification(number, otid: "\(7000 + number)")
        .setting("data.transaction.purchaseDate", .integer(ends - 30 * Sample.day))
        .setting("data.transaction.expiresDate", .integer(ends))
      let client = try #require(group.daemons[daemon]).client()
      #expect(client.post(try shared.installations[0].sign(body))?.status == 200)
    }

    /// Waits until it was told that a customer has something, by name.
    func waitForName(_ number: Int) throws {
      try TemporaryPostgres.wait(60, "\(7000 + number) by name") {
        isTold { $0 == "\(7000 + number)" }
      }
    }

    private func isTold(_ isMeant: (String?) -> Bool) -> Bool {
      receiver.requests.contains { request in
        let root = (try? JSONDocument(parsing: request.body))?.root
        return root?["type"]?.string == "customer.entitlement_changed"
          && isMeant(root?["data"]?["customer"]?["id"]?.string)
      }
    }

    var newest: Int64 {
      get throws { Int64(try shared.sql("SELECT max(received_at_ms) FROM event")) ?? 0 }
    }
  }

  @Test(arguments: [60_000, 7_200_000, 86_400_000] as [Int64])
  func `a daemon that is ahead silences nobody, and the times are the database's`(
    _ lead: Int64
  ) throws {
    let world = try World(aheadBy: lead)
    try world.post(1, to: 0)
    try world.waitForName(1)
    // A minute is within what clocks may differ.
    if lead > 300_000 {
      #expect(try world.newest < Self.now + 60_000)
      try #require(world.group.daemons[0]).logged("clock_ahead")
    }
    try world.post(2, to: 1)
    try world.waitForName(2)
    try world.clock.set(aheadBy: 0)
    try world.post(3, to: 0)
    try world.waitForName(3)
    // Whoever has the sinks leaves them to the other one, and comes back.
    for index in 0...1 {
      #expect(try world.group.stop(index)?.code == 0)
      try world.post(4 + index, to: 1 - index)
      try world.waitForName(4 + index)
      try world.group.start(index)
    }
    try world.group.settle()
    try world.group.expectNothingLostOrTwice()
  }

  @Test func `a duty that was set for a hundred years is no lease, and is taken again`() throws {
    let world = try World(aheadBy: 0)
    try world.post(1, to: 0)
    try world.waitForName(1)
    try world.shared.sql(
      "UPDATE duty SET holder = 'nobody', epoch = epoch + 1, until = now() + interval '100 years' "
        + "WHERE name = 'sinks'")
    try world.post(2, to: 1)
    try world.waitForName(2)
    try world.group.settle()
    try world.group.expectNothingLostOrTwice()
  }
}
