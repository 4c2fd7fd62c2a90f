import Encoding
package import Foundation
import JournalStore
import LedgerEngine

/// What somebody can do who owns the files: everything but sign as Apple does, or as a key that
/// lies elsewhere.
extension Installation {
  /// Changes the journal past its triggers, puts those back, and leaves it as a daemon leaves it.
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

  /// Without the rows, which know how far the journal went.
  package func removeRows() throws {
    for name in try files().keys
    where name.hasPrefix("entitlements-") || name.hasPrefix("projections") {
      try FileManager.default.removeItem(at: data.appending(path: name))
    }
  }

  /// Cuts the journal behind a seq: what is left is a whole chain.
  package func cut(behind seq: Int) throws {
    try tamper("DELETE FROM event WHERE seq > \(seq)")
    try removeRows()
  }

  /// The journal of another folder in place of ours, under our id: a whole, fresh, proven chain.
  package func rewrite(as other: Installation) throws {
    let ours = try DataFolder(path: data.path).journalId()
    try removeRows()
    try FileManager.default.removeItem(at: journal)
    try FileManager.default.copyItem(at: other.journal, to: journal)
    try tamper("UPDATE meta SET value = x'\(Hexadecimal.encode(ours))' WHERE key = 'journal_id'")
  }

  /// Journals notifications with these numbers, each of its own second.
  package func fill(_ numbers: ClosedRange<Int>, otids: Int = 2) throws {
    let lines = try numbers.map {
      try sign(Sample.notification($0, otid: "70\($0 % otids)"))
    }
    let ingested = try run("ingest", try file("lines", lines))
    guard ingested.code == 0 else { throw Trouble("\(ingested)") }
  }

  /// All bytes of the data folder but SQLite's index of the -wal, which readers share.
  package func bytes() throws -> [String: Data] {
    try files().filter { !$0.key.hasSuffix("-shm") }
  }
}

extension DataFolder {
  fileprivate func journalId() throws -> [UInt8] { try JournalReader.open(self).journalId() }
}
