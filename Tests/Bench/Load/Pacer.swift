import Glibc
import Platform
import Simulator
import Synchronization

/// Says when the requests of a paced load are due: independent of each other, so many a second.
///
/// The gaps are exponentially distributed, as between customers who know nothing of each other:
/// some requests come together, whatever became of those before them.
final class Pacer: Sendable {
  /// Rings when a request falls due.
  let bell = WakeupEvent()
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

  /// Rings from now on, on a thread of its own: epoll(7) counts in milliseconds, which is too
  /// coarse here.
  func start(at start: Int64) throws(BenchError) {
    do throws(PlatformError) {
      _ = try Thread.start("pacer") { [self] in
        for offset in due where !isOver.load(ordering: .relaxed) {
          let left = start + offset - Clock.monotonicNanoseconds()
          if left > 0 {
            var time = timespec(
              tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
            nanosleep(&time, nil)
          }
          bell.ring()
        }
      }
    } catch {
      throw .unmeasurable("\(error)")
    }
  }

  func stop() { isOver.store(true, ordering: .relaxed) }
}
