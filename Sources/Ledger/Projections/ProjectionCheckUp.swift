import AppStore
import Platform
import Store

/// One pass over the live projection that finds what no read would: every stream of the journal has
/// a row with the right checksum, and the indexes have every row. Reads beside the writer, some
/// streams at a time, without a snapshot in between.
struct ProjectionCheckUp {
  /// That of `LiveProjection` when the pass began.
  let generation: Int
  /// When it began, milliseconds since 1970.
  let began = Clock.now()
  /// Nanoseconds of work so far.
  var work: Int64 = 0
  private let journal: JournalReader
  private let projection: ProjectionReader
  private let live: LiveProjection.Readable
  private var nextStream: Int64 = 1
  private let lastStream: Int64

  /// Streams in a batch: a few milliseconds.
  private static let batchSize: Int64 = 200

  /// Opens the file anew, so that nothing is read from the memory of an older connection.
  init(
    _ folder: DataFolder, _ live: LiveProjection.Readable, generation: Int
  ) throws(LedgerError) {
    self.generation = generation
    self.live = live
    journal = try JournalReader.open(folder, isPassing: true)
    projection = try ProjectionReader.open(folder, path: live.path, isPassing: true)
    lastStream = try journal.lastStreamId()
  }

  /// Checks the next streams.
  ///
  /// - Returns: whether all were checked.
  /// - Throws: `LedgerError.corrupt` when something is missing or damaged, otherwise what SQLite or
  ///   the file system reports.
  mutating func advance() throws(LedgerError) -> Bool {
    try live.requireInPlace()
    try projection.checkTables()
    let end = min(lastStream, nextStream + Self.batchSize - 1)
    while nextStream <= end {
      if let key = try journal.streamKey(nextStream) { try check(key) }
      nextStream += 1
    }
    return nextStream > lastStream
  }

  private func check(_ key: StreamKey) throws(LedgerError) {
    try projection.beginSnapshot()
    defer { projection.endSnapshot() }
    guard try !projection.isIndexed(key) else { return }
    // A stream whose events are not folded yet has no row.
    if try journal.hasEvents(of: key, through: try projection.foldedThrough()) {
      throw .corrupt("the row of a stream is missing")
    }
  }
}
