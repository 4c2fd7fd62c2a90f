import Clients
import Platform
import Store

/// What a server says of its own durability. Looked at after each dial, because a failover may lead
/// to another server.
public struct ServerCheck: Sendable {
  /// A standby: it takes no writes.
  let isStandby: Bool
  /// Settings that must be on; nil where the engine has none of that name.
  let fsync: String?
  let fullPageWrites: String?
  /// The standbys that a COMMIT waits for; empty for none.
  public let synchronousStandbys: String
  /// The server's clock, milliseconds since 1970 UTC.
  public let clock: Int64

  /// - Throws: `.sharedNotNow` if the server does not answer.
  init(
    _ connection: PostgresConnection, by deadline: Deadline
  ) throws(LedgerError) {
    let rows = try mapError(
      FailurePolicy.beforeCommit, try connection.execute(Self.sql, by: deadline))
    isStandby = rows.boolean(0, 0) ?? false
    fsync = rows.text(0, 1)
    fullPageWrites = rows.text(0, 2)
    synchronousStandbys = rows.text(0, 3) ?? ""
    clock = rows.integer(0, 4) ?? 0
  }

  private static let sql = """
    SELECT pg_is_in_recovery(), current_setting('fsync', true),
      current_setting('full_page_writes', true),
      current_setting('synchronous_standby_names', true),
      (extract(epoch FROM clock_timestamp()) * 1000)::bigint
    """

  /// - Throws: `.sharedNotNow` for a standby; `.sharedRefused` for a server that loses what it
  ///   acknowledged when its machine loses power, or that has no synchronous standby where one is
  ///   required.
  func require(replication: Bool) throws(LedgerError) {
    if isStandby { throw .sharedNotNow(state: "the server is a standby") }
    if fsync == "off" { throw .sharedRefused(state: "the server has fsync = off") }
    if fullPageWrites == "off" {
      throw .sharedRefused(state: "the server has full_page_writes = off")
    }
    if replication, synchronousStandbys.isEmpty {
      throw .sharedRefused(
        state: "synchronous_standby_names is empty and \"replication\" is \"required\"")
    }
  }
}
