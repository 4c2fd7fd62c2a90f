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
      try measure(options)
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
  private static func measure(_ options: Options) throws(BenchError) {
    let folder = try RunFolder.make(options)
    defer { folder.clear() }
    let report = try report(folder, options)
    write(report.table + "\n", to: STDOUT_FILENO)
    guard let path = options.json else { return }
    do throws(PlatformError) {
      try DurableFile.write(Array((report.json.prettyText + "\n").utf8), to: path)
    } catch {
      throw .unmeasurable("\(error)")
    }
  }

  private static func report(
    _ folder: RunFolder, _ options: Options
  ) throws(BenchError) -> Report {
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
