import Glibc
import Platform
import Synchronization

/// Many slow clients at once, on a thread of their own; who was closed comes again.
final class SlowCrowd: Sendable {
  /// What the crowd saw.
  struct Counts: Sendable {
    var opened = 0
    /// Of each manner: how many the daemon closed, how long after its deadline at most, in seconds,
    /// and how many were still open so long after it that they were given up.
    var manners: [SlowClient.Manner: (closed: Int, worst: Double, forgotten: Int)] = [:]

    var worst: Double { manners.values.map(\.worst).max() ?? 0 }
    var forgotten: Int { manners.values.reduce(0) { $0 + $1.forgotten } }
  }

  private let isOver = Atomic(false)
  private let counts = Mutex(Counts())
  private let failure = Mutex<BenchError?>(nil)

  private init() {}

  /// Every tenth of a second each is looked at, and each tenth one says its byte.
  private static let tick: UInt32 = 100_000
  /// How many come in a tick at most.
  private static let opened = 200
  /// Seconds after its deadline at which one is given up.
  private static let patience = 10.0

  /// Keeps `count` of them open while `body` runs, then waits until the daemon has closed them all.
  static func run<Result>(
    _ count: Int, port: UInt16, _ body: () throws(BenchError) -> Result
  ) throws(BenchError) -> (result: Result, counts: Counts) {
    let crowd = SlowCrowd()
    let thread: Thread
    do throws(PlatformError) {
      thread = try Thread.start("crowd") { crowd.stay(count, port) }
    } catch {
      throw .unmeasurable("\(error)")
    }
    let result: Result
    do throws(BenchError) {
      // All of them are there before anything is measured.
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

  private func stay(_ count: Int, _ port: UInt16) {
    var clients = [SlowClient?](repeating: nil, count: count)
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    var round = 0
    var places = 0
    do throws(BenchError) {
      repeat {
        places = Self.opened
        for place in clients.indices {
          if clients[place] == nil {
            guard places > 0, !isOver.load(ordering: .relaxed) else { continue }
            places -= 1
            clients[place] = try SlowClient(Self.manner(place), port: port)
            counts.withLock { $0.opened += 1 }
          } else if let client = clients[place], isGone(client, &buffer) {
            clients[place] = nil
          } else if (place + round) % 10 == 0 {
            clients[place]?.goOn()
          }
        }
        round += 1
        usleep(Self.tick)
      } while clients.contains { $0 != nil } || !isOver.load(ordering: .relaxed)
    } catch {
      failure.withLock { $0 = error }
    }
  }

  /// Eight in ten drip, half of them a head; the others are of all other manners.
  private static func manner(_ place: Int) -> SlowClient.Manner {
    switch place % 10 {
    case 0..<4: .dripsHead
    case 4..<8: .dripsBody
    case 8: place % 20 == 8 ? .silent : .halfOpen
    default: place % 20 == 9 ? .neverReads : .resets
    }
  }

  private func isGone(_ client: SlowClient, _ buffer: inout [UInt8]) -> Bool {
    let now = Clock.monotonicNanoseconds()
    let late = Double(now - client.start) / 1e9 - client.manner.deadline
    // Goes by itself a second after it came.
    if client.manner == .resets { return late > 1 }
    let isClosed = client.isClosed(&buffer)
    guard isClosed || late > Self.patience else {
      client.seen = now
      return false
    }
    counts.withLock { total in
      var counts = total.manners[client.manner] ?? (0, 0, 0)
      if isClosed { counts.closed += 1 } else { counts.forgotten += 1 }
      // So late it was still open; when after that it was closed nobody saw.
      let open = Double(client.seen - client.start) / 1e9 - client.manner.deadline
      counts.worst = max(counts.worst, open)
      total.manners[client.manner] = counts
    }
    return true
  }
}
