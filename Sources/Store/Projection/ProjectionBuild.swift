public import Platform

extension Projection {
  /// The progress of building a projection stream by stream. It is committed with the rows, so that
  /// an interrupted build can be continued.
  public struct Build: Sendable, Equatable {
    /// The last seq to be folded, and its hash in the journal.
    public let through: Int64
    let hash: [UInt8]
    /// The id of the next stream in the journal.
    public internal(set) var nextStream: Int64
    /// The number of events folded so far.
    public internal(set) var events: Int64
    /// The id of the system's boot. Nothing is synced before the build is complete, so an
    /// unfinished build of an earlier boot must not be used.
    let boot: [UInt8]

    /// A build of all streams up to a seq that has not begun.
    ///
    /// - Parameter hash: hash[through] of the journal.
    /// - Throws: what the system reports when it is asked for the boot id.
    public init(through: Int64, hash: [UInt8]) throws(LedgerError) {
      self.init(
        through: through, hash: hash,
        boot: try Boot.id())
    }

    private init(through: Int64, hash: [UInt8], boot: [UInt8]) {
      self.through = through
      self.hash = hash
      self.boot = boot
      nextStream = 1
      events = 0
    }

    /// Returns nil for a complete projection.
    init?(_ meta: Meta) throws(LedgerError) {
      guard let through = try meta.int(.buildThrough), let hash = try meta.bytes(.buildHash),
        let next = try meta.int(.buildNext), let events = try meta.int(.buildEvents),
        let boot = try meta.bytes(.buildBoot)
      else { return nil }
      self.init(through: through, hash: hash, boot: boot)
      nextStream = next
      self.events = events
    }

    func write(_ meta: Meta) throws(LedgerError) {
      try meta.set(.buildThrough, through)
      try meta.set(.buildHash, hash)
      try meta.set(.buildNext, nextStream)
      try meta.set(.buildEvents, events)
      try meta.set(.buildBoot, boot)
    }
  }

  /// Adds the rows of streams and stores the progress, in one SQL transaction.
  ///
  /// - Parameter next: the next streams in the order of the journal; nil ends the transaction.
  /// - Throws: `LedgerError.sql` when the projection is not being built, otherwise what SQLite
  ///   reports and what `next` throws. Nothing was written then.
  public func addBuilt(
    _ next: () throws(LedgerError) -> BuiltStreams?
  ) throws(LedgerError) {
    guard var build else { throw .sql("nothing is being built in \(path)") }
    try atomically { (_, meta) throws(LedgerError) in
      while let built = try next() {
        // A build writes each stream once, and the index of the key would refuse a second row.
        let now = clock()
        for stream in built.rows { try write(stream, over: nil, at: now) }
        try add(built.hours)
        build.nextStream = built.next
        build.events += built.events
      }
      try meta.set(.buildNext, build.nextStream)
      try meta.set(.buildEvents, build.events)
    }
    self.build = build
  }

  /// Ends the build after the last stream and syncs the file. From then on the projection is like
  /// any other.
  ///
  /// - Throws: what SQLite or the file system reports. After a failed sync the file is removed,
  ///   because a second sync might not write the pages of the first one.
  public func finishBuilding() throws(LedgerError) {
    guard let build else { return }
    let connection = try connection()
    // Pages that earlier checkpoints copied into the file were never synced. The checkpoint below
    // does not sync them either if a reader prevents it from copying.
    try ProjectionFile.sync(path)
    try connection.execute("PRAGMA synchronous=FULL")
    try atomically { (connection, meta) throws(LedgerError) in
      try connection.execute(ProjectionFile.answerIndexes)
      try meta.set(.foldedThrough, build.through)
      try meta.set(.hash, build.hash)
      let keys: [Meta.Key] = [.buildThrough, .buildHash, .buildNext, .buildEvents, .buildBoot]
      for key in keys { try meta.remove(key) }
    }
    try connection.checkpointPassive()
    try connection.execute("PRAGMA synchronous=NORMAL")
    foldedThrough = build.through
    self.build = nil
  }
}

/// The rows of some streams, for `Projection.addBuilt`.
public struct BuiltStreams: Sendable {
  public var rows: [PackedStream] = []
  /// All events of these streams, also those that are in no row.
  public var hours: [HourCount] = []
  /// The number of events that are folded into them.
  public var events: Int64 = 0
  /// The first stream that is still to be built.
  let next: Int64

  public init(before next: Int64) { self.next = next }
}
