import Glibc

/// The least processor time of this thread in three runs, in seconds: other tests run at the same
/// time.
package func processorSeconds(_ body: () -> Void) -> Double {
  func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
  return (0..<3).map { _ in
    let start = now()
    body()
    return now() - start
  }.min() ?? 0
}
