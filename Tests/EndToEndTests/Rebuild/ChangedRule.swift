import AppStore
import Entitlements
import Foundation
import Queries
import Store
import StrictJSON
import Support

/// The second build of the program for the release tests, with changed rules: it reports a grace
/// period as a billing retry, and a billing retry as a grace period, and what was revoked gives
/// access. Made by `.ci/changed-rule`.
enum ChangedRule {
  private static let variables = ProcessInfo.processInfo.environment

  /// The second build, named by SUBLEDGER_CHANGED_RULE; nil: these tests are skipped.
  static let program = variables["SUBLEDGER_CHANGED_RULE"].map { URL(filePath: $0) }

  /// The number of customers, from SUBLEDGER_CHANGED_FLEET.
  static let customers = variables["SUBLEDGER_CHANGED_FLEET"].flatMap { Int($0) } ?? 500

  /// A status by the changed rule.
  static func status(_ status: Entitlement.Status) -> Entitlement.Status {
    switch status {
    case .gracePeriod: .billingRetry
    case .billingRetry: .gracePeriod
    default: status
    }
  }

  /// Whether a row gives access by the changed rule.
  ///
  /// - Parameters:
  ///   - status: by the changed rule.
  ///   - type: of the product, which is told of most.
  static func givesAccess(_ status: Entitlement.Status, _ type: String?) -> Bool {
    [.active, .gracePeriod, .revoked].contains(status) && type != "Consumable"
  }

  /// The customers whose answer the rule changes, computed from the rows of the old fold only,
  /// without folding and without comparing projections.
  struct Forecast {
    struct Change: Hashable {
      let reason: String
      let productId: String
    }

    var rows = 0
    /// Customers who lose access, by original transaction id.
    var lost: [String: Change] = [:]
    var gained: [String: Change] = [:]
    /// All customers whose answer changes at some time.
    var changed: Set<String> = []
    /// Their spans by the changed rule.
    var spans: [String: [EntitlementRow.Span]] = [:]
  }

  static func forecast(_ folder: DataFolder, at time: Int64) throws -> Forecast {
    var forecast = Forecast()
    try ProjectionReader.open(folder).forEach { stream in
      forecast.rows += 1
      let id = stream.key.originalTransactionId
      let spans = stream.row.spans
      let after = spans.map { span in
        var other = span
        other.status = status(span.status)
        other.givesAccess = givesAccess(
          other.status, span.purchase.flatMap { stream.row.purchases[$0].productType })
        return other
      }
      guard after != spans else { return true }
      forecast.changed.insert(id)
      forecast.spans[id] = after
      guard let index = spans.lastIndex(where: { $0.from <= time }) else { return true }
      let (one, two) = (spans[index], after[index])
      let change = Forecast.Change(
        reason: "\(one.status.rawValue) → \(two.status.rawValue)",
        productId: one.productId ?? "")
      if one.givesAccess && !two.givesAccess { forecast.lost[id] = change }
      if !one.givesAccess && two.givesAccess { forecast.gained[id] = change }
      return true
    }
    return forecast
  }

  /// The spans of the rows that were made live last, by original transaction id.
  static func spans(_ folder: DataFolder) throws -> [String: [EntitlementRow.Span]] {
    var spans: [String: [EntitlementRow.Span]] = [:]
    try ProjectionReader.open(folder).forEach { stream in
      spans[stream.key.originalTransactionId] = stream.row.spans
      return true
    }
    return spans
  }

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
      ? ChangedRule.program ?? RunningCommand.program
      : RunningCommand.program
    return try installation.launch(arguments + ["--config", installation.config.path])
      .finish(within: 600)
  }

  /// A daemon of one of the two builds.
  func start(isChanged: Bool) throws -> RunningDaemon {
    installation.program =
      isChanged
      ? ChangedRule.program ?? RunningCommand.program
      : RunningCommand.program
    return try installation.start()
  }

  /// The projections, the live one first.
  func projections() throws -> [JSONElement] {
    try run("rebuild", "--list", "--json", isChanged: false).lines()
  }

  /// A customer's row now, without `as_of`.
  func row(_ id: String, isChanged: Bool = true) throws -> JSONValue? {
    try run("entitlement", id, "--json", isChanged: isChanged).lines().first?.value
      .setting("as_of", nil)
  }
}
