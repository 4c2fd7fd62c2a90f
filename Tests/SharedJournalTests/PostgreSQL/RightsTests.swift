import Clients
import SharedJournal
import Store
import Support
import Testing

/// What the daemon's role and the triggers refuse (promise 5).
@Suite struct RightsTests {
  let fixture: JournalFixture

  init() throws {
    fixture = try JournalFixture()
    try fixture.sql(
      """
      INSERT INTO dictionary VALUES (1, sha256('h'), 'b', sha256('b'));
      INSERT INTO event VALUES (1, gen_random_uuid(), 'v2', 'Sandbox', 'b', 't', null, null, 1, 5,
        sha256('a'), sha256('b'), null, 'x');
      UPDATE head SET seq = 1, hash = sha256('b'), received_at_ms = 5, notes = 1;
      INSERT INTO note VALUES (1, 's', sha256('n'), sha256('n'), '{}');
      INSERT INTO journal (journal_id) VALUES (decode(repeat('07', 16), 'hex'));
      """)
  }

  private func error(of sql: String, user: String) throws -> String? {
    let connection = try fixture.connect(user: user)
    let name = fixture.schema.name
    do throws(PostgresError) {
      try connection.run(
        script: "SET search_path = \(name); \(sql)", by: fixture.soon)
      return nil
    } catch {
      return error.state?.code
    }
  }

  @Test(arguments: [
    "UPDATE event SET body = 'y'", "DELETE FROM event", "TRUNCATE event",
    "UPDATE note SET body = 'y'",
    "UPDATE note SET subject = 'y', body = ''", "DELETE FROM note", "TRUNCATE note",
    "UPDATE dictionary SET bytes = 'y'", "DELETE FROM dictionary", "TRUNCATE dictionary CASCADE",
    "UPDATE journal SET one = true", "DELETE FROM journal", "TRUNCATE journal",
    "DELETE FROM head", "TRUNCATE head",
  ])
  func `not even the owner changes what was journaled`(sql: String) throws {
    #expect(try error(of: sql, user: "postgres") == "SL005")
  }

  @Test(arguments: [
    "UPDATE event SET body = 'y'", "DELETE FROM event", "TRUNCATE event", "DELETE FROM note",
    "TRUNCATE note", "UPDATE note SET subject = 'y'", "UPDATE dictionary SET bytes = 'y'",
    "UPDATE journal SET journal_id = ''", "DELETE FROM head", "INSERT INTO head DEFAULT VALUES",
    "DELETE FROM duty", "DROP TABLE event", "ALTER TABLE event DISABLE TRIGGER ALL",
    "DROP TRIGGER event_append ON event", "SET session_replication_role = replica",
    "CREATE TABLE other (n integer)", "UPDATE migration SET name = 'y'",
    "INSERT INTO trust_root VALUES (sha256('x'))", "DELETE FROM trust_root",
    "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE sql AS ''",
  ])
  func `the daemon's role may append and nothing else`(sql: String) throws {
    #expect(try error(of: sql, user: fixture.daemon) == "42501")
  }

  @Test(arguments: [
    ("(3, 5)", "SL001"), ("(2, 4)", "SL001"), ("(2, 6), (3, 5)", "SL001"),
    ("(2, 5), (4, 5)", "SL001"),
    ("(1, 5)", "23505"), ("(2, 5), (3, 9)", nil),
  ])
  func `events are dense from the head and their receive times never fall`(
    rows: String, expected: String?
  ) throws {
    let insert = """
      INSERT INTO event SELECT n, gen_random_uuid(), 'v2', 'Sandbox', 'b', 't', null, null, 1, t,
        sha256('a'), sha256('b'), null, 'x' FROM (VALUES \(rows)) AS v (n, t)
      """
    #expect(try error(of: insert, user: fixture.daemon) == expected)
  }

  /// A new copy would lack what it was about, and not know it.
  @Test func `a note is cleared with a later one of its removal alone, and never filled again`()
    throws
  {
    let clear = "UPDATE note SET body = '' WHERE version = 1"
    func removal(_ version: Int, _ subject: String) -> String {
      "INSERT INTO note VALUES (\(version), '\(subject)', sha256('r'), sha256('r'), '{}')"
    }
    for refused in [
      clear, "\(clear); \(removal(2, "s2/removed"))", "\(clear); \(removal(0, "s/removed"))",
      "UPDATE note SET body = ''; \(removal(2, "s"))",
    ] {
      #expect(try error(of: refused, user: fixture.daemon) == "SL005", "\(refused)")
    }
    #expect(try error(of: "\(clear); \(removal(2, "s/removed"))", user: fixture.daemon) == nil)
    #expect(try error(of: "UPDATE note SET body = ''", user: fixture.daemon) == "SL005")
    #expect(try error(of: "UPDATE note SET body = '{}'", user: fixture.daemon) == "SL005")
  }
}
