import Clients
public import Platform
import Store

/// What an operator wants to know of the server of a shared journal. Writes nothing.
public struct ServerReport: Sendable {
  /// One of the duties, and who has it.
  public struct Duty: Sendable {
    public let name: String
    public let holder: String
    /// Whether its holder has renewed it in time.
    public let isLeased: Bool
  }

  public let durability: ServerCheck
  /// As `PostgresConnection.serverVersion`.
  let version: Int
  public let isEncrypted: Bool
  /// Rights of the role with which it could change what was journaled.
  public let excessRights: [String]
  /// Milliseconds after which the server cancels a statement of this role; 0 for never.
  public let statementTimeout: Int64
  /// The newest event.
  public let seq: Int64
  /// As `SharedJournal.trustRoots`.
  public let trustRoots: Set<[UInt8]>
  /// Notes that were emptied although what they are about was not removed.
  public let emptiedNotes: Int64
  public let duties: [Duty]

  /// - Throws: `.sharedRefused` if it cannot be used, `.sharedNotNow` if no server answers.
  public init(
    _ settings: PostgresJournalSettings, by deadline: Deadline
  ) throws(LedgerError) {
    let link = ServerLink(settings)
    defer { link.disconnect() }
    let sql = JournalSQL(settings.schema)
    let connection = try link.usable(by: deadline)
    durability = try ServerCheck(connection, by: deadline)
    version = connection.serverVersion
    isEncrypted = connection.isEncrypted
    let rights = try link.execute(sql.rights, by: deadline)
    let names = [
      "it is a superuser, or may make roles or replicate", "it owns the schema",
      "it may make tables in the schema", "it may change or remove what was journaled",
    ]
    excessRights = names.enumerated().filter { rights.boolean(0, $0.offset) ?? false }.map(
      \.element)
    statementTimeout = rights.integer(0, names.count) ?? 0
    seq = try link.execute(sql.head, by: deadline).integer(0, 0) ?? 0
    trustRoots = try TrustRootTable.read(link, sql, by: deadline)
    emptiedNotes = try link.execute(sql.emptiedNotes, by: deadline).integer(0, 0) ?? 0
    let rows = try link.execute(sql.duties, by: deadline)
    duties = (0..<rows.count).map { row in
      Duty(
        name: rows.text(row, 0) ?? "", holder: rows.text(row, 1) ?? "",
        isLeased: rows.boolean(row, 2) ?? false)
    }
  }
}
