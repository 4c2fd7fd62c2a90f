import Platform

/// The file `sinks.sqlite` of a data folder, and the list of sinks beside it.
///
/// The file is disposable like rows, and its loss costs no message: a sink that the list names and
/// the file does not is *lost*, and sends nothing until the operator says where it goes on.
enum SinkFile {
  private static let tables = """
    CREATE TABLE sink (
      name TEXT NOT NULL, replay INTEGER NOT NULL, seq INTEGER NOT NULL, hash BLOB NOT NULL,
      clock_ms INTEGER NOT NULL, state TEXT NOT NULL, since_ms INTEGER NOT NULL, reason TEXT,
      last INTEGER, only TEXT, told_ms INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (name, replay)) STRICT, WITHOUT ROWID;
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
    """ + "\n" + clockTables + "\n" + BoundFile.fileTable

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

  /// What brings a file of the first schema to the second.
  private static let fromFirst = """
    ALTER TABLE held ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE dead ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;
    """ + "\n" + clockTables

  /// Before the fourth schema, one clock was of everything that no event is about.
  private static let fromThird = """
    ALTER TABLE sink ADD COLUMN told_ms INTEGER NOT NULL DEFAULT 0;
    UPDATE sink SET told_ms = clock_ms;
    """

  /// Its application_id is `SUBD`.
  static func file(_ folder: DataFolder) -> BoundFile {
    BoundFile(
      path: folder.sinks, applicationId: 0x5355_4244, tables: tables,
      upgrades: [fromFirst, BoundFile.fileTable, fromThird])
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
