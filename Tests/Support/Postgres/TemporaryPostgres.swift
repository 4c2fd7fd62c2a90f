import Foundation
import Synchronization

/// A PostgreSQL server of its own in a temporary folder, on a Unix socket and a loopback port. It
/// ends with the value, or with the process.
///
/// Needs Debian's `postgresql-15`, or another version with the same programs, and no cluster of
/// the machine.
package final class TemporaryPostgres: Sendable {
  /// Also holds the socket.
  package let folder: String
  package let port: UInt16
  private let process = Mutex<SpawnedProcess?>(nil)

  /// One server for all tests of a process that only need databases of their own.
  package static let shared: Result<TemporaryPostgres, any Error> = {
    let made = Result { try TemporaryPostgres() }
    ended.withLock { $0 = try? made.get() }
    atexit { TemporaryPostgres.ended.withLock { $0 }?.remove() }
    return made
  }()
  private static let ended = Mutex<TemporaryPostgres?>(nil)

  /// The folder of the server's programs: the newest version's.
  static let programs: String = {
    let versions =
      (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
    let newest = versions.compactMap { Int($0) }.max() ?? 15
    return "/usr/lib/postgresql/\(newest)/bin"
  }()

  /// Makes a cluster and starts its server. The role `postgres` is the superuser; every role may
  /// log in without a password, but `locked` and `locked_daemon` over the port.
  ///
  /// - Parameters:
  ///   - name: the server takes TLS, with a certificate for this name that `certificate` holds.
  ///   - settings: added to postgresql.conf.
  package convenience init(certifiedAs name: String? = nil, settings: [String: String] = [:]) throws
  {
    var settings = settings
    if name != nil { settings["ssl"] = "on" }
    try self.init(settings) { folder in
      try Self.run(
        "initdb",
        [
          "-D", "\(folder)/data", "-U", "postgres", "--auth=trust", "--no-sync",
          "--no-instructions", "--encoding=UTF8", "--locale=C.UTF-8",
        ], in: folder)
      try Self.append(
        """
        listen_addresses = '127.0.0.1'
        unix_socket_directories = '\(folder)'
        shared_buffers = 32MB
        max_connections = 60
        max_wal_senders = 4
        wal_level = replica
        max_wal_size = 256MB
        """, to: "\(folder)/data/postgresql.conf")
      let access = "\(folder)/data/pg_hba.conf"
      let rules = try String(contentsOfFile: access, encoding: .utf8)
      try ("host all locked,locked_daemon all scram-sha-256\n" + rules)
        .write(toFile: access, atomically: false, encoding: .utf8)
      if let name { try Self.certify(name, in: "\(folder)/data") }
    }
  }

  /// The certificate signs itself.
  package var certificate: String { "\(folder)/data/server.crt" }

  private static func certify(_ name: String, in folder: String) throws {
    try run(
      "/usr/bin/openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)", "-days", "2",
        "-keyout", "\(folder)/server.key", "-out", "\(folder)/server.crt",
      ], in: folder)
  }

  /// A standby of another server, which follows it under the name `standby`.
  package convenience init(following primary: TemporaryPostgres) throws {
    try self.init([:]) { folder in
      try Self.run(
        "pg_basebackup",
        [
          "-D", "\(folder)/data", "-R", "--checkpoint=fast", "--no-sync", "-d",
          "host=\(primary.folder) port=\(primary.port) user=postgres application_name=standby",
        ],
        in: folder)
      try Self.append(
        "unix_socket_directories = '\(folder)'", to: "\(folder)/data/postgresql.conf")
    }
  }

  private init(_ settings: [String: String], _ make: (String) throws -> Void) throws {
    // Short, because the name of a socket has at most 107 bytes; in memory if the machine allows
    // that, because a daemon refuses a server that does not sync.
    let memory = "/dev/shm"
    let parent = FileManager.default.isWritableFile(atPath: memory) ? memory : "/tmp"
    folder = "\(parent)/slpg-\(UUID().uuidString.prefix(8))"
    let (listener, port) = try Loopback.listen()
    close(listener)
    self.port = port
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
    if let user = Self.user { chown(folder, user.id, user.group) }
    do {
      try make(folder)
      try Self.append(
        (["port = \(port)"] + settings.map { "\($0.key) = '\($0.value)'" }).joined(separator: "\n"),
        to: "\(folder)/data/postgresql.conf")
      try start()
    } catch {
      remove()
      throw error
    }
  }

  deinit { remove() }

  private func remove() {
    process.withLock { $0 }?.signal(SIGQUIT)
    try? wait(60, "the server to end") { !isRunning }
    process.withLock { $0 }?.signal(SIGKILL)
    try? FileManager.default.removeItem(atPath: folder)
  }

  // MARK: Life

  package enum Stop { case fast, immediate }

  package var isRunning: Bool { process.withLock { $0?.isRunning ?? false } }

  /// Starts the server and waits until it takes connections.
  package func start() throws {
    let started = try Self.spawn(
      "postgres", ["-D", "\(folder)/data"], in: folder, output: "\(folder)/log")
    process.withLock { $0 = started }
    try wait(60, "PostgreSQL to start") {
      guard started.isRunning else { throw TestFailure("PostgreSQL ended: \(log)") }
      return (try? String(contentsOfFile: "\(folder)/data/postmaster.pid", encoding: .utf8))?
        .split(separator: "\n").last?.hasPrefix("ready") ?? false
    }
  }

  /// Stops the server as `pg_ctl stop -m` does: `immediate` writes nothing more.
  package func stop(_ how: Stop) throws {
    process.withLock { $0 }?.signal(how == .fast ? SIGINT : SIGQUIT)
    try wait(60, "PostgreSQL to stop") { !isRunning }
  }

  /// Makes a standby take writes, and waits until it does.
  package func promote() throws {
    try Self.run("pg_ctl", ["promote", "-w", "-D", "\(folder)/data"], in: folder)
  }

  package var log: String {
    (try? String(contentsOfFile: "\(folder)/log", encoding: .utf8)) ?? ""
  }

  // MARK: Use

  /// A connection string over the socket.
  package func address(_ database: String = "postgres", user: String = "postgres") -> String {
    "host=\(folder) port=\(port) dbname=\(database) user=\(user)"
  }

  /// A connection string over the loopback port, or over another one that leads to it.
  package func loopbackAddress(
    _ database: String, user: String = "postgres", port: UInt16? = nil
  ) -> String {
    "host=127.0.0.1 port=\(port ?? self.port) dbname=\(database) user=\(user)"
  }

  /// Makes an empty database.
  package func makeDatabase() throws -> String {
    let name = "t" + UUID().uuidString.filter { $0 != "-" }.lowercased().prefix(12)
    try sql("CREATE DATABASE \(name) STRATEGY file_copy")
    return name
  }

  /// Runs SQL with psql as the superuser.
  ///
  /// - Returns: the rows, with `|` between columns.
  @discardableResult
  package func sql(_ text: String, in database: String = "postgres") throws -> String {
    try Self.run(
      "psql",
      ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", address(database), "-c", text],
      in: folder)
  }

  /// Makes a folder that the server may write.
  package func makeFolder(_ path: String) throws {
    try Self.run("/usr/bin/mkdir", [path], in: folder)
  }

  // MARK: Programs

  private static let user: (id: uid_t, group: gid_t)? = {
    // PostgreSQL refuses to run as root.
    guard getuid() == 0 else { return nil }
    return ["postgres", "nobody"].lazy.compactMap { (name: String) in getpwnam(name) }.first.map {
      ($0.pointee.pw_uid, $0.pointee.pw_gid)
    }
  }()

  private static func append(_ text: String, to file: String) throws {
    let handle = try FileHandle(forWritingTo: URL(filePath: file))
    defer { try? handle.close() }
    try handle.seekToEnd()
    try handle.write(contentsOf: Data("\n\(text)\n".utf8))
  }

  /// Starts one of the server's programs as the user that owns the cluster.
  static func spawn(
    _ name: String, _ arguments: [String], in folder: String, output: String
  ) throws -> SpawnedProcess {
    let program = name.hasPrefix("/") ? name : "\(programs)/\(name)"
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw TestFailure("\(program) is missing: run `make deps-postgres`")
    }
    let asUser = user.map {
      ["/usr/bin/setpriv", "--reuid=\($0.id)", "--regid=\($0.group)", "--clear-groups"]
    }
    let command = (asUser ?? []) + [program] + arguments
    return try SpawnedProcess(
      command[0], Array(command.dropFirst()), in: folder,
      environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"], output: output,
      errors: output + ".errors")
  }

  @discardableResult
  private static func run(
    _ program: String, _ arguments: [String], in folder: String
  ) throws -> String {
    let output = "\(folder)/\(UUID().uuidString)"
    let process = try spawn(program, arguments, in: folder, output: output)
    try TemporaryPostgres.wait(60, "\(program) to end") { !process.isRunning }
    let text = String(decoding: Scratch.bytes(of: output) ?? [], as: UTF8.self)
    guard process.code == 0 else {
      let errors = String(decoding: Scratch.bytes(of: output + ".errors") ?? [], as: UTF8.self)
      throw TestFailure("\(program): \(process.code ?? -1) \(text) \(errors)")
    }
    for file in [output, output + ".errors"] { try? FileManager.default.removeItem(atPath: file) }
    return text.trimmingCharacters(in: .newlines)
  }

  private func wait(_ seconds: Double, _ what: String, _ holds: () throws -> Bool) throws {
    try Self.wait(seconds, what, holds)
  }

  package static func wait(_ seconds: Double, _ what: String, _ holds: () throws -> Bool) throws {
    let end = Date(timeIntervalSinceNow: seconds * RunningCommand.waitFactor)
    while try !holds() {
      guard Date() < end else { throw TestFailure("timed out waiting for \(what)") }
      usleep(5_000)
    }
  }
}
