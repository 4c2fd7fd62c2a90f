import Glibc
import Platform
import StrictJSON

/// Writes lines that others put down, in their order.
final class LogThread: Sendable {
  /// Lines that were dropped, of all threads of this process.
  static let lost = Counter()

  /// Lines that wait; each holds a few hundred bytes.
  private let lines = BoundedQueue<LogLine>(capacity: 8192)
  private let ended = WakeupEvent()

  /// How long the end waits for a reader that takes nothing, in milliseconds.
  private static let patience: Int32 = 1000
  /// Bytes that are written at once.
  private static let room = 32_768
  /// Microseconds that it rests after writing: what comes meanwhile is one wake-up, and one write.
  private static let rest: UInt32 = 5_000

  /// Nil where the system has no thread left: then every line is written where it comes up.
  static func start() -> LogThread? {
    let log = LogThread()
    let started = try? Thread.start("log") {
      log.run()
      log.ended.ring()
    }
    return started == nil ? nil : log
  }

  /// Never waits for more than a short lock.
  func put(_ line: LogLine) {
    if !lines.put(line) { Self.lost.add() }
  }

  func stop() {
    lines.close()
    ended.wait(milliseconds: Self.patience)
  }

  private func run() {
    var told: Int64 = 0
    while let batch = lines.takeAll() {
      Self.write(batch)
      defer { usleep(Self.rest) }
      let lost = Self.lost.value
      guard lost > told else { continue }
      Self.write([
        LogLine(
          time: Clock.now(), level: .warning, event: "log_lines_lost",
          fields: [
            ("count", .integer(lost - told)),
            ("next", .string("whoever reads this log is too slow for it; see --log-level")),
          ])
      ])
      told = lost
    }
  }

  private static let isTerminal = ProcessLimits.isTerminal(STDERR_FILENO)

  /// Writes whole lines, several in one call.
  static func write(_ lines: [LogLine]) {
    var bytes: [UInt8] = []
    for line in lines {
      bytes += isTerminal ? line.plain : line.json
      guard bytes.count >= room else { continue }
      write(bytes)
      bytes.removeAll(keepingCapacity: true)
    }
    write(bytes)
  }

  private static func write(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count)
      }
      if count < 0 && errno == EINTR { continue }
      // Nobody is there to read it.
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }
}
