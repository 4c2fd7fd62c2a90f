import Glibc
import StrictJSON

/// Writes the lines that other threads queue, in order.
final class LogThread: Sendable {
  /// Lines of this process that were dropped because the queue was full.
  static let lost = Counter()

  /// Each queued line takes a few hundred bytes.
  private let lines = BoundedQueue<LogLine>(capacity: 8192)
  private let ended = WakeupEvent()

  /// How long `stop` waits for the queue to be written, in milliseconds.
  private static let stopTimeout: Int32 = 1000
  /// Bytes after which the buffer is written.
  private static let bufferSize = 32_768
  /// Microseconds to sleep after writing: lines that arrive meanwhile take one wake-up and one
  /// write.
  private static let pause: UInt32 = 5_000

  /// Starts the thread; nil if the system has none left: then each thread writes its own lines.
  static func start() -> LogThread? {
    let log = LogThread()
    let started = try? Thread.start("log") {
      log.run()
      log.ended.signal()
    }
    return started == nil ? nil : log
  }

  /// Queues a line, or drops and counts it if the queue is full. Does not block.
  func enqueue(_ line: LogLine) {
    if !lines.enqueue(line) { Self.lost.add() }
  }

  /// Closes the queue and waits until it is written, or for `stopTimeout`.
  func stop() {
    lines.close()
    ended.wait(milliseconds: Self.stopTimeout)
  }

  private func run() {
    var reported: Int64 = 0
    while let batch = lines.dequeueAll() {
      Self.write(batch)
      defer { usleep(Self.pause) }
      let lost = Self.lost.value
      guard lost > reported else { continue }
      Self.write([
        LogLine(
          time: Clock.now(), level: .warning, event: "log_lines_lost",
          fields: [
            ("count", .integer(lost - reported)),
            ("next", .string("the process that reads this log is too slow; see --log-level")),
          ])
      ])
      reported = lost
    }
  }

  private static let isTerminal = ProcessLimits.isTerminal(STDERR_FILENO)

  /// Writes whole lines, several in one call.
  static func write(_ lines: [LogLine]) {
    var bytes: [UInt8] = []
    for line in lines {
      bytes += isTerminal ? line.plain : line.json
      guard bytes.count >= bufferSize else { continue }
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
      // The reader is gone: the lines cannot be written.
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }
}
