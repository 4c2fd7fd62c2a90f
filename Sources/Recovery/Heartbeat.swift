public import Platform
public import Store
import StrictJSON

/// When the daemon was last alive, in a small file beside the journal: the gap to recover after a
/// start begins there. Times are milliseconds since 1970 UTC. The file is disposable: without it,
/// the gap begins with the newest event.
struct Heartbeat: Equatable {
  /// When the daemon was last alive and listening.
  var at: Int64
  /// The newest event then. A journal that does not have it was restored from a backup.
  var journalId: [UInt8]
  var seq: Int64
  var hash: [UInt8]
  /// From when on a recovery was due that did not come to its end; nil if there is none.
  var pendingSince: Int64?
  /// When Apple was last asked for what it could not deliver; nil for never.
  var failuresAskedAt: Int64?
  /// When the last reconciliation ended that asked about all who were due; nil for never.
  var reconciledAt: Int64?

  private static let mostBytes = 4096

  /// Nil if there is no usable file.
  static func read(_ folder: DataFolder) -> Heartbeat? {
    (try? DurableFile.read(folder.heartbeat, limit: mostBytes)).flatMap { Heartbeat(parsing: $0) }
  }

  /// Nil for what is no heartbeat.
  init?(parsing bytes: [UInt8]) {
    guard let root = try? JSONDocument(parsing: bytes).root, let at = root["at"]?.integer,
      let id = root["journal_id"]?.string.flatMap(Hexadecimal.decode),
      let seq = root["seq"]?.integer, seq >= 0,
      let hash = root["hash"]?.string.flatMap(Hexadecimal.decode)
    else { return nil }
    self.init(
      at: at, journalId: id, seq: seq, hash: hash, pendingSince: root["pending_since"]?.integer,
      failuresAskedAt: root["failures_asked_at"]?.integer,
      reconciledAt: root["reconciled_at"]?.integer)
  }

  init(
    at: Int64, journalId: [UInt8], seq: Int64, hash: [UInt8], pendingSince: Int64? = nil,
    failuresAskedAt: Int64? = nil, reconciledAt: Int64? = nil
  ) {
    (self.at, self.journalId, self.seq, self.hash) = (at, journalId, seq, hash)
    (self.pendingSince, self.failuresAskedAt) = (pendingSince, failuresAskedAt)
    self.reconciledAt = reconciledAt
  }

  /// - Throws: `LedgerError` if the file cannot be written.
  func write(_ folder: DataFolder) throws(LedgerError) {
    try DurableFile.write(bytes, to: folder.heartbeat)
  }

  /// As they are in the file.
  var bytes: [UInt8] {
    let document = JSONValue.object([
      ("at", .integer(at)), ("journal_id", .string(Hexadecimal.encode(journalId))),
      ("seq", .integer(seq)), ("hash", .string(Hexadecimal.encode(hash))),
      ("pending_since", .optional(pendingSince)),
      ("failures_asked_at", .optional(failuresAskedAt)),
      ("reconciled_at", .optional(reconciledAt)),
    ])
    return document.bytes + [0x0A]
  }

  /// From when on notifications may be missing at a start, and whether that follows from a restore;
  /// nil for a journal without events that never had any.
  ///
  /// - Parameters:
  ///   - last: what was stored when the daemon was last alive; nil if it never was.
  ///   - head: of the journal before this start received anything.
  /// - Throws: what SQLite reports.
  static func gap(
    _ last: Heartbeat?, _ head: Head, _ journal: JournalReader
  ) throws(LedgerError) -> (since: Int64, isRestored: Bool)? {
    let received = head.receivedAt
    guard let last else { return received.map { ($0, false) } }
    let (id, hash) = (try journal.journalId(), try journal.hash(at: last.seq))
    let isSame = last.journalId == id && last.hash == hash
    let pending = last.pendingSince ?? .max
    guard isSame else { return (min(received ?? last.at, last.at, pending), true) }
    return (min(last.at, pending), false)
  }
}

extension RecoveryService {
  /// Stores that the daemon was last alive at a time: its next start recovers what was sent since.
  /// For an outage that is played, whose days pass in a moment.
  ///
  /// - Parameter time: milliseconds since 1970 UTC.
  /// - Throws: what SQLite and the file system report.
  public static func recordAlive(at time: Int64, _ folder: DataFolder) throws(LedgerError) {
    let journal = try JournalReader.open(folder)
    let head = try journal.head()
    let heartbeat = Heartbeat(
      at: time, journalId: try journal.journalId(), seq: head.seq, hash: head.hash)
    try heartbeat.write(folder)
  }
}
