public import Clients
public import Platform
import Store

/// A schema that is made to be tried and thrown away.
public struct TrialSchema {
  public let schema: PostgresIdentifier
  private let connection: PostgresConnection

  /// Makes it, with a name that no other one has.
  ///
  /// - Parameters:
  ///   - connection: of a role that may make schemas and roles.
  ///   - now: milliseconds since 1970 UTC.
  /// - Throws: as `SchemaMigration.run`.
  public init(
    on connection: PostgresConnection, now: Int64, by deadline: Deadline
  ) throws(LedgerError) {
    let number = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    guard let schema = PostgresIdentifier("subledger_try_\(number)") else {
      throw .sharedBroken(state: "no name")
    }
    self.schema = schema
    self.connection = connection
    _ = try SchemaMigration(schema: schema).run(on: connection, now: now, by: deadline)
  }

  /// Removes all of it.
  ///
  /// - Throws: `.sharedNotNow` if the server does not answer; the name is then that of what is
  ///   left.
  public func remove(by deadline: Deadline) throws(LedgerError) {
    let role = "\"\(PostgresJournalSettings.daemonRole(of: schema))\""
    let script = "DROP SCHEMA \(schema.quoted) CASCADE; DROP ROLE \(role);"
    try mapError(FailurePolicy.beforeCommit, try connection.run(script: script, by: deadline))
  }
}
