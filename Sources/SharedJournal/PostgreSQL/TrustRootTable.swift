public import Clients
public import Platform
import Store

/// Which root certificates the owner of a shared journal wants every daemon to trust.
public struct TrustRootTable {
  /// The statements that replace the roots.
  ///
  /// - Parameter roots: SHA-256 of each.
  static func script(_ roots: Set<[UInt8]>, in schema: PostgresIdentifier) -> String {
    let values = roots.map(Hexadecimal.encode).sorted().map { "(decode('\($0)', 'hex'))" }
    let table = "\(schema.quoted).trust_root"
    return """
      DELETE FROM \(table);
      INSERT INTO \(table) (sha256) VALUES \(values.joined(separator: ", "));
      """
  }

  /// Replaces the roots.
  ///
  /// - Parameters:
  ///   - roots: SHA-256 of each; at least one.
  ///   - connection: of the owner.
  /// - Throws: `.sharedRefused` where the right or the table is missing; `.sharedNotNow` if the
  ///   server does not answer.
  public static func set(
    _ roots: Set<[UInt8]>, in schema: PostgresIdentifier, on connection: PostgresConnection,
    by deadline: Deadline
  ) throws(LedgerError) {
    // Several statements without a BEGIN of their own are one SQL transaction.
    try mapError(
      FailurePolicy.beforeCommit,
      try connection.run(script: script(roots, in: schema), by: deadline))
  }

  static func read(
    _ link: ServerLink, _ sql: JournalSQL, by deadline: Deadline
  ) throws(LedgerError) -> Set<[UInt8]> {
    let rows = try link.execute(sql.trustRoots, by: deadline)
    return Set((0..<rows.count).compactMap { rows.bytes($0, 0) })
  }
}
