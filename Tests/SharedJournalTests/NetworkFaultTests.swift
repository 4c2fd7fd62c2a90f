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

  @Test func `a first start goes on where its connections break off`() throws {
    let broken = Atomic<Int>(0)
    let (group, relay) = try group { _, _ in
      broken.add(1, ordering: .relaxed).oldValue < 6 ? .reset : .pass
    }
    group.traffic.send(try group.bodies(0..<1), connections: 1)
    try group.settle()
    try group.expectNothingLostOrTwice()
    #expect(broken.load(ordering: .relaxed) > 6)
    withExtendedLifetime(relay) {}
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

  /// A group of which the first daemon alone reaches the server through a relay.
  ///
  /// - Parameter disturb: called once the flag is set, with bytes of an append of that daemon.
  private func group(
    armed: Flag, _ direction: FaultyRelay.Direction, _ sign: String,
    _ disturb: @escaping @Sendable () -> FaultyRelay.Step
  ) throws -> (DaemonGroup, FaultyRelay) {
    let done = Flag()
    let server = try TemporaryPostgres.shared.get()
    let relay = try FaultyRelay(to: server.port) { found, bytes in
      guard armed.isSet, !done.isSet, found == direction, bytes.holds(sign) else { return .pass }
      done.set()
      return disturb()
    }
    let shared = try SharedInstallations(connection: { shared in
      server.loopbackAddress(shared.database, user: shared.role, port: relay.port)
    })
    try shared.installations[1].configure(with: [
      ("sharedJournal", shared.settings(server.address(shared.database, user: shared.role)))
    ])
    return (try DaemonGroup(shared), relay)
  }

  /// Posts to the first daemon until it is disturbed, and then to the second one.
  ///
  /// - Returns: seconds until the second one took its notification.
  private func secondsHeldUp(
    _ group: DaemonGroup, _ bodies: [(uuid: String, body: [UInt8])], _ armed: Flag,
    until isDisturbed: Flag
  ) -> Double {
    group.traffic.send(Array(bodies[0..<1]), connections: 1)
    armed.set()
    let ports = group.daemons.map { $0?.port ?? 0 }
    Thread.detachNewThread { _ = Client(port: ports[0]).post(bodies[1].body) }
    let end = Date(timeIntervalSinceNow: 60 * RunningCommand.waitFactor)
    while !isDisturbed.isSet, Date() < end { usleep(5_000) }
    #expect(isDisturbed.isSet)
    let start = Date()
    while Client(port: ports[1]).post(bodies[2].body)?.status != 200 {
      guard Date().timeIntervalSince(start) < 20 * RunningCommand.timeoutFactor else { break }
    }
    return Date().timeIntervalSince(start)
  }

  /// The server then waits for the rest of the statements, for which no timeout of PostgreSQL 15
  /// applies, and the head is locked.
  @Test func `a daemon that is cut off inside its commit holds up the others for a while`() throws {
    let (isArmed, isStalled) = (Flag(), Flag())
    let (group, relay) = try group(armed: isArmed, .toServer, "INSERT INTO") {
      isStalled.set()
      return .stall
    }
    let bodies = try group.bodies(0..<3)
    let seconds = secondsHeldUp(group, bodies, isArmed, until: isStalled)
    #expect(seconds < 14 * RunningCommand.timeoutFactor, "it took \(seconds) s")
    try #require(group.daemons[1]).logged("shared_journal_unblocked")
    group.traffic.send(bodies, connections: 2)
    try group.settle()
    try group.expectNothingLostOrTwice()
    print("shared stall: the other daemon went on after \(Int(seconds * 1000)) ms")
    withExtendedLifetime(relay) {}
  }

  /// It has the head, and the server ends its idle SQL transaction.
  @Test func `a daemon that is frozen while it has the head holds up the others for a while`()
    throws
  {
    let (isArmed, isFrozen) = (Flag(), Flag())
    let process = Atomic<Int32>(0)
    // The answer that gives the head is the only one with this column.
    let (group, relay) = try group(armed: isArmed, .toClient, "set_config") {
      let id = process.load(ordering: .relaxed)
      if id > 1, kill(id, SIGSTOP) == 0 { isFrozen.set() }
      return .pass
    }
    let frozen = try #require(group.daemons[0]).command
    process.store(frozen.id, ordering: .relaxed)
    let bodies = try group.bodies(0..<3)
    let seconds = secondsHeldUp(group, bodies, isArmed, until: isFrozen)
    #expect(seconds < 11 * RunningCommand.timeoutFactor, "it took \(seconds) s")
    frozen.signal(SIGCONT)
    group.traffic.send(bodies, connections: 2)
    try group.settle()
    try group.expectNothingLostOrTwice()
    print("shared freeze: the other daemon went on after \(Int(seconds * 1000)) ms")
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
