import CPostgres

/// A checked connection string: libpq's `key=value` form or its URI
/// (postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING).
///
/// It holds no secret, and a connection made with it is either encrypted with a verified
/// certificate or does not leave the machine.
public struct PostgresAddress: Sendable, Equatable, CustomStringConvertible {
  /// Parameters of libpq, without those that are left out.
  let parameters: [String: String]
  /// The servers, in the order in which they are tried.
  let hosts: [Host]

  struct Host: Sendable, Equatable {
    /// nil where only an address is given.
    let name: String?
    let address: String?
    let port: String?

    /// Whether it is a socket of this machine or its loopback interface.
    var isLocal: Bool {
      if let address { return Self.isLoopback(address) }
      guard let name else { return false }
      return name.hasPrefix("/") || name.hasPrefix("@") || name == "localhost"
        || Self.isLoopback(name)
    }

    /// `127.` and three numbers, or `::1`. A name that only begins so is none.
    private static func isLoopback(_ text: String) -> Bool {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      return text == "::1"
        || parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
  }

  /// Parameters that are refused, each with what to do instead.
  private static let refused = [
    (
      "password",
      "name a file with \"passwordFile\" instead, so that the secret is in no "
        + "configuration"
    ),
    ("passfile", "name a file with \"passwordFile\" instead"),
    ("sslpassword", "use a key without a passphrase, in a file that only this user can read"),
    ("options", "poolers refuse it; set the role's settings with ALTER ROLE instead"),
    ("service", "write the service's parameters out, so that one file says where data goes"),
    ("servicefile", "write the service's parameters out, so that one file says where data goes"),
    ("replication", "remove it; this is no replication connection"),
  ]

  /// - Throws: `PostgresAddressError`, which says what to change and repeats no value.
  public init(checking text: String) throws(PostgresAddressError) {
    let parsed = try Self.parse(text)
    for (name, advice) in Self.refused where parsed[name] != nil {
      throw PostgresAddressError(reason: "\(name) is not taken: \(advice)")
    }
    hosts = try Self.hosts(parsed)
    parameters = parsed.filter { !["host", "hostaddr", "port"].contains($0.key) }
    let isEncrypted = parsed["sslmode"] == "verify-full"
    guard isEncrypted || hosts.allSatisfy(\.isLocal) else {
      throw PostgresAddressError(
        reason: "sslmode must be verify-full, because a host is not on this machine; add "
          + "sslmode=verify-full and sslrootcert=FILE")
    }
  }

  /// The hosts with their ports, as `host:port`, for messages.
  public var description: String {
    hosts.map { "\($0.name ?? $0.address ?? ""):\($0.port ?? "5432")" }.joined(separator: ", ")
  }

  /// Whether the server must bind its proof of the password to the TLS connection.
  public var requiresChannelBinding: Bool { parameters["channel_binding"] == "require" }

  /// Whether no host is reached over a network.
  public var isLocal: Bool { hosts.allSatisfy(\.isLocal) }

  public var user: String? { parameters["user"] }

  /// The same servers and database for another user.
  func with(user: String) -> PostgresAddress {
    var changed = parameters
    changed["user"] = user
    return PostgresAddress(parameters: changed, hosts: hosts)
  }

  private init(parameters: [String: String], hosts: [Host]) {
    (self.parameters, self.hosts) = (parameters, hosts)
  }

  private static func parse(_ text: String) throws(PostgresAddressError) -> [String: String] {
    var message: UnsafeMutablePointer<CChar>?
    guard !text.utf8.contains(0), let options = PQconninfoParse(text, &message) else {
      // libpq's message repeats the string, which may hold a password.
      PQfreemem(message)
      throw PostgresAddressError(
        reason: "it is no connection string of libpq; write host=… dbname=… user=…")
    }
    defer { PQconninfoFree(options) }
    var parsed: [String: String] = [:]
    var next = options
    while let keyword = next.pointee.keyword {
      if let value = next.pointee.val, value.pointee != 0 {
        parsed[String(cString: keyword)] = String(cString: value)
      }
      next += 1
    }
    return parsed
  }

  /// The three lists of libpq belong together by position; one port stands for all hosts.
  private static func hosts(
    _ parsed: [String: String]
  ) throws(PostgresAddressError) -> [Host] {
    let list = { (name: String) in
      parsed[name]?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
    }
    let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
    let count = max(names.count, addresses.count)
    guard count > 0 else {
      throw PostgresAddressError(reason: "host is missing; add host=NAME or host=/FOLDER")
    }
    guard [0, count].contains(names.count), [0, count].contains(addresses.count),
      [0, 1, count].contains(ports.count)
    else {
      throw PostgresAddressError(
        reason: "host, hostaddr and port differ in length; write one of each for every host")
    }
    var hosts: [Host] = []
    for index in 0..<count {
      let at = { (list: [String], index: Int) in
        list.indices.contains(index) && !list[index].isEmpty ? list[index] : nil
      }
      let host = Host(
        name: at(names, index), address: at(addresses, index),
        port: at(ports, ports.count == 1 ? 0 : index))
      guard host.name != nil || host.address != nil else {
        throw PostgresAddressError(reason: "a host is empty; write every host out")
      }
      hosts.append(host)
    }
    return hosts
  }
}

/// Why a connection string is refused, and what to do.
public struct PostgresAddressError: Error, Sendable, Equatable, CustomStringConvertible {
  public let reason: String

  public var description: String { reason }
}
