import AppStoreSimulator
import Foundation
import Store
import StrictJSON
import Support

/// Several installations whose daemons append to one shared journal on PostgreSQL.
final class SharedInstallations {
  private(set) var server: TemporaryPostgres
  let database: String
  /// One for each daemon. They trust the same authority.
  let installations: [Installation]

  /// The login role of the daemons.
  let role: String
  let schema: String

  /// - Parameters:
  ///   - server: nil for the one that all tests share.
  ///   - connection: nil for the server's socket; else makes the connection string for the role.
  init(
    _ count: Int = 2, on server: TemporaryPostgres? = nil, with members: [(String, JSONValue)] = [],
    connection: ((SharedInstallations) -> String)? = nil
  ) throws {
    self.server = try server ?? TemporaryPostgres.shared.get()
    database = try self.server.makeDatabase()
    schema = "s_\(database)"
    role = "d_\(database)"
    let authority = try SimulatedAuthority.make()
    installations = try (0..<count).map { _ in try Installation(authority: authority) }
    let migrated = try migrate()
    guard migrated.code == 0 else { throw TestFailure("migrate: \(migrated)") }
    try self.server.sql("CREATE ROLE \(role) LOGIN; GRANT \(schema)_daemon TO \(role)")
    let text = connection?(self) ?? self.server.address(database, user: role)
    for installation in installations {
      try installation.configure(with: [("sharedJournal", settings(text, members))])
    }
  }

  /// The configuration's member `sharedJournal`.
  func settings(_ connection: String, _ members: [(String, JSONValue)] = []) -> JSONValue {
    .object([("connection", .string(connection)), ("schema", .string(schema))] + members)
  }

  func migrate() throws -> CommandResult {
    try installations[0].run(
      "shared-journal", "migrate", "--connection", server.address(database), "--schema", schema)
  }

  /// Another server is the primary now.
  func move(to server: TemporaryPostgres) { self.server = server }

  /// Runs SQL as the superuser, with the schema's tables first.
  @discardableResult
  func sql(_ text: String) throws -> String {
    try server.sql("SET search_path = \(schema); \(text)", in: database)
  }

  /// Ends a session of a daemon, if one is there.
  func endSession() throws {
    try server.sql(
      "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity "
        + "WHERE usename = '\(role)' ORDER BY random() LIMIT 1) AS one")
  }

  // MARK: What must hold at the end

  private static let columns = [
    "seq", "notification_uuid", "source", "environment", "bundle_id", "notification_type",
    "coalesce(subtype, '-')", "coalesce(original_transaction_id, '-')", "signed_date_ms",
    "received_at_ms",
  ]

  /// `journal_v1` of the server, one row a line.
  func sharedRows() throws -> [Substring] {
    let columns = (Self.columns + ["encode(body_sha256, 'hex')", "encode(hash, 'hex')"])
      .joined(separator: ", ")
    return try sql("SELECT \(columns) FROM journal_v1 ORDER BY seq").split(separator: "\n")
  }

  /// `journal_v1` of a copy, in the same form.
  static func rows(of installation: Installation) throws -> [Substring] {
    let connection = try SQLiteConnection.open(installation.journal.path, .read)
    defer { connection.close() }
    let columns = (columns + ["lower(hex(body_sha256))", "lower(hex(hash))"])
      .joined(separator: " || '|' || ")
    return try connection.statement("SELECT \(columns) FROM journal_v1 ORDER BY seq")
      .all { Substring($0.text(0)) }
  }
}
