import Clients
import Platform
import Support

/// A database of its own on the shared server, and connections to it.
struct PostgresFixture {
  let server: TemporaryPostgres
  let database: String

  init() throws {
    server = try TemporaryPostgres.shared.get()
    database = try server.makeDatabase()
  }

  var soon: Deadline { Deadline(milliseconds: 10_000) }

  func connect(user: String = "postgres") throws -> PostgresConnection {
    try PostgresConnection.dial(
      PostgresAddress(checking: server.address(database, user: user)), password: nil, by: soon)
  }
}
