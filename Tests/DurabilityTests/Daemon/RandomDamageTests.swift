import Foundation
import Store
import StrictJSON
import Support
import Synchronization
import Testing

/// A projection that is damaged at random, at rest and beside a daemon: every read of one customer
/// is right, and the daemon mends the file without hands (promise 7).
@Suite struct RandomDamageTests {
  private static let rounds = TestCount.damages.number
  private static let seed = TestSeed.number(usual: 20_261_123)
  private static let customers = 120
  /// Daemons at a time: most of the time they wait for the next check.
  private static let atOnce = 10

  @Test func `a damaged projection stops no read and heals by itself`() throws {
    // The threads only copy them.
    nonisolated(unsafe) let made = try Installation.renewing(Self.customers)
    nonisolated(unsafe) let other = try Installation.renewing(5)
    let failures = Mutex<[String]>([])
    let next = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: min(Self.atOnce, Self.rounds)) { _ in
      while true {
        let round = next.withLock { next in
          defer { next += 1 }
          return next
        }
        guard round < Self.rounds else { return }
        do {
          try Self.run(round, made, other)
        } catch {
          failures.withLock { $0.append("seed \(Self.seed), round \(round): \(error)") }
        }
      }
    }
    for failure in failures.withLock({ $0 }) { Issue.record("\(failure)") }
  }

  /// - Throws: what did not hold.
  private static func run(_ round: Int, _ made: Installation, _ other: Installation) throws {
    let installation = try made.copy()
    var damage = RandomDamage(seed: seed &+ UInt64(round))
    let isAtRest = round % 2 == 0
    let path = try live(installation)
    if isAtRest { try damage.apply(to: path, other: try live(other)) }
    let daemon = try installation.startWithoutProjection()
    let client = daemon.client()
    if !isAtRest {
      try wait(daemon, "the projection to follow") { state(client) == "following" }
      try damage.apply(to: path, other: try live(other))
    }
    let damaged = Date().timeIntervalSince1970
    let what = "\(damage.kind)\(isAtRest ? " at rest" : "")"
    try load(daemon, installation, round, what)
    // The next check finds what no read has found. Damage of unused bytes is no damage.
    try wait(daemon, "\(what): the check") {
      let isFound = metric("subledger_projection_damaged_total", client) ?? 0 > 0
      return isFound || metric("subledger_projection_checked_time_seconds", client) ?? 0 > damaged
    }
    try wait(daemon, "\(what): the projection to follow") { state(client) == "following" }
    try checkLists(client, what)
    let lines = daemon.log.split(separator: "\n").count { $0.contains("projection_damaged") }
    guard lines <= 1 else { throw TestFailure("\(what): \(lines) log lines") }
    guard try daemon.stop().code == 0 else { throw TestFailure("\(what): the end") }
    let verified = try installation.run("verify")
    guard verified.code == 0 else { throw TestFailure("\(what): \(verified)") }
  }

  private static func live(_ installation: Installation) throws -> String {
    guard let name = try ProjectionList.read(installation.dataFolder).live else {
      throw TestFailure("no projection is live")
    }
    return installation.dataFolder.projection(named: name)
  }

  private static func state(_ client: Client) -> String? {
    client.get("/readyz", token: nil)?.json?["projection"]?.string
  }

  private static func metric(_ name: String, _ client: Client) -> Double? {
    let lines = client.get("/metrics")?.text.split(separator: "\n") ?? []
    return lines.first { $0.hasPrefix(name + " ") }
      .flatMap { Double($0.dropFirst(name.count + 1)) }
  }

  private static func wait(
    _ daemon: RunningDaemon, _ what: String, until isTrue: () -> Bool
  ) throws {
    let end = Date(timeIntervalSinceNow: 60 * RunningCommand.waitFactor)
    while !isTrue() {
      guard Date() < end, daemon.command.isRunning else {
        throw TestFailure("\(what)\n\(daemon.log)")
      }
      usleep(50_000)
    }
  }

  /// Reads and posts for a while: every customer's row has two events and the third once it was
  /// answered, and no read gets 503.
  private static func load(
    _ daemon: RunningDaemon, _ installation: Installation, _ round: Int, _ what: String
  ) throws {
    let client = daemon.client()
    for number in 0..<customers {
      let id = "\(70_000 + number)"
      var expected: Int64 = 2
      if number % 10 == round % 10 {
        let body = try installation.sign(Sample.notification(1_000 + number, otid: id))
        guard client.post(body)?.status == 200 else { throw TestFailure("\(what): a POST") }
        expected = 3
      }
      let row = client.get("/v1/entitlements/\(id)")
      guard row?.status == 200, row?.json?["event_count"]?.integer == expected else {
        throw TestFailure("\(what): \(id): \(row?.status ?? 0) \(row?.text ?? "") \(daemon.log)")
      }
    }
    guard client.get("/v1/entitlements/1")?.status == 404 else { throw TestFailure("\(what): 404") }
  }

  private static func checkLists(_ client: Client, _ what: String) throws {
    let list = client.get("/v1/entitlements?limit=500")
    let found = list?.json?["items"]?.elements.compactMap { $0["original_transaction_id"]?.string }
    guard found == (0..<customers).map({ "\(70_000 + $0)" }) else {
      throw TestFailure("\(what): the list: \(list?.status ?? 0), \(found?.count ?? 0) rows")
    }
  }
}
