import CSQLite
import Glibc
package import Platform

/// Everything that can go wrong with the data files. The description carries the next step.
public enum StoreError: Error, Sendable, Equatable {
  /// Another process holds the data folder (promise 10).
  case locked
  /// The file was written by a newer schema.
  case newer(found: Int, known: Int)
  /// The file is not one of ours, or belongs to another journal.
  case foreign(String)
  /// The journal was open when it was last written, and its write-ahead log is gone.
  case missingWAL
  /// The last events do not chain; the first that does not is at this seq (promise 5).
  case brokenTail(seq: Int64)
  /// A migration that was applied differs from the one of that number in this program.
  case frozenMigration(number: Int)
  /// The disk is full. Nothing was written; the same call may succeed later.
  case full
  /// The disk or the file system failed: an extended result code (sqlite.org/rescode.html).
  case io(code: Int32)
  /// The file is damaged.
  case corrupt(String)
  /// Another connection kept the file for too long.
  case busy
  /// A mistake in this program; no data in the text.
  case sql(String)
  /// A system call failed.
  case platform(attempt: String, code: Int32)

  package init(_ error: PlatformError) {
    switch error {
    case .system(_, let code) where code == ENOSPC: self = .full
    case .system(let attempt, let code): self = .platform(attempt: attempt, code: code)
    }
  }

  /// The error for a result code of SQLite. `message` is sqlite3_errmsg's, which names tables and
  /// columns and never holds a value.
  static func of(_ code: Int32, _ message: @autoclosure () -> String) -> StoreError {
    switch code & 0xFF {
    case SQLITE_FULL: .full
    case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: .io(code: code)
    case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt("SQLite answered \(code)")
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: .busy
    default: .sql("\(message()) (\(code))")
    }
  }

  /// Whether the journal may no longer be trusted to keep what it acknowledges: the daemon stops
  /// answering 200 and exits, and the next start copies the write-ahead log.
  public var isFatal: Bool {
    switch self {
    case .io, .corrupt, .platform: true
    default: false
    }
  }
}

extension StoreError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .locked:
      "another process holds the data folder; stop it, or give another --data"
    case .newer(let found, let known):
      "the data has schema \(found), this program knows \(known); run the newer program"
    case .foreign(let what):
      "\(what); give the right --data, or move the file away"
    case .missingWAL:
      "journal.sqlite was open and its -wal is missing or empty; put journal.sqlite-wal back, "
        + "or restore a backup"
    case .brokenTail(let seq):
      "the journal's chain breaks at seq \(seq); run `subledger verify`, then restore a backup"
    case .frozenMigration(let number):
      "migration \(number) differs from the one applied; run the program that wrote the data"
    case .full:
      "the disk is full; make room, nothing was lost"
    case .io(let code):
      "the disk failed (SQLite \(code)); check the disk and the mount, then start again"
    case .corrupt(let detail):
      "the file is damaged (\(detail)); run `subledger verify`, then restore a backup"
    case .busy:
      "the file was busy for too long; try again"
    case .sql(let detail):
      "a fault in this program: \(detail); please report it"
    case .platform(let attempt, let code):
      "\(PlatformError.system(attempt, code)); check the folder's owner, mode and disk"
    }
  }
}

/// Runs a system step and gives its error this room's name.
func platform<Result: ~Copyable>(
  _ step: () throws(PlatformError) -> Result
) throws(StoreError) -> Result {
  do { return try step() } catch { throw StoreError(error) }
}
