import AppStoreSimulator
import Glibc
import Platform
import Synchronization

/// The times at which the requests of an open-loop load are due: a Poisson process.
///
/// The gaps are exponentially distributed, as between independent clients, so that some requests
/// are due almost at once.
final class Pacer: Sendable {
  /// Signalled when a request is due.
  let wakeup = WakeupEvent()
  /// Nanoseconds after the start, ascending.
  let due: [Int64]
  private let isOver = Atomic(false)

  init(count: Int, perSecond: Double, seed: UInt64 = 7) {
    var generator = SeededGenerator(seed: seed)
    var time = 0.0
    due = (0..<count).map { _ in
      let share = Double(generator.next() >> 11) * 0x1p-53
      time -= log(1 - share) / perSecond * 1e9
      return Int64(time)
    }
  }

  /// Starts a thread that signals each due time. A timeout of epoll(7) would be in milliseconds,
  /// which is too coarse here.
  ///
  /// - Parameter start: what the due times are relative to, in monotonic nanoseconds.
  /// - Throws: `BenchError.unmeasurable` if no thread can be started.
  func start(at start: Int64) throws(BenchError) {
    do throws(LedgerError) {
      _ = try Thread.start("pacer") { [self] in
        for offset in due where !isOver.load(ordering: .relaxed) {
          let left = start + offset - Clock.monotonicNanoseconds()
          if left > 0 {
            var time = timespec(
              tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
            nanosleep(&time, nil)
          }
          wakeup.signal()
        }
      }
    } catch {
      throw .unmeasurable(error.detail)
    }
  }

  func stop() { isOver.store(true, ordering: .relaxed) }
}
