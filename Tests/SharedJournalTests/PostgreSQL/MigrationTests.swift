import Clients
import Migrations
import Platform
import SharedJournal
import SignedData
import Store
import Support
import Testing

/// The tables are made once, and an applied file never changes.
@Suite struct MigrationTests {
  @Test func `applied migrations are frozen`() {
    let digests = Migrations.sharedJournal.map { migration in
      SHA256.hash(migration.sql).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
    #expect(
      digests == [
        "27170413fa0a0fef482009892f4667adc3b1ebdbf7c4f4d2b01d912e9664b301",
        "43cc759a80236c826cf156d411bc0f1a0dd4176d57cf90e0a377d22d7fea528c",
        "119b18ffbf98803e246be09a27dd6001b12c1bdb1d21fc07c6ff35f1f4b0c565",
      ],
      "an applied migration must never change: add a new one")
  }

  @Test func `a second migration finds nothing missing`() throws {
    let fixture = try JournalFixture()
    #expect(try fixture.migrate() == .current)
    #expect(try fixture.sql("SELECT count(*) FROM migration") == "3")
  }

  @Test func `a newer schema and another program's are refused`() throws {
    let fixture = try JournalFixture()
    try fixture.sql("INSERT INTO migration VALUES (4, 'later', sha256('x'), 0)")
    #expect(throws: LedgerError.sharedNewer(found: 4, known: 3)) { try fixture.migrate() }
    #expect(throws: LedgerError.sharedNewer(found: 4, known: 3)) {
      try fixture.journal().identify([UInt8](repeating: 1, count: 16), by: fixture.soon)
    }
    try fixture.sql(
      """
      DELETE FROM migration WHERE number = 4;
      UPDATE migration SET sha256 = sha256('x') WHERE number = 1
      """)
    let refused = LedgerError.sharedRefused(state: "migration 1 is of another program")
    #expect(throws: refused) { try fixture.migrate() }
    #expect(throws: refused) {
      try fixture.journal().identify([UInt8](repeating: 1, count: 16), by: fixture.soon)
    }
  }

  @Test func `a shared journal of before is used once it is migrated, and then has trust roots`()
    throws
  {
    let fixture = try JournalFixture()
    try fixture.sql(
      """
      DROP TABLE trust_root; DROP FUNCTION require_removal CASCADE;
      DELETE FROM migration WHERE number > 1
      """)
    let id = [UInt8](repeating: 1, count: 16)
    let journal = try fixture.journal()
    let older = LedgerError.sharedRefused(
      state: "schema 1 of 3: run `subledger shared-journal migrate`")
    #expect(throws: older) { try journal.identify(id, by: fixture.soon) }
    #expect(try fixture.migrate() == .migrated(from: 1, to: 3))
    #expect(try journal.identify(id, by: fixture.soon) == id)
    #expect(try journal.trustRoots(by: fixture.soon) == [])
    let roots: Set<[UInt8]> = [SHA256.hash([1]), SHA256.hash([2])]
    for wanted in [roots, [SHA256.hash([3])]] {
      try TrustRootTable.set(
        wanted, in: fixture.schema, on: fixture.connect(), by: fixture.soon)
      #expect(try journal.trustRoots(by: fixture.soon) == wanted)
    }
    #expect(throws: LedgerError.sharedRefused(state: "42501")) {
      try TrustRootTable.set(
        roots, in: fixture.schema, on: fixture.connect(user: fixture.daemon), by: fixture.soon)
    }
  }

  @Test func `a role that lacks a right for the tables is told what was refused and what it needs`()
    throws
  {
    let server = try TemporaryPostgres.shared.get()
    let database = try server.makeDatabase()
    let schema = try #require(PostgresIdentifier("r_\(database)"))
    let role = "maker_\(database)"
    try server.sql("CREATE ROLE \(role) LOGIN", in: database)
    func migrate() throws -> SchemaMigration.Outcome {
      let soon = Deadline(milliseconds: 10_000)
      let address = try PostgresAddress(checking: server.address(database, user: role))
      return try SchemaMigration(schema: schema).run(
        on: PostgresConnection.dial(address, password: nil, by: soon), now: 0, by: soon)
    }
    for (right, what, needs) in [
      ("ALTER ROLE \(role) CREATEROLE", "CREATE ROLE", "CREATEROLE"),
      ("GRANT CREATE ON DATABASE \(database) TO \(role)", "migration 1", "CREATE on the database"),
    ] {
      let refused = #expect(throws: LedgerError.self) { try migrate() }
      #expect(refused?.code == .sharedRefused && refused?.message.contains(what) == true)
      #expect(refused?.next?.contains(needs) == true, "\(String(describing: refused))")
      try server.sql(right, in: database)
    }
    #expect(try migrate() == .migrated(from: 0, to: Migrations.sharedJournal.count))
  }

  @Test func `the printed script makes the same tables with psql`() throws {
    let server = try TemporaryPostgres.shared.get()
    let fixture = try JournalFixture()
    let other = try server.makeDatabase()
    let schema = try #require(PostgresIdentifier("p_\(other)"))
    let script = try SchemaMigration(schema: schema, trusting: [SHA256.hash([1])]).script
    #expect(!script.contains(":\""))
    try server.sql(script, in: other)
    let settings = PostgresJournalSettings(
      address: try PostgresAddress(checking: server.address(other)), schema: schema)
    let id = [UInt8](repeating: 3, count: 16)
    #expect(try PostgresJournal(settings).identify(id, by: fixture.soon) == id)
    #expect(
      try PostgresJournal(settings).trustRoots(by: fixture.soon) == [SHA256.hash([1])])
    let columns = """
      SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
      WHERE table_schema = '%' ORDER BY table_name, ordinal_position
      """
    let made = try server.sql(columns.replacing("%", with: schema.name), in: other)
    let migrated = try server.sql(
      columns.replacing("%", with: fixture.schema.name), in: fixture.database)
    #expect(made == migrated && made.contains("notification_uuid"))
  }

  @Test func `a database without the tables, or a role without rights, is refused`() throws {
    let fixture = try JournalFixture()
    let id = [UInt8](repeating: 1, count: 16)
    let other = try #require(PostgresIdentifier("none"))
    let missing = PostgresJournal(
      PostgresJournalSettings(address: try fixture.settings().address, schema: other))
    #expect(throws: LedgerError.sharedRefused(state: "42P01")) {
      try missing.identify(id, by: fixture.soon)
    }
    try fixture.sql("CREATE ROLE stranger_\(fixture.database) LOGIN")
    let stranger = try fixture.journal(
      address: fixture.server.address(fixture.database, user: "stranger_\(fixture.database)"))
    #expect(throws: LedgerError.sharedRefused(state: "42501")) {
      try stranger.identify(id, by: fixture.soon)
    }
  }
}
