import Ledger
import Platform
import Support
import Synchronization
import Testing

@testable import API

/// Reads that wait for an event.
@Suite struct ReadBarrierTests {
  @Test func `a token with its share waiting is refused, and another is not`() throws {
    let testLedger = try TestLedger()
    let barrier = ReadBarrier(testLedger.ledger)
    try barrier.start()
    let ended = Mutex<[Bool]>([])
    func wait(_ owner: String) -> Bool {
      barrier.wait(forSeq: .max, of: owner, until: Deadline(milliseconds: 3_600_000)) { isReached in
        ended.withLock { $0.append(isReached) }
      }
    }
    var count = 0
    while count < 2_000, wait("greedy") { count += 1 }
    #expect(count == 250)
    #expect(wait("modest"))
    #expect(!wait("greedy"))
    barrier.stop()
    #expect(ended.withLock { $0 } == [Bool](repeating: false, count: 251))
    #expect(!wait("modest"), "it has stopped")
  }
}
