public import AppStore
public import Platform
import StrictJSON

/// The file `customers.sqlite`: what every customer has by name, and what changed of it that sinks
/// may still want. Used by one thread at a time.
///
/// It can be made anew from the journal and the rows. Its commits are not synced: after a loss of
/// power, what the rows say is compared with an older state, and told again. What customers have is
/// under a checksum (promise 7); what is to be told cannot be made again.
public final class CustomerStore {
  private let connection: SQLiteConnection
  private let path: String
  private let identity: FileIdentity
  /// Names this file among those that were made of the journal.
  private let id: [UInt8]
  /// Of the entitlement that was written last.
  private var revision: Int64

  /// Its application_id is `SUBC`.
  static func file(_ folder: DataFolder) -> BoundFile {
    BoundFile(
      path: folder.customers, applicationId: 0x5355_4243, tables: tables + meta + trial + checksum,
      upgrades: [meta, trial])
  }

  private static let meta =
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;"
  /// The first schema that has trials.
  static let trialSchema = 3
  private static let trial =
    "ALTER TABLE entitlement ADD COLUMN trial INTEGER NOT NULL DEFAULT 0;"
  /// That of no row. A file of before it has none, as if another program had changed it.
  private static let checksum =
    "INSERT INTO meta VALUES ('customer_count', 0), ('customer_digest', zeroblob(32));"

  /// progress: the events through seq are looked at; basis: the rules that answered. change: to be
  /// told at at_ms, one of a stream at each millisecond. scan: apps all of whose customers are to
  /// be looked at; last: the original transaction id that was reached. revision: greater than that
  /// of every entitlement that was written before.
  private static let tables = """
    CREATE TABLE entitlement (
      environment TEXT NOT NULL, bundle_id TEXT NOT NULL, customer_by TEXT NOT NULL,
      customer BLOB NOT NULL, name TEXT NOT NULL, active INTEGER NOT NULL, basis TEXT,
      since_ms INTEGER NOT NULL, expires_at_ms INTEGER, product_id TEXT,
      original_transaction_id TEXT, next_ms INTEGER, revision INTEGER NOT NULL,
      PRIMARY KEY (environment, bundle_id, customer_by, customer, name)) STRICT, WITHOUT ROWID;
    CREATE INDEX entitlement_next ON entitlement (next_ms) WHERE next_ms IS NOT NULL;
    CREATE UNIQUE INDEX entitlement_revision ON entitlement (revision);
    CREATE TABLE change (
      at_ms INTEGER NOT NULL, stream INTEGER NOT NULL, environment TEXT NOT NULL,
      bundle_id TEXT NOT NULL, customer_by TEXT NOT NULL, customer BLOB NOT NULL,
      name TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL, reason TEXT NOT NULL,
      seq INTEGER, happened_ms INTEGER NOT NULL,
      PRIMARY KEY (at_ms, stream)) STRICT, WITHOUT ROWID;
    CREATE TABLE progress (
      seq INTEGER NOT NULL, hash BLOB NOT NULL, basis TEXT NOT NULL, told_ms INTEGER NOT NULL)
      STRICT;
    CREATE TABLE scan (
      environment TEXT NOT NULL, bundle_id TEXT NOT NULL, reason TEXT, seq INTEGER,
      at_ms INTEGER NOT NULL, last TEXT NOT NULL, PRIMARY KEY (environment, bundle_id))
      STRICT, WITHOUT ROWID;
    """ + "\n" + BoundFile.fileTable

  /// Opens the file; one that cannot be used is put aside and made anew.
  ///
  /// - Throws: `LedgerError.newer` for a file of a newer program; else what SQLite or the file
  ///   system reports.
  public init(_ folder: DataFolder, journalId: [UInt8]) throws(LedgerError) {
    let file = Self.file(folder)
    let before = (try? file.read(in: folder)) ?? nil
    before?.0.close()
    connection = try file.open(journalId: journalId)
    path = folder.customers
    identity = try FileIdentity.of(path)
    id = try connection.statement("SELECT id FROM file").first { $0.bytes(0) } ?? []
    revision =
      try connection.statement("SELECT coalesce(max(revision), 0) FROM entitlement")
      .first { $0.int(0) } ?? 0
    // The program of before had no checksum, or one of other columns.
    let digest = RunningDigest.customers
    if let before, before.schema < file.schema {
      try digest.store(try digest.compute(connection), connection)
    }
  }

  public func close() { connection.close() }

  /// As `JournalReader.ask`, of what is written too: then nothing of a batch is.
  public func ask(_ limit: WorkLimit) { connection.ask(limit) }

  // MARK: The checksum

  /// Whether what customers have is what a daemon wrote. Reads all of it from one state of the
  /// file, whether or not a daemon runs.
  ///
  /// - Returns: nil if there is no file, or one of a program that had no checksum.
  /// - Throws: what SQLite or the file system reports.
  public static func isSound(_ folder: DataFolder) throws(LedgerError) -> Bool? {
    let file = file(folder)
    guard let (connection, schema) = try file.read(in: folder) else { return nil }
    defer { connection.close() }
    guard schema == file.schema else { return nil }
    try connection.beginSnapshot()
    defer { connection.endSnapshot() }
    guard let stored = try RunningDigest.customers.stored(connection) else { return false }
    return try RunningDigest.customers.compute(connection) == stored
  }

  /// Whether the path still leads to this file.
  public var isInPlace: Bool {
    (try? FileIdentity.of(path))?.isSameFile(as: identity) ?? false
  }

  /// Has everything looked at again, because what is stored is not what was written: whoever is in
  /// the file is due, and the scans find who is missing.
  ///
  /// - Throws: what SQLite reports; nothing is written then.
  public func lookAgain(_ scans: [Scan], at now: Int64) throws(LedgerError) {
    try connection.atomically { () throws(LedgerError) in
      try connection.statement("UPDATE entitlement SET next_ms = ?").bind(1, now).run()
      for scan in scans { try put(scan) }
      let digest = RunningDigest.customers
      try digest.store(try digest.compute(connection), connection)
    }
  }

  // MARK: Progress

  /// How far the journal was followed.
  public struct Progress: Sendable, Equatable {
    public var seq: Int64
    /// hash[seq].
    public var hash: [UInt8]
    /// The rules by which customers were answered.
    public var basis: String
    /// No change is told at this moment or before that is not stored. Milliseconds since 1970.
    public var toldAt: Int64

    public init(seq: Int64, hash: [UInt8], basis: String, toldAt: Int64) {
      (self.seq, self.hash, self.basis, self.toldAt) = (seq, hash, basis, toldAt)
    }
  }

  /// - Returns: nil if nothing was followed.
  /// - Throws: what SQLite reports.
  public func progress() throws(LedgerError) -> Progress? {
    try connection.statement(
      """
      SELECT seq, hash, basis, max(told_ms, (SELECT coalesce(max(at_ms), 0) FROM change))
      FROM progress
      """
    ).first { Progress(seq: $0.int(0), hash: $0.bytes(1), basis: $0.text(2), toldAt: $0.int(3)) }
  }

  /// What customers had at this time is what was found first, which nobody was told; nil in a file
  /// of before it was noted. Milliseconds since 1970.
  ///
  /// - Throws: what SQLite reports.
  public func begunAt() throws(LedgerError) -> Int64? {
    try connection.statement("SELECT value FROM meta WHERE key = 'begun_ms'").first { $0.int(0) }
  }

  /// An app all of whose customers are to be looked at.
  public struct Scan: Sendable, Equatable {
    /// A key without an original transaction id.
    public let app: StreamKey
    public var environment: Environment { app.environment }
    public var bundleId: String { app.bundleId }
    /// Nil: what is found is stored and not told.
    public let reason: CustomerCause.Reason?
    public let seq: Int64?
    public let at: Int64
    /// The last original transaction id that was looked at.
    public var last: String
    /// Until when what was known is compared with what was known at `at`, as this file was begun
    /// then and lacks it; nil where what is stored says it. Milliseconds since 1970.
    public private(set) var comparesThrough: Int64?

    public init(
      of app: StreamKey, _ reason: CustomerCause.Reason?, seq: Int64? = nil, at: Int64
    ) {
      self.app = app
      (self.reason, self.seq, self.at, last) = (reason, seq, at, "")
    }

    fileprivate init(_ row: Statement) {
      app = StreamKey(
        environment: Environment(rawValue: row.text(0)), bundleId: row.text(1),
        originalTransactionId: "")
      reason = row.optionalText(2).flatMap(CustomerCause.Reason.init)
      (seq, at, last) = (row.optionalInt(3), row.int(4), row.text(5))
      comparesThrough = row.optionalInt(6)
    }
  }

  /// The scan to go on with; nil if there is none.
  ///
  /// - Throws: what SQLite reports.
  public func scan() throws(LedgerError) -> Scan? {
    try connection.statement(
      "SELECT \(Self.scanColumns) FROM scan LIMIT 1"
    ).first(Scan.init)
  }

  private static let scanColumns = """
    environment, bundle_id, reason, seq, at_ms, last, (SELECT value FROM meta
      WHERE key = 'begun_ms' AND reason IS 'rebuild' AND at_ms < value)
    """

  /// When what the oldest scan looks for happened, milliseconds since 1970; nil if there is none.
  ///
  /// - Throws: what SQLite reports.
  public func oldestScan() throws(LedgerError) -> Int64? {
    try connection.statement("SELECT min(at_ms) FROM scan").first { $0.optionalInt(0) } ?? nil
  }

  // MARK: Entitlements

  /// What is stored of a customer.
  ///
  /// - Throws: what SQLite reports.
  public func entitlements(
    of customer: CustomerEntitlement.Customer
  ) throws(LedgerError) -> [CustomerEntitlement] {
    try connection.statement(
      """
      SELECT name, active, basis, expires_at_ms, product_id, since_ms, original_transaction_id,
        next_ms, trial
      FROM entitlement
      WHERE environment = ? AND bundle_id = ? AND customer_by = ? AND customer = ?
      """
    ).bind(customer).all { CustomerEntitlement(customer, $0, from: 0) }
  }

  /// What was written of this file since a place in it, in its order; from the beginning if the
  /// place is of another file.
  ///
  /// - Returns: the place behind it too.
  /// - Throws: what SQLite reports.
  public func entitlements(
    since place: Place, limit: Int
  ) throws(LedgerError) -> (found: [CustomerEntitlement], place: Place) {
    var place = place.file == id ? place : Place(file: id, revision: 0)
    let found = try connection.statement(
      """
      SELECT environment, bundle_id, customer_by, customer, name, active, basis, expires_at_ms,
        product_id, since_ms, original_transaction_id, next_ms, trial, revision
      FROM entitlement WHERE revision > ? ORDER BY revision LIMIT ?
      """
    ).bind(1, place.revision).bind(2, Int64(limit)).all { row in
      place.revision = row.int(13)
      return CustomerEntitlement(CustomerEntitlement.Customer(row), row, from: 4)
    }
    return (found, place)
  }

  /// How far what was written of a file is copied.
  public struct Place: Sendable, Equatable {
    public let file: [UInt8]
    public fileprivate(set) var revision: Int64

    public init(file: [UInt8], revision: Int64) {
      (self.file, self.revision) = (file, revision)
    }
  }

  /// Customers for whom time alone may have changed something by a time, with the moment.
  ///
  /// - Throws: what SQLite reports.
  public func due(
    through time: Int64, limit: Int
  ) throws(LedgerError) -> [(customer: CustomerEntitlement.Customer, at: Int64)] {
    try connection.statement(
      """
      SELECT environment, bundle_id, customer_by, customer, next_ms FROM entitlement
      WHERE next_ms <= ? ORDER BY next_ms LIMIT ?
      """
    ).bind(1, time).bind(2, Int64(limit)).all { (CustomerEntitlement.Customer($0), $0.int(4)) }
  }

  /// The macs of the accounts, each once, after one.
  ///
  /// - Throws: what SQLite reports.
  public func accounts(after mac: [UInt8], limit: Int) throws(LedgerError) -> [[UInt8]] {
    try connection.statement(
      """
      SELECT DISTINCT customer FROM entitlement WHERE customer_by = 'account' AND customer > ?
      ORDER BY customer LIMIT ?
      """
    ).bind(1, mac).bind(2, Int64(limit)).all { $0.bytes(0) }
  }

  // MARK: Changes

  /// The first changes after a moment in order, and all others of the last one's moment.
  ///
  /// - Throws: what SQLite reports.
  public func changes(
    after time: Int64, limit: Int
  ) throws(LedgerError) -> [(at: Int64, app: StreamKey, cause: CustomerCause)] {
    try connection.statement(
      """
      SELECT at_ms, stream, environment, bundle_id, reason, seq, happened_ms FROM change
      WHERE at_ms > ?1 AND at_ms <= (SELECT max(at_ms) FROM (
        SELECT at_ms FROM change WHERE at_ms > ?1 ORDER BY at_ms LIMIT ?2))
      ORDER BY at_ms, stream
      """
    ).bind(1, time).bind(2, Int64(limit)).all { row in
      let app = StreamKey(
        environment: Environment(rawValue: row.text(2)), bundleId: row.text(3),
        originalTransactionId: "")
      return (row.int(0), app, Self.cause(row, from: 4, stream: row.int(1)))
    }
  }

  /// The columns reason, seq and happened_ms.
  private static func cause(_ row: Statement, from first: Int32, stream: Int64) -> CustomerCause {
    CustomerCause(
      CustomerCause.Reason(rawValue: row.text(first)) ?? .event, seq: row.optionalInt(first + 1),
      at: row.int(first + 2), stream: stream)
  }

  /// When the first of what is told after a moment happened, milliseconds since 1970; nil if there
  /// is nothing.
  ///
  /// - Throws: what SQLite reports.
  public func firstCause(after time: Int64) throws(LedgerError) -> Int64? {
    try connection.statement("SELECT min(happened_ms) FROM change WHERE at_ms > ?").bind(1, time)
      .first { $0.optionalInt(0) } ?? nil
  }

  /// What is told of a stream at a moment; nil if it is not known any more.
  ///
  /// - Throws: what SQLite reports.
  public func change(at time: Int64, of stream: Int64) throws(LedgerError) -> CustomerChange? {
    try connection.statement(
      """
      SELECT environment, bundle_id, customer_by, customer, name, before, after, reason, seq,
        happened_ms
      FROM change WHERE at_ms = ? AND stream = ?
      """
    ).bind(1, time).bind(2, stream).first { row in
      func answer(_ text: String) -> CustomerEntitlement.Answer {
        CustomerEntitlement.Answer(try? JSONDocument(parsing: Array(text.utf8)).root)
      }
      return CustomerChange(
        CustomerEntitlement.Customer(row), row.text(4), before: answer(row.text(5)),
        after: answer(row.text(6)), Self.cause(row, from: 7, stream: stream))
    }
  }

  // MARK: Writing

  /// What is written in one SQL transaction.
  public struct Batch: Sendable {
    public var entitlements: [CustomerEntitlement] = []
    /// In order of the moments at which they are told.
    public var changes: [(at: Int64, change: CustomerChange)] = []
    /// Scans that begin, or get on.
    public var scans: [Scan] = []
    /// Scans that ended.
    public var ended: [Scan] = []
    /// Customers of whom nothing is known any more.
    public var forgotten: [(by: String, id: [UInt8])] = []
    public var progress: Progress
    /// Changes that were told before this moment are not needed any more.
    public var forgetBefore: Int64?
    /// As `CustomerStore.begunAt`, where it is new.
    public var begunAt: Int64?

    public init(_ progress: Progress) { self.progress = progress }

    /// Whether it says nothing but how far the journal was followed.
    public var isEmpty: Bool {
      entitlements.isEmpty && changes.isEmpty && scans.isEmpty && ended.isEmpty
        && forgotten.isEmpty && forgetBefore == nil && begunAt == nil
    }
  }

  /// - Throws: what SQLite reports; nothing is written then.
  public func commit(_ batch: Batch) throws(LedgerError) {
    try connection.atomically { () throws(LedgerError) in
      for (by, id) in batch.forgotten { try forget(by, id) }
      for entitlement in batch.entitlements { try put(entitlement) }
      for (at, change) in batch.changes { try put(change, at) }
      for scan in batch.scans { try put(scan) }
      for scan in batch.ended {
        try connection.statement("DELETE FROM scan WHERE environment = ? AND bundle_id = ?")
          .bind(1, scan.environment.rawValue).bind(2, scan.bundleId).run()
      }
      if let time = batch.forgetBefore {
        try connection.statement("DELETE FROM change WHERE at_ms < ?").bind(1, time).run()
      }
      if let time = batch.begunAt {
        try connection.statement("INSERT OR REPLACE INTO meta VALUES ('begun_ms', ?)")
          .bind(1, time).run()
      }
      try connection.execute("DELETE FROM progress")
      try connection.statement(
        "INSERT INTO progress (seq, hash, basis, told_ms) VALUES (?, ?, ?, ?)"
      ).bind(1, batch.progress.seq).bind(2, batch.progress.hash).bind(3, batch.progress.basis)
        .bind(4, batch.progress.toldAt).run()
    }
    try connection.checkpointIfNeeded()
  }

  /// Puts what happened after a time, with all that was to be told later, behind another moment in
  /// the same order.
  ///
  /// - Parameter first: behind every moment at which something is to be told.
  /// - Throws: what SQLite reports.
  public func redeliver(after time: Int64, behind first: Int64) throws(LedgerError) {
    try connection.statement(
      """
      UPDATE change SET at_ms = ?1 + r.place FROM (
        SELECT at_ms AS at, stream AS id, dense_rank() OVER (ORDER BY at_ms) AS place
        FROM change
        WHERE at_ms >= (SELECT min(at_ms) FROM change WHERE happened_ms > ?2)) r
      WHERE at_ms = r.at AND stream = r.id
      """
    ).bind(1, first).bind(2, time).run()
  }

  private func put(_ entitlement: CustomerEntitlement) throws(LedgerError) {
    let replaced = try connection.statement(
      """
      SELECT revision FROM entitlement
      WHERE environment = ? AND bundle_id = ? AND customer_by = ? AND customer = ? AND name = ?
      """
    ).bind(entitlement.customer).bind(5, entitlement.name).all { $0.int(0) }
    try RunningDigest.customers.remove(replaced, connection)
    let answer = entitlement.answer
    revision += 1
    try connection.statement(
      """
      INSERT OR REPLACE INTO entitlement
        (environment, bundle_id, customer_by, customer, name, active, basis, since_ms,
         expires_at_ms, product_id, original_transaction_id, next_ms, trial, revision)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    ).bind(entitlement.customer).bind(5, entitlement.name).bind(6, answer.isActive ? 1 : 0)
      .bind(7, answer.basis).bind(8, entitlement.since).bind(9, answer.expiresAt)
      .bind(10, answer.productId).bind(11, entitlement.originalTransactionId)
      .bind(12, entitlement.next).bind(13, answer.isTrial ? 1 : 0).bind(14, revision).run()
    try RunningDigest.customers.add([revision], connection)
  }

  private func put(_ change: CustomerChange, _ at: Int64) throws(LedgerError) {
    func text(_ answer: CustomerEntitlement.Answer) -> String {
      CustomerEntitlement.Answer.object.json(answer).text
    }
    try connection.statement(
      """
      INSERT INTO change
        (environment, bundle_id, customer_by, customer, name, before, after, reason, seq,
         happened_ms, at_ms, stream)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    ).bind(change.customer).bind(5, change.name).bind(6, text(change.before))
      .bind(7, text(change.after)).bind(8, change.cause.reason.rawValue).bind(9, change.cause.seq)
      .bind(10, change.cause.at).bind(11, at).bind(12, change.cause.stream).run()
  }

  private func put(_ scan: Scan) throws(LedgerError) {
    let known = try connection.statement(
      "SELECT \(Self.scanColumns) FROM scan WHERE environment = ? AND bundle_id = ?"
    ).bind(1, scan.environment.rawValue).bind(2, scan.bundleId).first(Scan.init)
    var scan = scan
    // One that compares with what was known finds what later ones look for too.
    if let known, known.comparesThrough != nil, scan.at != known.at {
      scan = known
      scan.last = ""
    }
    try connection.statement(
      """
      INSERT OR REPLACE INTO scan (environment, bundle_id, reason, seq, at_ms, last)
      VALUES (?, ?, ?, ?, ?, ?)
      """
    ).bind(1, scan.environment.rawValue).bind(2, scan.bundleId).bind(3, scan.reason?.rawValue)
      .bind(4, scan.seq).bind(5, scan.at).bind(6, scan.last).run()
  }

  private func forget(_ by: String, _ id: [UInt8]) throws(LedgerError) {
    let condition = "WHERE customer_by = ? AND customer = ?"
    let revisions = try connection.statement("SELECT revision FROM entitlement \(condition)")
      .bind(1, by).bind(2, id).all { $0.int(0) }
    try RunningDigest.customers.remove(revisions, connection)
    for table in ["entitlement", "change"] {
      try connection.statement("DELETE FROM \(table) \(condition)").bind(1, by).bind(2, id).run()
    }
  }
}

extension CustomerEntitlement.Customer {
  /// The first columns of both tables.
  fileprivate init(_ row: Statement) {
    self.init(
      environment: Environment(rawValue: row.text(0)), bundleId: row.text(1), by: row.text(2),
      id: row.bytes(3))
  }
}

extension CustomerEntitlement {
  /// The columns from the name on.
  fileprivate init(_ customer: Customer, _ row: Statement, from first: Int32) {
    self.init(
      customer, row.text(first),
      Answer(
        isActive: row.int(first + 1) == 1, basis: row.optionalText(first + 2),
        expiresAt: row.optionalInt(first + 3), productId: row.optionalText(first + 4),
        isTrial: row.int(first + 8) == 1),
      since: row.int(first + 5), originalTransactionId: row.optionalText(first + 6),
      next: row.optionalInt(first + 7))
  }
}

extension Statement {
  /// Binds the first four parameters.
  fileprivate func bind(_ customer: CustomerEntitlement.Customer) -> Statement {
    bind(1, customer.environment.rawValue).bind(2, customer.bundleId).bind(3, customer.by)
      .bind(4, customer.id)
  }
}
