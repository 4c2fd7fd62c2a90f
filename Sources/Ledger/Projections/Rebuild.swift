public import Entitlements
public import Platform
public import Store

/// Folds the whole journal into a new projection beside the live one, whether a daemon runs or not.
/// The live projection stays live until a `ProjectionOrder` switches it.
public enum Rebuild {
  /// A finished build.
  public struct Report: Sendable {
    /// The number of events folded: the last seq.
    public let events: Int64
    public let rows: Int64
    /// The digest of all rows.
    public let digest: SetDigest
  }

  /// How to build.
  public struct Plan: Sendable {
    /// The configured durations: by these, where none were put in force, its present answers are
    /// evaluated.
    public var durations: Durations = [:]
    /// The number of threads that fold.
    public var threads = ProcessLimits.processors
    /// Whether a projection that is already built is built again. An unfinished build is always
    /// continued.
    public var isFromScratch = true

    public init() {}

    /// The same plan for a projection that was just built: it is only caught up.
    public var continued: Plan {
      var plan = self
      plan.isFromScratch = false
      return plan
    }
  }

  /// Where a projection is built before it becomes the live one.
  public static func buildingPath(_ folder: DataFolder) -> String {
    folder.buildingProjection
  }

  /// Builds the projection at `buildingPath`, up to the journal's head.
  ///
  /// - Parameter progress: called after every batch with the number of events folded and of all
  ///   events; false stops.
  /// - Returns: nil if it was stopped; the next call continues from there.
  /// - Throws: `LedgerError.locked` if another process builds, else what SQLite reports.
  public static func build(
    _ folder: DataFolder, _ plan: Plan = Plan(), progress: (Int64, Int64) -> Bool
  ) throws(LedgerError) -> Report? {
    let lock = try folder.lockRebuild()
    defer { withExtendedLifetime(lock) {} }
    return try build(folder, plan, through: .max, progress: progress)
  }

  /// Builds the projection as `build(_:_:progress:)` does, without taking the rebuild lock.
  ///
  /// - Parameters:
  ///   - path: where, if not at `buildingPath`.
  ///   - end: folds no event after this seq, unless the build already has.
  ///   - durations: how long products last, if not as is known now.
  /// - Throws: what SQLite reports.
  public static func build(
    _ folder: DataFolder, _ plan: Plan, at path: String? = nil, through end: Int64,
    durations: AppDurations? = nil, progress: (Int64, Int64) -> Bool
  ) throws(LedgerError) -> Report? {
    let path = path ?? buildingPath(folder)
    let journal = try JournalReader.open(folder)
    defer { journal.close() }
    let projection = try open(folder, path, journal, plan, through: end)
    let known = try journal.durations(configured: plan.durations)
    try projection.adopt(durations ?? known)
    var isComplete = try FullFold.run(
      projection, folder, journal, threads: plan.threads, progress: progress)
    if isComplete {
      try projection.finishBuilding()
      try ProjectionFolder(projection).catchUp(journal, through: end) { seq, head in
        isComplete = progress(seq, head)
        return isComplete
      }
    }
    let (events, digest) = (projection.foldedThrough, projection.digest)
    try projection.close()
    guard isComplete else { return nil }
    let reader = try ProjectionReader.open(folder, path: path)
    return Report(events: events, rows: try reader.count(), digest: digest)
  }

  private static func open(
    _ folder: DataFolder, _ path: String, _ journal: JournalReader, _ plan: Plan,
    through end: Int64
  ) throws(LedgerError) -> Projection {
    switch try ProjectionChoice.condition(path, journal) {
    case .unfinished: return try Projection.open(path)
    case .usable where !plan.isFromScratch: return try Projection.open(path)
    default: break
    }
    let head = try journal.head()
    let through = min(head.seq, end)
    let hash = through == head.seq ? head.hash : try journal.hash(at: through) ?? head.hash
    return try Projection.create(
      path, folder.fold.identity(of: try journal.journalId()),
      toBuild: try Projection.Build(through: through, hash: hash))
  }

  /// Removes the built projection that is not live, if there is one.
  ///
  /// - Throws: `LedgerError.locked` if another process builds, else what the file system reports.
  static func discard(_ folder: DataFolder) throws(LedgerError) {
    let lock = try folder.lockRebuild()
    defer { withExtendedLifetime(lock) {} }
    try ProjectionFile.remove(buildingPath(folder))
  }
}

// MARK: While no daemon holds the folder

extension Rebuild {
  /// Does what is ordered.
  ///
  /// - Throws: `LedgerError.locked` if a daemon holds the folder (ask the daemon instead) or, for
  ///   `adopt`, another process builds; else what the file system or SQLite reports.
  public static func perform(
    _ order: ProjectionOrder, _ folder: DataFolder
  ) throws(LedgerError) -> ProjectionOrder.Outcome {
    let lock = try folder.lock()
    defer { withExtendedLifetime(lock) {} }
    let journal = try JournalReader.open(folder)
    switch order {
    case .adopt(let fold): return try adopt(fold, folder, journal)
    case .refold(let id): return try refold(only: id, folder, journal)
    }
  }

  private static func adopt(
    _ fold: String, _ folder: DataFolder, _ journal: JournalReader
  ) throws(LedgerError) -> ProjectionOrder.Outcome {
    let lock = try folder.lockRebuild()
    defer { withExtendedLifetime(lock) {} }
    guard fold == folder.fold.fingerprint else { return .otherProgram }
    guard try journal.isJudged() else { return .notJudged }
    guard case .usable = try ProjectionChoice.condition(buildingPath(folder), journal) else {
      return .nothing
    }
    try ProjectionFile.goLive(buildingPath(folder), in: folder)
    return .done
  }

  private static func refold(
    only id: String, _ folder: DataFolder, _ journal: JournalReader
  ) throws(LedgerError) -> ProjectionOrder.Outcome {
    guard case .own(let path) = try ProjectionChoice.find(folder, journal) else {
      return .notFollowing(try unusable(folder, journal))
    }
    do throws(LedgerError) {
      let fold = ProjectionFolder(try Projection.open(path))
      try fold.catchUp(journal)
      let counts = try fold.refold(only: id, journal)
      try fold.projection.close()
      return .refolded(streams: counts.streams, changed: counts.changed)
    } catch {
      guard error.isDamage else { throw error }
      // Where it is the journal that cannot be read, this throws what is wrong with it.
      for key in try journal.streams(withOriginalTransactionId: id) {
        _ = try ProjectionFolder.refolded(key, through: .max, journal)
      }
      return .notFollowing(.damaged)
    }
  }

  /// The state in which a daemon of this fold would find a folder without a usable projection.
  private static func unusable(
    _ folder: DataFolder, _ journal: JournalReader
  ) throws(LedgerError) -> ProjectionState {
    guard let name = try ProjectionList.read(folder).live else { return .absent }
    switch try ProjectionChoice.condition(folder.projection(named: name), journal) {
    case .absent: return .absent
    case .otherFold, .otherLayout: return .otherFold
    default: return .damaged
    }
  }
}
