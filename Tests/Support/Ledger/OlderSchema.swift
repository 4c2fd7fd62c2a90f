import Migrations
package import Store

/// Makes a journal as an older version of the program left it.
package enum OlderSchema {
  /// Changes a closed journal back to schema 1.
  package static func restore(_ folder: DataFolder) throws {
    let first = String(decoding: Migrations.journal[0].sql, as: UTF8.self)
    let view = first.split(separator: ";").first { $0.contains("CREATE VIEW journal_v1") } ?? ""
    let connection = try SQLiteConnection.open(folder.journal, .write)
    let sql = "SELECT sql FROM sqlite_master WHERE name = 'meta_delete'"
    let trigger = try connection.statement(sql).first { $0.text(0) } ?? ""
    try connection.execute(
      """
      DROP VIEW journal_v1;
      DROP TABLE broken_event;
      DROP TABLE unproven_event;
      DROP TABLE skipped_note;
      DROP TABLE arrival;
      DROP TABLE held_evidence;
      DROP TABLE claim;
      DROP TABLE statement;
      DROP TABLE account;
      DROP TABLE receipt;
      \(view);
      DROP TABLE redelivery;
      DROP INDEX quarantine_stream;
      ALTER TABLE quarantine DROP COLUMN original_transaction_id;
      DROP INDEX quarantine_app;
      DROP INDEX quarantine_uuid;
      CREATE UNIQUE INDEX quarantine_uuid ON quarantine (notification_uuid)
      WHERE notification_uuid IS NOT NULL;
      CREATE INDEX quarantine_foreign ON quarantine (is_foreign) WHERE is_foreign = 1;
      DELETE FROM migration WHERE number > 1;
      DROP TRIGGER meta_delete;
      DELETE FROM meta WHERE key IN ('shared', 'notes', 'notes_hash');
      \(trigger);
      PRAGMA user_version = 1;
      """)
    try connection.checkpointTruncate()
    connection.close()
  }
}
