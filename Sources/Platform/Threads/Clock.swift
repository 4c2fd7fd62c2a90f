import CLinux
import Glibc

/// The machine's clocks. The outermost functions read them; all others take the time as a
/// parameter, so that tests can set it.
public enum Clock {
  /// Milliseconds since 1970-01-01T00:00:00Z by the wall clock.
  public static func now() -> Int64 {
    let time = read(CLOCK_REALTIME)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Nanoseconds by a clock that never goes back; only differences have a meaning.
  public static func monotonicNanoseconds() -> Int64 { nanoseconds(read(CLOCK_MONOTONIC)) }

  /// Milliseconds since the machine started, also those in which it slept (CLOCK_BOOTTIME).
  public static func millisecondsSinceBoot() -> Int64 {
    nanoseconds(read(CLOCK_BOOTTIME)) / 1_000_000
  }

  /// Nanoseconds of processor time that all threads of this process have used.
  public static func processNanoseconds() -> Int64 { nanoseconds(read(CLOCK_PROCESS_CPUTIME_ID)) }

  /// Nanoseconds of processor time that the calling thread has used.
  public static func threadNanoseconds() -> Int64 { nanoseconds(read(CLOCK_THREAD_CPUTIME_ID)) }

  /// A date and a time of day in UTC.
  public struct UTC: Sendable, Equatable {
    public let year: Int
    /// 1 to 12.
    public let month: Int
    public let day: Int
    /// Days since Sunday.
    public let weekday: Int
    public let hour: Int
    public let minute: Int
    public let second: Int
  }

  /// - Parameter second: seconds since 1970, of a year that `gmtime_r` can tell (gmtime(3)).
  public static func utc(_ second: Int64) -> UTC {
    var (time, parts) = (time_t(second), tm())
    gmtime_r(&time, &parts)
    return UTC(
      year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday),
      weekday: Int(parts.tm_wday), hour: Int(parts.tm_hour), minute: Int(parts.tm_min),
      second: Int(parts.tm_sec))
  }

  private static func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    clock_gettime(clock, &time)
    return time
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
