import CSQLite
import Glibc
package import Platform

/// Every error of the data files. The description says what the operator can do next.
public enum StoreError: Error, Sendable, Equatable {
  /// Another process holds the data folder (promise 10).
  case locked
  /// The file was written by a newer schema.
  case newer(found: Int, known: Int)
  /// The file is not one of ours, or belongs to another journal.
  case foreign(String)
  /// No projection can be used for what was asked; the text says what to run.
  case noProjection(String)
  /// Root would make files in another user's folder, which that user could not write.
  case otherOwner(folder: String, owner: String)
  /// The folder is missing or holds no journal, as a volume that is not mounted.
  case noJournal(folder: String)
  /// The journal is marked as open, and its write-ahead log is missing.
  case missingWAL
  /// Another program removed, replaced or cut this file of the open journal. `isSaved`: all that
  /// was answered is in the journal nevertheless.
  case lostFile(String, isSaved: Bool)
  /// The chain is broken among the last events, first at this seq (promise 5).
  case brokenTail(seq: Int64)
  /// An applied migration differs from the one with that number in this program.
  case frozenMigration(number: Int)
  /// The disk is full. Nothing was written; the same call may succeed later.
  case full
  /// The disk or the file system failed: an extended result code (sqlite.org/rescode.html).
  case io(code: Int32)
  /// The file is damaged.
  case corrupt(String)
  /// Another connection used the file for too long.
  case busy
  /// A defect of this program. The text contains no data.
  case sql(String)
  /// A system call failed.
  case platform(attempt: String, code: Int32)
  /// The shared journal failed, or refuses.
  case shared(SharedJournalError)
  /// The folder is a copy of a shared journal, and what was asked for needs that one.
  case copyWithoutSharedJournal

  package init(_ error: PlatformError) {
    switch error {
    case .system(_, let code) where code == ENOSPC: self = .full
    case .system(let attempt, let code): self = .platform(attempt: attempt, code: code)
    }
  }

  /// The error for a result code of SQLite. `message` is that of sqlite3_errmsg, which names tables
  /// and columns but never contains a value.
  static func of(_ code: Int32, _ message: @autoclosure () -> String) -> StoreError {
    switch code & 0xFF {
    case SQLITE_FULL: .full
    case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: .io(code: code)
    case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt("SQLite answered \(code)")
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: .busy
    default: .sql("\(message()) (\(code))")
    }
  }

  /// Whether the journal may lose what it acknowledges from now on. The daemon then stops answering
  /// 200 and exits, and the next start copies the write-ahead log.
  public var isFatal: Bool {
    switch self {
    case .io, .corrupt, .platform, .lostFile, .shared(.diverged): true
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
    case .noProjection(let what): what
    case .otherOwner(let folder, let owner):
      "\(folder) belongs to \(owner), who could not write what root makes in it; run this as "
        + "\(owner): sudo -u \(owner) subledger …"
    case .noJournal(let folder):
      "there is no journal.sqlite in \(folder); give the right --data or --config"
    case .missingWAL:
      "journal.sqlite was open and its -wal is missing or empty; put journal.sqlite-wal back, "
        + "or restore a backup"
    case .lostFile(let name, let isSaved):
      "another program removed, replaced or cut \(name) while it was open; "
        + (isSaved
          ? "nothing that was answered is lost: find out which program does that, then start again"
          : "what was answered may be lost: put the file back, or restore a backup; then start "
            + "again and run `subledger recover`")
    case .brokenTail(let seq):
      "the journal's chain breaks at seq \(seq); run `subledger verify`, then restore a backup"
    case .frozenMigration(let number):
      "migration \(number) differs from the one applied; run the program that wrote the data"
    case .full:
      "the disk is full; free space, nothing was lost"
    case .io(let code) where code & 0xFF == SQLITE_READONLY:
      "the file cannot be written; check the owner and mode of the data folder and its files"
    case .io(let code):
      "the disk failed (SQLite \(code)); check the disk and the mount, then start again"
    case .corrupt(let detail):
      "the file is damaged (\(detail)); run `subledger verify`, then restore a backup"
    case .busy:
      "the file was busy for too long; try again"
    case .sql(let detail):
      "a defect of this program: \(detail); please report it"
    case .platform(let attempt, let code):
      "\(PlatformError.system(attempt, code)); check the folder's owner, mode and disk"
    case .shared(let error): error.description
    case .copyWithoutSharedJournal:
      "the folder is a copy of a shared journal; configure `sharedJournal`, or run "
        + "`subledger shared-journal detach` to make it a journal of its own"
    }
  }
}

extension StoreError {
  /// Whether the error says that a disposable file is damaged, and not that the system or the disk
  /// has no room for now.
  public var isDamage: Bool {
    switch self {
    case .corrupt, .foreign, .newer, .sql: true
    case .io(let code): !Self.temporary.contains(code)
    default: false
    }
  }

  /// SQLITE_CANTOPEN, which also means that the process has no descriptor left, and the errors of
  /// the -shm file, which needs room on the disk: SHMOPEN, SHMSIZE, SHMMAP
  /// (sqlite.org/rescode.html).
  private static let temporary: Set<Int32> = [14, 10 | 18 << 8, 10 | 19 << 8, 10 | 21 << 8]
}
