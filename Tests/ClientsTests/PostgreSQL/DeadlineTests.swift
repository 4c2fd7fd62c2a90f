import Clients
import Foundation
import Platform
import Support
import Testing

/// No call waits longer than it may, and no connection is made that was not asked for.
@Suite struct DeadlineTests {
  let fixture: PostgresFixture

  init() throws { fixture = try PostgresFixture() }

  private func seconds(_ body: () throws -> Void) rethrows -> Double {
    let start = Date()
    try body()
    return Date().timeIntervalSince(start)
  }

  @Test func `a statement that takes too long closes the connection`() throws {
    let connection = try fixture.connect()
    let took = seconds {
      #expect(throws: PostgresError.timeout) {
        try connection.execute("SELECT pg_sleep(30)", by: Deadline(milliseconds: 200))
      }
    }
    #expect(took < 25)
    #expect(!connection.isUsable && connection.backendId == 0)
    #expect(throws: PostgresError.lost) { try connection.execute("SELECT 1", by: fixture.soon) }
  }

  @Test func `a server that accepts and says nothing is given up at the deadline`() throws {
    let silent = try SilentServer()
    let took = try seconds {
      let address = try PostgresAddress(
        checking: "host=127.0.0.1 port=\(silent.port) dbname=a user=b")
      #expect(throws: PostgresError.timeout) {
        try PostgresConnection.dial(address, password: nil, by: Deadline(milliseconds: 200))
      }
    }
    #expect(took < 25)
  }

  @Test func `the next host is tried where one is silent or gone`() throws {
    let silent = try SilentServer()
    let address = try PostgresAddress(
      checking:
        "host=127.0.0.1,127.0.0.1,\(fixture.server.folder) "
        + "port=1,\(silent.port),\(fixture.server.port) dbname=\(fixture.database) user=postgres")
    let connection = try PostgresConnection.dial(
      address, password: nil, by: Deadline(milliseconds: 30_000))
    #expect(connection.isUsable)
  }

  @Test func `a refused port names the host and no secret`() throws {
    let address = try PostgresAddress(checking: "host=127.0.0.1 port=1 dbname=a user=b")
    do throws(PostgresError) {
      _ = try PostgresConnection.dial(address, password: "hidden-4711", by: fixture.soon)
      Issue.record("connected")
    } catch {
      guard case .connect(let reason) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(reason.contains("127.0.0.1") && !reason.contains("4711"))
    }
  }

  @Test func `a refusal of the server is its SQLSTATE`() throws {
    try fixture.server.sql("CREATE ROLE locked LOGIN PASSWORD 'right'")
    let dial = { (user: String, password: String?) throws in
      let address = fixture.server.loopbackAddress(fixture.database, user: user)
      return try PostgresConnection.dial(
        PostgresAddress(checking: address), password: password, by: fixture.soon)
    }
    #expect(throws: PostgresError.refused(SQLState("28P01")!)) { try dial("locked", "wrong") }
    #expect(throws: PostgresError.refused(SQLState("28000")!)) { try dial("nobody", nil) }
    #expect(try dial("locked", "right").isUsable)
    let missing = try PostgresAddress(checking: fixture.server.address("missing"))
    #expect(throws: PostgresError.refused(SQLState("3D000")!)) {
      try PostgresConnection.dial(missing, password: nil, by: fixture.soon)
    }
  }

  @Test func `a statement can be cancelled and the connection used further`() throws {
    let connection = try fixture.connect()
    _ = try connection.execute("SET statement_timeout = '200ms'", by: fixture.soon)
    #expect(throws: PostgresError.statement(SQLState("57014")!)) {
      try connection.execute("SELECT pg_sleep(30)", by: fixture.soon)
    }
    connection.cancel()
    #expect(connection.isUsable)
  }

  @Test func `a pooler in transaction mode takes pipelines`() throws {
    let pooler = try TemporaryPooler(fixture.server)
    let connection = try PostgresConnection.dial(
      PostgresAddress(checking: pooler.address(fixture.database)), password: nil, target: .writable,
      by: fixture.soon)
    for _ in 0..<20 {
      let answers = try connection.pipeline(
        [
          PostgresStatement("BEGIN"), PostgresStatement("SELECT $1::bigint", [.integer(3)]),
          PostgresStatement("COMMIT"),
        ], by: fixture.soon)
      #expect(answers[1].integer(0, 0) == 3)
    }
  }
}

/// Accepts connections in the kernel and never answers.
private final class SilentServer {
  let port: UInt16
  private let descriptor: Int32

  init() throws { (descriptor, port) = try Loopback.listen() }

  deinit { close(descriptor) }
}
