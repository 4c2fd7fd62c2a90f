import CLinux
import Glibc

/// The machine's clocks. Read once, at the edge; everything below takes the time as a parameter.
public enum Clock {
  /// Milliseconds since 1970-01-01T00:00:00Z by the wall clock.
  public static func now() -> Int64 {
    let time = read(CLOCK_REALTIME)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Nanoseconds by a clock that never steps; only differences mean anything.
  public static func monotonicNanoseconds() -> Int64 { nanoseconds(read(CLOCK_MONOTONIC)) }

  /// Nanoseconds of processor time this process has used, all threads together.
  public static func processNanoseconds() -> Int64 { nanoseconds(read(CLOCK_PROCESS_CPUTIME_ID)) }

  private static func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    clock_gettime(clock, &time)
    return time
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
