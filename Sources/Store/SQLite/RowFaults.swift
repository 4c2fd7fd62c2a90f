import Migrations
public import Platform

/// Checks the rows beside the events, which the hash chain does not cover.
extension JournalReader {
  /// Rows that no program of ours writes, as sentences for an operator: references to missing rows,
  /// rows without an event, impossible counts and values, unknown words, and quarantined
  /// notifications or apps of V1 events that are not those that the journal's writer counted. Reads
  /// all events.
  ///
  /// - Throws: what SQLite reports.
  public func rowFaults() throws(LedgerError) -> [String] {
    try beginSnapshot()
    defer { endSnapshot() }
    return try referenceFaults() + unusedRowFaults() + redeliveryFaults()
      + arrivalFaults(limit: Self.limit) + receiptFaults() + metaFaults() + digestFaults()
      + accountFaults() + emptiedNoteFaults()
  }

  /// Notes that a copy followed after somebody had emptied them (`JournalSQL.notesAfter`).
  private func emptiedNoteFaults() throws(LedgerError) -> [String] {
    guard try hasMigration(9) else { return [] }
    return try connection.statement(
      "SELECT version, subject FROM skipped_note WHERE body = x'00' LIMIT \(Self.limit)"
    ).all { "note \($0.int(0)) was emptied, and \($0.text(1)) is missing" }
  }

  /// At most this many rows of one kind are named.
  private static let limit = 100

  /// Rows that refer to a row that is missing (sqlite.org/pragma.html#pragma_foreign_key_check).
  private func referenceFaults() throws(LedgerError) -> [String] {
    try connection.statement("SELECT * FROM pragma_foreign_key_check LIMIT \(Self.limit)").all {
      "\($0.text(0)) \($0.int(1)) refers to a row of \($0.text(2)) that is missing"
    }
  }

  /// Rows are made with the first event that needs them and are never removed. Streams without an
  /// event are none of these: builds of version 0.2 made one for each refused renewal
  /// information of an unknown purchase, and nothing follows from such a row.
  private func unusedRowFaults() throws(LedgerError) -> [String] {
    let queries = [
      ("SELECT id FROM app WHERE id NOT IN (SELECT app_id FROM stream)", "app", "has no stream"),
      ("SELECT id FROM kind WHERE id NOT IN (SELECT kind_id FROM event)", "kind", "has no event"),
      (
        "SELECT max(id) FROM kind GROUP BY notification_type, subtype HAVING count(*) > 1", "kind",
        "is there twice"
      ),
    ]
    var faults: [String] = []
    for (query, table, what) in queries {
      faults += try connection.statement("\(query) LIMIT \(Self.limit)").all {
        "\(table) \($0.int(0)) \(what)"
      }
    }
    return faults
  }

  private func redeliveryFaults() throws(LedgerError) -> [String] {
    guard try hasHistory() else { return [] }
    return try connection.statement(
      """
      SELECT seq FROM redelivery WHERE count < 1 OR last_at_ms < first_at_ms
        OR (count = 1 AND last_at_ms <> first_at_ms) LIMIT \(Self.limit)
      """
    ).all { "the redeliveries of seq \($0.int(0)) are impossible" }
  }

  // MARK: What the journal says of itself

  private func metaFaults() throws(LedgerError) -> [String] {
    let found = try connection.statement(
      "SELECT key, typeof(value), length(value), CASE typeof(value) WHEN 'integer' THEN value END"
        + " FROM meta"
    ).all { (key: $0.text(0), type: $0.text(1), length: $0.int(2), value: $0.optionalInt(3)) }
    var faults: [String] = []
    for row in found {
      let isValid: Bool? =
        switch Meta.Key(rawValue: row.key) {
        case .journalId: row.type == "blob" && row.length == 16
        case .quarantineDigest, .heldDigest, .v1Digest, .arrivalDigest, .redeliveryDigest,
          .notesHash:
          row.type == "blob" && row.length == 32
        case .open, .shared, .erasureDue: row.value == 0 || row.value == 1
        case .judgedWaiting: row.type == "blob" && row.length % 8 == 0
        case .generation, .foreignOverflow, .unnamedThrough, .quarantineCount, .heldCount, .v1Count,
          .arrivalCount, .redeliveryCount, .digestsGeneration, .v1From, .v1FiledFrom,
          .v1FiledGeneration, .notes, .judgedBy, .judgedThrough,
          .judgedGeneration:
          row.value.map { $0 >= 0 } ?? false
        default: nil
        }
      if isValid == nil { faults.append("meta has a key that is not known") }
      if isValid == false { faults.append("meta: \(row.key) is not valid") }
    }
    for key in [Meta.Key.journalId, .open, .foreignOverflow]
    where !found.contains(where: { $0.key == key.rawValue }) {
      faults.append("meta: \(key.rawValue) is missing")
    }
    let names = try connection.statement("SELECT number, name FROM migration")
      .all { (number: Int($0.int(0)), name: $0.text(1)) }
    for row in names
    where Migrations.journal.contains(where: { $0.number == row.number && $0.name != row.name }) {
      faults.append("migration \(row.number) has another name")
    }
    return try faults + sequenceFaults()
  }

  /// Ids of quarantine are never used again (sqlite.org/autoinc.html).
  private func sequenceFaults() throws(LedgerError) -> [String] {
    let isLess = try connection.statement(
      """
      SELECT 1 FROM quarantine WHERE id >
        coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'quarantine'), 0) LIMIT 1
      """
    ).first { _ in true }
    return isLess == nil ? [] : ["sqlite_sequence: an id of quarantine may be used again"]
  }

  private func digestFaults() throws(LedgerError) -> [String] {
    let meta = Meta(connection: connection)
    var faults: [String] = []
    let from = try meta.int(.v1From)
    let tables = [
      (RunningDigest.held, try hasEvidence(), "held evidence"),
      (RunningDigest.arrivals, try hasArrivals(), "arrivals"),
      (RunningDigest.redeliveries, try hasHistory(), "redeliveries"),
    ].filter(\.1).map { ($0.0, "TRUE", $0.2) }
    for (digest, condition, noun) in tables + [
      (RunningDigest.quarantine, "TRUE", "quarantine"),
      (
        RunningDigest.v1Apps,
        "event.source IN ('v1', 'renewal') AND event.seq >= \(from ?? 0)",
        "the apps of V1 events and renewals"
      ),
    ] {
      guard let stored = try digest.stored(connection) else {
        // A journal that no program with digests has opened has neither.
        let (count, bytes) = (try meta.int(digest.count), try meta.bytes(digest.digest))
        if count != nil || bytes != nil {
          faults.append("meta: \(noun): the count or the digest is missing")
        }
        continue
      }
      let found = try digest.compute(over: condition, connection)
      if found.count != stored.count {
        faults.append("\(noun): \(found.count) rows, the journal's writer counted \(stored.count)")
      } else if found.digest != stored.digest {
        faults.append("\(noun): a row was changed or replaced")
      }
    }
    return faults
  }
}
