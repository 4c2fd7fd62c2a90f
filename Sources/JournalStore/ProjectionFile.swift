import Platform

/// What a projection was folded by, and from what. Two that differ here are not comparable.
public struct ProjectionIdentity: Sendable, Equatable {
  public let foldVersion: Int
  /// Whatever else the rows depend on, as a text of the fold's own.
  public let fingerprint: String
  /// The journal's id, 16 bytes.
  public let journalId: [UInt8]

  public init(foldVersion: Int, fingerprint: String, journalId: [UInt8]) {
    self.foldVersion = foldVersion
    self.fingerprint = fingerprint
    self.journalId = journalId
  }
}

/// Whether a projection's file can be gone on with. Anything but `usable` is put aside and folded
/// again: rows are never trusted over the journal.
public enum ProjectionCondition: Sendable, Equatable {
  case absent
  /// Complete up to this seq; catch up from there.
  case usable(foldedThrough: Int64)
  /// Not readable as a projection.
  case damaged
  case otherJournal
  case otherFold
  /// Folded further than the journal goes, as after a restore.
  case ahead(foldedThrough: Int64)
  /// Folded from another history of the same journal.
  case diverged(foldedThrough: Int64)
}

/// The files of projections, as files. Only under the folder's lock.
public enum ProjectionFile {
  /// `SUBE`: says in the file's header that it is a projection.
  static let mark: UInt32 = 0x5355_4245
  static let schema = 1
  private static let companions = ["", "-wal", "-shm"]

  /// - Parameter hashAt: hash[seq] by the journal, nil past its head.
  public static func examine(
    _ path: String, _ identity: ProjectionIdentity,
    hashAt: (Int64) throws(StoreError) -> [UInt8]?
  ) throws(StoreError) -> ProjectionCondition {
    guard try platform({ () throws(PlatformError) in try DurableFile.size(path) }) != nil else {
      return .absent
    }
    let foldedThrough: Int64
    let hash: [UInt8]
    do throws(StoreError) {
      try FileHeader.read(path).check(mark: mark, known: schema)
      let meta = Meta(connection: try Connection.open(path, .read))
      guard try meta.bytes(.journalId) == identity.journalId else { return .otherJournal }
      guard try meta.int(.foldVersion) == Int64(identity.foldVersion),
        try meta.bytes(.fingerprint) == Array(identity.fingerprint.utf8)
      else { return .otherFold }
      guard let through = try meta.int(.foldedThrough), let chained = try meta.bytes(.hash) else {
        return .damaged
      }
      foldedThrough = through
      hash = chained
    } catch {
      switch error {
      case .busy, .locked, .full, .io: throw error
      default: return .damaged
      }
    }
    guard let expected = try hashAt(foldedThrough) else {
      return .ahead(foldedThrough: foldedThrough)
    }
    return expected == hash
      ? .usable(foldedThrough: foldedThrough) : .diverged(foldedThrough: foldedThrough)
  }

  /// Removes a projection and its companions; a missing one is no error.
  public static func remove(_ path: String) throws(StoreError) {
    try platform { () throws(PlatformError) in
      for suffix in companions { try DurableFile.remove(path + suffix) }
    }
  }

  /// Renames a projection and its companions to `<path>.aside`, over an older one put aside. The
  /// -wal goes first: a file without its -wal is only older, a -wal without its file is nothing.
  public static func putAside(_ path: String) throws(StoreError) {
    let aside = path + ".aside"
    try remove(aside)
    try platform { () throws(PlatformError) in
      try DurableFile.remove(path + "-shm")
      for suffix in ["-wal", ""] where try DurableFile.size(path + suffix) != nil {
        try DurableFile.rename(path + suffix, to: aside + suffix)
      }
    }
  }

  /// Makes a built projection the live one, by one atomic rename. Both are closed by everyone who
  /// writes; readers of the old file keep reading it until they open anew.
  ///
  /// `Projection.close` left the built one without a -wal. The old live one's is removed before,
  /// since it would be taken for the new file's; after a crash between the two the old file is
  /// merely behind.
  public static func goLive(_ building: String, as path: String) throws(StoreError) {
    try platform { () throws(PlatformError) in
      if let left = try DurableFile.size(building + "-wal"), left > 0 {
        throw .system("make \(building) live before it was closed", 16)
      }
      try DurableFile.sync(building)
      for suffix in ["-wal", "-shm"] {
        try DurableFile.remove(building + suffix)
        try DurableFile.remove(path + suffix)
      }
      try DurableFile.rename(building, to: path)
    }
  }
}
