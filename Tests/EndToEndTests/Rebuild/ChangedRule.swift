import Entitlements
import Foundation
import JournalStore
import LedgerQueries
import StrictJSON
import Support

/// The trial's other build of the program: a grace period is told as a billing retry, and a billing
/// retry as a grace period. Made by `.ci/changed-rule`.
enum ChangedRule {
  private static let variables = ProcessInfo.processInfo.environment

  /// SUBLEDGER_CHANGED_RULE names it.
  static let program = variables["SUBLEDGER_CHANGED_RULE"].map { URL(filePath: $0) }

  /// SUBLEDGER_CHANGED_FLEET is how many customers the release trial has.
  static let customers = variables["SUBLEDGER_CHANGED_FLEET"].flatMap { Int($0) } ?? 500

  /// What the rule makes of a status.
  static func status(_ status: Entitlement.Status) -> Entitlement.Status {
    switch status {
    case .gracePeriod: .billingRetry
    case .billingRetry: .gracePeriod
    default: status
    }
  }

  /// Whom it changes, computed from the rows of the old fold alone: nothing here compares two
  /// projections, and nothing folds.
  struct Forecast {
    struct Change: Hashable {
      let reason: String
      let productId: String
    }

    var rows = 0
    /// By original transaction id.
    var lost: [String: Change] = [:]
    var gained: [String: Change] = [:]
    /// All whose answer is another one at some time.
    var changed: Set<String> = []
    /// Their answers by the changed rule: from when on, and which.
    var spans: [String: [EntitlementRow.Span]] = [:]
  }

  static func forecast(_ folder: DataFolder, at time: Int64) throws -> Forecast {
    var forecast = Forecast()
    try ProjectionReader.open(folder).forEach { row in
      guard let known = EntitlementRow(decoding: row.state, lastSeq: row.lastSeq) else {
        return false
      }
      forecast.rows += 1
      let id = row.key.originalTransactionId
      let after = known.spans.map { span in
        var other = span
        other.status = status(span.status)
        return other
      }
      guard after != known.spans else { return true }
      forecast.changed.insert(id)
      forecast.spans[id] = after
      guard let place = known.spans.lastIndex(where: { $0.from <= time }) else { return true }
      let (one, two) = (known.spans[place].status, after[place].status)
      let change = Forecast.Change(
        reason: "\(one.rawValue) → \(two.rawValue)",
        productId: known.spans[place].productId ?? "")
      if one.givesAccess && !two.givesAccess { forecast.lost[id] = change }
      if !one.givesAccess && two.givesAccess { forecast.gained[id] = change }
      return true
    }
    return forecast
  }

  /// What live rows say for all times, by original transaction id.
  static func spans(_ folder: DataFolder) throws -> [String: [EntitlementRow.Span]] {
    var spans: [String: [EntitlementRow.Span]] = [:]
    try ProjectionReader.open(folder).forEach { row in
      let known = EntitlementRow(decoding: row.state, lastSeq: row.lastSeq)
      spans[row.key.originalTransactionId] = known?.spans
      return true
    }
    return spans
  }

  /// Every row of a folder at rest at one moment, as the API shows it, by original transaction id.
  static func rows(_ folder: DataFolder, at time: Int64) throws -> [String: JSONValue] {
    let reader = try LedgerReader(folder, durations: [:])
    let question = LedgerReader.Question(now: time)
    var rows: [String: JSONValue] = [:]
    var last: StreamKey?
    repeat {
      let page = try reader.list(LedgerReader.Filter(), after: last, limit: 500, question)
      for row in page.rows { rows[row.key.originalTransactionId] = row.json }
      last = page.next
    } while last != nil
    return rows
  }
}

/// A fleet with notifications up to now, journaled by the program as it is.
struct ReleaseFleet {
  let installation: Installation
  /// The end of its notifications, milliseconds since 1970.
  let end = Int64(Date().timeIntervalSince1970 * 1000)
  let events: Int64

  var folder: DataFolder { DataFolder(path: installation.data.path) }

  init(_ customers: Int) throws {
    installation = try Installation()
    let (authority, file) = (installation.folder.path + "/ca", installation.folder.path + "/f")
    let made = try installation.launch([
      "simulate", "run", "--fleet", "\(customers)", "--days", "400", "--seed", "7", "--end",
      "\(end)", "--output", file, "--authority", authority,
    ]).finish(within: 600)
    guard made.code == 0 else { throw Trouble("simulate: \(made)") }
    // Its own authority signs what comes later.
    try installation.configure(with: [
      (
        "trustRoots",
        .array(
          ["/ca/root.der", "/root.der"].map { [folder = installation.folder] in
            .string(folder.path + $0)
          })
      )
    ])
    let taken = try installation.launch([
      "ingest", file, "--json", "--config", installation.config.path,
    ]).finish(within: 600)
    guard taken.code == 0 else { throw Trouble("ingest: \(taken)") }
    events = try taken.lines().last?["accepted"]?.integer ?? 0
    try FileManager.default.removeItem(atPath: file)
  }

  /// Runs a command of one of the two builds.
  func run(_ words: String..., isChanged: Bool = true) throws -> Finished {
    installation.program =
      isChanged
      ? ChangedRule.program ?? RunningCommand.program
      : RunningCommand.program
    return try installation.launch(words + ["--config", installation.config.path])
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

  /// A customer's row now, without the moment that was asked for.
  func row(_ id: String, isChanged: Bool = true) throws -> JSONValue? {
    try run("entitlement", id, "--json", isChanged: isChanged).lines().first?.value
      .setting("as_of", nil)
  }
}
