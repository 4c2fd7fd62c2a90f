package import AppStoreSimulator
package import Foundation
import Ledger
package import StrictJSON

/// An installation as an operator has it: a data folder, a configuration, an authority it trusts,
/// and the program. Everything is in a temporary folder, which is removed with the value.
package final class Installation {
  package let folder: URL
  package let authority: SimulatedAuthority
  private var receiptSigner: ReceiptSigner?
  /// The program that commands and daemons of this installation run.
  package var program = RunningCommand.program
  /// Environment variables of the program, in addition to those that are always passed on.
  package var environment: [String: String] = [:]
  /// A read token without restrictions.
  package static let token = "e2e-token-of-the-backend-4711"
  package static let otherAppsToken = "e2e-token-of-another-app-4712"
  package static let sandboxToken = "e2e-token-of-the-sandbox-4713"

  package var data: URL { folder.appending(path: "data") }
  package var config: URL { folder.appending(path: "config.json") }
  package var root: URL { folder.appending(path: "root.der") }
  package var journal: URL { data.appending(path: "journal.sqlite") }

  /// - Parameters:
  ///   - authority: the authority of another installation, to share its notifications; nil for a
  ///     new one.
  ///   - files: the initial files of the data folder, by name.
  package init(authority: SimulatedAuthority? = nil, files: [String: Data] = [:]) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "sl-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    self.authority = try authority ?? SimulatedAuthority.make()
    try Data(self.authority.root).write(to: root)
    try configure()
    guard !files.isEmpty else { return }
    try FileManager.default.createDirectory(
      at: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    for (name, bytes) in files { try bytes.write(to: data.appending(path: name)) }
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Writes the configuration. By default it has one app in both environments.
  ///
  /// - Parameter more: members to add or to replace.
  package func configure(
    apps: [JSONValue] = [Installation.app()], with more: [(String, JSONValue)] = []
  )
    throws
  {
    let members: [(String, JSONValue)] = [
      ("listen", .string("127.0.0.1:0")), ("data", .string(data.path)), ("apps", .array(apps)),
      ("trustRoots", .array([.string(root.path)])),
      (
        "readTokens",
        .array([
          Self.token("backend", Self.token, []),
          Self.token(
            "other", Self.otherAppsToken,
            [
              ("bundleIds", .array([.string("com.example.other")]))
            ]),
          Self.token(
            "sandbox", Self.sandboxToken,
            [
              ("environments", .array([.string("Sandbox")]))
            ]),
        ])
      ),
    ]
    let replaced = Set(more.map(\.0))
    try Data(JSONValue.object(members.filter { !replaced.contains($0.0) } + more).bytes)
      .write(to: config)
    chmod(config.path, 0o600)
  }

  package static func app(_ bundleId: String = "com.example.app", id: Int64 = 123_456_789)
    -> JSONValue
  {
    .object([
      ("bundleId", .string(bundleId)), ("appAppleId", .integer(id)),
      ("environments", .array([.string("Production"), .string("Sandbox")])),
    ])
  }

  package static func token(
    _ name: String, _ text: String, _ lists: [(String, JSONValue)]
  ) -> JSONValue {
    .object(
      [("name", .string(name)), ("sha256", .string(ReadAccess.digest(of: text)))] + lists)
  }

  // MARK: Notifications

  /// The POST body of a notification.
  package func sign(_ notification: JSONValue) throws -> [UInt8] {
    try authority.sign(notification: notification)
  }

  /// The JWS of a payload, as a transaction is in Apple's answers.
  package func signedText(_ payload: JSONValue) throws -> JSONValue {
    .string(String(decoding: try authority.sign(payload: payload.bytes), as: UTF8.self))
  }

  /// An NDJSON file of these lines.
  package func file(_ name: String, _ lines: [[UInt8]]) throws -> String {
    let path = folder.appending(path: name)
    try Data().write(to: path)
    let handle = try FileHandle(forWritingTo: path)
    // One call of write(2) takes less than 2 GiB, and Data.write(to:) loses what is beyond.
    for start in stride(from: 0, to: lines.count, by: 1_000) {
      let piece = lines[start..<min(start + 1_000, lines.count)]
      try handle.write(contentsOf: Data(piece.flatMap { $0 + [0x0A] }))
    }
    try handle.close()
    return path.path
  }

  /// The receipt with this content, signed with SHA-256.
  package func receipt(_ content: ReceiptContent) throws -> [UInt8] {
    let signer = try receiptSigner ?? authority.makeReceiptSigner()
    receiptSigner = signer
    return try signer.sign(content.encoded)
  }

  // MARK: The program

  /// Starts a daemon and waits until its projection follows the journal, or stays as it is for a
  /// while: another fold's is read while this one's is built, or it cannot be written.
  package func start() throws -> RunningDaemon {
    let daemon = try startWithoutProjection()
    let client = daemon.client()
    let end = Date(timeIntervalSinceNow: 60 * RunningCommand.waitFactor)
    let settled: Set = ["following", "other_fold", "unwritable"]
    while Date() < end, let ready = client.get("/readyz", token: nil) {
      if let state = ready.json?["projection"]?.string {
        if settled.contains(state) { break }
      } else if client.get("/v1/entitlements?limit=1")?.status != 503 {
        // It is not ready for another reason.
        break
      }
      usleep(5_000)
    }
    return daemon
  }

  /// Starts a daemon, and posts it notifications that it must take.
  package func start(posting notifications: [JSONValue]) throws -> RunningDaemon {
    let daemon = try start()
    for notification in notifications {
      let answer = daemon.client().post(try sign(notification))
      guard answer?.status == 200 else { throw TestFailure("\(answer?.text ?? "no answer")") }
    }
    return daemon
  }

  /// Starts a daemon and waits until it accepts notifications, whether it answers reads or not.
  package func startWithoutProjection() throws -> RunningDaemon { try RunningDaemon(self) }

  /// Runs a command with this installation's configuration, and waits until it exits.
  package func run(_ arguments: String...) throws -> CommandResult { try run(arguments) }

  package func run(_ arguments: [String]) throws -> CommandResult {
    try launch(arguments + ["--config", config.path]).finish()
  }

  /// Starts the program with exactly these arguments.
  package func launch(_ arguments: [String]) throws -> RunningCommand {
    try RunningCommand(arguments, in: folder, program: program, environment: environment)
  }

  /// The events that `events --json` lists.
  package func events(_ arguments: String...) throws -> [JSONElement] {
    let finished = try launch(["events", "--json", "--config", config.path] + arguments).finish()
    guard finished.code == 0 else { throw TestFailure("events: \(finished)") }
    return try finished.lines()
  }

  /// The exit code and the report of `verify --json`.
  package func verify() throws -> (code: Int32, report: JSONElement) {
    let finished = try run("verify", "--json")
    guard let report = try finished.lines().last else { throw TestFailure("verify: \(finished)") }
    return (finished.code, report)
  }

  /// The files of the data folder by name, without the lock, sockets and the link to the live
  /// projection.
  package func files() throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: data.path) {
      guard name != "lock", !name.hasSuffix(".sock"), linked(name) == nil else { continue }
      files[name] = try Data(wholeOf: data.appending(path: name))
    }
    return files
  }

  /// What a symbolic link in the data folder leads to; nil if it is no link.
  package func linked(_ name: String) -> String? {
    try? FileManager.default.destinationOfSymbolicLink(atPath: data.appending(path: name).path)
  }

  /// Another installation with a copy of this one's data.
  package func copy() throws -> Installation {
    let copy = try Installation(authority: authority, files: try files())
    let name = "entitlements.sqlite"
    if let linked = linked(name) {
      try FileManager.default.createSymbolicLink(
        atPath: copy.data.appending(path: name).path, withDestinationPath: linked)
    }
    return copy
  }
}
