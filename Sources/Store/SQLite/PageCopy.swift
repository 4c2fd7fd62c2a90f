import CSQLite
import Platform

/// An online copy of the pages of one SQLite file to another (sqlite.org/c3ref/backup_finish.html).
///
/// SQLite restarts such a copy when another connection writes between two steps, unless the source
/// connection has an open read transaction: then the copy has the pages of that snapshot. So the
/// caller begins a snapshot before the copy and ends it afterwards.
struct PageCopy: ~Copyable {
  private let handle: OpaquePointer

  /// - Parameters:
  ///   - source: has an open snapshot from which something was read.
  ///   - target: has an empty file and no open transaction.
  static func begin(
    from source: SQLiteConnection, to target: SQLiteConnection
  ) throws(LedgerError) -> PageCopy {
    guard let handle = sqlite3_backup_init(target.handle, "main", source.handle, "main") else {
      throw .of(sqlite3_errcode(target.handle), String(cString: sqlite3_errmsg(target.handle)))
    }
    return PageCopy(handle: handle)
  }

  private init(handle: OpaquePointer) { self.handle = handle }

  /// SQLite rolls an incomplete copy back in the target.
  deinit { sqlite3_backup_finish(handle) }

  /// Copies up to `pages` further pages.
  ///
  /// - Returns: whether pages remain to be copied.
  mutating func step(_ pages: Int32) throws(LedgerError) -> Bool {
    let code = sqlite3_backup_step(handle, pages)
    guard code == SQLITE_OK || code == SQLITE_DONE else {
      throw .of(code, String(cString: sqlite3_errstr(code)))
    }
    return code == SQLITE_OK
  }

  /// The number of pages copied and the total. Zero before the first step.
  var progress: (done: Int64, all: Int64) {
    let all = Int64(sqlite3_backup_pagecount(handle))
    return (all - Int64(sqlite3_backup_remaining(handle)), all)
  }
}
