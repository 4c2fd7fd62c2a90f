import AppStore
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// `rebuild --diff`: which customers would gain or lose access with the new projection.
enum RebuildDifference {
  /// Differences of each kind that are printed.
  private static let samples = 10

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let configuration = try arguments.configuration()
    let failure = try FailOn(arguments)
    let output = try DifferenceFile(arguments, columns: RowDifference.columns)
    var plan = try RebuildCommand.plan(arguments)
    plan.isFromScratch = false
    let at = try arguments.time("--at") ?? Clock.now()
    let folder = try arguments.journalFolder()
    try RebuildCommand.judgeHeld(folder)
    let observer = RebuildObserver()
    var shown: [RowDifference] = []
    let summary = try mapError(
      RebuildCommand.building,
      try ProjectionDiff.run(
        folder, plan, at: at, progress: observer.shouldContinue,
        isStopped: { observer.isStopped }
      ) { (difference) throws(LedgerError) in
        try output?.write(csv: difference.csv, json: difference.json)
        let sameKind = shown.filter {
          $0.access == difference.access && $0.when == difference.when
        }
        if sameKind.count < samples { shown.append(difference) }
      })
    guard let summary else { throw RebuildObserver.stopped }
    store(
      StoredDiff(summary, at: at, madeAt: Clock.now(), samples: shown), configuration, arguments)
    try output?.finish()
    if arguments.has("--json") {
      Terminal.print(summary.json(at: at))
    } else {
      Terminal.print(text(summary, shown, at: at))
    }
    return failure.isMet(
      differing: summary.differing, losing: summary.losing, gaining: summary.gaining)
      ? .findings : .good
  }

  /// Stores the comparison for the console. A failure is only reported: the result is complete
  /// without the file.
  private static func store(
    _ comparison: StoredDiff, _ configuration: Configuration, _ arguments: Arguments
  ) {
    do throws(LedgerError) {
      try comparison.write(arguments.folder(configuration))
    } catch {
      Terminal.error("not stored for the console: \(error)")
    }
  }

  // MARK: Text

  private static func text(
    _ summary: ProjectionDiff.Summary, _ shown: [RowDifference], at: Int64
  ) -> String {
    var lines = [
      "\(CountText.of(summary.equal, "rows")) equal, \(summary.changed) changed, "
        + "\(summary.added) added, \(summary.gone) gone"
    ]
    if summary.changed > 0 {
      lines.append(
        "of the changed rows \(summary.changedNow) differ now, \(summary.changedPast) in the past "
          + "alone, \(summary.changedLater) later alone")
    }
    lines.append(
      "at \(Timestamp.text(at)) \(summary.losing) lose access, \(summary.gaining) gain it")
    lines += groups("lose", summary.lost, shown.filter { $0.access == .lost })
    lines += groups("gain", summary.gained, shown.filter { $0.access == .gained })
    for (when, words) in [
      (RowDifference.When.now, "same access, changed now:"), (.past, "changed in the past:"),
      (.later, "changed later:"),
    ] {
      let others = shown.filter { $0.access == .same && $0.when == when }
      lines += (others.isEmpty ? [] : [words]) + others.map(sample)
    }
    return lines.joined(separator: "\n")
  }

  private static func groups(
    _ verb: String, _ groups: [ProjectionDiff.Summary.Group: Int], _ shown: [RowDifference]
  ) -> [String] {
    let sorted = groups.sorted {
      ($1.value, $0.key.reason, $0.key.productId ?? "")
        < ($0.value, $1.key.reason, $1.key.productId ?? "")
    }
    return sorted.map { group, count in
      "\(verb): \(count)".padded(to: 14) + group.reason.padded(to: 32)
        + VisibleText.of(group.productId ?? "–")
    } + shown.map(sample)
  }

  private static func sample(_ difference: RowDifference) -> String {
    let fields =
      difference.fields + difference.pastFields.map { "past \($0)" }
      + difference.laterFields.map { "later \($0)" }
    let names = difference.kind == .changed ? "  (\(fields.joined(separator: ", ")))" : ""
    let id = VisibleText.of(difference.key.originalTransactionId)
    return "  \(id)  \(difference.key.environment)  "
      + "\(difference.kind.rawValue)  \(difference.reason)\(names)"
  }
}
