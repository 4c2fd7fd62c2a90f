import Platform

/// The streams that wait to be judged in turns, the first first, as the journal's file says and as
/// the SQL transaction that is open changes it.
struct WaitingStreams {
  private(set) var ids: [Int64] = []
  private var isStored = true

  init() {}

  /// The streams that wait, as the file says.
  init(_ connection: SQLiteConnection) throws(LedgerError) {
    let bytes = try Meta(connection: connection).bytes(.judgedWaiting) ?? []
    ids = stride(from: 0, to: bytes.count / 8 * 8, by: 8).map { start in
      bytes[start..<start + 8].reduce(0) { $0 << 8 | Int64($1) }
    }
  }

  func contains(_ stream: Int64) -> Bool { ids.contains(stream) }

  mutating func add(_ stream: Int64) {
    guard !ids.contains(stream) else { return }
    ids.append(stream)
    isStored = false
  }

  mutating func remove(_ stream: Int64) {
    guard ids.contains(stream) else { return }
    ids.removeAll { $0 == stream }
    isStored = false
  }

  /// Stores what changed, in the SQL transaction that changed it.
  mutating func store(_ connection: SQLiteConnection) throws(LedgerError) {
    guard !isStored else { return }
    var bytes: [UInt8] = []
    for stream in ids {
      withUnsafeBytes(of: stream.bigEndian) { bytes.append(contentsOf: $0) }
    }
    try Meta(connection: connection).set(.judgedWaiting, bytes)
    isStored = true
  }
}
