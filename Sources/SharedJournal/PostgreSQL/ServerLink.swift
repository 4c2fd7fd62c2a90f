import Clients
import Platform
import Store

/// A connection to the server of a shared journal, made when it is needed and checked once.
final class ServerLink {
  let settings: PostgresJournalSettings
  private var connection: PostgresConnection?

  init(_ settings: PostgresJournalSettings) { self.settings = settings }

  /// The connection; a new one if there is none or it was lost.
  ///
  /// - Throws: `.sharedNotNow` if no server takes it, `.sharedRefused` if it may not be used.
  func usable(by deadline: Deadline) throws(LedgerError) -> PostgresConnection {
    if let connection, connection.isUsable { return connection }
    disconnect()
    let password = try mapError(
      { (error: LedgerError) in LedgerError.sharedRefused(state: error.description) },
      try settings.password())
    let dialled = try mapError(
      FailurePolicy.beforeCommit,
      try PostgresConnection.dial(
        settings.address, password: password, target: .writable, by: deadline))
    try ServerCheck(dialled, by: deadline).require(replication: settings.requiresReplication)
    connection = dialled
    return dialled
  }

  /// The connection, if there is one.
  var current: PostgresConnection? { connection }

  func disconnect() {
    connection?.close()
    connection = nil
  }

  /// Runs one statement outside of an SQL transaction.
  ///
  /// - Throws: as `FailurePolicy.beforeCommit` says.
  func execute(
    _ sql: String, _ parameters: [PostgresValue] = [], by deadline: Deadline
  ) throws(LedgerError) -> PostgresRows {
    let connection = try usable(by: deadline)
    return try mapError(
      FailurePolicy.beforeCommit, try connection.execute(sql, parameters, by: deadline))
  }
}
