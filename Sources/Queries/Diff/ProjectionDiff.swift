import AppStore
public import Entitlements
public import Ledger
public import Platform
public import Store

/// Compares a projection that was built with the live one, customer by customer.
///
/// Both are compared at the same seq, so that a notification which arrives meanwhile makes no
/// difference.
public enum ProjectionDiff {
  /// Finishes the build of the new projection, then compares all rows.
  ///
  /// - Parameters:
  ///   - time: the time at which access is compared, milliseconds since 1970.
  ///   - progress: receives the events folded and the events in all; returns false to stop.
  ///   - isStopped: asked while rows are compared.
  ///   - each: receives every difference, in the order of original transaction ids.
  /// - Returns: nil if `progress` stopped the build.
  /// - Throws: `LedgerError.noProjection` when there is no live projection to compare with;
  ///   `LedgerError.locked` when another rebuild is running; `.stopped` if the
  ///   comparison was; what `each` throws.
  public static func run(
    _ folder: DataFolder, _ plan: Rebuild.Plan, at time: Int64,
    progress: (Int64, Int64) -> Bool, isStopped: () -> Bool = { false },
    each: (RowDifference) throws(LedgerError) -> Void
  ) throws(LedgerError) -> Summary? {
    let lock = try folder.lockRebuild()
    defer { withExtendedLifetime(lock) {} }
    let live = try openLive(folder, try JournalReader.open(folder))
    guard
      try Rebuild.build(folder, plan, through: try live.foldedThrough(), progress: progress)
        != nil
    else { return nil }
    try live.beginSnapshot()
    let end = try live.foldedThrough()
    var plan = plan.continued
    var built = try Rebuild.build(folder, plan, through: end, progress: progress)
    if let report = built, report.events > end {
      // An earlier build went on to events that the live projection does not have.
      plan.isFromScratch = true
      built = try Rebuild.build(folder, plan, through: end, progress: progress)
    }
    guard built != nil else { return nil }
    let identity = try live.identity()
    var summary = Summary()
    summary.through = end
    summary.liveFold = (identity.foldVersion, identity.fingerprint)
    summary.builtFold = folder.fold
    var compared = 0
    try live.run(with: Rebuild.buildingPath(folder), at: time) { (stream) throws(LedgerError) in
      compared += 1
      if compared % 256 == 0, isStopped() { throw .stopped("stopped while comparing") }
      guard let difference = RowDifference(stream, at: time) else {
        return summary.update(stream.key) { $0.equal += 1 }
      }
      summary.update(stream.key) { $0.count(difference) }
      try each(difference)
    }
    return summary
  }

  /// Compares the answers for one time of the retained projection of another fold with those of the
  /// live one, which is of this fold, as of the last event that is in both.
  ///
  /// - Parameters:
  ///   - time: the time at which answers are compared, milliseconds since 1970.
  ///   - durations: the configured ones.
  ///   - begin: receives the folds of the other projection and of this one first; returns false to
  ///     stop.
  ///   - each: receives every difference, in the order of original transaction ids.
  /// - Throws: `LedgerError.noProjection` when there are no two such projections; what `begin` and
  ///   `each` throw.
  public static func afterSwitch(
    _ folder: DataFolder, at time: Int64, durations: Durations,
    begin: (ProjectionIdentity, ProjectionIdentity) throws(LedgerError) -> Bool,
    each: (RowDifference) throws(LedgerError) -> Void
  ) throws(LedgerError) {
    let journal = try JournalReader.open(folder)
    guard case .own(let livePath) = try ProjectionChoice.find(folder, journal, isReading: true)
    else {
      throw .noProjection("no rows of this fold are live yet; run: subledger rebuild --apply")
    }
    let fold = journal.fold.identity(of: try journal.journalId())
    var found: ProjectionComparison?
    for name in try ProjectionList.read(folder).names where found == nil {
      let other = try ProjectionChoice.openCompared(
        folder.projection(named: name), journal, in: folder, isReading: true)
      if let other, try other.identity() != fold { found = other }
    }
    guard let old = found else {
      throw .noProjection("no rows of another fold are retained: there is nothing to compare with")
    }
    guard try begin(try old.identity(), fold) else { return }
    let durations = try journal.durations(configured: durations)
    try old.beginSnapshot()
    let end = try old.foldedThrough()
    try old.run(with: livePath, at: time, [.entitlement]) { (stream) throws(LedgerError) in
      var stream = stream
      if !stream.isEqual, try journal.hasEvents(of: stream.key, after: end) {
        // Folded again without them.
        let earlier = try ProjectionFolder.refolded(stream.key, through: end, journal)
        let answer = earlier.row.answer(stream.key, at: time, durations: durations[stream.key])
        stream.after.row = answer.map { Self.row($0, as: old) }
      }
      if let difference = RowDifference(stream, at: time) { try each(difference) }
    }
  }

  /// A row as the view would have it, with the columns that are compared.
  private static func row(
    _ answer: RowAnswer, as comparison: ProjectionComparison
  ) -> ProjectionComparison.Row {
    let fields = RowField.all.filter { comparison.compares($0.column) }
    return ProjectionComparison.Row(fields.map { ($0.column, $0.json(of: answer)) }) { $1 }
  }

  private static func openLive(
    _ folder: DataFolder, _ journal: JournalReader
  ) throws(LedgerError) -> ProjectionComparison {
    guard let name = try ProjectionList.read(folder).live else {
      throw .noProjection(
        "no projection is live in \(folder.path); run: subledger rebuild --apply")
    }
    let path = folder.projection(named: name)
    guard let live = try ProjectionChoice.openCompared(path, journal, in: folder) else {
      throw .noProjection(
        "the live projection is not of this journal, or of a version that cannot be compared; "
          + "to replace it: subledger rebuild --apply")
    }
    return live
  }
}

extension EntitlementRow {
  fileprivate func answer(
    _ key: StreamKey, at time: Int64, durations: Durations
  ) -> RowAnswer? {
    entitlement(at: time, durations: durations).map {
      RowAnswer(
        key: key, entitlement: $0, eventCount: eventCount, lastEvent: lastEvent, succeededBy: nil)
    }
  }
}
