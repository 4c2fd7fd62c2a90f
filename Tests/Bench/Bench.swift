import Glibc
import Platform
import StrictJSON

/// `subledger-bench`: measures the daemon on this machine, and what the cryptography alone costs.
///
/// It looks from outside: a process of its own, HTTP, `/proc`, file sizes, commands. So what it
/// measures is the binary that is shipped, every check and sync in it (promises 1 and 3). Only what
/// the reading of rows alone costs it measures in itself, by the library that the binary has.
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
        say(text)
        exit(2)
      case .unmeasurable(let text):
        say("could not measure: \(text)")
        exit(3)
      }
    }
  }

  /// The folder goes whatever happens, and with it the daemon that an error left running.
  ///
  /// - Returns: whether the bounds of a siege were held; a measurement has none.
  private static func measure(_ options: Options) throws(BenchError) -> Bool {
    let folder = try RunFolder.make(options)
    defer { folder.clear() }
    let report = try report(folder, options)
    write(report.table + "\n", to: STDOUT_FILENO)
    let isHeld = !options.isSiege || report.measurements.allSatisfy { $0.isMet != false }
    guard let path = options.json else { return isHeld }
    do throws(PlatformError) {
      try DurableFile.write(Array((report.json.prettyText + "\n").utf8), to: path)
    } catch {
      throw .unmeasurable("\(error)")
    }
    return isHeld
  }

  private static func report(
    _ folder: RunFolder, _ options: Options
  ) throws(BenchError) -> Report {
    if options.isSiege {
      var siege = try Siege(folder, options)
      return try siege.hold()
    }
    if options.isLarge {
      var session = try LargeSession(folder, options)
      return try session.measure()
    }
    var session = try Session(folder, options)
    return try session.measure()
  }

  /// What goes on, on standard error.
  static func say(_ text: String) { write("subledger-bench: \(text)\n", to: STDERR_FILENO) }

  /// Whole, or as far as a reader that went away lets it.
  private static func write(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else { return }
      rest = rest.dropFirst(max(0, count))
    }
  }
}
