import Foundation
import Support
import Testing

@testable import Delivery

/// Random histories of one sink (promise 12).
@Suite struct SinkHistoryTests {
  @Test func `whatever fails, every message is delivered, held or dead, in order`() {
    let count = TestCount.sinks.number
    var (moments, changes, steps) = (0, 0, 0)
    for seed in UInt64(1)...UInt64(count) {
      var world = SinkWorld(seed)
      for _ in 0..<150 { world.step() }
      (world.lead, world.steppedUntil) = (0, 0)
      world.feed()
      world.check(seed)
      world.finish()
      world.check(seed)
      let (repeats, bound) = (world.repeats, world.repeatsBound)
      #expect(repeats <= bound, "seed \(seed)")
      let isDone = world.isDone
      #expect(isDone, "seed \(seed)")
      moments += world.order.count { if case .moment(.turn, _, _) = $0 { true } else { false } }
      changes += world.order.count { if case .moment(.customer, _, _) = $0 { true } else { false } }
      if world.isClockEverStepped { steps += 1 }
    }
    #expect(moments > count, "histories without moments prove nothing about them")
    #expect(changes > count && steps > count / 4, "\(changes) changes, \(steps) clocks set")
  }
}
