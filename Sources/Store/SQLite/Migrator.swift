import Migrations
public import Platform
import SignedData
import StrictJSON

/// Migrates a journal to the schema of this program. Migrations only go forward.
enum Migrator {
  /// The newest schema that this program knows, and `PRAGMA user_version` of a journal it wrote.
  static var known: Int { Migrations.journal.last?.number ?? 0 }

  /// Compares the applied migrations with those of this program. Writes nothing.
  ///
  /// - Throws: `LedgerError.newer` for a newer schema, `.frozenMigration` when an applied migration
  ///   differs from that of this program.
  static func check(_ connection: SQLiteConnection) throws(LedgerError) {
    let version = try connection.statement("PRAGMA user_version").first { Int($0.int(0)) } ?? 0
    guard version <= known else { throw .newer(found: version, known: known) }
    let applied = try connection.statement("SELECT number, sha256 FROM migration ORDER BY number")
      .all { (number: Int($0.int(0)), sha256: $0.bytes(1)) }
    for (index, row) in applied.enumerated() {
      guard index < Migrations.journal.count, Migrations.journal[index].number == row.number,
        SHA256.hash(Migrations.journal[index].sql) == row.sha256
      else { throw .frozenMigration(number: row.number) }
    }
    guard applied.count == version else { throw .frozenMigration(number: applied.count + 1) }
  }

  /// Applies the missing migrations up to number `last`, each in one SQL transaction.
  ///
  /// - Parameter now: milliseconds since 1970 UTC.
  static func apply(
    _ connection: SQLiteConnection, through last: Int = known, now: Int64
  ) throws(LedgerError) {
    let version = try connection.statement("PRAGMA user_version").first { Int($0.int(0)) } ?? 0
    for migration in Migrations.journal
    where migration.number > version && migration.number <= last {
      try connection.atomically { () throws(LedgerError) in
        try connection.execute(String(decoding: migration.sql, as: UTF8.self))
        try connection.execute("PRAGMA user_version = \(migration.number)")
        try connection.statement(
          "INSERT INTO migration (number, name, sha256, applied_at_ms) VALUES (?, ?, ?, ?)"
        ).bind(1, Int64(migration.number)).bind(2, migration.name)
          .bind(3, SHA256.hash(migration.sql)).bind(4, now).run()
      }
    }
    guard version > 0, version < last else { return }
    Log.write(
      .warning, "journal_migrated",
      [
        ("from", .integer(Int64(version))), ("to", .integer(Int64(last))),
        (
          "next",
          .string("the former program cannot open this folder any more: subledger help install")
        ),
      ])
  }
}

extension JournalReader {
  /// The migrations that a writer of this program would apply before anything else, oldest first.
  ///
  /// - Throws: `LedgerError.frozenMigration` when an applied migration differs from that of this
  ///   program, otherwise what SQLite reports.
  public func pendingMigrations() throws(LedgerError) -> [(number: Int, name: String)] {
    try Migrator.check(connection)
    let version = try connection.statement("PRAGMA user_version").first { Int($0.int(0)) } ?? 0
    return Migrations.journal.filter { $0.number > version }.map { ($0.number, $0.name) }
  }
}
