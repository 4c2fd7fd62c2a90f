import Platform

/// The file `sinks.sqlite` of a data folder, and the list of sinks beside it.
///
/// The file is disposable like rows, and its loss costs no message: a sink that the list names and
/// the file does not is *lost*, and sends nothing until the operator says where it goes on.
enum SinkFile {
  /// `SUBD`: the application_id.
  static let applicationId: UInt32 = 0x5355_4244
  static let schema = 3

  static let tables = """
    CREATE TABLE sink (
      name TEXT NOT NULL, replay INTEGER NOT NULL, seq INTEGER NOT NULL, hash BLOB NOT NULL,
      clock_ms INTEGER NOT NULL, state TEXT NOT NULL, since_ms INTEGER NOT NULL, reason TEXT,
      last INTEGER, only TEXT, PRIMARY KEY (name, replay)) STRICT, WITHOUT ROWID;
    CREATE TABLE held (
      name TEXT NOT NULL, replay INTEGER NOT NULL, ordinal INTEGER NOT NULL, seq INTEGER,
      turn_ms INTEGER, stream INTEGER, received_ms INTEGER NOT NULL, attempts INTEGER NOT NULL,
      refusals INTEGER NOT NULL, next_ms INTEGER NOT NULL, first_ms INTEGER, status INTEGER,
      failure TEXT, kind INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (name, replay, ordinal)) STRICT, WITHOUT ROWID;
    CREATE TABLE dead (
      name TEXT NOT NULL, replay INTEGER NOT NULL, ordinal INTEGER NOT NULL, seq INTEGER,
      turn_ms INTEGER, stream INTEGER, received_ms INTEGER NOT NULL, attempts INTEGER NOT NULL,
      refusals INTEGER NOT NULL, next_ms INTEGER NOT NULL, first_ms INTEGER, status INTEGER,
      failure TEXT, kind INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (name, replay, ordinal)) STRICT, WITHOUT ROWID;
    CREATE INDEX dead_seq ON dead (name, seq);
    CREATE TABLE journal (id BLOB NOT NULL) STRICT;
    """ + "\n" + clockTables + "\n" + fileTable

  /// clock: wall clock minus CLOCK_BOOTTIME when they were last right, of one boot. recalculation:
  /// customers for whom another fold has another answer, to be told at at_ms; null: not yet.
  /// announcement: between which folds they were compared.
  private static let clockTables = """
    CREATE TABLE clock (boot BLOB NOT NULL, offset_ms INTEGER NOT NULL) STRICT;
    CREATE TABLE recalculation (
      stream INTEGER NOT NULL, at_ms INTEGER, had_access INTEGER NOT NULL, changes TEXT NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX recalculation_time ON recalculation (at_ms, stream);
    CREATE TABLE announcement (
      before TEXT NOT NULL, after TEXT NOT NULL, at_ms INTEGER NOT NULL,
      PRIMARY KEY (before, after)) STRICT, WITHOUT ROWID;
    """

  /// Names this file among those of all daemons.
  private static let fileTable = """
    CREATE TABLE file (id BLOB NOT NULL) STRICT;
    INSERT INTO file (id) VALUES (randomblob(16));
    """

  /// What brings a file of the first schema to the second.
  private static let fromFirst = """
    ALTER TABLE held ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE dead ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;
    """ + "\n" + clockTables

  /// Opens the file of this journal, and makes it if it is missing, damaged or of another journal.
  /// What is there then is put aside.
  ///
  /// - Throws: what the file system reports, `LedgerError.newer` for a file of a newer program.
  static func open(
    _ folder: DataFolder, journalId: [UInt8]
  ) throws(LedgerError) -> SQLiteConnection {
    let path = folder.sinks
    if try DurableFile.size(path) != nil {
      do throws(LedgerError) {
        return try existing(path, journalId)
      } catch {
        // A full disk passes, and the places of all sinks are in this file.
        if error.code == .newer { throw error }
        guard error.isDamage else { throw error }
        try putAside(path)
      }
    }
    return try make(path, journalId)
  }

  private static func existing(
    _ path: String, _ journalId: [UInt8]
  ) throws(LedgerError) -> SQLiteConnection {
    let connection = try SQLiteConnection.open(path, .write)
    let found = try connection.requireOurs(path, applicationId: applicationId, known: schema)
    let journal = try connection.statement("SELECT id FROM journal").first { $0.bytes(0) }
    let check = try connection.statement("PRAGMA quick_check(1)").first { $0.text(0) }
    guard journal == journalId, check == "ok" else {
      throw .corrupt("it is not the file of this journal's sinks")
    }
    try connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
    if found < schema {
      try connection.atomically { () throws(LedgerError) in
        if found < 2 { try connection.execute(fromFirst) }
        try connection.execute(fileTable)
        try connection.execute("PRAGMA user_version=\(schema)")
      }
    }
    return connection
  }

  /// Under another name until it is whole: a file without its tables would count as damaged.
  private static func make(
    _ path: String, _ journalId: [UInt8]
  ) throws(LedgerError) -> SQLiteConnection {
    let new = path + ".new"
    try removeLogs(of: new)
    try DurableFile.remove(new)
    try DurableFile.create(new)
    let connection = try SQLiteConnection.open(new, .write)
    defer { connection.close() }
    try connection.execute("PRAGMA application_id=\(applicationId)")
    try connection.atomically { () throws(LedgerError) in
      try connection.execute(tables)
      try connection.execute("PRAGMA user_version=\(schema)")
      try connection.statement("INSERT INTO journal (id) VALUES (?)").bind(1, journalId).run()
    }
    connection.close()
    try removeLogs(of: path)
    try DurableFile.rename(new, to: path)
    return try existing(path, journalId)
  }

  private static func putAside(_ path: String) throws(LedgerError) {
    try removeLogs(of: path)
    try DurableFile.rename(path, to: path + ".aside")
  }

  private static func removeLogs(of path: String) throws(LedgerError) {
    for suffix in ["-wal", "-shm", "-journal"] { try DurableFile.remove(path + suffix) }
  }

  // MARK: The list of sinks

  /// The names of the sinks that ever were in the file.
  static func names(_ folder: DataFolder) throws(LedgerError) -> Set<String> {
    guard try DurableFile.size(folder.sinkNames) != nil else {
      return []
    }
    let bytes = try DurableFile.read(folder.sinkNames, limit: 65_536)
    return Set(bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) })
  }

  /// Adds a name, durably, before the sink is stored.
  static func add(_ name: String, _ folder: DataFolder) throws(LedgerError) {
    let known = try names(folder)
    guard !known.contains(name) else { return }
    let text = known.union([name]).sorted().map { $0 + "\n" }.joined()
    try DurableFile.write(Array(text.utf8), to: folder.sinkNames)
  }
}
