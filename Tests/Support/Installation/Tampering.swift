package import Foundation
import Ledger
import Platform
import Store

/// What the owner of the files can do to them: everything but sign with Apple's keys, or with a key
/// that is stored elsewhere.
extension Installation {
  /// Changes the journal without its triggers, which are created again afterwards, and leaves its
  /// files as a daemon that stopped leaves them.
  package func tamper(_ sql: String) throws {
    let connection = try SQLiteConnection.open(journal.path, .write)
    let triggers = try connection.statement(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid"
    ).all { ($0.text(0), $0.text(1)) }
    for (name, _) in triggers { try connection.execute("DROP TRIGGER \(name)") }
    try connection.execute("PRAGMA foreign_keys=OFF; " + sql)
    for (_, text) in triggers { try connection.execute(text) }
    try connection.checkpointTruncate()
    connection.close()
  }

  /// Removes the projections, which show how far the journal went.
  package func removeProjections() throws {
    for name in try files().keys
    where name.hasPrefix("entitlements-") || name.hasPrefix("projections") {
      try FileManager.default.removeItem(at: data.appending(path: name))
    }
  }

  /// Removes all events after a seq. What is left is a whole chain.
  package func cut(after seq: Int) throws {
    try tamper("DELETE FROM event WHERE seq > \(seq)")
    try removeProjections()
  }

  /// Replaces the journal by another installation's under the id of this one: a whole, new and
  /// proven chain.
  package func rewrite(as other: Installation) throws {
    let ours = try DataFolder(path: data.path).journalId()
    try removeProjections()
    try FileManager.default.removeItem(at: journal)
    try FileManager.default.copyItem(at: other.journal, to: journal)
    try tamper("UPDATE meta SET value = x'\(Hexadecimal.encode(ours))' WHERE key = 'journal_id'")
  }

  /// Journals notifications with these numbers, of this many customers in turn.
  package func fill(_ numbers: ClosedRange<Int>, otids: Int = 2) throws {
    let lines = try numbers.map {
      try sign(Sample.notification($0, otid: "70\($0 % otids)"))
    }
    let ingested = try run("ingest", try file("lines", lines))
    guard ingested.code == 0 else { throw TestFailure("\(ingested)") }
  }

  /// The files of the data folder without SQLite's index of the -wal, which readers write to.
  package func bytes() throws -> [String: Data] {
    try files().filter { !$0.key.hasSuffix("-shm") }
  }
}

extension DataFolder {
  fileprivate func journalId() throws -> [UInt8] { try JournalReader.open(self).journalId() }
}
