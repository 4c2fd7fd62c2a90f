import Glibc
import JournalStore
import LedgerAudit
import Platform
import StrictJSON

enum ExportCommand {
  static let flags: [Command.Flag] = [
    .init("--output", "FILE", "a file that is not there yet; - is standard output"),
    .init("--compress", "as a zstd file, which ingest reads as well"),
    .init("--only", "OTID", "one customer's events"), .init("--force", "replace FILE"),
    .init("--bundle", "FILE", "with --only: as evidence that can be checked without any data"),
    .init("--anchors", "FILE", "kept anchors to lead the chain to; else the configured ones"),
    .asOf, .environment, .bundle, .json,
  ]

  static func run(_ words: Arguments) throws(CommandError) -> ExitCode {
    // A daemon may be running beside it.
    ProcessLimits.yield(.toAll)
    try words.none()
    if let bundle = words["--bundle"] { return try BundleCommand.export(words, to: bundle) }
    for flag in ["--anchors", "--as-of", "--environment", "--bundle-id"] where words[flag] != nil {
      throw .usage("\(flag) is about a bundle; give --bundle FILE too")
    }
    let folder = words.folder(try words.configuration())
    let path = words["--output"] ?? "-"
    let target = try ExportTarget(path, isReplacing: words.has("--force"))
    let isCompressed = words.has("--compress")
    let interruption = Interruption()
    interruption.watch()
    let pace = ProgressReporter("export")
    let count = try CommandError.store { () throws(StoreError) in
      try Export.run(folder, only: words["--only"]) { (lines) throws(StoreError) in
        let piece = isCompressed ? ZstdFile.frame(lines) : lines
        guard let piece else { throw .sql("zstd could not compress") }
        try target.write(piece)
      } progress: { done, head in
        pace.show(done, of: head)
        return !interruption.isRequested
      }
    }
    guard let count else { throw .unavailable("stopped; no file was made") }
    guard count > 0 || words["--only"] == nil else {
      throw .findings("no events of that id; see: subledger events")
    }
    try CommandError.store { () throws(StoreError) in try target.finish() }
    report(count, path, words)
    return .good
  }

  /// Standard output is for the lines.
  private static func report(_ count: Int64, _ path: String, _ words: Arguments) {
    guard path != "-" else { return Terminal.error("\(count) events written") }
    if words.has("--json") {
      Terminal.print(
        JSONValue.object([("events", .integer(count)), ("output", .string(path))]).text)
    } else {
      Terminal.print("\(count) events written to \(path)")
    }
  }
}
