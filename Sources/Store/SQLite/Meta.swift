import Platform

/// The table `meta`, in which a journal or a projection describes itself.
struct Meta {
  enum Key: String {
    case journalId = "journal_id"
    case open
    case erasureDue = "erasure_due"
    case generation
    case foreignOverflow = "foreign_overflow"
    case unnamedThrough = "unnamed_through"
    case shared
    case notes
    case notesHash = "notes_hash"
    case quarantineCount = "quarantine_count"
    case quarantineDigest = "quarantine_digest"
    case heldCount = "held_count"
    case heldDigest = "held_digest"
    case judgedBy = "evidence_judged_by"
    case judgedThrough = "evidence_judged_through"
    case judgedGeneration = "evidence_judged_generation"
    case judgedWaiting = "evidence_waiting"
    case v1From = "v1_from"
    case v1Count = "v1_count"
    case v1Digest = "v1_digest"
    case v1FiledFrom = "v1_filed_from"
    case v1FiledGeneration = "v1_filed_generation"
    case arrivalCount = "arrival_count"
    case arrivalDigest = "arrival_digest"
    case redeliveryCount = "redelivery_count"
    case redeliveryDigest = "redelivery_digest"
    case digestsGeneration = "digests_generation"
    case customerCount = "customer_count"
    case customerDigest = "customer_digest"
    case foldVersion = "fold_version"
    case fingerprint
    case foldedThrough = "folded_through"
    case hash
    case digest
    case evaluatedAt = "evaluated_at"
    case buildThrough = "build_through"
    case buildHash = "build_hash"
    case buildNext = "build_next"
    case buildEvents = "build_events"
    case buildBoot = "build_boot"
  }

  let connection: SQLiteConnection

  func int(_ key: Key) throws(LedgerError) -> Int64? {
    try connection.statement("SELECT value FROM meta WHERE key = ?").bind(1, key.rawValue)
      .first { $0.int(0) }
  }

  func bytes(_ key: Key) throws(LedgerError) -> [UInt8]? {
    try connection.statement("SELECT value FROM meta WHERE key = ?").bind(1, key.rawValue)
      .first { $0.bytes(0) }
  }

  func remove(_ key: Key) throws(LedgerError) {
    try connection.statement("DELETE FROM meta WHERE key = ?").bind(1, key.rawValue).run()
  }

  func set(_ key: Key, _ value: Int64) throws(LedgerError) {
    try upsert(key).bind(2, value).run()
  }

  func set(_ key: Key, _ value: [UInt8]) throws(LedgerError) {
    try upsert(key).bind(2, value).run()
  }

  private func upsert(_ key: Key) throws(LedgerError) -> Statement {
    try connection.statement(
      """
      INSERT INTO meta (key, value) VALUES (?, ?)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value
      """
    ).bind(1, key.rawValue)
  }

  /// What the rows of a projection were folded by. Only for a projection.
  func identity() throws(LedgerError) -> ProjectionIdentity {
    ProjectionIdentity(
      foldVersion: Int(try int(.foldVersion) ?? 0),
      fingerprint: String(decoding: try bytes(.fingerprint) ?? [], as: UTF8.self),
      journalId: try bytes(.journalId) ?? [])
  }
}
