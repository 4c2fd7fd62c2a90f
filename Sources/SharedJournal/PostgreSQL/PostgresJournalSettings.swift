public import Clients
public import Platform

/// Where a shared journal is, and how it is reached.
public struct PostgresJournalSettings: Sendable {
  public let address: PostgresAddress
  /// The schema with its tables.
  let schema: PostgresIdentifier
  /// Reads the password, at each dial, because it may have been rotated. nil: none is needed.
  /// Throws what `LedgerError.sharedRefused` says of a file that cannot be used.
  let password: @Sendable () throws(LedgerError) -> String?
  /// Whether a server without a synchronous standby is refused.
  let requiresReplication: Bool
  /// Is told how many sessions that held the head for too long were ended.
  let onUnblocked: @Sendable (Int) -> Void

  /// - Parameter password: throws where a file with the password cannot be used.
  public init(
    address: PostgresAddress, schema: PostgresIdentifier,
    password: @escaping @Sendable () throws(LedgerError) -> String? = { () in nil },
    requiresReplication: Bool = false, onUnblocked: @escaping @Sendable (Int) -> Void = { _ in }
  ) {
    self.address = address
    self.schema = schema
    self.password = password
    self.requiresReplication = requiresReplication
    self.onUnblocked = onUnblocked
  }

  /// The role of which a daemon's login role is a member.
  public static func daemonRole(of schema: PostgresIdentifier) -> String {
    "\(schema.name)_daemon"
  }
}
