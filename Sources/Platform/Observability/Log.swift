import Glibc
public import StrictJSON
package import Synchronization

/// The log: one JSON object on each line of standard error, or plain text if that is a terminal.
///
/// Callers pass codes and identifiers, never a body, a secret or a token. Text from outside is
/// escaped here.
///
/// In the daemon a thread of its own formats and writes the lines, so that no other thread waits
/// for the process that reads the log. Lines that do not fit in that thread's queue are dropped and
/// counted, and the log reports how many.
public enum Log {
  /// A member of a line.
  public typealias Field = (String, JSONValue)

  /// The severity of a line, ascending.
  public enum Level: String, Sendable, CaseIterable, Comparable {
    case info, warning, error

    public static func < (one: Level, other: Level) -> Bool { one.rank < other.rank }

    /// The names of all levels, for error messages.
    public static let choice = "levels are \(allCases.map(\.rawValue).joined(separator: ", "))"

    var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  /// Suppresses all output. Set by tests that start thousands of ledgers in their own process.
  package static let isSilent = Atomic<Bool>(false)

  /// The longest value in bytes, approximately. A longer one is cut, so that one request cannot
  /// flood the log.
  static let maximumValue = 256

  private static let lowest = Atomic<Int>(0)
  private static let thread = Mutex<LogThread?>(nil)

  /// Lines below `level` are not written from now on.
  public static func setLevel(_ level: Level) { lowest.store(level.rank, ordering: .relaxed) }

  /// Whether lines of this level are written, for callers whose fields are costly to compute.
  static func isWritten(_ level: Level) -> Bool {
    level.rank >= lowest.load(ordering: .relaxed)
  }

  /// Writes a line, or queues it for the log's thread. Never waits for longer than a short lock
  /// once that thread runs.
  ///
  /// - Parameters:
  ///   - event: the name of the event, in snake case.
  ///   - fields: evaluated only if the line is written.
  public static func write(
    _ level: Level, _ event: String, _ fields: @autoclosure () -> [(String, JSONValue)] = []
  ) {
    guard isWritten(level), !isSilent.load(ordering: .relaxed) else { return }
    let line = LogLine(time: Clock.now(), level: level, event: event, fields: fields())
    guard let thread = thread.withLock({ $0 }) else { return LogThread.write([line]) }
    thread.enqueue(line)
  }

  /// Starts the thread that writes the lines from now on.
  public static func startThread() {
    thread.withLock { thread in
      if thread == nil { thread = LogThread.start() }
    }
  }

  /// Stops the log's thread and waits until it has written all queued lines, for at most a second.
  public static func finish() {
    let stopping = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    stopping?.stop()
  }

  /// How many lines were dropped since the process started.
  public static var lost: Int64 { LogThread.lost.value }

  /// The text as `VisibleText` shows it, cut after `maximumValue` bytes.
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
