public import JournalStore
import Platform

/// Folds the whole journal into a new projection beside the live one, whether a daemon runs or not.
/// What is live stays so until it is switched: `makeLive`, `rollBack`, or the daemon.
public enum Rebuild {
  public struct Report: Sendable {
    public let events: Int64
    public let rows: Int64
    public let digest: SetDigest
  }

  /// How to build.
  public struct Plan: Sendable {
    /// Threads that fold.
    public var threads = ProcessLimits.processors
    /// Whether what was built before, to the end, is folded again. What was cut off goes on.
    public var isFromScratch = true

    public init() {}

    public var goingOn: Plan {
      var plan = self
      plan.isFromScratch = false
      return plan
    }
  }

  /// How many projections that were live stay for a rollback.
  public static let retainedByDefault = 2

  /// Where a projection is built before it becomes the live one.
  public static func buildingPath(_ folder: DataFolder) -> String {
    folder.buildingProjection(FoldIdentity.version)
  }

  /// Builds the projection at `buildingPath`, up to the journal's head.
  ///
  /// - Parameter progress: events folded and events in all, after every piece; false stops.
  /// - Returns: nil where it was stopped; the next call goes on from there.
  /// - Throws: `locked` where another rebuild is under way.
  public static func build(
    _ folder: DataFolder, _ plan: Plan = Plan(), progress: (Int64, Int64) -> Bool
  ) throws(StoreError) -> Report? {
    let lock = try folder.lockRebuild()
    defer { withExtendedLifetime(lock) {} }
    return try build(folder, plan, through: .max, progress: progress)
  }

  /// - Parameter end: what is built goes no further than this seq, unless it did before.
  public static func build(
    _ folder: DataFolder, _ plan: Plan, through end: Int64, progress: (Int64, Int64) -> Bool
  ) throws(StoreError) -> Report? {
    let journal = try JournalReader.open(folder)
    defer { journal.close() }
    let projection = try open(folder, journal, plan, through: end)
    var isWhole = try WholeFold.run(
      projection, folder, journal, threads: plan.threads, progress: progress)
    if isWhole {
      try projection.finishBuilding()
      try ProjectionFolder(projection).catchUp(journal, through: end) { seq, head in
        isWhole = progress(seq, head)
        return isWhole
      }
    }
    let (events, digest) = (projection.foldedThrough, projection.digest)
    try projection.close()
    guard isWhole else { return nil }
    let reader = try ProjectionReader.open(folder, path: buildingPath(folder))
    return Report(events: events, rows: try reader.count(), digest: digest)
  }

  private static func open(
    _ folder: DataFolder, _ journal: JournalReader, _ plan: Plan, through end: Int64
  ) throws(StoreError) -> Projection {
    let path = buildingPath(folder)
    switch try ProjectionExaminer.condition(path, journal) {
    case .unfinished: return try Projection.open(path)
    case .usable where !plan.isFromScratch: return try Projection.open(path)
    default: break
    }
    let head = try journal.head()
    let through = min(head.seq, end)
    let hash = through == head.seq ? head.hash : try journal.hash(at: through) ?? head.hash
    return try Projection.create(
      path, FoldIdentity.of(journalId: try journal.journalId()),
      toBuild: try Projection.Build(through: through, hash: hash))
  }

  /// Removes what was built and is not live; nothing there is no error.
  public static func discard(_ folder: DataFolder) throws(StoreError) {
    let lock = try folder.lockRebuild()
    defer { withExtendedLifetime(lock) {} }
    try ProjectionFile.remove(buildingPath(folder))
  }

  // MARK: Switching where no daemon holds the folder

  /// Makes what was built live.
  ///
  /// - Throws: `locked` where a daemon holds the folder: it is to be asked.
  public static func makeLive(
    _ folder: DataFolder, keeping kept: Int = retainedByDefault
  ) throws(StoreError) {
    let lock = try folder.lock()
    let building = try folder.lockRebuild()
    defer {
      withExtendedLifetime(lock) {}
      withExtendedLifetime(building) {}
    }
    let journal = try JournalReader.open(folder)
    guard case .usable = try ProjectionExaminer.condition(buildingPath(folder), journal) else {
      throw .foreign("what was built was changed meanwhile: `subledger rebuild --apply` again")
    }
    try ProjectionFile.goLive(
      buildingPath(folder), in: folder, foldVersion: FoldIdentity.version, keeping: kept)
  }

  /// Makes the projection live again that was so before.
  ///
  /// - Returns: whether one was kept that this journal can have made.
  public static func rollBack(_ folder: DataFolder) throws(StoreError) -> Bool {
    let lock = try folder.lock()
    defer { withExtendedLifetime(lock) {} }
    let journal = try JournalReader.open(folder)
    return try rollBack(folder, journal) != nil
  }

  /// - Returns: the path of what is live now.
  static func rollBack(
    _ folder: DataFolder, _ journal: JournalReader
  ) throws(StoreError) -> String? {
    while let name = try ProjectionList.read(folder).kept.first {
      switch try ProjectionExaminer.condition(folder.projection(named: name), journal) {
      case .usable, .otherFold: return try ProjectionFile.rollBack(folder)
      default:
        try ProjectionList.read(folder).without(name).write(folder)
        try ProjectionFile.remove(folder.projection(named: name))
      }
    }
    return nil
  }

  /// Folds one customer's streams anew into the live rows.
  ///
  /// - Returns: how many streams it has, and how many rows were other ones.
  public static func refold(
    only originalTransactionId: String, _ folder: DataFolder
  ) throws(StoreError) -> (streams: Int, changed: Int)? {
    let lock = try folder.lock()
    defer { withExtendedLifetime(lock) {} }
    let journal = try JournalReader.open(folder)
    guard case .own(let path) = try ProjectionExaminer.look(folder, journal) else { return nil }
    let fold = ProjectionFolder(try Projection.open(path))
    try fold.catchUp(journal)
    let counts = try fold.refold(only: originalTransactionId, journal)
    try fold.projection.close()
    return counts
  }
}
