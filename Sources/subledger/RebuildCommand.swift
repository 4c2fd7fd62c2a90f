import JournalStore
import Platform
import StrictJSON
import SubscriptionLedger

enum RebuildCommand {
  static func run(_ words: CommandLineWords) throws(CommandError) -> ExitCode {
    try words.none()
    let folder = words.folder(try words.configuration())
    let interruption = Interruption()
    interruption.watch()
    let pace = Pace("rebuild")
    let report = try CommandError.store { () throws(StoreError) in
      try Rebuild.build(folder) { seq, head in
        pace.show(seq, of: head)
        return !interruption.isRequested
      }
    }
    guard let report else {
      throw .findings("stopped; the live rows are as they were")
    }
    pace.finish(report.events)
    try makeLive(folder)
    if words.has("--json") {
      Terminal.print(
        JSONValue.object([
          ("events", .integer(report.events)), ("rows", .integer(Int64(report.rows))),
          ("digest", .string(report.digest)),
        ]).text)
    } else {
      Terminal.print("\(report.events) events, \(report.rows) rows, digest \(report.digest)")
    }
    return .good
  }

  /// By the daemon, where one runs: it folds what came meanwhile and swaps under its readers.
  private static func makeLive(_ folder: DataFolder) throws(CommandError) {
    if let daemon = ControlClient(folder) {
      guard try daemon.post("/control/adopt").status == 200 else {
        throw .unavailable("the daemon did not take the new rows; the old ones stay live")
      }
      return
    }
    try CommandError.store { () throws(StoreError) in try Rebuild.makeLive(folder) }
  }
}
