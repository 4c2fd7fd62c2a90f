import Glibc
import Platform
public import StrictJSON
package import Synchronization

/// The log: one JSON object a line on standard error, plain text where that is a terminal. Never a
/// body, a secret or a token; callers pass codes and identifiers, and what came from outside is
/// escaped here.
///
/// A daemon has its lines put together and written by a thread of their own: whoever logs waits
/// for nobody who reads. What nobody takes is dropped, counted, and told of.
public enum Log {
  public enum Level: String, Sendable, CaseIterable, Comparable {
    case info, warning, error

    public static func < (one: Level, other: Level) -> Bool { one.rank < other.rank }

    public static let choice = "levels are \(allCases.map(\.rawValue).joined(separator: ", "))"

    var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  /// Set by trials that start thousands of ledgers in their own process.
  package static let isSilent = Atomic<Bool>(false)

  /// About the longest value, in bytes: what does not fit is cut, so that nobody can flood the log
  /// with one request.
  static let maximumValue = 256

  private static let lowest = Atomic<Int>(0)
  private static let thread = Mutex<LogThread?>(nil)

  /// What is under this level is not written.
  public static func setLevel(_ level: Level) { lowest.store(level.rank, ordering: .relaxed) }

  /// Whether lines of this level are written, for those who would have to gather much.
  public static func isWritten(_ level: Level) -> Bool {
    level.rank >= lowest.load(ordering: .relaxed)
  }

  public static func write(
    _ level: Level, _ event: String, _ fields: @autoclosure () -> [(String, JSONValue)] = []
  ) {
    guard isWritten(level), !isSilent.load(ordering: .relaxed) else { return }
    let line = LogLine(time: Clock.now(), level: level, event: event, fields: fields())
    guard let thread = thread.withLock({ $0 }) else { return LogThread.write([line]) }
    thread.put(line)
  }

  /// From here on lines are written by a thread of their own.
  public static func startThread() {
    thread.withLock { thread in
      if thread == nil { thread = LogThread.start() }
    }
  }

  /// Waits until what was logged so far is written, but for no longer than a moment.
  public static func finish() {
    let ending = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    ending?.stop()
  }

  /// How many lines were dropped.
  public static var lost: Int64 { LogThread.lost.value }

  /// Control characters and those that turn the direction of text are shown by number, so that a
  /// log line looks like what it is on any terminal.
  package static func escaped(_ text: String) -> String {
    if text.utf8.count <= maximumValue, text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) {
      return text
    }
    var shown = ""
    for scalar in text.unicodeScalars {
      guard shown.utf8.count < maximumValue else { return shown + "…" }
      shown += VisibleText.of(scalar)
    }
    return shown
  }
}
