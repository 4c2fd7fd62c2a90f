import AppStore
import Entitlements
public import Ledger
public import Platform
public import Store

/// Compares a projection that was built with the live one, customer by customer.
///
/// Both are compared at the same seq, so that a notification which arrives meanwhile makes no
/// difference.
public struct ProjectionDiff {
  private let journal: JournalReader
  /// The last seq in each projection.
  private let foldedThrough: (live: Int64, built: Int64)
  /// The time at which access is compared, milliseconds since 1970.
  private let time: Int64
  private let durations: [String: Int64]

  /// Finishes the build of the new projection, then compares all rows.
  ///
  /// - Parameters:
  ///   - time: the time at which access is compared, milliseconds since 1970.
  ///   - durations: milliseconds that non-renewing products last, by product id.
  ///   - progress: receives the events folded and the events in all; returns false to stop.
  ///   - each: receives every difference, in key order.
  /// - Returns: nil if `progress` stopped the build.
  /// - Throws: `LedgerError.foreign` when there is no live projection to compare with;
  ///   `LedgerError.locked` when another rebuild is running; what `each` throws.
  public static func run(
    _ folder: DataFolder, _ plan: Rebuild.Plan, at time: Int64, durations: [String: Int64],
    progress: (Int64, Int64) -> Bool, each: (RowDifference) throws(LedgerError) -> Void
  ) throws(LedgerError) -> Summary? {
    let lock = try folder.lockRebuild()
    defer { withExtendedLifetime(lock) {} }
    let journal = try JournalReader.open(folder)
    let live = try openLive(folder, journal)
    guard try Rebuild.build(folder, plan, through: .max, progress: progress) != nil else {
      return nil
    }
    try live.beginSnapshot()
    defer { live.endSnapshot() }
    let end = try live.foldedThrough()
    guard try Rebuild.build(folder, plan.continued, through: end, progress: progress) != nil else {
      return nil
    }
    let built = try ProjectionReader.open(folder, path: Rebuild.buildingPath(folder))
    let comparison = ProjectionDiff(
      journal: journal, foldedThrough: (end, try built.foldedThrough()), time: time,
      durations: durations)
    var summary = try comparison.compare(live, built, each)
    let identity = try live.identity()
    summary.through = end
    summary.liveFold = (identity.foldVersion, identity.fingerprint)
    summary.builtFold = folder.fold
    return summary
  }

  /// Compares the live projection of this fold with the newest retained one of another, as of the
  /// last event that is in both.
  ///
  /// - Parameters:
  ///   - time: the time at which answers are compared, milliseconds since 1970.
  ///   - durations: milliseconds that non-renewing products last, by product id.
  ///   - begin: receives the folds of the other projection and of this one first; returns false to
  ///     stop.
  ///   - each: receives every difference, in key order.
  /// - Throws: `LedgerError.noProjection` when there are no two such projections; what `begin` and
  ///   `each` throw.
  public static func afterSwitch(
    _ folder: DataFolder, at time: Int64, durations: [String: Int64],
    begin: (ProjectionIdentity, ProjectionIdentity) throws(LedgerError) -> Bool,
    each: (RowDifference) throws(LedgerError) -> Void
  ) throws(LedgerError) {
    let journal = try JournalReader.open(folder)
    guard case .own(let livePath) = try ProjectionChoice.find(folder, journal, isReading: true)
    else {
      throw .noProjection("no rows of this fold are live yet; run: subledger rebuild --apply")
    }
    var found: ProjectionReader?
    let live = try ProjectionReader.open(folder, path: livePath)
    let fold = try live.identity()
    for name in try ProjectionList.read(folder).names where found == nil {
      let reader = try ProjectionChoice.openCompared(
        folder.projection(named: name), journal, in: folder, isReading: true)
      if let reader, try reader.identity() != fold { found = reader }
    }
    guard let old = found else {
      throw .noProjection("no rows of another fold are retained: there is nothing to compare with")
    }
    guard try begin(try old.identity(), fold) else { return }
    try live.beginSnapshot()
    try old.beginSnapshot()
    defer {
      live.endSnapshot()
      old.endSnapshot()
    }
    let comparison = ProjectionDiff(
      journal: journal, foldedThrough: (try old.foldedThrough(), try live.foldedThrough()),
      time: time, durations: durations)
    _ = try comparison.compare(old, live, each)
  }

  private static func openLive(
    _ folder: DataFolder, _ journal: JournalReader
  ) throws(LedgerError) -> ProjectionReader {
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

  /// Merges the two projections in key order.
  private func compare(
    _ live: ProjectionReader, _ built: ProjectionReader,
    _ each: (RowDifference) throws(LedgerError) -> Void
  ) throws(LedgerError) -> Summary {
    var summary = Summary()
    var old = ProjectionCursor(live)
    var new = ProjectionCursor(built)
    var before = try old.next()
    var after = try new.next()
    while before != nil || after != nil {
      var (one, two) = (before, after)
      if let left = before, let right = after, left.key != right.key {
        if left.key < right.key { two = nil } else { one = nil }
      }
      if let difference = try difference(one, two, &summary) {
        summary.update(difference.key) { $0.count(difference) }
        try each(difference)
      }
      if one != nil { before = try old.next() }
      if two != nil { after = try new.next() }
    }
    return summary
  }

  /// The difference of the rows of one key, of which either may be missing; counts equal rows.
  private func difference(
    _ before: FoldedStream?, _ after: FoldedStream?, _ summary: inout Summary
  ) throws(LedgerError) -> RowDifference? {
    guard let key = before?.key ?? after?.key else { return nil }
    let after = try limited(after, key)
    guard before != after else {
      if before != nil { summary.update(key) { $0.equal += 1 } }
      return nil
    }
    let isOlder = before?.hasState == false
    let row = isOlder ? after?.row.asOlderLayout : after?.row
    if let before, let after, let row, isSame(before, after, row) {
      summary.update(key) { summary in
        summary.equal += 1
        if before.hasState { summary.equalButRegisters += 1 }
      }
      return nil
    }
    return RowDifference(
      key: key, kind: before == nil ? .added : after == nil ? .gone : .changed,
      before: document(key, before?.row), after: document(key, row),
      hasOtherTransactions: !isOlder && before?.lines != after?.lines)
  }

  /// Whether rows are equal, with the same purchases, and found by the same ids. An older layout
  /// tells neither these nor which product is renewed: there the answers decide, which that product
  /// shows in.
  ///
  /// - Parameter row: that of `after`, as far as the layout of `before` tells it.
  private func isSame(
    _ before: FoldedStream, _ after: FoldedStream, _ row: EntitlementRow
  ) -> Bool {
    guard before.broken == after.broken else { return false }
    if before.hasState {
      return before.row == row && before.indexed == after.indexed && before.lines == after.lines
    }
    var stored = row
    stored.renewedProductId = nil
    return before.row == stored
      && before.row.answers(durations: durations) == row.answers(durations: durations)
  }

  /// A built row without the events that the live projection does not have yet: if there are any,
  /// the stream is folded again through the live projection's seq.
  private func limited(
    _ built: FoldedStream?, _ key: StreamKey
  ) throws(LedgerError) -> FoldedStream? {
    guard built != nil, foldedThrough.built > foldedThrough.live,
      try journal.hasEvents(of: key, after: foldedThrough.live)
    else { return built }
    let stream = try ProjectionFolder.refolded(key, through: foldedThrough.live, journal)
    return stream.row.eventCount == 0 && stream.broken == nil ? nil : stream
  }

  private func document(_ key: StreamKey, _ row: EntitlementRow?) -> RowDocument? {
    guard let row, let entitlement = row.entitlement(at: time, durations: durations) else {
      return nil
    }
    return RowDocument(
      key: key, entitlement: entitlement, eventCount: row.eventCount, lastEvent: row.lastEvent,
      succeededBy: nil, knownAt: nil)
  }
}
