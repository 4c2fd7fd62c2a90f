import Entitlements
public import JournalStore
public import LedgerEngine

/// What a rebuild would do to whom: the rows that were built, held against the live ones.
///
/// Both are compared at the same place in the journal, so that a notification that comes meanwhile
/// is no difference.
public struct ProjectionDiff {
  public struct Summary: Sendable {
    public var equal = 0
    /// Of the equal ones: those whose registers differ, which no reader sees.
    public var equalButRegisters = 0
    public var changed = 0
    public var added = 0
    public var gone = 0
    /// Customers who lose access, by reason and product.
    public var lost: [Group: Int] = [:]
    public var gained: [Group: Int] = [:]

    /// The same counts for each app: a reader may be shown some of them.
    public internal(set) var byApp: [App: Summary] = [:]
    /// How far in the journal both sides go.
    public internal(set) var through: Int64 = 0
    /// Whose rows are live.
    public internal(set) var liveFold: (version: Int, fingerprint: String) = (0, "")

    public struct Group: Hashable, Sendable {
      public let reason: String
      public let productId: String?
    }

    public struct App: Hashable, Sendable {
      public let environment: String
      public let bundleId: String
    }

    public var differing: Int { changed + added + gone }
    public var losing: Int { lost.values.reduce(0, +) }
    public var gaining: Int { gained.values.reduce(0, +) }

    fileprivate mutating func note(_ key: StreamKey, _ change: (inout Summary) -> Void) {
      change(&self)
      change(
        &byApp[App(environment: key.environment, bundleId: key.bundleId), default: Summary()])
    }

    fileprivate mutating func count(_ difference: RowDifference) {
      switch difference.kind {
      case .changed: changed += 1
      case .added: added += 1
      case .gone: gone += 1
      }
      let group = Group(reason: difference.reason, productId: difference.productId)
      switch difference.access {
      case .lost: lost[group, default: 0] += 1
      case .gained: gained[group, default: 0] += 1
      case .same: break
      }
    }
  }

  private let journal: JournalReader
  /// How far the live rows go, and the built ones.
  private let places: (live: Int64, built: Int64)
  private let time: Int64
  private let durations: [String: Int64]

  /// Builds what is missing, then compares all rows.
  ///
  /// - Parameters:
  ///   - time: access is told as of this moment, milliseconds since 1970.
  ///   - durations: milliseconds that non-renewing products last, by product id.
  ///   - progress: events while building; false stops.
  ///   - each: every difference, in key order.
  /// - Returns: nil where it was stopped.
  /// - Throws: `foreign` where there are no live rows to compare with; what `each` throws.
  public static func run(
    _ folder: DataFolder, _ plan: Rebuild.Plan, at time: Int64, durations: [String: Int64],
    progress: (Int64, Int64) -> Bool, each: (RowDifference) throws(StoreError) -> Void
  ) throws(StoreError) -> Summary? {
    let lock = try folder.lockRebuild()
    defer { withExtendedLifetime(lock) {} }
    let journal = try JournalReader.open(folder)
    let live = try openLive(folder, journal)
    guard try Rebuild.build(folder, plan, through: .max, progress: progress) != nil else {
      return nil
    }
    try live.beginSnapshot()
    defer { live.endSnapshot() }
    let place = try live.foldedThrough()
    guard try Rebuild.build(folder, plan.goingOn, through: place, progress: progress) != nil else {
      return nil
    }
    let built = try ProjectionReader.open(folder, path: Rebuild.buildingPath(folder))
    let comparison = ProjectionDiff(
      journal: journal, places: (place, try built.foldedThrough()), time: time,
      durations: durations)
    var summary = try comparison.compare(live, built, each)
    let identity = try live.identity()
    summary.through = place
    summary.liveFold = (identity.foldVersion, identity.fingerprint)
    return summary
  }

  private static func openLive(
    _ folder: DataFolder, _ journal: JournalReader
  ) throws(StoreError) -> ProjectionReader {
    guard let name = try ProjectionList.read(folder).live else {
      throw .foreign(
        "no rows are live in \(folder.path): `subledger rebuild --apply` makes them so")
    }
    let path = folder.projection(named: name)
    switch try ProjectionExaminer.condition(path, journal) {
    case .usable, .otherFold: return try ProjectionReader.open(folder, path: path)
    default:
      throw .foreign("the live rows are not this journal's: `subledger rebuild --apply` mends that")
    }
  }

  private func compare(
    _ live: ProjectionReader, _ built: ProjectionReader,
    _ each: (RowDifference) throws(StoreError) -> Void
  ) throws(StoreError) -> Summary {
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
        summary.note(difference.key) { $0.count(difference) }
        try each(difference)
      }
      if one != nil { before = try old.next() }
      if two != nil { after = try new.next() }
    }
    return summary
  }

  private func difference(
    _ before: ProjectedRow?, _ after: ProjectedRow?, _ summary: inout Summary
  ) throws(StoreError) -> RowDifference? {
    guard let key = before?.key ?? after?.key else { return nil }
    let after = try asFarAsLive(key, after)
    guard before != after else {
      if before != nil { summary.note(key) { $0.equal += 1 } }
      return nil
    }
    let old = try before.map(Self.row)
    let new = try after.map(Self.row)
    if let before, let after, old == new, before.isFound(as: after) {
      summary.note(key) { summary in
        summary.equal += 1
        summary.equalButRegisters += 1
      }
      return nil
    }
    return RowDifference(
      key: key, kind: before == nil ? .added : after == nil ? .gone : .changed,
      before: document(key, old), after: document(key, new))
  }

  /// What was built may go further than what is live: then the stream is folded as far as that.
  private func asFarAsLive(
    _ key: StreamKey, _ built: ProjectedRow?
  ) throws(StoreError) -> ProjectedRow? {
    guard built != nil, places.built > places.live,
      try journal.hasEvents(of: key, after: places.live)
    else { return built }
    let (state, broken) = try ProjectionFolder.refold(key, through: places.live, journal)
    return state.eventCount == 0 && broken == nil ? nil : ProjectionFolder.row(key, state, broken)
  }

  private static func row(_ row: ProjectedRow) throws(StoreError) -> EntitlementRow {
    guard let known = EntitlementRow(decoding: row.state, lastSeq: row.lastSeq) else {
      throw .foreign("the rows have another layout and cannot be compared")
    }
    return known
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

/// Goes through the rows of a projection in key order, a piece at a time.
private struct ProjectionCursor {
  private let rows: ProjectionReader
  private var piece: ArraySlice<ProjectedRow> = []
  private var last: StreamKey?

  private static let pieceCount = 500

  init(_ rows: ProjectionReader) { self.rows = rows }

  mutating func next() throws(StoreError) -> ProjectedRow? {
    if piece.isEmpty { piece = try rows.rows(after: last, limit: Self.pieceCount)[...] }
    guard let row = piece.popFirst() else { return nil }
    last = row.key
    return row
  }
}
