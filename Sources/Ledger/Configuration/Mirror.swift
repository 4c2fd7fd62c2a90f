public import Clients

extension Configuration {
  /// A database of the owner's in which entitlements are kept current.
  public struct Mirror: Sendable, Equatable {
    public let name: String
    public let address: PostgresAddress
    /// Read for each connection, because a password may change; nil if the server asks for none.
    public let passwordFile: String?
    /// The schema with the tables.
    public let schema: String

    /// Hosts and ports, without user and database.
    public var hosts: String { address.description }
    /// Who writes into it; nil for libpq's default.
    public var user: String? { address.user }

    /// What the name of a schema must be, worded to follow "must be".
    static let schemaRule = "1 to 40 of the characters a-z, 0-9 and _, no digit first"

    static func isSchema(_ text: String) -> Bool {
      let isFirst = { (byte: UInt8) in byte == 0x5F || (0x61...0x7A).contains(byte) }
      guard let first = text.utf8.first, text.utf8.count <= 40, isFirst(first) else {
        return false
      }
      return text.utf8.allSatisfy { isFirst($0) || (0x30...0x39).contains($0) }
    }
  }
}
