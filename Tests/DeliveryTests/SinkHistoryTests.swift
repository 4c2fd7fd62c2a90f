import Foundation
import Support
import Testing

@testable import Delivery

/// Random histories of one sink (promise 12).
@Suite struct SinkHistoryTests {
  @Test func `whatever fails, every message is delivered, held or dead, in order`() {
    let count = TestCount.sinks.number
    var moments = 0
    for seed in UInt64(1)...UInt64(count) {
      var world = SinkWorld(seed)
      for _ in 0..<150 { world.step() }
      world.check(seed)
      world.finish()
      world.check(seed)
      #expect(world.repeats <= world.repeatsBound, "seed \(seed)")
      #expect(world.isDone, "seed \(seed)")
      moments += world.order.count { if case .turn = $0 { true } else { false } }
    }
    #expect(moments > count, "histories without moments prove nothing about them")
  }
}
