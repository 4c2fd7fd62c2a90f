import Glibc
import Platform

/// Standard output and standard error, in whole writes.
enum Terminal {
  static func print(_ text: String) { write(Array((text + "\n").utf8), to: STDOUT_FILENO) }

  static func error(_ text: String) { write(Array((text + "\n").utf8), to: STDERR_FILENO) }

  /// One line that replaces the one before on a terminal; plain lines elsewhere.
  static func progress(_ text: String, isLast: Bool = false) {
    guard ProcessLimits.isTerminal(STDERR_FILENO) else { return error(text) }
    write(Array(("\r\u{1B}[K" + text + (isLast ? "\n" : "")).utf8), to: STDERR_FILENO)
  }

  /// A closed reader (`| head`) ends the process quietly, as it does other tools.
  static func write(_ bytes: [UInt8], to descriptor: Int32) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { exit(errno == EPIPE ? 0 : ExitCode.unavailable.rawValue) }
      rest = rest.dropFirst(count)
    }
  }
}
