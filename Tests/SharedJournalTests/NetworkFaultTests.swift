import Foundation
import Support
import Synchronization
import Testing

/// Between daemons and database, connections break, stall and are slow.
@Suite struct NetworkFaultTests {
  /// A generator for the relay's threads. The seed is printed where a test fails.
  private final class Dice: Sendable {
    let seed: UInt64
    private let state: Mutex<SplitMix64>

    init(_ seed: UInt64 = .random(in: 0...UInt64.max)) {
      self.seed = seed
      state = Mutex(SplitMix64(seed: seed))
    }

    func below(_ bound: UInt64) -> UInt64 { state.withLock { $0.next() % bound } }
  }

  /// A group whose daemons reach the server through a relay.
  private func group(
    _ judge: @escaping @Sendable (FaultyRelay.Direction, ArraySlice<UInt8>) -> FaultyRelay.Step
  ) throws -> (DaemonGroup, FaultyRelay) {
    let server = try TemporaryPostgres.shared.get()
    let relay = try FaultyRelay(to: server.port, judge)
    let shared = try SharedInstallations(connection: { shared in
      server.loopbackAddress(shared.database, user: shared.role, port: relay.port)
    })
    return (try DaemonGroup(shared), relay)
  }

  @Test func `commits whose answer is lost are found, and journaled once`() throws {
    let dice = Dice()
    let lost = Atomic<Int>(0)
    let (group, relay) = try group { direction, bytes in
      // The server's answer to a COMMIT of an append comes with that to the move of the head.
      guard direction == .toClient, bytes.holds("UPDATE 1") || bytes.holds("COMMIT"),
        bytes.holds("INSERT"), dice.below(6) == 0
      else { return .pass }
      lost.add(1, ordering: .relaxed)
      return .reset
    }
    try group.send(group.bodies(0..<SharedStormTests.postCount), disturbing: { _ in false })
    try group.settle()
    try group.expectNothingLostOrTwice()
    #expect(lost.load(ordering: .relaxed) > 0, "seed \(dice.seed)")
    withExtendedLifetime(relay) {}
  }

  @Test func `a slow network that breaks everywhere loses nothing`() throws {
    let dice = Dice()
    let (group, relay) = try group { _, _ in
      switch dice.below(200) {
      case 0: .reset
      case 1..<10: .halve(milliseconds: 5)
      case 10..<30: .delay(milliseconds: 10)
      default: .pass
      }
    }
    try group.send(group.bodies(0..<SharedStormTests.postCount), disturbing: { _ in false })
    try group.settle()
    try group.expectNothingLostOrTwice()
    print("shared network: statuses \(group.traffic.answers.statuses), seed \(dice.seed)")
    withExtendedLifetime(relay) {}
  }

  /// The server then waits for the rest of the statements, for which no timeout of PostgreSQL 15
  /// applies, and the head is locked.
  @Test func `a daemon that is cut off inside its commit holds up the others for a while`() throws {
    let isArmed = Flag()
    let isStalled = Flag()
    let server = try TemporaryPostgres.shared.get()
    let relay = try FaultyRelay(to: server.port) { direction, bytes in
      guard isArmed.isSet, !isStalled.isSet, direction == .toServer, bytes.holds("INSERT INTO")
      else { return .pass }
      isStalled.set()
      return .stall
    }
    let shared = try SharedInstallations(connection: { shared in
      server.loopbackAddress(shared.database, user: shared.role, port: relay.port)
    })
    // The second daemon has its own way to the server.
    try shared.installations[1].configure(with: [
      ("sharedJournal", shared.settings(server.address(shared.database, user: shared.role)))
    ])
    let group = try DaemonGroup(shared)
    let bodies = try group.bodies(0..<3)
    group.traffic.send(Array(bodies[0..<1]), connections: 1)
    isArmed.set()
    let port = group.daemons[0]?.port ?? 0
    let cutOff = bodies[1].body
    Thread.detachNewThread { _ = Client(port: port).post(cutOff) }
    let end = Date(timeIntervalSinceNow: 10)
    while !isStalled.isSet, Date() < end { usleep(5_000) }
    #expect(isStalled.isSet)
    let start = Date()
    let other = group.daemons[1]?.port ?? 0
    while Client(port: other).post(bodies[2].body)?.status != 200 {
      guard Date().timeIntervalSince(start) < 20 * RunningCommand.timeoutFactor else { break }
    }
    let seconds = Date().timeIntervalSince(start)
    #expect(seconds < 14 * RunningCommand.timeoutFactor, "it took \(seconds) s")
    #expect(group.daemons[1]?.log.contains("shared_journal_unblocked") == true)
    group.traffic.send(bodies, connections: 2)
    try group.settle()
    try group.expectNothingLostOrTwice()
    print("shared stall: the other daemon went on after \(Int(seconds * 1000)) ms")
    withExtendedLifetime(relay) {}
  }

  @Test func `daemons behind pgbouncer in transaction mode lose nothing`() throws {
    let server = try TemporaryPostgres.shared.get()
    var poolers: [TemporaryPooler] = []
    let shared = try SharedInstallations(connection: { shared in
      guard let pooler = try? TemporaryPooler(server, users: [shared.role]) else { return "" }
      poolers.append(pooler)
      return pooler.address(shared.database, user: shared.role)
    })
    let group = try DaemonGroup(shared)
    try group.send(group.bodies(0..<SharedStormTests.postCount)) { round in
      usleep(100_000)
      try group.shared.endSession()
      return round < 5
    }
    try group.settle()
    try group.expectNothingLostOrTwice()
    withExtendedLifetime(poolers) {}
  }
}
