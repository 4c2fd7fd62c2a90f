import Glibc

/// The limit on open descriptors of this process.
public enum Descriptors {
  /// Raises the soft limit to `wanted`, or to the hard limit if that is lower.
  ///
  /// - Returns: the limit after the call; 0 if it cannot be read.
  @discardableResult
  public static func allow(_ wanted: Int) -> Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
    if limit.rlim_cur < rlim_t(wanted) {
      limit.rlim_cur = min(rlim_t(wanted), limit.rlim_max)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
    return Int(clamping: limit.rlim_cur)
  }
}
