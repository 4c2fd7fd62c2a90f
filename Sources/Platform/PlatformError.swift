import Glibc

/// The error of a system call that failed.
public enum PlatformError: Error, Sendable, CustomStringConvertible {
  /// What was attempted, worded to follow "could not", and errno.
  case system(_ attempt: String, _ code: Int32)

  public var description: String {
    switch self {
    case .system(let attempt, let code):
      "could not \(attempt): \(String(cString: strerror(code)))"
    }
  }

  /// The error of the last call that failed on this thread (errno).
  public static func last(_ attempt: String) -> PlatformError { .system(attempt, errno) }
}
