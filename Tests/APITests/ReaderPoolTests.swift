import Foundation
import Ledger
import Platform
import Queries
import Store
import Support
import Synchronization
import Testing

@testable import API

@Suite struct ReaderPoolTests {
  /// What a pool has done.
  private final class Log: Sendable {
    let performed = Mutex<[String]>([])
    let blocked = Atomic<Int>(0)
    let isGateOpen = Atomic<Bool>(false)
  }

  /// A pool over an empty ledger.
  private final class Pool {
    let testLedger: TestLedger
    let pool: ReaderPool
    let log = Log()

    init(milliseconds: Int64 = 60_000) throws {
      testLedger = try TestLedger()
      pool = ReaderPool(testLedger.ledger, try Configuration(), milliseconds: milliseconds)
      try pool.start()
    }

    /// Queues a read that never ends by itself, which adds why it ended to what was performed.
    func readForEver(_ length: ReaderPool.Length, _ owner: String = "greedy") -> Bool {
      pool.enqueue(length, of: owner) { [log] reader in
        do throws(LedgerError) {
          log.blocked.add(1, ordering: .relaxed)
          while true { try reader?.limit?.check() }
        } catch {
          log.performed.withLock { $0.append("\(error)") }
        }
      }
    }

    func read(_ length: ReaderPool.Length, _ owner: String, _ name: String) -> Bool {
      pool.enqueue(length, of: owner) { [log] reader in
        log.performed.withLock { $0.append(reader == nil ? "no reader" : name) }
      }
    }

    /// Queues a read that ends when the gate opens.
    func wait(_ length: ReaderPool.Length, _ owner: String) -> Bool {
      pool.enqueue(length, of: owner) { [log] _ in
        log.blocked.add(1, ordering: .relaxed)
        while !log.isGateOpen.load(ordering: .relaxed) { usleep(1_000) }
        log.performed.withLock { $0.append(owner) }
      }
    }

    /// Fills the threads of a length with reads of several owners that end when the gate opens.
    func block(_ length: ReaderPool.Length) {
      for number in 0..<ReaderPool.threads { #expect(wait(length, "owner \(number)")) }
      while log.blocked.load(ordering: .relaxed) < ReaderPool.threads { usleep(1_000) }
    }

    func open() { log.isGateOpen.store(true, ordering: .relaxed) }

    /// What was performed, once that is so many reads.
    func performed(_ count: Int) -> [String] {
      for _ in 0..<60_000 where log.performed.withLock({ $0.count }) < count { usleep(1_000) }
      return log.performed.withLock { $0 }
    }
  }

  @Test func `a short read is performed while long ones occupy all their threads`() throws {
    let pool = try Pool()
    pool.block(.long)
    #expect(pool.read(.short, "other", "row"))
    #expect(pool.performed(1) == ["row"])
    pool.open()
    pool.pool.stop()
  }

  @Test func `the long reads of a token, however many, leave a thread to others`() throws {
    let pool = try Pool()
    for _ in 0..<100 { #expect(pool.wait(.long, "greedy")) }
    for number in 0..<10 {
      #expect(pool.read(.long, "modest", "modest \(number)"))
      #expect(pool.performed(number + 1).last == "modest \(number)")
    }
    #expect(pool.log.blocked.load(ordering: .relaxed) == ReaderPool.threads - 1)
    pool.open()
    #expect(pool.performed(110).count == 110)
    pool.pool.stop()
  }

  @Test func `a token waits for one read of each other token, however many these have`() throws {
    let pool = try Pool()
    pool.block(.short)
    for number in 0..<100 { #expect(pool.read(.short, "greedy", "greedy \(number)")) }
    #expect(pool.read(.short, "modest", "modest"))
    pool.open()
    let performed = pool.performed(103).filter { !$0.hasPrefix("owner") }
    #expect(performed.count == 101)
    // Each thread has taken one, and one more may be ahead in the list.
    #expect(performed.prefix(4).contains("modest"), "\(performed.prefix(6))")
    pool.pool.stop()
  }

  @Test func `a read ends past its limit of processor time, and the next has its own`() throws {
    let pool = try Pool(milliseconds: 50)
    for _ in 0..<3 { #expect(pool.readForEver(.long)) }
    #expect(pool.performed(3) == Array(repeating: "\(LedgerError.tooLong)", count: 3))
    #expect(pool.read(.long, "greedy", "row"))
    #expect(pool.performed(4).last == "row")
    pool.pool.stop()
  }

  @Test func `the reads that run end when the pool stops, and those that wait are answered`() throws
  {
    let pool = try Pool()
    for length in ReaderPool.Length.allCases {
      for number in 0..<ReaderPool.threads { #expect(pool.readForEver(length, "\(number)")) }
    }
    while pool.log.blocked.load(ordering: .relaxed) < 2 * ReaderPool.threads { usleep(1_000) }
    #expect(pool.read(.long, "modest", "waiting"))
    pool.pool.stop()
    let performed = pool.performed(5)
    #expect(performed.contains("waiting"))
    #expect(performed.count { $0 == "\(LedgerError.stopped)" } == 4)
  }

  @Test func `a token with its share waiting is refused, and another is not`() throws {
    let pool = try Pool()
    pool.block(.short)
    var count = 0
    while pool.read(.short, "greedy", "greedy") { count += 1 }
    #expect(count == 1_000)
    #expect(pool.read(.short, "modest", "modest"))
    pool.open()
    pool.pool.stop()
    #expect(pool.performed(1_003).count == 1_003)
    #expect(!pool.read(.short, "modest", "late"), "it has stopped")
  }
}
