import Clients
import Migrations
import Platform
import SharedJournal
import Store
import Support

/// A database of its own with the tables of a shared journal, and the daemon's role in it.
final class JournalFixture {
  let server: TemporaryPostgres
  let database: String
  let schema: PostgresIdentifier
  /// The login role of daemons.
  var daemon: String { "d_\(schema.name)" }

  /// - Parameter server: nil for the shared one.
  init(on server: TemporaryPostgres? = nil) throws {
    self.server = try server ?? TemporaryPostgres.shared.get()
    database = try self.server.makeDatabase()
    // Roles belong to the whole server, so that each database needs names of its own.
    guard let schema = PostgresIdentifier("s_\(database)") else { throw TestFailure("a name") }
    self.schema = schema
    let migrated = try migrate()
    guard migrated == .migrated(from: 0, to: Migrations.sharedJournal.count) else {
      throw TestFailure("\(migrated)")
    }
    try self.server.sql(
      "CREATE ROLE \(daemon) LOGIN; GRANT \(schema.name)_daemon TO \(daemon)", in: database)
  }

  var soon: Deadline { Deadline(milliseconds: 10_000) }

  func migrate() throws -> SchemaMigration.Outcome {
    try SchemaMigration(schema: schema).run(on: connect(), now: 1_767_225_600_000, by: soon)
  }

  func connect(user: String = "postgres") throws -> PostgresConnection {
    try PostgresConnection.dial(
      PostgresAddress(checking: server.address(database, user: user)), password: nil, by: soon)
  }

  /// Settings of a daemon.
  ///
  /// - Parameter address: nil for the server's socket.
  func settings(
    address: String? = nil, requiresReplication: Bool = false,
    onUnblocked: @escaping @Sendable (Int) -> Void = { _ in }
  ) throws -> PostgresJournalSettings {
    PostgresJournalSettings(
      address: try PostgresAddress(
        checking: address ?? server.address(database, user: daemon)),
      schema: schema, requiresReplication: requiresReplication, onUnblocked: onUnblocked)
  }

  func journal(address: String? = nil) throws -> PostgresJournal {
    PostgresJournal(try settings(address: address))
  }

  /// Runs SQL as the superuser, with the schema's tables first.
  @discardableResult
  func sql(_ text: String) throws -> String {
    try server.sql("SET search_path = \(schema.name); \(text)", in: database)
  }
}
