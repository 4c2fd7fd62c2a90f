import Clients
import Platform
import Support
import Testing

/// Several statements in one round trip.
@Suite struct PipelineTests {
  let fixture: PostgresFixture
  let connection: PostgresConnection

  init() throws {
    fixture = try PostgresFixture()
    connection = try fixture.connect()
    _ = try connection.execute("CREATE TABLE a (n bigint PRIMARY KEY)", by: fixture.soon)
  }

  private func count() throws -> Int64? {
    try connection.execute("SELECT count(*) FROM a", by: fixture.soon).integer(0, 0)
  }

  @Test func `each statement has its answer`() throws {
    let answers = try connection.pipeline(
      [
        PostgresStatement("BEGIN"), PostgresStatement("INSERT INTO a VALUES ($1)", [.integer(7)]),
        PostgresStatement("SELECT n FROM a"), PostgresStatement("COMMIT"),
      ], by: fixture.soon)
    #expect(answers.map(\.command) == ["BEGIN", "INSERT 0 1", "SELECT 1", "COMMIT"])
    #expect(answers[1].affected == 1 && answers[2].integer(0, 0) == 7)
  }

  @Test func `after a statement that fails none is run, and the place is named`() throws {
    let error = #expect(throws: PipelineError.self) {
      try connection.pipeline(
        [
          PostgresStatement("BEGIN"), PostgresStatement("INSERT INTO a VALUES (1)"),
          PostgresStatement("INSERT INTO a VALUES (1)"), PostgresStatement("COMMIT"),
        ], by: fixture.soon)
    }
    #expect(error?.error == .statement(SQLState("23505")!) && error?.index == 2)
    #expect(connection.isInTransaction)
    _ = try connection.execute("ROLLBACK", by: fixture.soon)
    #expect(try count() == 0)
  }

  @Test func `more than the buffers hold goes both ways`() throws {
    let large = String(repeating: "x", count: 1 << 20)
    let answers = try connection.pipeline(
      (0..<24).map { _ in PostgresStatement("SELECT $1::text", [.text(large)]) }, by: fixture.soon)
    #expect(answers.allSatisfy { $0.text(0, 0) == large })
  }

  @Test func `a backend that is terminated inside a pipeline is named`() throws {
    let error = #expect(throws: PipelineError.self) {
      try connection.pipeline(
        [
          PostgresStatement("INSERT INTO a VALUES (2)"),
          PostgresStatement("SELECT pg_terminate_backend(pg_backend_pid())"),
          PostgresStatement("SELECT 1"),
        ], by: fixture.soon)
    }
    #expect(error?.error == .statement(SQLState("57P01")!) && error?.index == 1)
    #expect(!connection.isUsable)
    #expect(throws: PostgresError.lost) {
      try connection.execute("SELECT 1", by: fixture.soon)
    }
  }
}
