import AppStore
import Audit
import Entitlements
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// What the start of this program would change on a data folder. Only reads, except that rows are
/// built beside the live ones as `rebuild --diff` builds them, for the start to use.
struct UpgradeCheck {
  private(set) var checks: [DoctorCheck] = []
  /// The figures of the report, for programs.
  private(set) var members: [(String, JSONValue)] = []
  /// What this program would exit with instead of running; nil if it would start.
  private(set) var refusal: ExitCode?
  /// The rows of this program's fold, once they are built.
  private var builtRows: String?

  var exitCode: ExitCode {
    refusal ?? (checks.contains(where: \.isFinding) ? .findings : .good)
  }

  private mutating func report(_ topic: String, _ what: String, next: String? = nil) {
    checks.append(DoctorCheck(topic, what, next: next))
  }

  private mutating func refuse(_ topic: String, _ error: LedgerError) {
    let isNewer = ExitCode(error) == .newer
    refusal = refusal ?? (isNewer ? .newer : .unavailable)
    report(
      topic, "this program would not start: \(error.message)",
      next: error.next ?? "keep the program that runs")
  }

  // MARK: The configuration

  /// The configuration; of one that is refused what can be read of it, or nil if the folder is not
  /// known.
  ///
  /// - Throws: what reading it throws if it is not the configuration that is wrong.
  mutating func readConfiguration(
    _ arguments: Arguments
  ) throws(LedgerError) -> Configuration? {
    do throws(LedgerError) {
      let configuration = try arguments.configuration()
      report("configuration", "this program accepts it")
      return configuration
    } catch {
      guard error.code == .configuration else { throw error }
      refuse("configuration", error)
      let readable = try arguments.partialConfiguration()
      return readable.missing.contains(.data) ? nil : readable.configuration
    }
  }

  mutating func examineKeys(since old: KeyList?) {
    guard let old else {
      return report(
        "keys", "not compared: pipe `help configuration` of the running program into --keys -")
    }
    let changes = KeyList.own.changes(since: old)
    let lists = [("new", changes.new), ("gone", changes.gone), ("changed", changes.changed)]
    members.append(
      ("keys", .object(lists.map { ($0.0, .array($0.1.map(JSONValue.string))) })))
    if !changes.new.isEmpty { report("keys", "new: " + changes.new.joined(separator: ", ")) }
    for (what, keys) in lists.dropFirst() where !keys.isEmpty {
      report(
        "keys", "\(what): " + keys.joined(separator: ", "),
        next: "read them in `help configuration` of both programs, and look whether yours has one")
    }
    if lists.allSatisfy(\.1.isEmpty) {
      report("keys", "the same \(old.keys.count) as before")
    }
  }

  // MARK: The data folder

  /// The program that runs, as it says itself, and this one.
  mutating func namePrograms(_ folder: DataFolder) {
    let answer = try? ControlClient(folder, seconds: 5)?.get("/version")
    let running = answer?.body["version"]?.string
    members += [("from", .optional(running)), ("to", .string(Subledger.version))]
    let runs = running.map { VisibleText.of($0) + " runs" } ?? "no daemon answers"
    report("program", "\(runs), this is \(Subledger.version)")
  }

  mutating func examineSchema(_ folder: DataFolder) {
    do throws(LedgerError) {
      try folder.requireNoBackup()
      try folder.requireOwner()
      let pending = try JournalReader.open(folder).pendingMigrations()
      let steps =
        pending.map { "\($0.number) \($0.name) of the journal" }
        + (try folder.filesOfOlderSchema()).map { "the schema of \($0)" }
      members += [
        ("migrations", .array(steps.map(JSONValue.string))),
        ("can_return", .boolean(steps.isEmpty)),
      ]
      guard !steps.isEmpty else {
        return report("schema", "nothing to migrate: the program that runs now can come back")
      }
      let copy = try pending.isEmpty ? nil : FormerJournal.size(in: folder)
      members.append(("journal_copy_bytes", .optional(copy)))
      let way =
        copy.map { "the start keeps the journal as it was (\(ReadableUnits.size(bytes: $0)))" }
        ?? "the start keeps no copy of the journal"
      report(
        "schema", "the start migrates: " + steps.joined(separator: ", ") + "; \(way)",
        next: "take a backup first: after the start the program that runs now refuses this folder "
          + "with exit code 4; the way back is in: subledger help install")
    } catch {
      refuse("schema", error)
    }
  }

  /// What another fold changes, and what building its rows takes.
  mutating func examineRows(
    _ folder: DataFolder, _ configuration: Configuration, compares: Bool
  ) throws(LedgerError) {
    do throws(LedgerError) {
      guard let name = try ProjectionList.read(folder).live else {
        return report("rows", "none yet: the start builds them")
      }
      // Nil for the layout of another version.
      let live = try? ProjectionReader.open(folder, path: folder.projection(named: name)).identity()
      let isSame = live?.fingerprint == folder.fold.fingerprint
      members.append(("same_fold", .boolean(isSame)))
      let maker = live.map { "fold \($0.foldVersion)" } ?? "a program of another layout"
      guard !isSame else { return report("rows", "\(maker) made them: they stay") }
      let held = try JournalReader.open(folder).unjudgedCount()
      if held > 0 {
        report(
          "evidence",
          "\(CountText.of(held, "pieces")) held by the old rules are judged first, and "
            + "may become events")
      }
      let isRoom = try examineDisk(folder, name, limit: Int64(configuration.limits.diskBytes))
      guard isRoom, compares else {
        return report(
          "rows", "\(maker) made them, this program has fold \(folder.fold.version): not compared",
          next: "run this without --no-rows where there is room")
      }
      try compareRows(folder, configuration)
    } catch {
      if error.code == .stopped { throw error }
      report("rows", "cannot be compared: \(error.message)", next: error.next ?? "run this again")
    }
  }

  /// Whether the rows of this fold have room beside the live ones, which stay.
  private mutating func examineDisk(
    _ folder: DataFolder, _ live: String, limit: Int64
  ) throws(LedgerError) -> Bool {
    let size = try DurableFile.size(folder.projection(named: live)) ?? 0
    // Rows with purchases take 485 bytes an event, which older layouts do not have, and the
    // write-ahead log of what is built is beside them.
    let rows = max(size, try JournalReader.open(folder).head().seq * 500)
    let (needed, free) = (rows + rows / 4 + (16 << 20), try DiskSpace.of(folder.path).free)
    members += [("bytes_needed", .integer(needed)), ("bytes_free", .integer(free))]
    let isRoom = free - needed >= limit
    report(
      "disk",
      "the new rows need \(ReadableUnits.size(bytes: needed)) beside the old ones, "
        + "\(ReadableUnits.size(bytes: free)) are free",
      next: isRoom ? nil : "free disk space first")
    return isRoom
  }

  private mutating func compareRows(
    _ folder: DataFolder, _ configuration: Configuration
  ) throws(LedgerError) {
    var plan = Rebuild.Plan()
    plan.durations = configuration.durations
    let (now, began) = (Clock.now(), Clock.monotonicNanoseconds())
    let observer = RebuildObserver()
    let summary = try mapError(
      RebuildCommand.building,
      try ProjectionDiff.run(
        folder, plan, at: now, progress: observer.shouldContinue,
        isStopped: { observer.isStopped }
      ) { _ in })
    guard let summary else { throw RebuildObserver.stopped }
    builtRows = Rebuild.buildingPath(folder)
    let seconds = (Clock.monotonicNanoseconds() - began + 999_999_999) / 1_000_000_000
    members += [("seconds", .integer(seconds)), ("comparison", summary.json(at: now))]
    let time =
      "built and compared in \(DurationText.text(seconds * 1000)), and kept for the start"
    guard summary.differing > 0 else {
      return report("rows", "\(summary.equal) are the same by fold \(folder.fold.version), \(time)")
    }
    report(
      "rows",
      "\(summary.differing) of \(summary.differing + summary.equal) customers' rows differ by fold "
        + "\(folder.fold.version): \(summary.changedNow) now, \(summary.changedPast) in the past "
        + "alone; \(summary.losing) lose access, \(summary.gaining) gain it; \(time)",
      next: "see who: subledger rebuild --diff --output changes.csv, with this program")
  }

  /// What a mapping of products that is configured and not yet in force would change.
  ///
  /// - Throws: `LedgerError.stopped`.
  mutating func examineMapping(
    _ folder: DataFolder, _ configuration: Configuration
  ) throws(LedgerError) {
    do throws(LedgerError) {
      let reader = try LedgerReader(
        folder, durations: configuration.durations, rows: builtRows)
      let inForce = try reader.mappingsInForce()
      var changed = try reader.changedMappings(configuration)
      let first = changed.filter { inForce[$0.key] == nil }
      for app in first.keys { changed[app] = nil }
      if !first.isEmpty {
        report(
          "entitlements",
          "the start journals the first mapping of \(Self.names(first.keys)) as it "
            + "is configured, and compares it with nothing")
      }
      if !configuration.durations.isEmpty,
        inForce.values.allSatisfy({ $0.mapping?.durations == nil })
      {
        report(
          "entitlements",
          "the start journals nonRenewingDurations as they are configured; if the "
            + "program that runs has others, rows differ by them too")
      }
      guard !changed.isEmpty else {
        if first.isEmpty { report("entitlements", "the mapping of products stays") }
        return
      }
      let observer = RebuildObserver()
      let comparison = try reader.compare(
        changed, configured: configuration.entitlements, at: Clock.now(),
        while: { !observer.isStopped }
      ) { _ in }
      guard let comparison else { throw RebuildObserver.stopped }
      let (losing, gaining) = (comparison.losing, comparison.gaining)
      members.append(("mapping", comparison.json))
      report(
        "entitlements",
        "another mapping is configured for \(Self.names(changed.keys)): \(losing) lose an "
          + "entitlement, \(gaining) gain one. The start puts it in force, but for names that more "
          + "would lose than entitlementLossLimit allows",
        next: losing + gaining == 0
          ? nil : "see who: subledger entitlements --diff FILE --output changes.csv")
    } catch {
      if error.code == .stopped { throw error }
      // The start compares it too, and keeps what too many would lose.
      report(
        "entitlements",
        error.code == .notReady
          ? "another mapping is configured, and was not compared: there are no rows of this fold"
          : "cannot be compared: \(error.message)",
        next: "run this without --no-rows, or compare it with the program that runs: subledger "
          + "entitlements --diff FILE")
    }
  }

  private static func names(_ apps: some Sequence<StreamKey>) -> String {
    apps.sorted().map { "\($0.bundleId) in \($0.environment)" }.joined(separator: ", ")
  }

  mutating func examineSharedJournal(_ configuration: Configuration) {
    guard configuration.sharedJournal != nil else { return }
    report(
      "shared journal", "its schema on the server is not examined",
      next: "run subledger shared-journal status and doctor with this program")
  }
}
