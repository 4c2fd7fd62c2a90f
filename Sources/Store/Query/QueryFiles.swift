import Glibc
import Platform

/// Attaches the files of a folder to one connection, each through the mode that fits its state.
struct QueryFiles {
  let folder: DataFolder
  /// A connection to an empty database in memory.
  let connection: SQLiteConnection
  /// The files that are read as files at rest, as they were before they were opened.
  private(set) var atRest: [(path: String, identity: FileIdentity)] = []
  private var schemas: [String] = []

  init(_ folder: DataFolder, _ connection: SQLiteConnection) {
    self.folder = folder
    self.connection = connection
  }

  mutating func attachJournal() throws(LedgerError) {
    try attach(
      folder.journal, as: SQLView.journalSchema, applicationId: StartUp.journalApplicationId,
      known: Migrator.known)
  }

  /// Attaches the file that the link `entitlements.sqlite` leads to. Does nothing if there is none.
  mutating func attachProjection() throws(LedgerError) {
    while let path = try projection() {
      do throws(LedgerError) {
        let found = try attach(
          path, as: SQLView.projectionSchema, applicationId: ProjectionFile.applicationId,
          known: ProjectionFile.schema)
        // Rows of another layout are read through the views of their own file alone.
        return found == ProjectionFile.schema ? try confirmTransactions() : ()
      } catch {
        // If the projection was removed after the link was read, the link leads elsewhere now.
        if try projection() == path { throw error }
      }
    }
  }

  /// Attaches a projection of the past, in place of the live one. Nobody writes it.
  ///
  /// - Parameter time: by when the journal's evidence had been received.
  mutating func attach(past: QueryReader.Past) throws(LedgerError) {
    try connection.attach(past.path, .read, as: SQLView.projectionSchema)
    schemas.append(SQLView.projectionSchema)
    try connection.execute(
      "PRAGMA query_only=OFF; \(SQLView.journalSQL(through: past.seq)); PRAGMA query_only=ON")
    schemas.append(SQLView.temporarySchema)
    try confirmTransactions(receivedThrough: past.knownAt)
    try connection.setClock(past.asOf)
  }

  /// Makes a view of purchases whose dates count what the journal holds, in place of that of the
  /// projection, which does not know it.
  private mutating func confirmTransactions(
    receivedThrough time: Int64 = .max
  ) throws(LedgerError) {
    guard try hasTable("held_evidence"),
      try tables().contains(where: {
        $0.schema == SQLView.projectionSchema && $0.name == SQLView.transaction.name
      })
    else { return }
    try connection.execute(
      "PRAGMA query_only=OFF; \(SQLView.confirmedTransactionSQL(time)); PRAGMA query_only=ON")
  }

  /// Attaches what customers have by name, and makes its view, which takes the names of accounts
  /// from the journal: so an account that is erased is in no other file. Does nothing if one of the
  /// files lacks it.
  mutating func attachCustomers() throws(LedgerError) {
    let file = CustomerStore.file(folder)
    guard try DurableFile.size(file.path) != nil, try hasTable("account") else { return }
    let schema = try attach(
      file.path, as: SQLView.customersSchema, applicationId: file.applicationId,
      known: file.schema)
    let view = SQLView.customerEntitlementSQL(hasTrials: schema >= CustomerStore.trialSchema)
    try connection.execute("PRAGMA query_only=OFF; \(view); PRAGMA query_only=ON")
    schemas.append(SQLView.temporarySchema)
  }

  private func hasTable(_ name: String) throws(LedgerError) -> Bool {
    try tables().contains { $0.schema == SQLView.journalSchema && $0.name == name }
  }

  /// The file that the link leads to, or nil if there is no link or no such file.
  private func projection() throws(LedgerError) -> String? {
    let link = folder.path + "/entitlements.sqlite"
    guard let resolved = realpath(link, nil) else {
      if errno == ENOENT { return nil }
      throw .last("follow the link \(link)")
    }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// - Returns: the number of the file's schema.
  @discardableResult private mutating func attach(
    _ path: String, as schema: String, applicationId: UInt32, known: Int
  ) throws(LedgerError) -> Int {
    let mode = try folder.readingMode(path)
    let identity =
      mode == .immutable ? try FileIdentity.of(path) : nil
    // Closed before the file is attached: `requireOurs` may open the file once more.
    let check = try SQLiteConnection.open(path, mode)
    let found = try check.requireOurs(path, applicationId: applicationId, known: known)
    check.close()
    try connection.attach(path, mode, as: schema)
    if let identity { atRest.append((path, identity)) }
    schemas.append(schema)
    return found
  }

  /// The tables and views of the attached files.
  func tables() throws(LedgerError) -> [(schema: String, name: String)] {
    var all: [(schema: String, name: String)] = []
    for schema in schemas {
      all += try connection.statement(
        "SELECT name FROM \(schema).sqlite_schema WHERE type IN ('table', 'view')"
      ).all { (schema, $0.text(0)) }
    }
    return all
  }
}
