import Delivery
import Entitlements
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// `rebuild --announce`: sinks are told once of each customer whose answer another fold changed.
enum RebuildAnnouncement {
  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let configuration = try arguments.configuration()
    let sinks = configuration.sinks.filter(\.subscribesToRecalculations).map(\.name)
    guard !sinks.isEmpty else {
      throw .findings("no sink gets entitlement.recalculated: there is nobody to tell")
    }
    let folder = try arguments.journalFolder()
    let count = try mapError(
      RebuildCommand.building, try announce(folder, configuration.durations))
    guard let count else {
      throw .findings("these two folds were announced before: sinks are told once")
    }
    if arguments.has("--json") {
      Terminal.print(.object([("customers", .integer(count))]))
    } else {
      Terminal.print(
        "\(CountText.of(count, "customers")) \(count == 1 ? "has" : "have") another answer; "
          + "told \(ControlClient(folder) == nil ? "when the daemon runs" : "now"): "
          + (count == 0 ? "nobody" : sinks.joined(separator: ", ")))
    }
    return .good
  }

  /// Compares, and leaves the list for the daemon. Returns nil if it was announced before.
  private static func announce(
    _ folder: DataFolder, _ durations: Durations
  ) throws(LedgerError) -> Int64? {
    let journal = try JournalReader.open(folder)
    var list: AtomicFileWriter?
    var count: Int64 = 0
    try ProjectionDiff.afterSwitch(
      folder, at: Clock.now(), durations: durations
    ) { (before, after) throws(LedgerError) in
      let announcement = SinkStore.Announcement(before: name(before), after: name(after))
      guard try !SinkStore.isAnnounced(announcement, in: folder) else { return false }
      let file = try AtomicFileWriter(folder.announcement)
      try file.write(announcement.json.text + "\n")
      list = file
      return true
    } each: { (difference) throws(LedgerError) in
      let changes = difference.changes
      guard !changes.isEmpty, let stream = try journal.streamId(of: difference.key) else { return }
      let item = Recalculation(
        stream: stream, hadAccess: difference.hadAccess,
        changes: .object(changes.map { ($0.field, .array([$0.before, $0.after])) }))
      try list?.write(item.json.text + "\n")
      count += 1
    }
    guard let list else { return nil }
    try list.finish()
    return count
  }

  private static func name(_ fold: ProjectionIdentity) -> String {
    "\(fold.foldVersion) \(fold.fingerprint)"
  }
}
