import Foundation

/// pgbouncer in front of a server, in transaction mode: each SQL transaction of a client may run on
/// another connection of the server.
package final class TemporaryPooler {
  package let port: UInt16
  private let folder: String
  private let process: SpawnedProcess

  /// - Parameters:
  ///   - users: the roles that may connect, without a password.
  ///   - poolSize: connections to the server for each role and database.
  package init(
    _ server: TemporaryPostgres, users: [String] = ["postgres"], poolSize: Int = 8
  ) throws {
    let (listener, port) = try Loopback.listen()
    close(listener)
    self.port = port
    folder = "\(server.folder)/pooler-\(port)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let file = "\(folder)/pgbouncer.ini"
    try """
    [databases]
    * = host=\(server.folder) port=\(server.port)
    [pgbouncer]
    listen_addr = 127.0.0.1
    listen_port = \(port)
    unix_socket_dir =
    auth_type = trust
    auth_file = \(folder)/users
    pool_mode = transaction
    default_pool_size = \(poolSize)
    max_client_conn = 100
    """.write(toFile: file, atomically: false, encoding: .utf8)
    try users.map { "\"\($0)\" \"\"\n" }.joined()
      .write(toFile: "\(folder)/users", atomically: false, encoding: .utf8)
    process = try TemporaryPostgres.spawn(
      "/usr/sbin/pgbouncer", [file], in: folder, output: "\(folder)/log")
    let started = process
    try TemporaryPostgres.wait(60, "pgbouncer to listen") {
      guard started.isRunning else { throw TestFailure("pgbouncer ended") }
      guard let connected = Loopback.connect(to: port) else { return false }
      close(connected)
      return true
    }
  }

  deinit {
    process.signal(SIGKILL)
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// A connection string through it.
  package func address(_ database: String, user: String = "postgres") -> String {
    "host=127.0.0.1 port=\(port) dbname=\(database) user=\(user)"
  }
}
