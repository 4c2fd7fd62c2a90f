public import Clients
public import Platform

extension Configuration {
  /// The journal on PostgreSQL that several daemons append to. The data folder is a copy of it.
  public struct SharedJournal: Sendable, Equatable {
    /// What a read may lack.
    public enum Reads: String, Sendable, CaseIterable {
      /// What others appended within `pollMilliseconds`.
      case local
      /// Nothing that was appended before the read began.
      case fresh
    }

    /// Whether the server must have a synchronous standby.
    enum Replication: String, CaseIterable { case any, required }

    /// The configuration file, for errors.
    let file: String
    public let address: PostgresAddress
    /// The file with the password; nil if the server asks for none.
    public var passwordFile: String?
    public let schema: PostgresIdentifier
    public var requiresReplication = false
    public var reads = Reads.local
    /// How long a notification may wait for the shared journal before it is answered 503.
    public var holdSeconds: Int64 = 8
    /// How often an idle daemon looks for what others appended.
    public var pollMilliseconds: Int64 = 100

    /// - Parameter file: the configuration file, for errors.
    public init(file: String, address: PostgresAddress, schema: PostgresIdentifier) {
      self.file = file
      self.address = address
      self.schema = schema
    }

    /// Reads the password file again, because a password may have been rotated.
    ///
    /// - Throws: `LedgerError` if the file cannot be read, others can read it, or it does
    ///   not hold one line.
    public func password() throws(LedgerError) -> String? {
      guard let passwordFile else { return nil }
      let location = "\(file): sharedJournal"
      let bytes: [UInt8]
      do throws(LedgerError) {
        bytes = try DurableFile.read(passwordFile, limit: 16_384)
      } catch {
        throw .configuration(
          "\(location): \(error.detail)", next: "check the path and its permissions")
      }
      guard (try? DurableFile.isPrivate(passwordFile)) == true else {
        throw .configuration(
          "\(location): passwordFile can be read by others", next: "chmod 600 it")
      }
      let line = bytes.last == 0x0A ? bytes.dropLast() : bytes[...]
      let text = line.last == 0x0D ? line.dropLast() : line
      guard !text.isEmpty, text.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
        throw .configuration(
          "\(location): passwordFile does not hold one line",
          next: "write the password, and nothing else")
      }
      return String(decoding: text, as: UTF8.self)
    }
  }
}
