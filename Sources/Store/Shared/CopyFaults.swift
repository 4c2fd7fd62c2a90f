import AppStore
public import Platform
import SignedData

/// Proves what a copy follows: that Apple signed it, and that its columns say what it says (T4 of
/// `SharedJournal`). Used on the thread that follows.
public struct FollowedProof {
  /// Which of these events are not proven, by seq. They are of sources that Apple signs, or that
  /// this program does not know.
  let unproven: ([StoredEvent]) -> Set<Int64>
  let isProven: (HeldEvidence) -> Bool

  public init(
    unproven: @escaping ([StoredEvent]) -> Set<Int64>, isProven: @escaping (HeldEvidence) -> Bool
  ) {
    (self.unproven, self.isProven) = (unproven, isProven)
  }
}

/// What a copy followed and does not take for what it says, because another daemon wrote it.
public struct CopyFaults: Sendable, Equatable {
  /// Events whose body cannot be recovered, or is not what its hash says.
  public var brokenEvents: Int64 = 0
  /// Events that are not proven by this daemon's trust roots, and fold into nothing.
  public var unprovenEvents: Int64 = 0
  /// Notes that this program could not apply.
  public var skippedNotes: Int64 = 0

  public static let none = CopyFaults()

  static func read(_ connection: SQLiteConnection) throws(LedgerError) -> CopyFaults {
    try connection.statement(
      """
      SELECT (SELECT count(*) FROM broken_event), (SELECT count(*) FROM unproven_event),
        (SELECT count(*) FROM skipped_note)
      """
    ).first {
      CopyFaults(brokenEvents: $0.int(0), unprovenEvents: $0.int(1), skippedNotes: $0.int(2))
    } ?? .none
  }

  // MARK: SQL about an event `e`

  /// The stored body; empty, which no body is, if it is not what its hash says.
  static let body = "iif(e.seq IN (SELECT seq FROM broken_event), x'', e.body)"
  static let isReadable = "e.seq NOT IN (SELECT seq FROM broken_event)"
  static let isProven = "e.seq NOT IN (SELECT seq FROM unproven_event)"
}

extension Journal {
  /// Marks an event that was followed as broken.
  func markBroken(_ seq: Int64, _ connection: SQLiteConnection) throws(LedgerError) {
    try connection.statement("INSERT INTO broken_event (seq) VALUES (?)").bind(1, seq).run()
    try readFaults(connection)
  }

  /// Marks an event that was followed as unproven.
  func markUnproven(_ seq: Int64, _ connection: SQLiteConnection) throws(LedgerError) {
    try connection.statement("INSERT INTO unproven_event (seq) VALUES (?)").bind(1, seq).run()
    try readFaults(connection)
  }

  /// Proves again what was not proven when it was followed: trust roots may have been added since.
  ///
  /// - Parameter discard: removes the rows, which were folded without it, before any mark is
  ///   removed.
  /// - Throws: what `discard` throws, and what SQLite reports.
  public func proveAgain(
    discardingRows discard: () throws(LedgerError) -> Void
  ) throws(LedgerError) {
    guard let followedProof, faults.unprovenEvents + faults.skippedNotes > 0 else { return }
    try transact { (connection) throws(LedgerError) in try applySkipped(.unproven, connection) }
    let marked = try connection().statement(
      EventRow.select + "WHERE e.seq IN (SELECT seq FROM unproven_event) ORDER BY e.seq"
    ).all { (row) throws(LedgerError) in try EventRow.read(row, codec).event }
    let unproven = followedProof.unproven(marked)
    let proven = marked.map(\.seq).filter { !unproven.contains($0) }
    guard !proven.isEmpty else { return }
    try discard()
    try transact { (connection) throws(LedgerError) in
      for seq in proven {
        try connection.statement("DELETE FROM unproven_event WHERE seq = ?").bind(1, seq).run()
      }
      try readFaults(connection)
    }
  }

  /// Takes what the owner said and the program that followed it did not understand, being older
  /// than the one that wrote it.
  ///
  /// - Throws: what SQLite reports.
  public func readAgain() throws(LedgerError) {
    guard faults.brokenEvents > 0 else { return }
    let broken = try connection().statement(
      """
      SELECT seq, stream_id, body_sha256, dictionary_id, body FROM event
      WHERE seq IN (SELECT seq FROM broken_event)
      AND source IN (\(EventSource.ownersInSQL)) ORDER BY seq
      """
    ).all { (row) throws(LedgerError) -> (seq: Int64, stream: Int64, said: OwnerStatement)? in
      guard let body = try codec.decode(row.bytes(4), dictionary: row.optionalInt(3)),
        SHA256.hash(body) == row.bytes(2), let said = OwnerStatement(body: body)
      else { return nil }
      return (row.int(0), row.int(1), said)
    }.compactMap { $0 }
    guard !broken.isEmpty else { return }
    let last = lastMapping
    try transact { (connection) throws(LedgerError) in
      for event in broken {
        try insertStatement(event.seq, event.said.mac, event.stream, connection)
        try connection.statement("DELETE FROM broken_event WHERE seq = ?").bind(1, event.seq).run()
      }
      try readFaults(connection)
    }
    lastMapping = max(last, lastMapping)
  }

  func readFaults(_ connection: SQLiteConnection) throws(LedgerError) {
    faults = try CopyFaults.read(connection)
  }
}

extension JournalReader {
  /// What this copy followed and does not take for what it says.
  ///
  /// - Throws: what SQLite reports.
  public func faults() throws(LedgerError) -> CopyFaults { try CopyFaults.read(connection) }

  /// The events of a range that are marked as broken, and those that are marked as unproven.
  ///
  /// - Throws: what SQLite reports.
  public func faultySeqs(
    in range: ClosedRange<Int64>
  ) throws(LedgerError) -> (broken: Set<Int64>, unproven: Set<Int64>) {
    func seqs(_ table: String) throws(LedgerError) -> Set<Int64> {
      Set(
        try connection.statement("SELECT seq FROM \(table) WHERE seq BETWEEN ? AND ?")
          .bind(1, range.lowerBound).bind(2, range.upperBound).all { $0.int(0) })
    }
    return (try seqs("broken_event"), try seqs("unproven_event"))
  }

  /// Gives a journal to which no writer has applied migration 9 its tables, without a row.
  func standInForFaults() throws(LedgerError) {
    guard try !hasMigration(9) else { return }
    try connection.execute(
      """
      PRAGMA temp_store=MEMORY; PRAGMA query_only=OFF;
      CREATE TEMP TABLE broken_event (seq INTEGER PRIMARY KEY);
      CREATE TEMP TABLE unproven_event (seq INTEGER PRIMARY KEY);
      CREATE TEMP TABLE skipped_note (version INTEGER PRIMARY KEY);
      PRAGMA query_only=ON;
      """)
  }
}
