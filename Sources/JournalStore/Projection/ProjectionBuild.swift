import Platform

extension Projection {
  /// What is being built into a projection, stream by stream, and how far that has come. It commits
  /// with the rows, so a build that was cut off goes on where it was.
  public struct Build: Sendable, Equatable {
    /// The last seq that is folded, and its hash by the journal.
    public let through: Int64
    public let hash: [UInt8]
    /// The next stream, by its number in the journal.
    public internal(set) var nextStream: Int64
    /// How many events are in the rows so far.
    public internal(set) var events: Int64
    /// What is built is not synced before it is whole: of another boot, it is not to be trusted.
    public let boot: [UInt8]

    /// All streams up to a seq, none of them yet.
    public init(through: Int64, hash: [UInt8]) throws(StoreError) {
      self.init(
        through: through, hash: hash,
        boot: try platform { () throws(PlatformError) in try Boot.id() })
    }

    private init(through: Int64, hash: [UInt8], boot: [UInt8]) {
      self.through = through
      self.hash = hash
      self.boot = boot
      nextStream = 1
      events = 0
    }

    init?(_ meta: Meta) throws(StoreError) {
      guard let through = try meta.int(.buildThrough), let hash = try meta.bytes(.buildHash),
        let next = try meta.int(.buildNext), let events = try meta.int(.buildEvents),
        let boot = try meta.bytes(.buildBoot)
      else { return nil }
      self.init(through: through, hash: hash, boot: boot)
      nextStream = next
      self.events = events
    }

    func write(_ meta: Meta) throws(StoreError) {
      try meta.set(.buildThrough, through)
      try meta.set(.buildHash, hash)
      try meta.set(.buildNext, nextStream)
      try meta.set(.buildEvents, events)
      try meta.set(.buildBoot, boot)
    }
  }

  /// Adds the rows of all streams before one, in one SQL transaction with how far that is.
  ///
  /// - Parameter events: how many events are in these rows.
  public func add(
    built rows: [ProjectedRow], before nextStream: Int64, events: Int64
  ) throws(StoreError) {
    guard var build else { throw .sql("nothing is being built in \(path)") }
    build.nextStream = nextStream
    build.events += events
    try atomically { (_, meta) throws(StoreError) in
      // A build meets each stream once, and the key's index would refuse a second row.
      for row in rows { try write(row, over: nil) }
      try meta.set(.buildNext, build.nextStream)
      try meta.set(.buildEvents, build.events)
    }
    self.build = build
  }

  /// All streams are in: from here on it is like any other, and synced as one.
  ///
  /// - Throws: what went wrong; after a failed sync the file is gone, since a second one would sync
  ///   only what was written since.
  public func finishBuilding() throws(StoreError) {
    guard let build else { return }
    let connection = try connection()
    // What was copied into the file so far was never synced, and a checkpoint that a reader keeps
    // from copying more would not sync it either.
    try ProjectionFile.sync(path)
    try connection.execute("PRAGMA synchronous=FULL")
    try atomically { (_, meta) throws(StoreError) in
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
