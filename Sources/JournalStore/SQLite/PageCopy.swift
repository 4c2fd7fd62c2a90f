import CSQLite

/// The pages of one SQLite file on their way into another (sqlite.org/c3ref/backup_finish.html).
///
/// SQLite begins such a copy anew whenever somebody else writes between two steps, unless the
/// source's connection keeps a read transaction of its own: its pages are then those of one moment,
/// however many commits come meanwhile. So a snapshot is begun first and ended last.
struct PageCopy: ~Copyable {
  private let handle: OpaquePointer

  /// - Parameters:
  ///   - source: in a snapshot that has read something.
  ///   - target: of an empty file, and in no transaction.
  static func begin(
    from source: SQLiteConnection, to target: SQLiteConnection
  ) throws(StoreError) -> PageCopy {
    guard let handle = sqlite3_backup_init(target.handle, "main", source.handle, "main") else {
      throw .of(sqlite3_errcode(target.handle), String(cString: sqlite3_errmsg(target.handle)))
    }
    return PageCopy(handle: handle)
  }

  private init(handle: OpaquePointer) { self.handle = handle }

  /// What was not copied to its end is rolled back in the target.
  deinit { sqlite3_backup_finish(handle) }

  /// Copies so many pages more.
  ///
  /// - Returns: whether pages are left.
  mutating func step(_ pages: Int32) throws(StoreError) -> Bool {
    let code = sqlite3_backup_step(handle, pages)
    guard code == SQLITE_OK || code == SQLITE_DONE else {
      throw .of(code, String(cString: sqlite3_errstr(code)))
    }
    return code == SQLITE_OK
  }

  /// Pages copied, and pages in all; known after the first step.
  var progress: (done: Int64, all: Int64) {
    let all = Int64(sqlite3_backup_pagecount(handle))
    return (all - Int64(sqlite3_backup_remaining(handle)), all)
  }
}
