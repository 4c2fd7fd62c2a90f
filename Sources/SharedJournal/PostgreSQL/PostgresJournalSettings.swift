public import Clients

/// Where a shared journal is, and how it is reached.
public struct PostgresJournalSettings: Sendable {
  public let address: PostgresAddress
  /// The schema with its tables.
  public let schema: PostgresIdentifier
  /// Reads the password, at each dial, because it may have been rotated. nil: none is needed.
  /// Throws what `LedgerError.sharedRefused` says of a file that cannot be used.
  let password: @Sendable () throws(PasswordError) -> String?
  /// Whether a server without a synchronous standby is refused.
  public let requiresReplication: Bool
  /// Is told how many sessions that held the head for too long were ended.
  let onUnblocked: @Sendable (Int) -> Void

  /// - Parameter password: throws where a file with the password cannot be used.
  public init(
    address: PostgresAddress, schema: PostgresIdentifier,
    password: @escaping @Sendable () throws(PasswordError) -> String? = { () in nil },
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

/// Why there is no password. Holds nothing of it.
public struct PasswordError: Error, Sendable, CustomStringConvertible {
  public let description: String

  public init(_ description: String) { self.description = description }
}
