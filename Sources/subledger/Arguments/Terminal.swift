import Glibc
import Platform
import StrictJSON
import Synchronization

/// Writes to standard output and standard error, each text as a whole. Every command writes through
/// here, so that no byte of a notification can control a terminal.
///
/// Text passes `VisibleText`. JSON, CSV and files are data: a program that reads them gets every
/// character, and a terminal gets them as text.
enum Terminal {
  static func print(_ text: String, _ style: TextStyle = .plain) {
    write(style.applied(to: shown(text), on: STDOUT_FILENO) + [0x0A], to: STDOUT_FILENO)
  }

  /// Prints a JSON value on a line.
  static func print(_ value: JSONValue) { write(value.bytes + [0x0A]) }

  /// Prints a value as JSON if the arguments have `--json`, else as text.
  static func print(
    _ value: @autoclosure () -> JSONValue, or text: @autoclosure () -> String,
    _ arguments: Arguments
  ) {
    if arguments.has("--json") { print(value()) } else { print(text()) }
  }

  static func error(_ text: String, _ style: TextStyle = .plain) {
    write(style.applied(to: shown(text), on: STDERR_FILENO) + [0x0A], to: STDERR_FILENO)
  }

  /// Writes to standard error if that does not wait for who reads it.
  static func errorUnlessBlocked(_ text: String) {
    var watched = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    if poll(&watched, 1, 0) == 1 { error(text, .red) }
  }

  /// Asks a person, on standard error, and reads the answer from standard input.
  ///
  /// - Throws: `LedgerError.usage` unless the answer is yes.
  static func requireYes(_ question: String) throws(LedgerError) {
    clearProgress()
    writeAll(shown("\(question) Write yes: "), to: STDERR_FILENO)
    let answer = readLine()?.trimmingPrefix { $0 == " " }.lowercased()
    guard answer == "yes" || answer == "y" else {
      throw .usage("nothing was done; to answer without being asked, give --yes")
    }
  }

  // MARK: Source

  private enum Source {
    case unknown, told
    case untold(String)
  }

  private static let source = Mutex<Source>(.unknown)

  /// Tells a person, once, which configuration file a command uses: at a terminal now, elsewhere
  /// only if the command fails with a file that nobody named.
  static func tell(configuration file: String, isNamed: Bool) {
    let isTerminal = ProcessLimits.isTerminal(STDERR_FILENO)
    let isFirst = source.withLock { source in
      guard case .unknown = source else { return false }
      source = isTerminal || isNamed ? .told : .untold(file)
      return true
    }
    if isFirst && isTerminal { error("configuration: \(file)", .faint) }
  }

  /// Tells it after a failure, unless it was told before.
  static func tellConfiguration() {
    if case .untold(let file) = source.withLock({ $0 }) { error("configuration: \(file)") }
  }

  // MARK: Progress

  /// Whether the last line of the terminal is one of `progress`.
  private static let showsProgress = Atomic<Bool>(false)

  /// Erases the line of the cursor (ECMA-48, CR and EL).
  private static let erasure = Array("\r\u{1B}[K".utf8)

  /// Prints a line to standard error. On a terminal it has no line end, and is erased by what is
  /// printed next; it is cut to the width, because only one line can be erased.
  static func progress(_ text: String) {
    guard ProcessLimits.isTerminal(STDERR_FILENO) else { return error(text) }
    let columns = ProcessLimits.terminalColumns(STDERR_FILENO) ?? TextWrapper.columns
    clearProgress()
    showsProgress.store(true, ordering: .relaxed)
    writeAll(shown(String(text.prefix(columns - 1))), to: STDERR_FILENO)
  }

  /// Erases the line of `progress`, if there is one.
  static func clearProgress() {
    guard showsProgress.exchange(false, ordering: .relaxed) else { return }
    writeAll(erasure, to: STDERR_FILENO)
  }

  /// Erases the line of the cursor on a terminal, which shows `^C` there at a signal.
  static func clearLine() {
    showsProgress.store(false, ordering: .relaxed)
    if ProcessLimits.isTerminal(STDERR_FILENO) { writeAll(erasure, to: STDERR_FILENO) }
  }

  /// Writes data to standard output.
  static func write(_ data: [UInt8]) {
    let isShown = ProcessLimits.isTerminal(STDOUT_FILENO)
    write(isShown ? shown(String(decoding: data, as: UTF8.self)) : data, to: STDOUT_FILENO)
  }

  private static func shown(_ text: String) -> [UInt8] { Array(VisibleText.ofLines(text).utf8) }

  /// Writes all bytes, to a terminal after the line of `progress` was erased.
  private static func write(_ bytes: [UInt8], to descriptor: Int32) {
    if ProcessLimits.isTerminal(descriptor) { clearProgress() }
    writeAll(bytes, to: descriptor)
  }

  /// Writes all bytes. If the reader has closed the pipe (`| head`), the process ends with exit
  /// code 0, as other tools do; any other error ends it with the code of `unavailable`, because
  /// output that is cut must not look complete.
  private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) {
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
      error("subledger: \(LedgerError.system("write standard output", code).detail)")
    }
    exit(ExitCode.unavailable.rawValue)
  }
}
