public import Platform
public import Store

/// Folds the whole journal into a new projection beside the live one, whether a daemon runs or not.
/// The live projection stays live until `makeLive`, `rollBack` or the daemon switches it.
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
    /// Milliseconds that non-renewing products last, by product id: by these its present answers
    /// are evaluated.
    public var durations: [String: Int64] = [:]
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

  /// The number of projections that are retained beside the live one.
  public static let retainedByDefault = 2

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
  /// - Parameter end: folds no event after this seq, unless the build already has.
  /// - Throws: what SQLite reports.
  public static func build(
    _ folder: DataFolder, _ plan: Plan, through end: Int64, progress: (Int64, Int64) -> Bool
  ) throws(LedgerError) -> Report? {
    let journal = try JournalReader.open(folder)
    defer { journal.close() }
    let projection = try open(folder, journal, plan, through: end)
    try projection.adopt(plan.durations)
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
    let reader = try ProjectionReader.open(folder, path: buildingPath(folder))
    return Report(events: events, rows: try reader.count(), digest: digest)
  }

  private static func open(
    _ folder: DataFolder, _ journal: JournalReader, _ plan: Plan, through end: Int64
  ) throws(LedgerError) -> Projection {
    let path = buildingPath(folder)
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
  public static func discard(_ folder: DataFolder) throws(LedgerError) {
    let lock = try folder.lockRebuild()
    defer { withExtendedLifetime(lock) {} }
    try ProjectionFile.remove(buildingPath(folder))
  }

  // MARK: Switching while no daemon holds the folder

  /// Makes the built projection live, and retains `count` of those that were live before.
  ///
  /// - Throws: `LedgerError.locked` if a daemon holds the folder (ask the daemon instead) or
  ///   another process builds, `LedgerError.foreign` if what was built cannot be used, or not
  ///   before held evidence is judged.
  public static func makeLive(
    _ folder: DataFolder, retaining count: Int = retainedByDefault
  ) throws(LedgerError) {
    let lock = try folder.lock()
    let building = try folder.lockRebuild()
    defer {
      withExtendedLifetime(lock) {}
      withExtendedLifetime(building) {}
    }
    let journal = try JournalReader.open(folder)
    guard try journal.isJudged() else {
      throw .foreign(
        "evidence is held by the rules of another fold; start the daemon, which judges it and "
          + "makes the built projection live")
    }
    guard case .usable = try ProjectionChoice.condition(buildingPath(folder), journal) else {
      throw .foreign("the built projection has changed; run `subledger rebuild --apply` again")
    }
    try ProjectionFile.goLive(
      buildingPath(folder), in: folder, keeping: count)
  }

  /// What a command to return to the previous projection found.
  public enum Return: Sendable, Equatable {
    /// It is live again.
    case done
    /// The previous one is of another fold: the program of that fold makes it live by itself when
    /// it starts.
    case otherFold(name: String, version: Int, fingerprint: String)
    /// None is retained.
    case nothing
  }

  /// Makes this fold's projection live again that was live before.
  ///
  /// - Throws: `LedgerError.locked` if a daemon holds the folder, else what the file system
  ///   reports.
  public static func rollBack(_ folder: DataFolder) throws(LedgerError) -> Return {
    let lock = try folder.lock()
    defer { withExtendedLifetime(lock) {} }
    let journal = try JournalReader.open(folder)
    let found = try previous(folder, journal)
    if case .own(let name) = found {
      try ProjectionList.read(folder).with(live: name).write(folder)
    }
    return found.answer
  }

  /// The projection that was live before the present one.
  enum Previous {
    case own(name: String)
    case other(Return)
    case none

    var answer: Return {
      switch self {
      case .own: .done
      case .other(let answer): answer
      case .none: .nothing
      }
    }
  }

  /// Finds the newest retained projection that can be used.
  static func previous(
    _ folder: DataFolder, _ journal: JournalReader
  ) throws(LedgerError) -> Previous {
    for name in try ProjectionList.read(folder).retained {
      let path = folder.projection(named: name)
      switch try ProjectionChoice.condition(path, journal) {
      case .usable: return .own(name: name)
      case .otherFold:
        let identity = try ProjectionReader.open(folder, path: path).identity()
        return .other(
          .otherFold(
            name: name, version: identity.foldVersion, fingerprint: identity.fingerprint))
      default: continue
      }
    }
    return .none
  }

  /// Folds one customer's streams again into the live projection.
  ///
  /// - Returns: the number of streams, and of rows that changed; nil if this fold has no live
  ///   projection.
  /// - Throws: `LedgerError.locked` if a daemon holds the folder, `LedgerError.corrupt` if the
  ///   projection is damaged, else what SQLite reports.
  public static func refold(
    only originalTransactionId: String, _ folder: DataFolder
  ) throws(LedgerError) -> (streams: Int, changed: Int)? {
    let lock = try folder.lock()
    defer { withExtendedLifetime(lock) {} }
    let journal = try JournalReader.open(folder)
    guard case .own(let path) = try ProjectionChoice.find(folder, journal) else { return nil }
    let fold = ProjectionFolder(try Projection.open(path))
    try fold.catchUp(journal)
    let counts = try fold.refold(only: originalTransactionId, journal)
    try fold.projection.close()
    return counts
  }
}
