import Clients
public import Platform
public import Store

/// The duties of a shared journal, over a connection of its own.
public final class PostgresDutyTable: DutyTable {
  private let link: ServerLink
  private let sql: JournalSQL

  public init(_ settings: PostgresJournalSettings) {
    link = ServerLink(settings)
    sql = JournalSQL(settings.schema)
  }

  /// - Throws: as `DutyTable` says.
  public func take(
    _ duty: String, for holder: String, by deadline: Deadline
  ) throws(LedgerError) -> DutyLease? {
    let rows = try link.execute(
      sql.takeDuty, [.text(duty), .text(holder), .integer(DutyLease.seconds)], by: deadline)
    return rows.integer(0, 0).map { DutyLease(epoch: $0, position: rows.bytes(0, 1)) }
  }

  /// - Throws: as `DutyTable` says.
  public func save(
    _ position: [UInt8], of duty: String, _ lease: DutyLease, by deadline: Deadline
  ) throws(LedgerError) -> Bool {
    try link.execute(
      sql.saveDuty, [.text(duty), .integer(lease.epoch), .bytes(position)], by: deadline
    ).affected == 1
  }

  /// - Throws: as `DutyTable` says.
  public func release(
    _ duty: String, _ lease: DutyLease, by deadline: Deadline
  ) throws(LedgerError) {
    _ = try link.execute(sql.releaseDuty, [.text(duty), .integer(lease.epoch)], by: deadline)
  }
}
