import Configuration
import Foundation
import Support
import Testing

@testable import Delivery

/// Random histories of one sink: a receiver that fails in every way, crashes at any point, an
/// operator. `SUBLEDGER_SINK_HISTORIES` sets how many (promise 12).
@Suite struct SinkHistoryTests {
  typealias Place = SinkMachine.Place

  /// What the program would find in its files after a crash.
  private struct Disk {
    var mark = SinkMachineTests.mark(0)
    var held: [Int64: SinkMachine.HeldMessage] = [:]
    var dead: [Place] = []
    var condition = SinkMachine.Condition.on

    mutating func store(_ machine: inout SinkMachine) {
      let changes = machine.takeChanges()
      for ordinal in changes.held { held[ordinal] = machine.held[ordinal] }
      dead += changes.dead.map(\.message.place)
      (mark, condition) = (machine.mark, machine.condition)
    }
  }

  private struct World {
    var random: SplitMix64
    var settings = SinkMachine.Settings()
    var disk = Disk()
    var machine: SinkMachine
    var now: Int64 = 0
    /// The stream of each event, by seq - 1.
    var streams: [Int64] = []
    var delivered: [Int64: Int] = [:]
    /// First deliveries in their order.
    var order: [Int64] = []
    var repeatsBound = 0
    var repeats = 0
    /// Seqs that the receiver never takes.
    var poison: Set<Int64> = []
    var downUntil: Int64 = 0
    var inFlight: [SinkMachine.Message] = []

    init(_ seed: UInt64) {
      random = SplitMix64(seed: seed)
      settings.concurrency = Int.random(in: 1...8, using: &random)
      settings.order = [.customer, .customer, .none, .total].randomElement(using: &random) ?? .none
      machine = SinkMachine(
        SinkMachine.Stored(mark: SinkMachineTests.mark(0)), settings, seed: seed)
    }

    mutating func chance(_ n: Int) -> Bool { Int.random(in: 0..<n, using: &random) == 0 }

    mutating func step() {
      now += Int64.random(in: 0...2000, using: &random)
      if chance(4), streams.count < 200 {
        for _ in 0..<Int.random(in: 1...6, using: &random) {
          streams.append(Int64.random(in: 1...6, using: &random))
          if settings.order != .total, chance(25) { poison.insert(Int64(streams.count)) }
        }
      }
      if chance(60) { downUntil = now + Int64.random(in: 0...400_000, using: &random) }
      feed()
      while let next = machine.next(at: now) { inFlight.append(next) }
      #expect(inFlight.count <= settings.concurrency)
      for _ in 0..<inFlight.count where !chance(3) { answer() }
      if chance(3) { disk.store(&machine) }
      if chance(80) { crash() }
    }

    mutating func feed() {
      let head = Int64(streams.count)
      guard machine.fed.seq < head, machine.room > 0 else { return }
      let last = min(head, machine.fed.seq + Int64(min(machine.room, 7)))
      let messages = ((machine.fed.seq + 1)...last).map {
        SinkMachineTests.message($0, streams[Int($0) - 1])
      }
      machine.feed(messages, through: SinkMachineTests.mark(last))
    }

    mutating func answer() {
      let message = inFlight.remove(at: Int.random(in: 0..<inFlight.count, using: &random))
      guard case .event(let seq) = message.place else { return }
      let outcome: SinkMachine.Outcome
      if now < downUntil {
        outcome =
          chance(2) ? .endpoint(.status(503), wait: nil) : .endpoint(.status(429), wait: 900)
      } else if poison.contains(seq) {
        outcome =
          seq % 2 == 0 ? .refused(.status(400)) : .endpoint(.transport("timeout"), wait: nil)
      } else {
        outcome = chance(30) ? .refused(.status(500)) : .delivered
      }
      if outcome == .delivered { deliver(seq) }
      machine.finish(message.ordinal, outcome, at: now)
    }

    mutating func deliver(_ seq: Int64) {
      if delivered[seq, default: 0] == 0 { order.append(seq) } else { repeats += 1 }
      delivered[seq, default: 0] += 1
    }

    /// Everything in memory is lost. What was delivered since the last store comes again.
    mutating func crash() {
      // An answer of the receiver may be lost on the way.
      for message in inFlight {
        if case .event(let seq) = message.place, chance(2), !poison.contains(seq) { deliver(seq) }
      }
      repeatsBound += delivered.keys.count { $0 > disk.mark.seq } + disk.held.count + 1
      inFlight = []
      machine = SinkMachine(
        SinkMachine.Stored(
          condition: disk.condition, mark: disk.mark, held: Array(disk.held.values),
          dead: disk.dead), settings, seed: random.next(), limit: 1)
    }

    /// Every message up to the mark is delivered, held or dead.
    mutating func check(_ seed: UInt64) {
      let dead = Set(disk.dead + machine.changes.dead.map(\.message.place))
      let held = Set(machine.held.all.map(\.message.place))
      for seq in Int64(1)...max(1, machine.mark.seq) where seq <= machine.mark.seq {
        let isDone =
          delivered[seq] != nil || held.contains(.event(seq: seq))
          || dead.contains(.event(seq: seq))
        if !isDone { Issue.record("seed \(seed): \(seq) is behind the mark and not done") }
      }
      if settings.order == .total { #expect(order == order.sorted(), "seed \(seed)") }
      guard settings.order == .customer else { return }
      var last: [Int64: Int64] = [:]
      for seq in order {
        let stream = streams[Int(seq) - 1]
        if let before = last[stream], before > seq, !dead.contains(.event(seq: before)) {
          Issue.record("seed \(seed): customer \(stream) got \(before) before \(seq)")
        }
        last[stream] = seq
      }
    }
  }

  @Test func `whatever fails, every message is delivered, held or dead, in order`() {
    let count =
      ProcessInfo.processInfo.environment["SUBLEDGER_SINK_HISTORIES"].flatMap(Int.init) ?? 200
    for seed in UInt64(1)...UInt64(count) {
      var world = World(seed)
      for _ in 0..<150 { world.step() }
      world.check(seed)
      // Then the receiver is well, for as long as it takes.
      world.downUntil = 0
      for _ in 0..<6000 {
        world.feed()
        while let next = world.machine.next(at: world.now) { world.inFlight.append(next) }
        let isIdle = world.inFlight.isEmpty
        while !world.inFlight.isEmpty { world.answer() }
        world.disk.store(&world.machine)
        if isIdle, world.machine.held.isEmpty, world.machine.mark.seq == Int64(world.streams.count)
        {
          break
        }
        // Only another customer shows that a message alone is wrong, and not the receiver.
        if isIdle, world.machine.outage != nil {
          world.streams.append(100 + Int64(world.streams.count))
        }
        world.now = max(world.now + 1, isIdle ? world.machine.wakeAt ?? world.now + 1000 : 0)
      }
      world.check(seed)
      let missing = (Int64(1)...Int64(max(1, world.streams.count))).filter { seq in
        seq <= world.streams.count && world.delivered[seq] == nil && !world.poison.contains(seq)
          && !world.disk.dead.contains(.event(seq: seq))
          && !world.machine.held.all.contains { $0.message.place == .event(seq: seq) }
      }
      #expect(missing.isEmpty, "seed \(seed): never delivered: \(missing)")
      #expect(world.repeats <= world.repeatsBound, "seed \(seed)")
      #expect(world.machine.mark.seq == Int64(world.streams.count), "seed \(seed)")
    }
  }
}
