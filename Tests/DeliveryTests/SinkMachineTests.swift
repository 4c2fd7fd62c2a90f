import Foundation
import Ledger
import Store
import Support
import Testing

@testable import Delivery

/// What a sink sends, in which order, and what it remembers, against receivers that fail (promise
/// 12).
@Suite struct SinkMachineTests {
  static func mark(_ seq: Int64) -> SinkMachine.Mark {
    SinkMachine.Mark(seq: seq, hash: [UInt8(truncatingIfNeeded: seq)], clock: 0)
  }

  static func machine(
    _ order: SinkMachine.Settings, heldLimit: Int = 100_000
  ) -> SinkMachine {
    SinkMachine(SinkMachine.Stored(mark: mark(0)), order, seed: 1)
  }

  static func message(_ seq: Int64, _ stream: Int64) -> SinkMachine.NewMessage {
    SinkMachine.NewMessage(
      place: .event(seq: seq), stream: stream, receivedAt: seq, after: mark(seq))
  }

  private static func fed(
    _ streams: [Int64], order: SinkMachine.Settings = .init()
  ) -> SinkMachine {
    var machine = machine(order)
    let messages = streams.enumerated().map { message(Int64($0.offset + 1), $0.element) }
    machine.feed(messages, through: mark(Int64(streams.count)))
    return machine
  }

  private static func all(
    _ machine: inout SinkMachine, at now: Int64
  ) -> [SinkMachine.Message] {
    var found: [SinkMachine.Message] = []
    while let next = machine.next(at: now) { found.append(next) }
    return found
  }

  @Test func `one message of a customer is under way, and the mark waits for the oldest`() {
    var machine = Self.fed([1, 1, 2, 3, 2])
    let first = Self.all(&machine, at: 0)
    #expect(first.map(\.place) == [.event(seq: 1), .event(seq: 3), .event(seq: 4)])
    machine.finish(first[1].ordinal, .delivered, at: 1)
    machine.finish(first[2].ordinal, .delivered, at: 1)
    #expect(machine.mark.seq == 0)
    let sent1 = Self.all(&machine, at: 1)
    #expect(sent1.map(\.place) == [.event(seq: 5)])
    machine.finish(first[0].ordinal, .delivered, at: 2)
    #expect(machine.mark.seq == 1)
  }

  @Test func `without order all are sent at once, and in total order one after the other`() {
    var none = Self.fed([1, 1, 1], order: .init(order: .none))
    let sent2 = Self.all(&none, at: 0)
    #expect(sent2.count == 3)
    var total = Self.fed([1, 2, 3], order: .init(order: .total))
    let first = Self.all(&total, at: 0)
    #expect(first.count == 1)
    total.finish(first[0].ordinal, .refused(.status(400)), at: 1)
    let sent3 = Self.all(&total, at: 2)
    #expect(sent3.isEmpty)
    let sent4 = Self.all(&total, at: 10_000)
    #expect(sent4.map(\.place) == [.event(seq: 1)])
  }

  @Test func `a refused message holds up its customer only, and is tried for three days`() {
    var machine = Self.fed([1, 1, 2])
    var now: Int64 = 0
    var attempts = 0
    var gaps: [Int64] = []
    var last: Int64 = 0
    while machine.changes.dead.isEmpty, attempts < 50 {
      for message in Self.all(&machine, at: now) {
        let isBad = message.place == .event(seq: 1)
        if isBad {
          attempts += 1
          if attempts > 1 { gaps.append(now - last) }
          last = now
        }
        machine.finish(message.ordinal, isBad ? .refused(.status(500)) : .delivered, at: now)
      }
      if attempts == 1 { #expect(machine.mark.seq == 3) }
      now = machine.wakeAt ?? now
    }
    #expect(attempts == RetryDelay.refused.count + 1)
    for (gap, wanted) in zip(gaps, RetryDelay.refused) {
      #expect(gap >= wanted - wanted / 10 && gap <= wanted + wanted / 10)
    }
    // What waited behind it goes on.
    let sent5 = Self.all(&machine, at: now)
    #expect(sent5.map(\.place) == [.event(seq: 2)])
  }

  @Test func `while the endpoint is down one probe after the other is sent, for ever`() {
    var machine = Self.fed([1, 2, 3, 4])
    for message in Self.all(&machine, at: 0) {
      machine.finish(message.ordinal, .endpoint(.transport("x"), wait: nil), at: 0)
    }
    var now: Int64 = 0
    var gaps: [Int64] = []
    for _ in 0..<40 {
      let next = machine.wakeAt ?? 0
      gaps.append(next - now)
      now = next
      let probes = Self.all(&machine, at: now)
      #expect(probes.count == 1)
      machine.finish(probes[0].ordinal, .endpoint(.status(503), wait: nil), at: now)
    }
    #expect(gaps[0] <= 1100 && gaps[39] >= 270_000 && gaps[39] <= 330_000)
    #expect(machine.held.isEmpty && machine.mark.seq == 0)
    // The receiver said when to come again.
    now = machine.wakeAt ?? 0
    let probe = Self.all(&machine, at: now)
    machine.finish(probe[0].ordinal, .endpoint(.status(429), wait: 700_000), at: now)
    #expect(machine.wakeAt == now + 700_000)
    // One request at a time after it came back, and twice as many each second.
    now += 700_000
    var widths: [Int] = []
    machine.feed((5...400).map { Self.message($0, $0) }, through: Self.mark(400))
    for _ in 0..<5 {
      let sent = Self.all(&machine, at: now)
      widths.append(sent.count)
      now += 1000
      for message in sent { machine.finish(message.ordinal, .delivered, at: now) }
    }
    #expect(widths == [1, 1, 2, 4, 8])
  }

  @Test(arguments: [0, 1, 400_000] as [Int64])
  func `of the receiver's wait and the usual one the longer counts`(wait: Int64) {
    var machine = Self.fed([1, 2])
    var now: Int64 = 0
    var gaps: [Int64] = []
    for _ in 0..<12 {
      for message in Self.all(&machine, at: now) {
        machine.finish(message.ordinal, .endpoint(.status(429), wait: wait), at: now)
      }
      let next = machine.wakeAt ?? 0
      gaps.append(next - now)
      now = next
    }
    for (probes, gap) in gaps.enumerated() {
      let usual: Int64 = min(300_000, 1000 << Int64(probes))
      #expect(gap >= max(wait, usual - usual / 10) && gap <= max(wait, usual + usual / 10))
    }
  }

  @Test func `a clock that is set back delays no probe, and neither does the operator`() {
    for isResumed in [false, true] {
      var machine = Self.fed([1, 2])
      let ahead: Int64 = 1_800_000_000_000
      for message in Self.all(&machine, at: ahead) {
        machine.finish(message.ordinal, .endpoint(.transport("x"), wait: nil), at: ahead)
      }
      let now = isResumed ? ahead : ahead - 60_000
      if isResumed {
        let before = Self.all(&machine, at: now)
        #expect(before.isEmpty)
        machine.set(.on, at: now)
      }
      let sent = Self.all(&machine, at: now)
      #expect(!sent.isEmpty)
    }
  }

  @Test func `what is quarantined and held belongs to no customer`() {
    var machine = Self.machine(.init())
    machine.feed(
      [
        SinkMachine.NewMessage(
          place: .moment(.quarantined, at: 1, id: 5), stream: nil, receivedAt: 1,
          after: Self.mark(0))
      ], through: Self.mark(0))
    let message = Self.all(&machine, at: 0)[0]
    machine.finish(message.ordinal, .refused(.status(400)), at: 0)
    let stored = machine.held.all.map { SinkMachine.HeldMessage(HeldRecord($0), Self.mark(0)) }
    #expect(stored.map(\.message.stream) == [nil])
    var restarted = SinkMachine(
      SinkMachine.Stored(mark: Self.mark(0), held: stored), .init(), seed: 1)
    restarted.feed([Self.message(1, 5)], through: Self.mark(1))
    let sent = Self.all(&restarted, at: 0)
    #expect(sent.map(\.place) == [.event(seq: 1)])
  }

  @Test func `a message that always times out stops its own customer alone`() {
    var machine = Self.fed([1, 1, 2, 3])
    var delivered: [SinkMachine.Place] = []
    var now: Int64 = 0
    for _ in 0..<20 {
      for message in Self.all(&machine, at: now) {
        let isBad = message.place == .event(seq: 1)
        if !isBad { delivered.append(message.place) }
        machine.finish(
          message.ordinal, isBad ? .endpoint(.transport("timeout"), wait: nil) : .delivered,
          at: now)
      }
      now += 500
    }
    #expect(delivered == [.event(seq: 3), .event(seq: 4)] && machine.mark.seq == 4)
    #expect(machine.held.count == 2)
    // With nothing else to send, the endpoint is taken to be down; the next customer shows
    // otherwise at once.
    machine.feed([Self.message(5, 9)], through: Self.mark(5))
    let next = Self.all(&machine, at: now).filter { $0.place == .event(seq: 5) }
    #expect(next.count == 1)
  }

  @Test func `a thousand messages of a customer whose first times out hide no other customer`() {
    var machine = Self.fed([Int64](repeating: 1, count: SinkMachine.windowLimit))
    var now: Int64 = 0
    for _ in 0..<6 {
      for message in Self.all(&machine, at: now) {
        machine.finish(message.ordinal, .endpoint(.transport("timeout"), wait: nil), at: now)
      }
      now += 5000
    }
    #expect(machine.capacity > 0)
    machine.feed([Self.message(1001, 2)], through: Self.mark(1001))
    let sent6 = Self.all(&machine, at: now)
    #expect(sent6.map(\.place).contains(.event(seq: 1001)))
  }

  @Test func `410 stops the sink, and so does the operator`() {
    var machine = Self.fed([1, 2])
    let first = Self.all(&machine, at: 0)
    machine.finish(first[0].ordinal, .gone, at: 0)
    machine.finish(first[1].ordinal, .delivered, at: 0)
    let sent7 = Self.all(&machine, at: 1 << 40)
    #expect(machine.condition == .gone && sent7.isEmpty)
    machine.set(.on, at: 5)
    let sent8 = Self.all(&machine, at: 5)
    #expect(sent8.map(\.place) == [.event(seq: 1)])
  }

  @Test func `a sink with too much held takes nothing new until it is tried`() {
    var machine = Self.machine(.init(order: .customer, concurrency: 8, heldLimit: 2))
    machine.feed((1...5).map { Self.message($0, $0) }, through: Self.mark(5))
    var refused = 0
    for message in Self.all(&machine, at: 0) where refused < 2 {
      machine.finish(message.ordinal, .refused(.status(422)), at: 0)
      refused += 1
    }
    #expect(machine.isFull && machine.capacity == 0)
    let none = machine.next(at: 1)
    #expect(none == nil)
    let retried = machine.retry(nil, at: 2)
    let next = machine.next(at: 2)
    #expect(retried == 2 && next?.place == .event(seq: 1))
  }

  @Test func `the operator skips, and takes dead messages back`() {
    var machine = Self.fed([1, 1])
    let first = Self.all(&machine, at: 0)
    machine.finish(first[0].ordinal, .refused(.status(400)), at: 0)
    let isSkipped = machine.skip(.event(seq: 1), at: 1)
    #expect(isSkipped)
    let isThere = machine.skip(.event(seq: 9), at: 1)
    #expect(!isThere)
    #expect(machine.takeChanges().dead.map(\.message.place) == [.event(seq: 1)])
    let sent9 = Self.all(&machine, at: 2)
    #expect(sent9.map(\.place) == [.event(seq: 2)])
    machine.redrive([Self.message(1, 1)], at: 3)
    #expect(machine.held.all.map(\.message.place).contains(.event(seq: 1)))
  }
}
