public import Platform

/// A file of a data folder that belongs to one journal and can be made anew. One that cannot be
/// used, because it is damaged or of another journal, is put aside.
struct BoundFile: Sendable {
  let path: String
  let applicationId: UInt32
  let tables: String
  /// What brings a file of schema 1 to 2, of 2 to 3, and so on.
  var upgrades: [String] = []

  /// A table of a file that has a name among those of all daemons.
  static let fileTable = """
    CREATE TABLE file (id BLOB NOT NULL) STRICT;
    INSERT INTO file (id) VALUES (randomblob(16));
    """

  /// The number of the schema, `PRAGMA user_version`.
  var schema: Int { upgrades.count + 1 }

  /// - Throws: what SQLite or the file system reports, also for a full disk, which passes;
  ///   `LedgerError.newer` for a file of a newer program.
  func open(journalId: [UInt8]) throws(LedgerError) -> SQLiteConnection {
    if try DurableFile.size(path) != nil {
      do throws(LedgerError) {
        return try existing(journalId)
      } catch {
        // A folder in its place is no passing fault either.
        let isFile = try DurableFile.isPlain(path) != false
        guard error.code != .newer, error.isDamage || !isFile else { throw error }
        try removeLogs(of: path)
        try DurableFile.rename(path, to: path + ".aside")
      }
    }
    return try make(journalId)
  }

  /// Opens the file to read it, whether or not a daemon runs; nil if there is none.
  ///
  /// - Returns: the number of its schema too.
  /// - Throws: what SQLite or the file system reports.
  func read(in folder: DataFolder) throws(LedgerError) -> (SQLiteConnection, schema: Int)? {
    guard try DurableFile.size(path) != nil else { return nil }
    let connection = try SQLiteConnection.open(path, try folder.readingMode(path))
    let found = try connection.requireOurs(path, applicationId: applicationId, known: schema)
    return (connection, found)
  }

  private func existing(_ journalId: [UInt8]) throws(LedgerError) -> SQLiteConnection {
    let connection = try SQLiteConnection.open(path, .write)
    let found = try connection.requireOurs(path, applicationId: applicationId, known: schema)
    let journal = try connection.statement("SELECT id FROM journal").first { $0.bytes(0) }
    let check = try connection.statement("PRAGMA quick_check(1)").first { $0.text(0) }
    guard journal == journalId, check == "ok", found > 0 else {
      throw .corrupt("it is not a file of this journal")
    }
    try connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
    if found < schema {
      try connection.atomically { () throws(LedgerError) in
        for upgrade in upgrades[(found - 1)...] { try connection.execute(upgrade) }
        try connection.execute("PRAGMA user_version=\(schema)")
      }
    }
    return connection
  }

  /// Under another name until it is whole: a file without its tables would count as damaged.
  private func make(_ journalId: [UInt8]) throws(LedgerError) -> SQLiteConnection {
    let new = path + ".new"
    try removeLogs(of: new)
    try DurableFile.remove(new)
    try DurableFile.create(new)
    let connection = try SQLiteConnection.open(new, .write)
    defer { connection.close() }
    try connection.execute("PRAGMA application_id=\(applicationId)")
    try connection.atomically { () throws(LedgerError) in
      try connection.execute("CREATE TABLE journal (id BLOB NOT NULL) STRICT;\n" + tables)
      try connection.execute("PRAGMA user_version=\(schema)")
      try connection.statement("INSERT INTO journal (id) VALUES (?)").bind(1, journalId).run()
    }
    connection.close()
    try removeLogs(of: path)
    try DurableFile.rename(new, to: path)
    return try existing(journalId)
  }

  private func removeLogs(of path: String) throws(LedgerError) {
    for suffix in ["-wal", "-shm", "-journal"] { try DurableFile.remove(path + suffix) }
  }
}

extension DataFolder {
  /// The names of the files beside the journal that a start brings to the schema of this program,
  /// which older ones then refuse.
  ///
  /// - Throws: `LedgerError.newer` for a file of a newer program, otherwise what SQLite reports.
  public func filesOfOlderSchema() throws(LedgerError) -> [String] {
    var names: [String] = []
    for file in [CustomerStore.file(self), SinkFile.file(self)] {
      if let found = try file.read(in: self), found.schema < file.schema {
        names.append(file.path.split(separator: "/").last.map(String.init) ?? file.path)
      }
    }
    return names
  }
}
