import Glibc
import Platform
import StrictJSON

/// `subledger-bench`: measures the daemon on this machine, and the cost of the cryptography alone.
///
/// It measures from outside: a process of its own, HTTP, `/proc`, file sizes, commands. The subject
/// is therefore the shipped binary with all its checks and syncs (promises 1 and 3). Only the cost
/// of reading rows is measured in this process, with the library that the binary contains.
@main
enum Bench {
  static func main() {
    ProcessLimits.keepPrivate()
    signal(SIGPIPE, SIG_IGN)
    do throws(BenchError) {
      let options = try Options(Array(CommandLine.arguments.dropFirst()))
      if options.wantsHelp {
        write(Options.help, to: STDOUT_FILENO)
        return
      }
      if try !measure(options) { exit(1) }
    } catch {
      switch error {
      case .usage(let text):
        log(text)
        exit(2)
      case .unmeasurable(let text):
        log("could not measure: \(text)")
        exit(3)
      }
    }
  }

  /// The folder is removed after an error too, and a daemon that is still running is killed.
  ///
  /// - Returns: false if a bound of a siege was exceeded; a measurement has no bounds.
  /// - Throws: `BenchError.unmeasurable` if a part of the run failed.
  private static func measure(_ options: Options) throws(BenchError) -> Bool {
    let folder = try RunFolder.make(options)
    defer { folder.clear() }
    let report = try report(folder, options)
    write(report.table + "\n", to: STDOUT_FILENO)
    let isHeld = !options.isSiege || report.measurements.allSatisfy { $0.isMet != false }
    guard let path = options.json else { return isHeld }
    do throws(LedgerError) {
      try DurableFile.write(Array((report.json.prettyText + "\n").utf8), to: path)
    } catch {
      throw .unmeasurable(error.detail)
    }
    return isHeld
  }

  private static func report(
    _ folder: RunFolder, _ options: Options
  ) throws(BenchError) -> Report {
    if options.isSiege {
      var siege = try Siege(folder, options)
      return try siege.run()
    }
    if options.isSinks {
      var session = try SinkSession(folder, options)
      return try session.measure()
    }
    if options.isLarge {
      var session = try LargeSession(folder, options)
      return try session.measure()
    }
    var session = try Session(folder, options)
    return try session.measure()
  }

  /// Writes a line to standard error.
  static func log(_ text: String) { write("subledger-bench: \(text)\n", to: STDERR_FILENO) }

  /// Writes the whole text, or as much as is possible if the reader has closed its end.
  private static func write(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else { return }
      rest = rest.dropFirst(max(0, count))
    }
  }
}
