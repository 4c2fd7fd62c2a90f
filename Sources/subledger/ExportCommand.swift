import Glibc
import JournalStore
import Platform
import StrictJSON
import SubscriptionLedger

enum ExportCommand {
  static let flags: [Command.Flag] = [
    .init("--output", "FILE", "a file that is not there yet; - is standard output"),
    .init("--compress", "as a zstd file, which ingest reads as well"),
    .init("--only", "OTID", "one customer's events"), .init("--force", "replace FILE"), .json,
  ]

  static func run(_ words: CommandLineWords) throws(CommandError) -> ExitCode {
    try words.none()
    let folder = words.folder(try words.configuration())
    let path = words["--output"] ?? "-"
    guard path != "-" || !ProcessLimits.isTerminal(STDOUT_FILENO) else {
      throw .usage("this would fill the terminal; give --output FILE, or pipe it")
    }
    let target = try Target(path, isReplacing: words.has("--force"))
    let isCompressed = words.has("--compress")
    let interruption = Interruption()
    interruption.watch()
    let pace = Pace("export")
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
  private static func report(_ count: Int64, _ path: String, _ words: CommandLineWords) {
    guard path != "-" else { return Terminal.error("\(count) events written") }
    if words.has("--json") {
      Terminal.print(
        JSONValue.object([("events", .integer(count)), ("output", .string(path))]).text)
    } else {
      Terminal.print("\(count) events written to \(path)")
    }
  }

  /// A file that is whole or not there, or standard output.
  private final class Target {
    private let file: StreamedFile?

    init(_ path: String, isReplacing: Bool) throws(CommandError) {
      guard path != "-" else {
        file = nil
        return
      }
      do throws(PlatformError) {
        let isThere = try DurableFile.size(path) != nil
        if isThere && !isReplacing { throw .system("make \(path)", EEXIST) }
        file = try StreamedFile(path)
      } catch {
        throw .unavailable("\(error); give another --output, or --force")
      }
    }

    func write(_ bytes: [UInt8]) throws(StoreError) {
      guard let file else { return Terminal.write(bytes, to: STDOUT_FILENO) }
      do throws(PlatformError) { try file.write(bytes) } catch { throw StoreError(error) }
    }

    func finish() throws(StoreError) {
      do throws(PlatformError) { try file?.finish() } catch { throw StoreError(error) }
    }
  }
}
