import Glibc
import Observability
import Platform
import StrictJSON

/// Writes to standard output and standard error, each text as a whole. Every command writes through
/// here, so that no byte of a notification can control a terminal.
///
/// Text passes `VisibleText`. JSON, CSV and files are data: a program that reads them gets every
/// character, and a terminal gets them as text.
enum Terminal {
  static func print(_ text: String) { write(shown(text + "\n"), to: STDOUT_FILENO) }

  /// Prints a JSON value on a line.
  static func print(_ value: JSONValue) { write(value.bytes + [0x0A]) }

  /// Prints a value as JSON if the arguments have `--json`, else as text.
  static func print(
    _ value: @autoclosure () -> JSONValue, or text: @autoclosure () -> String,
    _ arguments: Arguments
  ) {
    if arguments.has("--json") { print(value()) } else { print(text()) }
  }

  static func error(_ text: String) { write(shown(text + "\n"), to: STDERR_FILENO) }

  /// Prints a line to standard error; on a terminal it replaces the line before.
  static func progress(_ text: String, isLast: Bool = false) {
    guard ProcessLimits.isTerminal(STDERR_FILENO) else { return error(text) }
    write(
      Array("\r\u{1B}[K".utf8) + shown(text + (isLast ? "\n" : "")), to: STDERR_FILENO)
  }

  /// Writes data to standard output.
  static func write(_ data: [UInt8]) {
    let isShown = ProcessLimits.isTerminal(STDOUT_FILENO)
    write(isShown ? shown(String(decoding: data, as: UTF8.self)) : data, to: STDOUT_FILENO)
  }

  private static func shown(_ text: String) -> [UInt8] { Array(VisibleText.ofLines(text).utf8) }

  /// Writes all bytes. If the reader has closed the pipe (`| head`), the process ends with exit
  /// code 0, as other tools do; any other error ends it with the code of `unavailable`, because
  /// output that is cut must not look complete.
  private static func write(_ bytes: [UInt8], to descriptor: Int32) {
    var remaining = bytes[...]
    while !remaining.isEmpty {
      let count = remaining.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { fail(errno, descriptor) }
      remaining = remaining.dropFirst(count)
    }
  }

  private static func fail(_ code: Int32, _ descriptor: Int32) -> Never {
    if code == EPIPE { exit(ExitCode.good.rawValue) }
    if descriptor == STDOUT_FILENO {
      error("subledger: \(PlatformError.system("write standard output", code))")
    }
    exit(ExitCode.unavailable.rawValue)
  }
}
