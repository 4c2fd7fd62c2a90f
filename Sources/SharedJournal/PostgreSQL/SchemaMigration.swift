public import Clients
import Migrations
public import Platform
import SignedData
import Store

/// Makes the tables of a shared journal, or brings them to the schema of this program. Run by their
/// owner, who is not the daemon's role.
public struct SchemaMigration {
  private let schema: PostgresIdentifier
  private let daemon: PostgresIdentifier
  /// What a new shared journal trusts; empty for what each daemon does.
  private let roots: Set<[UInt8]>

  /// - Parameter roots: SHA-256 of the root certificates that the daemons of a new shared journal
  ///   must trust; empty to leave that to each.
  /// - Throws: `LedgerError.sharedRefused` if the name is too long for that of a role.
  public init(
    schema: PostgresIdentifier, trusting roots: Set<[UInt8]> = []
  ) throws(LedgerError) {
    let role = PostgresJournalSettings.daemonRole(of: schema)
    guard let daemon = PostgresIdentifier(role) else {
      throw .sharedRefused(state: "the schema's name is too long")
    }
    self.schema = schema
    self.daemon = daemon
    self.roots = roots
  }

  /// What a migration did.
  public enum Outcome: Sendable, Equatable {
    /// Nothing was missing.
    case current
    /// The schema's number before and after.
    case migrated(from: Int, to: Int)
  }

  /// All of it for an empty database, as a script for psql.
  public var script: String {
    let steps = Migrations.sharedJournal.map { migration in
      sql(migration.sql) + record(migration, at: "(extract(epoch FROM now()) * 1000)::bigint")
    }
    return (["BEGIN;", createRole] + steps + [trust, "COMMIT;", ""]).joined(separator: "\n")
  }

  /// Runs what is missing, in one SQL transaction.
  ///
  /// - Parameter now: milliseconds since 1970 UTC.
  /// - Throws: `.sharedNewer` for a schema of a newer program, `.sharedRefused` for one of another
  ///   program, or where a right is missing, which it names; `.sharedNotNow` if the server does not
  ///   answer. The connection is then of no more use.
  public func run(
    on connection: PostgresConnection, now: Int64, by deadline: Deadline
  ) throws(LedgerError) -> Outcome {
    let found = try applied(connection, deadline)
    let known = Migrations.sharedJournal
    guard found < known.count else { return .current }
    let role = try mapError(
      FailurePolicy.beforeCommit,
      try connection.execute(
        "SELECT 1 FROM pg_roles WHERE rolname = $1", [.text(daemon.name)], by: deadline))
    func run(_ script: String, _ what: String, needs right: String) throws(LedgerError) {
      do throws(PostgresError) { try connection.run(script: script, by: deadline) } catch {
        guard error.state?.code == "42501" else { throw FailurePolicy.beforeCommit(error) }
        throw .sharedRightMissing(what, right)
      }
    }
    try run("BEGIN", "BEGIN", needs: "")
    if role.count == 0 {
      try run(createRole, createRole, needs: "CREATEROLE, or let a role that has it do this first")
    }
    for step in known.dropFirst(found) {
      try run(
        sql(step.sql) + record(step, at: String(now)), "migration \(step.number), \(step.name)",
        needs: step.number == 1
          ? "CREATE on the database, which its owner grants" : "to own the schema and its tables")
    }
    try run((found == 0 ? trust : "") + "COMMIT", "COMMIT", needs: "")
    return .migrated(from: found, to: known.count)
  }

  /// The number of the newest migration; 0 without the schema.
  private func applied(
    _ connection: PostgresConnection, _ deadline: Deadline
  ) throws(LedgerError) -> Int {
    let rows: PostgresRows
    do throws(PostgresError) {
      rows = try connection.execute(JournalSQL(schema).migrations, by: deadline)
    } catch {
      // No such schema, no such table.
      if ["3F000", "42P01"].contains(error.state?.code) { return 0 }
      throw FailurePolicy.beforeCommit(error)
    }
    let known = Migrations.sharedJournal
    guard rows.count <= known.count else {
      throw .sharedNewer(found: rows.count, known: known.count)
    }
    for (row, migration) in known.prefix(rows.count).enumerated()
    where rows.bytes(row, 1) != SHA256.hash(migration.sql) {
      throw .sharedRefused(state: "migration \(migration.number) is of another program")
    }
    return rows.count
  }

  private var trust: String { roots.isEmpty ? "" : TrustRootTable.script(roots, in: schema) }

  private var createRole: String { "CREATE ROLE \(daemon.quoted) NOLOGIN;" }

  /// Replaces the two variables, as psql does.
  private func sql(_ file: [UInt8]) -> String {
    let parts = String(decoding: file, as: UTF8.self).split(
      separator: ":\"", omittingEmptySubsequences: false)
    return parts.dropFirst().reduce(into: String(parts[0])) { text, part in
      let end = part.firstIndex(of: "\"") ?? part.startIndex
      text += part[..<end] == "schema" ? schema.quoted : daemon.quoted
      text += part[end...].dropFirst()
    }
  }

  private func record(
    _ migration: (number: Int, name: String, sql: [UInt8]), at time: String
  ) -> String {
    let sha256 = Hexadecimal.encode(SHA256.hash(migration.sql))
    return """
      INSERT INTO \(schema.quoted).migration (number, name, sha256, applied_at_ms) VALUES
        (\(migration.number), '\(migration.name)', decode('\(sha256)', 'hex'), \(time));
      """
  }
}
