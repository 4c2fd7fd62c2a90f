import Glibc
import Platform

/// Writes to standard output and standard error, each text as a whole.
enum Terminal {
  static func print(_ text: String) { write(Array((text + "\n").utf8), to: STDOUT_FILENO) }

  static func error(_ text: String) { write(Array((text + "\n").utf8), to: STDERR_FILENO) }

  /// Prints a line to standard error; on a terminal it replaces the line before.
  static func progress(_ text: String, isLast: Bool = false) {
    guard ProcessLimits.isTerminal(STDERR_FILENO) else { return error(text) }
    write(Array(("\r\u{1B}[K" + text + (isLast ? "\n" : "")).utf8), to: STDERR_FILENO)
  }

  /// Writes all bytes. If the reader has closed the pipe (`| head`), the process ends with exit
  /// code 0, as other tools do; any other error ends it with the code of `unavailable`.
  static func write(_ bytes: [UInt8], to descriptor: Int32) {
    var remaining = bytes[...]
    while !remaining.isEmpty {
      let count = remaining.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { exit(errno == EPIPE ? 0 : ExitCode.unavailable.rawValue) }
      remaining = remaining.dropFirst(count)
    }
  }
}
