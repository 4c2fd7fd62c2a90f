import Clients
import Platform
import Support
import Testing

/// Statements over a real server.
@Suite struct StatementTests {
  let fixture: PostgresFixture
  let connection: PostgresConnection

  init() throws {
    fixture = try PostgresFixture()
    connection = try fixture.connect()
  }

  var soon: Deadline { fixture.soon }

  @Test func `every kind of value comes back as it was given`() throws {
    let uuid = (0..<16).map { UInt8($0) }
    let rows = try connection.execute(
      "SELECT $1::bigint, $2::boolean, $3::text, $4::bytea, $5::uuid, $6::bigint, $7::bigint::smallint",
      [
        .integer(Int64.min), .boolean(true), .text("é 🙂 '"), .bytes([0, 255, 7]), .uuid(uuid),
        .null, .integer(-2),
      ], by: soon)
    #expect(rows.count == 1)
    #expect(rows.integer(0, 0) == Int64.min)
    #expect(rows.boolean(0, 1) == true)
    #expect(rows.text(0, 2) == "é 🙂 '")
    #expect(rows.bytes(0, 3) == [0, 255, 7])
    #expect(rows.bytes(0, 4) == uuid)
    #expect(rows.isNull(0, 5) && rows.integer(0, 5) == nil)
    #expect(rows.integer(0, 6) == -2)
    #expect(rows.integer(1, 0) == nil && rows.integer(0, 7) == nil, "out of range")
  }

  @Test func `empty values are not null`() throws {
    let rows = try connection.execute(
      "SELECT $1::text, $2::bytea, $3::text", [.text(""), .bytes([UInt8]()), .text(nil)], by: soon)
    #expect(rows.text(0, 0) == "" && rows.bytes(0, 1) == [] && rows.isNull(0, 2))
  }

  @Test func `arrays come back as rows, with their nulls`() throws {
    let uuids = [[UInt8](repeating: 1, count: 16), [UInt8](repeating: 255, count: 16)]
    let rows = try connection.execute(
      "SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::uuid[])",
      [
        .integers([7, nil]), .texts([nil, "b"]), .byteStrings([[], nil]), .uuids(uuids),
      ], by: soon)
    #expect(rows.count == 2)
    #expect(rows.integer(0, 0) == 7 && rows.isNull(1, 0))
    #expect(rows.isNull(0, 1) && rows.text(1, 1) == "b")
    #expect(rows.bytes(0, 2) == [] && rows.isNull(1, 2))
    #expect(rows.bytes(0, 3) == uuids[0] && rows.bytes(1, 3) == uuids[1])
    let none = try connection.execute("SELECT * FROM unnest($1::text[])", [.texts([])], by: soon)
    #expect(none.count == 0)
  }

  @Test func `an error is its SQLSTATE and leaves the connection usable`() throws {
    #expect(throws: PostgresError.statement(SQLState("22P02")!)) {
      try connection.execute("SELECT 'secret-4711'::integer", by: soon)
    }
    #expect(throws: PostgresError.statement(SQLState("42601")!)) {
      try connection.execute("SELEC 1", by: soon)
    }
    #expect(throws: PostgresError.unexpected("a zero byte in a statement")) {
      try connection.execute("SELECT 1\0", by: soon)
    }
    #expect(try connection.execute("SELECT 1", by: soon).integer(0, 0) == 1)
  }

  @Test func `a script is one SQL transaction`() throws {
    try connection.run(script: "CREATE TABLE a (n integer); INSERT INTO a VALUES (1)", by: soon)
    #expect(throws: PostgresError.statement(SQLState("22012")!)) {
      try connection.run(script: "INSERT INTO a VALUES (2); SELECT 1/0", by: soon)
    }
    let rows = try connection.execute("SELECT count(*) FROM a", by: soon)
    #expect(rows.integer(0, 0) == 1)
    #expect(!connection.isInTransaction)
  }

  @Test func `what a connection says about itself is the server's`() throws {
    #expect(connection.isUsable && !connection.isEncrypted)
    #expect(connection.serverVersion >= 150_000)
    #expect(connection.reported("client_encoding") == "UTF8")
    #expect(connection.reported("no_such_setting") == nil)
    let rows = try connection.execute("SELECT pg_backend_pid()", by: soon)
    #expect(rows.integer(0, 0) == Int64(connection.backendId))
  }

  @Test func `a warning is told from a notice and shows no text`() throws {
    _ = try connection.execute("CREATE TABLE IF NOT EXISTS b (n integer)", by: soon)
    _ = try connection.execute("CREATE TABLE IF NOT EXISTS b (n integer)", by: soon)
    let notices = connection.takeNotices()
    #expect(notices.map(\.severity) == ["NOTICE"] && !notices.contains(where: \.isWarning))
    _ = try connection.execute("ROLLBACK", by: soon)
    #expect(connection.takeNotices().map(\.isWarning) == [true], "there is nothing to roll back")
    #expect(connection.takeNotices().isEmpty)
  }

  @Test func `rows are copied in and out`() throws {
    _ = try connection.execute(
      "CREATE TABLE c (n bigint, t text, b bytea, u uuid)", by: soon)
    let uuid = [UInt8](repeating: 9, count: 16)
    let rows = (0..<20_000).map { number -> [PostgresValue] in
      [
        .integer(Int64(number)), number % 2 == 0 ? .null : .text("t\(number)"),
        .bytes([UInt8](repeating: UInt8(number % 256), count: 40)), .uuid(uuid),
      ]
    }
    let count = try connection.copy(
      in: "COPY c FROM STDIN (FORMAT binary)", rows, by: soon)
    #expect(count == 20_000)
    var lines: [String] = []
    try connection.copy(out: "COPY (SELECT n, t FROM c ORDER BY n) TO STDOUT", by: soon) {
      lines.append(String(decoding: $0, as: UTF8.self))
    }
    #expect(lines.count == 20_000)
    #expect(lines[0] == "0\t\\N\n" && lines[3] == "3\tt3\n")
    #expect(throws: PostgresError.statement(SQLState("08P01")!)) {
      try connection.copy(
        in: "COPY c FROM STDIN (FORMAT binary)", [[.text("x"), .null, .null, .null]], by: soon)
    }
    let rest = try connection.execute("SELECT count(*) FROM c", by: soon)
    #expect(rest.integer(0, 0) == 20_000, "a copy that failed inserts nothing")
  }
}
