import Ledger
import Platform
import Store

/// Rows as they were known at a moment, for `query` and `report`.
struct PastRows {
  static let knownAt = Command.Flag(
    "--known-at", "T", "from what had been received by this time, as if it were now")
  static let asOf = Command.Flag(
    "--as-of", "T", "with --known-at: the time that is now for the views")

  let reader: QueryReader
  let past: QueryReader.Past

  /// The moment at which rows are wanted; nil for now.
  ///
  /// - Throws: `LedgerError.usage` for one that is no time, or is not over.
  static func moment(_ arguments: Arguments) throws(LedgerError) -> Int64? {
    let moment = try arguments.time("--known-at")
    guard let moment else {
      guard arguments["--as-of"] == nil else { throw .usage("--as-of goes with --known-at") }
      return nil
    }
    guard moment < Clock.now() else { throw .usage("--known-at takes a time that is over") }
    return moment
  }

  /// Builds and opens them; nil where the rows of now are wanted.
  ///
  /// - Throws: `LedgerError.stopped` if the user stopped it; as `moment`, `PastProjection.find` and
  ///   `QueryReader.open`.
  init?(_ arguments: Arguments, _ cancellation: Cancellation) throws(LedgerError) {
    guard let time = try Self.moment(arguments) else { return nil }
    try self.init(
      at: time, asOf: try arguments.time("--as-of") ?? time, arguments, cancellation)
  }

  /// Builds and opens those of a moment, in milliseconds since 1970.
  ///
  /// - Throws: as the other.
  init(
    at time: Int64, asOf: Int64, _ arguments: Arguments, _ cancellation: Cancellation
  ) throws(LedgerError) {
    let configuration = try arguments.configuration()
    let folder = arguments.folder(configuration)
    try folder.requireJournal()
    var plan = Rebuild.Plan()
    plan.durations = configuration.durations
    let progress = ProgressReporter("fold what was known")
    let found = try PastProjection.find(folder, knownAt: time, plan) { done, total in
      progress.show(done, of: total)
      return !cancellation.isRequested
    }
    guard let found else { throw .stopped }
    past = QueryReader.Past(path: found.path, through: found.seq, knownAt: time, asOf: asOf)
    reader = try QueryReader.open(folder, past: past)
  }

  /// What is to be said of an error: rows that are damaged are removed, and are built again for the
  /// next question.
  func discarded(after error: LedgerError) -> LedgerError {
    guard error.isDamage else { return error }
    try? PastProjection.discard(past.path)
    return .unavailable("the rows of this moment were damaged, and are removed; run it again")
  }
}
