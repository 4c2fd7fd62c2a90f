import Glibc
import Platform
import Synchronization

/// Many slow clients at once, on a thread of their own. Each one that was closed is replaced.
final class SlowCrowd: Sendable {
  /// The results.
  struct Counts: Sendable {
    var opened = 0
    /// For each manner: how many clients the daemon closed, at most how many seconds after their
    /// deadline, and how many were still open when they were given up.
    var manners: [SlowClient.Manner: (closed: Int, worst: Double, neverClosed: Int)] = [:]

    var worst: Double { manners.values.map(\.worst).max() ?? 0 }
    var neverClosed: Int { manners.values.reduce(0) { $0 + $1.neverClosed } }
  }

  private let isOver = Atomic(false)
  private let counts = Mutex(Counts())
  private let failure = Mutex<BenchError?>(nil)

  private init() {}

  /// Microseconds between two rounds. In each round every client is checked, and every tenth one
  /// sends its next byte.
  private static let roundMicroseconds: UInt32 = 100_000
  /// How many clients connect in a round at most.
  private static let openedInRound = 200
  /// A client is given up this many seconds after its deadline.
  private static let closeTimeout = 10.0

  /// Keeps `count` clients open while `body` runs, then waits until the daemon has closed them all.
  ///
  /// - Throws: `BenchError.unmeasurable` if the system refuses a thread or a connection; what
  ///   `body` throws.
  static func run<Result>(
    _ count: Int, port: UInt16, _ body: () throws(BenchError) -> Result
  ) throws(BenchError) -> (result: Result, counts: Counts) {
    let crowd = SlowCrowd()
    let thread: Thread
    do throws(LedgerError) {
      thread = try Thread.start("crowd") { crowd.run(count, port) }
    } catch {
      throw .unmeasurable(error.detail)
    }
    let result: Result
    do throws(BenchError) {
      // All clients are connected before anything is measured.
      while crowd.counts.withLock({ $0.opened }) < count, crowd.failure.withLock({ $0 }) == nil {
        usleep(10_000)
      }
      result = try body()
    } catch {
      crowd.isOver.store(true, ordering: .relaxed)
      thread.join()
      throw error
    }
    crowd.isOver.store(true, ordering: .relaxed)
    thread.join()
    if let failure = crowd.failure.withLock({ $0 }) { throw failure }
    return (result, crowd.counts.withLock { $0 })
  }

  private func run(_ count: Int, _ port: UInt16) {
    var clients = [SlowClient?](repeating: nil, count: count)
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    var round = 0
    var connectsLeft = 0
    do throws(BenchError) {
      repeat {
        connectsLeft = Self.openedInRound
        for index in clients.indices {
          if clients[index] == nil {
            guard connectsLeft > 0, !isOver.load(ordering: .relaxed) else { continue }
            connectsLeft -= 1
            clients[index] = try SlowClient(Self.manner(index), port: port)
            counts.withLock { $0.opened += 1 }
          } else if let client = clients[index], isDone(client, &buffer) {
            clients[index] = nil
          } else if (index + round) % 10 == 0 {
            clients[index]?.advance()
          }
        }
        round += 1
        usleep(Self.roundMicroseconds)
      } while clients.contains { $0 != nil } || !isOver.load(ordering: .relaxed)
    } catch {
      failure.withLock { $0 = error }
    }
  }

  /// Eight in ten drip, half of them a head; the others behave in all other manners.
  private static func manner(_ index: Int) -> SlowClient.Manner {
    switch index % 10 {
    case 0..<4: .dripsHead
    case 4..<8: .dripsBody
    case 8: index % 20 == 8 ? .silent : .halfOpen
    default: index % 20 == 9 ? .neverReads : .resets
    }
  }

  /// Whether a client was closed or is given up; both are counted.
  private func isDone(_ client: SlowClient, _ buffer: inout [UInt8]) -> Bool {
    let now = Clock.monotonicNanoseconds()
    let late = Double(now - client.start) / 1e9 - client.manner.deadline
    // It resets its connection itself, a second after it connected.
    if client.manner == .resets { return late > 1 }
    let isClosed = client.isClosed(&buffer)
    guard isClosed || late > Self.closeTimeout else {
      client.lastOpen = now
      return false
    }
    counts.withLock { total in
      var counts = total.manners[client.manner] ?? (0, 0, 0)
      if isClosed { counts.closed += 1 } else { counts.neverClosed += 1 }
      // The last check that found it open is a lower bound of the time at which it was closed.
      let open = Double(client.lastOpen - client.start) / 1e9 - client.manner.deadline
      counts.worst = max(counts.worst, open)
      total.manners[client.manner] = counts
    }
    return true
  }
}
