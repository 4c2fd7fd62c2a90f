import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

/// A configuration that is refused stops what depends on it, and nothing else.
@Suite struct RefusedConfigurationTests {
  /// What a command does while the configuration is refused.
  private enum Behaviour: String {
    /// It reads the data folder, with a warning, and answers as always.
    case reads
    /// It refuses, and says what is wrong with the configuration.
    case refuses
    /// It reads no configuration.
    case ignores
    /// It reports the configuration among its findings.
    case reports
  }

  private typealias Case = (arguments: [String], behaviour: Behaviour)

  private static let moment = "2026-01-20T00:00:00Z"

  /// Every command. OTHER is a file or folder that does not exist; LINES, IDS, RECEIPT and BACKUP
  /// exist.
  private static let table: [Case] = [
    (["entitlement", "701", "--as-of", moment, "--json"], .reads),
    (["history", "701", "--json"], .reads),
    (["explain", "701", "--as-of", moment, "--json"], .reads),
    (["events", "--json"], .reads),
    (["query", "SELECT seq, notification_type FROM journal_v1", "--csv"], .reads),
    (["query", "--schema"], .ignores),
    (["report", "charges", "--csv"], .reads), (["refunds", "list", "--json"], .reads),
    (["quarantine", "list", "--json"], .reads),
    (["export"], .reads), (["export", "--only", "701"], .reads),
    (["backup", "OTHER"], .reads), (["backup", "--check", "BACKUP"], .ignores),
    (["verify", "--json"], .reads), (["verify", "--chain", "--json"], .reads),
    (["verify", "--only", "701", "--json"], .reads),
    (["receipt", "RECEIPT", "--json"], .reads),
    (["doctor", "--offline", "--json"], .reports),
    // What these answer depends on apps, products, keys or addresses.
    (["customer", "user", "--by", "account"], .refuses), (["lookup", "1"], .refuses),
    (["entitlements"], .refuses), (["receipt", "RECEIPT", "--ask"], .refuses),
    (["sink", "list"], .refuses), (["sink", "show", "backend"], .refuses),
    (["shared-journal", "status"], .refuses),
    (["export", "--only", "701", "--bundle", "OTHER"], .refuses),
    (["rebuild", "--diff"], .refuses),
    // These write.
    (["serve"], .refuses), (["ingest", "LINES"], .refuses), (["import", "IDS"], .refuses),
    (["recover"], .refuses), (["reconcile", "701"], .refuses),
    (["test-notification"], .refuses), (["restore", "BACKUP"], .refuses),
    (["rebuild"], .refuses), (["rebuild", "--apply"], .refuses),
    (["rebuild", "--only", "701"], .refuses), (["quarantine", "admit", "1"], .refuses),
    (["quarantine", "drop", "1"], .refuses), (["anchor"], .refuses),
    (["anchor", "--public-key"], .refuses), (["erase", "--account", "user"], .refuses),
    (["grant", "user", "--by", "account", "--entitlement", "pro"], .refuses),
    (["simulate", "list"], .ignores), (["help"], .ignores), (["version"], .ignores),
    (["man"], .ignores), (["completions", "bash"], .ignores),
  ]

  /// Commands that have a configuration of their own, and those whose tests are elsewhere:
  /// `HealthyTests`, `UpgradeCheckTests`.
  private static let others: Set = ["init", "demo", "healthy", "upgrade-check"]

  private let installation: Installation
  private let paths: [String: String]

  init() throws {
    installation = try Installation()
    try installation.fill(1...4)
    let receipt = try installation.receipt(Self.receipt)
    let folder = installation.folder
    paths = [
      "OTHER": folder.appending(path: "other").path,
      "BACKUP": folder.appending(path: "backup").path,
      "RECEIPT": folder.appending(path: "receipt").path,
      "LINES": try installation.file("more", [installation.sign(Sample.notification(9))]),
      "IDS": try installation.file("ids", [Array("701".utf8)]),
    ]
    try Data(receipt).write(to: URL(filePath: paths["RECEIPT"] ?? ""))
    let made = try installation.run("backup", paths["BACKUP"] ?? "")
    guard made.code == 0 else { throw TestFailure("\(made)") }
  }

  private static let receipt = ReceiptContent(
    creationDate: Sample.start + Sample.day, records: [Sample.record(1)])

  private func run(_ arguments: [String]) throws -> CommandResult {
    try? FileManager.default.removeItem(atPath: paths["OTHER"] ?? "")
    return try installation.run(arguments.map { paths[$0] ?? $0 })
  }

  @Test func `the table has every command`() throws {
    let help = try installation.launch(["--help"]).finish().output
    // Topics of the documentation come after the commands.
    let commands = help.split(separator: "subledger help <topic>")[0].split(separator: "\n")
    let names = commands.filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
      .compactMap { $0.split(separator: " ").first.map(String.init) }
    #expect(names.count > 20)
    #expect(Set(names) == Set(Self.table.map(\.arguments[0])).union(Self.others))
  }

  @Test func `what needs the data folder alone is read with a warning, all else is refused`() throws
  {
    let good = try Self.table.filter { $0.behaviour == .reads }.map { try run($0.arguments) }
    try installation.configure(with: [("readTokns", .array([]))])
    let before = try installation.files()
    var expected = good.makeIterator()
    for (arguments, behaviour) in Self.table {
      let result =
        behaviour == .ignores
        ? try installation.launch(arguments.map { paths[$0] ?? $0 }).finish() : try run(arguments)
      let warns = result.errors.contains("readTokns")
      switch behaviour {
      case .reads:
        let next = expected.next()
        let same = try #require(next)
        #expect(result.code == same.code && warns, "\(arguments): \(result)")
        if arguments[0] != "backup" { #expect(result.output == same.output, "\(arguments)") }
        #expect(result.code == 0, "\(arguments): \(result)")
      case .refuses:
        #expect(result.code == 2 && warns && result.output.isEmpty, "\(arguments): \(result)")
      case .ignores:
        #expect(result.code == 0 && !warns, "\(arguments): \(result)")
      case .reports:
        #expect(result.code == 1 && result.output.contains("readTokns"), "\(result)")
        #expect(result.output.contains("4 events"), "the journal is examined: \(result)")
      }
    }
    #expect(try installation.files() == before)
  }

  @Test func `without the name of the folder nothing is read`() throws {
    let good = try run(["events", "--json"])
    for text in ["{", #"{"dta":"\#(installation.data.path)"}"#] {
      try Data(text.utf8).write(to: installation.config)
      let refused = try run(["events", "--json"])
      #expect(refused.code == 2 && refused.output.isEmpty, "\(refused)")
      #expect(refused.errors.contains("--data"), "\(refused)")
      let named = try run(["events", "--json", "--data", installation.data.path])
      #expect(named.code == 0 && named.output == good.output, "\(named)")
      #expect(named.errors.contains("trustRoots"), "what is not known is named: \(named)")
      // A signature cannot be judged without the roots.
      let verified = try run(["verify", "--data", installation.data.path])
      #expect(verified.code == 2 && verified.output.isEmpty, "\(verified)")
    }
  }

  /// A non-renewing subscription ends by the configuration alone.
  @Test func `no answer about access is given without the duration that it needs`() throws {
    let durations = ("nonRenewingDurations", JSONValue.object([("season", .string("P30D"))]))
    let broken = ("readTokns", JSONValue.array([]))
    let season = Sample.notification(8, otid: "9000", type: "ONE_TIME_CHARGE")
      .setting("data.transaction.type", .string("Non-Renewing Subscription"))
      .setting("data.transaction.productId", .string("season"))
      .setting("data.transaction.expiresDate", nil).setting("data.renewalInfo", nil)
    let file = try installation.file("season", [installation.sign(season)])
    #expect(try installation.run("ingest", file).code == 0)
    let ask = ["entitlement", "9000", "--as-of", "2026-06-30", "--json"]
    try installation.configure(with: [durations])
    let good = try run(ask)
    #expect(try good.lines().first?["gives_access"]?.boolean == false, "\(good)")
    // It may be the misspelt key that has them.
    try installation.configure(with: [durations, broken])
    for command in ["entitlement", "history", "explain"] {
      let refused = try run([command] + ask.dropFirst())
      #expect(refused.code == 2 && refused.output.isEmpty, "\(refused)")
      #expect(refused.errors.contains("nonRenewingDurations"), "\(refused)")
    }
    #expect(try run(["entitlement", "701"]).code == 0)
    // The mistake is elsewhere, and the durations are known.
    try installation.configure(with: [durations, ("readTokens", .string("x"))])
    let known = try run(ask)
    #expect(known.code == 0 && known.output == good.output, "\(known)")
  }
}
