import Glibc
import Platform
public import StrictJSON
package import Synchronization

/// The log: one JSON object a line on standard error. Never a body, a secret or a token; callers
/// pass codes and identifiers, and what came from outside is escaped here.
public enum Log {
  public enum Level: String, Sendable { case info, warning, error }

  /// Set by trials that start thousands of ledgers in their own process.
  package static let isSilent = Atomic<Bool>(false)

  /// About the longest value, in bytes: what does not fit is cut, so that nobody can flood the log
  /// with one request.
  private static let maximumValue = 256

  public static func write(
    _ level: Level, _ event: String, _ fields: [(String, JSONValue)] = []
  ) {
    guard !isSilent.load(ordering: .relaxed) else { return }
    let members: [(String, JSONValue)] =
      [
        ("time", .string(Timestamp.text(Clock.now()))), ("level", .string(level.rawValue)),
        ("event", .string(event)),
      ] + fields.map { ($0.0, bounded($0.1)) }
    let line = JSONValue.object(members).bytes + [0x0A]
    line.withUnsafeBytes { bytes in
      // One call a line: lines of several threads do not mix (PIPE_BUF).
      _ = Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
    }
  }

  private static func bounded(_ value: JSONValue) -> JSONValue {
    guard case .string(let text) = value else { return value }
    return .string(escaped(text))
  }

  /// Control characters and those that turn the direction of text are shown by number, so that a
  /// log line looks like what it is on any terminal.
  package static func escaped(_ text: String) -> String {
    var shown = ""
    for scalar in text.unicodeScalars {
      guard shown.utf8.count < maximumValue else { return shown + "…" }
      shown += VisibleText.of(scalar)
    }
    return shown
  }
}
