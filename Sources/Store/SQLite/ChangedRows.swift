import CSQLite

/// The rows that a connection inserted, changed or deleted, as SQLite reports them
/// (sqlite.org/c3ref/update_hook.html). Not reported: tables without row ids, SQLite's own tables,
/// and what REPLACE deletes; none of ours is written with REPLACE.
final class ChangedRows {
  /// Row ids by table.
  private(set) var rows: [String: Set<Int64>] = [:]

  func clear() { rows.removeAll(keepingCapacity: true) }

  fileprivate func add(_ table: String, _ rowID: Int64) { rows[table, default: []].insert(rowID) }
}

extension SQLiteConnection {
  /// Reports every changed row to `changes` from now on, which the connection keeps alive.
  func report(to changes: ChangedRows) {
    changedRows = changes
    sqlite3_update_hook(
      handle,
      { context, _, _, table, rowID in
        guard let context, let table else { return }
        Unmanaged<ChangedRows>.fromOpaque(context).takeUnretainedValue()
          .add(String(cString: table), rowID)
      }, Unmanaged.passUnretained(changes).toOpaque())
  }
}
