import CPostgres
import Glibc
public import Platform

extension PostgresConnection {
  /// Which of several servers is wanted.
  public enum Target: String, Sendable {
    case any
    /// Not a standby, and not one that was set to read-only.
    case writable = "read-write"
  }

  /// Where the connection string names none: lost servers are noticed within 11 s, a silent one
  /// that was written to within 5 s, and GSSAPI is not tried, which costs a round trip.
  private static let defaults = [
    "keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "3",
    "tcp_user_timeout": "5000", "gssencmode": "disable", "fallback_application_name": "subledger",
  ]

  /// How long one server may take, so that the next one is tried before the deadline.
  private static let millisecondsPerHost: Int64 = 3_000

  /// Connects to the first server that takes the connection, in the order of the connection string.
  /// Resolving a name waits without a deadline (getaddrinfo(3)).
  ///
  /// - Parameters:
  ///   - password: nil if the server asks for none. Passed with each call, because it may change.
  ///   - deadline: of all attempts together.
  /// - Throws: `PostgresError` of the last attempt: `connect`, `refused` or `timeout`.
  public static func dial(
    _ address: PostgresAddress, password: String?, target: Target = .any, by deadline: Deadline
  ) throws(PostgresError) -> PostgresConnection {
    var last = PostgresError.timeout
    for host in address.hosts where !deadline.hasPassed {
      let own = Deadline(milliseconds: millisecondsPerHost)
      let isOnly = address.hosts.count == 1
      do throws(PostgresError) {
        return try dial(
          parameters(address, host, password, target), by: isOnly ? deadline : min(own, deadline))
      } catch {
        last = error
      }
    }
    throw last
  }

  private static func parameters(
    _ address: PostgresAddress, _ host: PostgresAddress.Host, _ password: String?, _ target: Target
  ) -> [String: String] {
    var parameters = defaults.merging(address.parameters) { $1 }
    parameters["client_encoding"] = "UTF8"
    parameters["target_session_attrs"] = target.rawValue
    parameters["host"] = host.name
    parameters["hostaddr"] = host.address
    parameters["port"] = host.port
    parameters["password"] = password
    return parameters
  }

  private static func dial(
    _ parameters: [String: String], by deadline: Deadline
  ) throws(PostgresError) -> PostgresConnection {
    guard let handle = start(parameters) else { throw .connect("libpq has no memory") }
    let notices = NoticeList()
    let connection = PostgresConnection(handle, notices)
    notices.receive(from: handle)
    try connection.finishDialling(handle, by: deadline)
    return connection
  }

  private func finishDialling(
    _ handle: OpaquePointer, by deadline: Deadline
  ) throws(PostgresError) {
    // libpq then reports the SQLSTATE of a refusal and not the server's text.
    _ = PQsetErrorVerbosity(handle, PQERRORS_SQLSTATE)
    guard PQstatus(handle) != CONNECTION_BAD else { throw dialFailure(handle) }
    var wanted = PGRES_POLLING_WRITING
    while wanted != PGRES_POLLING_OK {
      guard wanted != PGRES_POLLING_FAILED else { throw dialFailure(handle) }
      let events = Int16(wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT)
      _ = try wait(handle, events, deadline)
      wanted = PQconnectPoll(handle)
    }
    guard PQsetnonblocking(handle, 1) == 0 else { throw lose() }
  }

  private static func start(_ parameters: [String: String]) -> OpaquePointer? {
    let parameters = Array(parameters)
    let names = parameters.map { strdup($0.key) }
    let values = parameters.map { strdup($0.value) }
    defer { for text in names + values { free(text) } }
    return PQconnectStartParams(
      names.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 0)
  }

  /// libpq's message ends with `FATAL:  28P01` where the server answered. Otherwise it is libpq's
  /// own, without anything of the server.
  private func dialFailure(_ handle: OpaquePointer) -> PostgresError {
    let message = PQerrorMessage(handle).map { String(cString: $0) } ?? ""
    let lines = message.split(separator: "\n")
    if let word = lines.first?.split(separator: " ").last, let state = SQLState(word) {
      return .refused(state)
    }
    return .connect(String((lines.first ?? "no connection").prefix(300)))
  }
}
