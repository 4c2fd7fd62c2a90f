import AppStore
import Entitlements
import Foundation
import Queries
import Store
import StrictJSON
import Support

/// A second build of the program, whose fold is `Fold.changed`. `make trial` makes it.
enum ChangedProgram {
  private static let variables = ProcessInfo.processInfo.environment

  /// The second build, named by SUBLEDGER_CHANGED_FOLD; nil: these tests are skipped.
  static let path = variables["SUBLEDGER_CHANGED_FOLD"].map { URL(filePath: $0) }

  /// The number of customers, `TestCount.fleet`.
  static let customers = TestCount.fleet.number

  /// Every row that was made live last, whichever fold made it, evaluated at one time, by original
  /// transaction id.
  static func rows(_ folder: DataFolder, at time: Int64) throws -> [String: JSONValue] {
    let reader = try ProjectionReader.open(folder)
    var streams: [FoldedStream] = []
    try reader.forEach { stream in
      streams.append(stream)
      return true
    }
    var rows: [String: JSONValue] = [:]
    for stream in streams {
      guard let entitlement = stream.row.entitlement(at: time) else { continue }
      let id = stream.key.originalTransactionId
      let successor = try reader.successors(of: stream.key)
        .filter { $0.predecessors.contains { $0.originalTransactionId == id } }
        .max { $0.predecessors[0].namedAt < $1.predecessors[0].namedAt }
      rows[id] =
        RowDocument(
          key: stream.key, entitlement: entitlement, eventCount: stream.row.eventCount,
          lastEvent: stream.row.lastEvent, succeededBy: successor?.key.originalTransactionId,
          knownAt: nil
        ).json
    }
    return rows
  }
}

/// An installation with notifications up to now, journaled by the unchanged program.
struct ReleaseFleet {
  let installation: Installation
  /// The time of the last notifications, milliseconds since 1970.
  let end = Int64(Date().timeIntervalSince1970 * 1000)
  let events: Int64
  private let roots: [JSONValue]

  var folder: DataFolder { DataFolder(path: installation.data.path) }

  init(_ customers: Int) throws {
    installation = try Installation()
    roots = ["/ca/root.der", "/root.der"].map { [folder = installation.folder] in
      .string(folder.path + $0)
    }
    let (authority, file) = (installation.folder.path + "/ca", installation.folder.path + "/f")
    let made = try installation.launch([
      "simulate", "run", "--fleet", "\(customers)", "--days", "400", "--seed", "7", "--end",
      "\(end)", "--output", file, "--authority", authority,
    ]).finish(within: 600)
    guard made.code == 0 else { throw TestFailure("simulate: \(made)") }
    // Later notifications are signed by the installation's own authority.
    try installation.configure(with: [("trustRoots", .array(roots))])
    let ingested = try installation.launch([
      "ingest", file, "--json", "--config", installation.config.path,
    ]).finish(within: 600)
    guard ingested.code == 0 else { throw TestFailure("ingest: \(ingested)") }
    events = try ingested.lines().last?["accepted"]?.integer ?? 0
    try FileManager.default.removeItem(atPath: file)
  }

  /// Adds a webhook, whose secret is in the file `a.whsec`.
  func addSink(_ address: String) throws {
    let sink = JSONValue.object([
      ("name", .string("backend")), ("kind", .string("webhook")), ("url", .string(address)),
      ("secretFile", .string("a.whsec")), ("privateNetwork", .boolean(true)),
    ])
    try installation.configure(with: [
      ("trustRoots", .array(roots)), ("sinks", .array([sink])),
    ])
  }

  /// Runs a command of one of the two builds.
  func run(_ arguments: String..., isChanged: Bool = true) throws -> CommandResult {
    installation.program =
      isChanged
      ? ChangedProgram.path ?? RunningCommand.program
      : RunningCommand.program
    return try installation.launch(arguments + ["--config", installation.config.path])
      .finish(within: 600)
  }

  /// A daemon of one of the two builds.
  func start(isChanged: Bool) throws -> RunningDaemon {
    installation.program =
      isChanged
      ? ChangedProgram.path ?? RunningCommand.program
      : RunningCommand.program
    return try installation.start()
  }

  /// A customer's row now, without `as_of`.
  func row(_ id: String, isChanged: Bool = true) throws -> JSONValue? {
    try run("entitlement", id, "--json", isChanged: isChanged).lines().first?.value
      .setting("as_of", nil)
  }
}
