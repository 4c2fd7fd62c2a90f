import Audit
import Glibc
import Platform
import Store
import StrictJSON

/// `export`: the journal as NDJSON, or one customer's evidence bundle.
enum ExportCommand {
  static let flags: [Command.Flag] = [
    .init("--output", "FILE", "a file that does not exist; - is standard output"),
    .init("--compress", "write a zstd file, which ingest and verify read too"),
    .init("--only", "OTID", "one customer's events"), .init("--force", "replace FILE"),
    .init("--bundle", "FILE", "with --only: evidence that is checked without the journal"),
    .init("--anchors", "FILE", "anchors to link the bundle to; else the configured ones"),
    .asOf, .environment, .bundle, .json,
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    // A daemon that runs on the same machine goes first.
    Niceness.background.apply()
    try arguments.requireNoOperand()
    if let bundle = arguments["--bundle"] { return try BundleCommand.export(arguments, to: bundle) }
    for flag in ["--anchors", "--as-of", "--environment", "--bundle-id"]
    where arguments[flag] != nil {
      throw .usage("\(flag) needs --bundle FILE")
    }
    let folder = try arguments.readableFolder()
    let path = arguments["--output"] ?? "-"
    let target = try ExportTarget(
      path, isReplacing: arguments.has("--force"), isCompressed: arguments.has("--compress"))
    let interruption = Interruption.started()
    let progress = ProgressReporter("export")
    let count = try Export.run(folder, only: arguments["--only"]) { (lines) throws(LedgerError) in
      try target.write(lines)
    } progress: { done, head in
      progress.show(done, of: head)
      return !interruption.isRequested
    }
    guard let count else { throw .stopped("stopped; no file was made") }
    guard count > 0 || arguments["--only"] == nil else {
      throw .findings("no events with this id; see: subledger events")
    }
    try target.finish()
    report(count, path, arguments)
    return .good
  }

  /// Prints the count; to standard error if standard output has the lines.
  private static func report(_ count: Int64, _ path: String, _ arguments: Arguments) {
    guard path != "-" else { return Terminal.error("\(CountText.of(count, "events")) written") }
    if arguments.has("--json") {
      Terminal.print(.object([("events", .integer(count)), ("output", .string(path))]))
    } else {
      Terminal.print("\(CountText.of(count, "events")) written to \(path)")
    }
  }
}
