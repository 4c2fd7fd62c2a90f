import Glibc

/// A system call that failed: what was tried, and errno.
public enum PlatformError: Error, Sendable, CustomStringConvertible {
  case system(_ attempt: String, _ code: Int32)

  public var description: String {
    switch self {
    case .system(let attempt, let code):
      "could not \(attempt): \(String(cString: strerror(code)))"
    }
  }

  /// The error of the call that failed last on this thread.
  public static func last(_ attempt: String) -> PlatformError { .system(attempt, errno) }
}
