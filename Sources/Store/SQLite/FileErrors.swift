import CSQLite
public import Platform

// Every error of the data files.

extension LedgerError.Code {
  /// The file is damaged.
  public static let corrupt = Self("corrupt")
  /// The file is not one of ours, or belongs to another journal.
  public static let foreign = Self("foreign")
  /// The file was written by a newer schema.
  public static let newer = Self("newer")
  /// Another process holds the data folder (promise 10).
  public static let locked = Self("locked")
  /// Another connection used the file for too long.
  public static let busy = Self("busy")
  /// The disk or the file system failed; the number is an extended result code
  /// (sqlite.org/rescode.html).
  public static let io = Self("io")
  /// A defect of this program.
  public static let sql = Self("sql")
  /// Another program removed, replaced or cut a file of the open journal, which `detail` names.
  static let lostFile = Self("lost_file")
  /// An applied migration differs from the one with that number in this program.
  static let frozenMigration = Self("frozen_migration")
  public static let copyWithoutSharedJournal = Self("copy_without_shared_journal")
  /// The journal, or a projection, is missing, not whole, or of another owner.
  static let unusable = Self("unusable")
}

extension LedgerError {
  /// Another process holds the data folder (promise 10).
  public static let locked = LedgerError(
    .locked, .temporary, "another process holds the data folder",
    next: "stop it, or give another --data")

  /// The file was written by a newer schema.
  public static func newer(found: Int, known: Int) -> LedgerError {
    LedgerError(
      .newer, .usage, "the data has schema \(found), this program knows \(known)",
      next: "run the newer program")
  }

  /// The file is not one of ours, or belongs to another journal.
  public static func foreign(_ what: String) -> LedgerError {
    LedgerError(.foreign, .damaged, what, next: "give the right --data, or move the file away")
  }

  /// No projection can be used for what was asked; the text says what to run.
  public static func noProjection(_ what: String) -> LedgerError {
    LedgerError(.unusable, .damaged, what)
  }

  /// Root would make files in another user's folder, which that user could not write.
  static func otherOwner(folder: String, owner: String) -> LedgerError {
    LedgerError(
      .unusable, .temporary,
      "\(folder) belongs to \(owner), who could not write what root makes in it",
      next: "run this as \(owner): sudo -u \(owner) subledger …")
  }

  /// The folder is missing or holds no journal, as a volume that is not mounted.
  static func noJournal(folder: String) -> LedgerError {
    LedgerError(
      .unusable, .temporary, "there is no journal.sqlite in \(folder)",
      next: "give the right --data or --config")
  }

  /// The journal is marked as open, and its write-ahead log is missing.
  public static let missingWAL = LedgerError(
    .unusable, .damaged, "journal.sqlite was open and its -wal is missing or empty",
    next: "put journal.sqlite-wal back, or restore a backup")

  /// Another program removed, replaced or cut this file of the open journal.
  public static func lostFile(_ name: String) -> LedgerError {
    LedgerError(
      .lostFile, .fatal, "another program removed, replaced or cut \(name) while it was open",
      next: "answered events may be lost: put the file back if it was renamed, start again, or "
        + "restore a backup where the start is refused; then run `subledger verify` and "
        + "`subledger recover`",
      detail: name)
  }

  /// The chain is broken among the last events, first at this seq (promise 5).
  public static func brokenTail(seq: Int64) -> LedgerError {
    LedgerError(
      .unusable, .damaged, "the journal's chain breaks at seq \(seq)",
      next: "run `subledger verify`, then restore a backup")
  }

  /// An applied migration differs from the one with that number in this program.
  public static func frozenMigration(number: Int) -> LedgerError {
    LedgerError(
      .frozenMigration, .damaged, "migration \(number) differs from the one applied",
      next: "run the program that wrote the data",
      detail: "migration \(number) is not the one that was applied")
  }

  /// The disk or the file system failed.
  ///
  /// - Parameter code: an extended result code (sqlite.org/rescode.html).
  static func io(code: Int32) -> LedgerError {
    let isReadOnly = code & 0xFF == SQLITE_READONLY
    return LedgerError(
      .io, .fatal, isReadOnly ? "the file cannot be written" : "the disk failed (SQLite \(code))",
      next: isReadOnly
        ? "check the owner and mode of the data folder and its files"
        : "check the disk and the mount, then start again",
      detail: "SQLite answered \(code)", number: code)
  }

  /// The file is damaged.
  public static func corrupt(_ detail: String) -> LedgerError {
    LedgerError(
      .corrupt, .damaged, "the file is damaged (\(detail))",
      next: "run `subledger verify`, then restore a backup", detail: detail)
  }

  /// Another connection used the file for too long.
  public static let busy = LedgerError(
    .busy, .temporary, "the file was busy for too long", next: "try again")

  /// A defect of this program. The text contains no data.
  public static func sql(_ detail: String) -> LedgerError {
    LedgerError(
      .sql, .temporary, "a defect of this program: \(detail)", next: "please report it")
  }

  /// The folder is a copy of a shared journal, and what was asked for needs that one.
  public static let copyWithoutSharedJournal = LedgerError(
    .copyWithoutSharedJournal, .usage, "the folder is a copy of a shared journal",
    next: "configure `sharedJournal`, or run `subledger shared-journal detach` to make it a "
      + "journal of its own")

  /// The error for a result code of SQLite. `message` is that of sqlite3_errmsg, which names tables
  /// and columns but never contains a value.
  static func of(_ code: Int32, _ message: @autoclosure () -> String) -> LedgerError {
    switch code & 0xFF {
    case SQLITE_FULL: .full
    case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: .io(code: code)
    case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt("SQLite answered \(code)")
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: .busy
    case SQLITE_INTERRUPT: .stopped
    default: .sql("\(message()) (\(code))")
    }
  }

  /// Whether the journal may lose what it acknowledges from now on. The daemon then stops answering
  /// 200 and exits, and the next start copies the write-ahead log.
  public var isFatal: Bool { kind == .fatal || code == .corrupt }

  /// Whether the error says that a disposable file is damaged, and not that the system or the disk
  /// has no room for now.
  public var isDamage: Bool {
    switch code {
    case .corrupt, .foreign, .newer, .sql: true
    case .io: !Self.passing.contains(number)
    default: false
    }
  }

  /// SQLITE_CANTOPEN, which also means that the process has no descriptor left, and the errors of
  /// the -shm file, which needs room on the disk: SHMOPEN, SHMSIZE, SHMMAP
  /// (sqlite.org/rescode.html).
  private static let passing: Set<Int32> = [14, 10 | 18 << 8, 10 | 19 << 8, 10 | 21 << 8]
}
