/// The SQL that makes the data files, embedded at build time.
///
/// Migrations only go forward. A released file must never change: its SHA-256 is stored in every
/// journal to which it was applied and is checked at each start.
public enum Migrations {
  /// The journal's migrations, oldest first: number, name, SQL in UTF-8.
  public static let journal: [(number: Int, name: String, sql: [UInt8])] = [
    (1, "journal", PackageResources._001_journal_sql),
    (2, "history", PackageResources._002_history_sql),
    (3, "quarantine", PackageResources._003_quarantine_sql),
    (4, "arrival", PackageResources._004_arrival_sql),
    (5, "evidence", PackageResources._005_evidence_sql),
    (6, "accounts", PackageResources._006_accounts_sql),
    (7, "receipt", PackageResources._007_receipt_sql),
    (8, "copy", PackageResources._008_copy_sql),
    (9, "follow", PackageResources._009_follow_sql),
    (10, "claim", PackageResources._010_claim_sql),
    (11, "account_pages", PackageResources._011_account_pages_sql),
  ]

  /// The schema of a projection. Projections are never migrated, because they can be built again.
  ///
  /// - Parameter values: what stands for each name in braces.
  public static func projection(_ values: [(name: String, value: String)]) -> String {
    filled(PackageResources.projection_sql, values)
  }

  /// The migrations of the shared journal on PostgreSQL, oldest first, numbered from 1 without a
  /// gap. `:"schema"` and `:"daemon"` stand for identifiers.
  public static let sharedJournal: [(number: Int, name: String, sql: [UInt8])] = [
    (1, "shared_journal", PackageResources._001_shared_journal_sql),
    (2, "trust_root", PackageResources._002_trust_root_sql),
    (3, "cleared_note", PackageResources._003_cleared_note_sql),
  ]

  /// The schema of a mirror in PostgreSQL.
  ///
  /// - Parameter values: what stands for each name in braces.
  public static func mirror(_ values: [(name: String, value: String)]) -> String {
    filled(PackageResources.mirror_sql, values)
  }

  private static func filled(_ sql: [UInt8], _ values: [(name: String, value: String)]) -> String {
    values.reduce(String(decoding: sql, as: UTF8.self)) { text, entry in
      text.split(separator: entry.name, omittingEmptySubsequences: false)
        .joined(separator: entry.value)
    }
  }
}
