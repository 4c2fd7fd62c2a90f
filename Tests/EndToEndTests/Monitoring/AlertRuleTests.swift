import Foundation
import Support
import Testing

/// The alert rules: what they name, and that each fires when it must and only then.
@Suite struct AlertRuleTests {
  /// The rules by name, each with its text.
  private static func alerts() throws -> [String: String] {
    let rules = try MonitoringFiles.text(MonitoringFiles.rules)
      .components(separatedBy: "      - ").dropFirst().filter { $0.hasPrefix("alert: ") }
    let named = rules.map { rule in
      (String(rule.dropFirst(7).prefix { !$0.isWhitespace }), rule)
    }
    return Dictionary(named, uniquingKeysWith: { one, _ in one + "twice" })
  }

  @Test func `every rule says how bad it is, what is wrong and what to do`() throws {
    let alerts = try Self.alerts()
    #expect(alerts.count > 20)
    for (name, rule) in alerts {
      #expect(name.hasPrefix("Subledger") && !rule.hasSuffix("twice"), "\(name)")
      #expect(rule.contains(/severity: (critical|warning)/), "\(name)")
      #expect(rule.contains("summary: ") && rule.contains("description: "), "\(name)")
      // The next step is a command, or the key of the configuration.
      #expect(
        rule.contains(/(subledger |journalctl|systemctl|timedatectl|Free some|\/readyz)/), "\(name)"
      )
    }
  }

  @Test func `the page about monitoring explains each rule, and no other`() throws {
    let page = try DocumentationPage.operating("monitor").text
    let explained = page.matches(of: /\n\| `(Subledger\w+)` \|/).map { String($0.output.1) }
    #expect(explained.sorted() == (try Self.alerts()).keys.sorted())
  }

  @Test func `every metric that rules and dashboard name is printed`() throws {
    let sinks = try SinkWorld()
    let receiving = try sinks.installation.start()
    let store = try PlayedStore(["--customers", "1", "--days", "30"], recover: "automatic")
    let asking = try store.installation.start()
    // What only a shared journal has is looked for where there is one.
    let names = try MonitoringFiles.metrics()
      .filter { !$0.hasPrefix("subledger_shared_journal_") }
    #expect(names.count > 30)
    // Rows, sizes and sinks are read in the background.
    var missing = names.sorted()
    try? asking.command.wait(60, "the metrics") {
      let pages = [receiving, asking].map { $0.client().get("/metrics")?.text ?? "" }.joined()
      missing = MonitoringFiles.missing(names, in: MetricsText(pages))
      return missing.isEmpty
    }
    #expect(missing == [])
    #expect(try receiving.stop().code == 0)
    #expect(try asking.stop().code == 0)
  }

  // MARK: promtool

  @Test(.enabled(if: RuleScenario.hasPromtool))
  func `promtool accepts the rules`() throws {
    let checked = try RuleScenario.promtool(
      ["check", "rules", MonitoringFiles.rules.path], in: FileManager.default.temporaryDirectory)
    #expect(checked.code == 0 && checked.errors.isEmpty, "\(checked)")
  }

  @Test(.enabled(if: RuleScenario.hasPromtool))
  func `each rule fires when it must, and only then`() throws {
    let tried = try RuleScenario.run(
      Self.firing + Self.quiet, evaluatedEvery: 5, hasSilence: false)
    #expect(tried.code == 0, "\(tried)")
    let fired = Set(Self.wrong.map(\.alert))
    #expect(fired.union(["SubledgerSilent"]) == Set(try Self.alerts().keys))
  }

  private typealias Change = @Sendable (inout RuleScenario) -> Void
  /// How long a scenario lasts, in hours.
  private static let end = 30.0

  /// What is wrong, and the one alert that fires at the end and did not fire a day before.
  private static let firing = wrong.enumerated().map { index, item in
    var scenario = RuleScenario("\(index + 1): \(item.alert)", hours: Int(end))
    item.change(&scenario)
    if index > 0 { scenario.expect([], at: 3) }
    scenario.expect([item.alert], at: end)
    return scenario
  }

  /// What is well, and no alert at the end.
  private static let quiet = well.map { name, change in
    var scenario = RuleScenario(name, hours: Int(end))
    change(&scenario)
    scenario.expect([], at: end)
    return scenario
  }

  private static func set(
    _ metric: String, _ value: Double, _ hours: Double, to before: Double = -1
  ) -> Change {
    { $0.set(metric, from: end - hours, to: before < 0 ? .infinity : end - before) { _ in value } }
  }

  private static func both(_ one: @escaping Change, _ other: @escaping Change) -> Change {
    {
      one(&$0)
      other(&$0)
    }
  }

  private static let faults = "subledger_owner_faults_total{reason=\"v1_secret\"}"
  private static let errors = "subledger_store_errors_total{part=\"recovery\"}"
  private static let conflicts = "subledger_quarantined{reason=\"conflict\"}"
  private static let foreign = "subledger_quarantined{reason=\"other_app\"}"

  private static let wrong: [(alert: String, change: Change)] = [
    ("SubledgerDown", { $0.removeAll() }),
    ("SubledgerDown", { $0.stopScrape(from: end - 1) }),
    (
      "SubledgerRestarts",
      { $0.set("subledger_start_time_seconds", from: end - 1) { ($0 / 600).rounded(.down) } }
    ),
    ("SubledgerNotReady", set("subledger_ready", 0, 0.5)),
    ("SubledgerJournalFailed", set("subledger_journal_failed", 1, 0.1)),
    ("SubledgerJournalFailed", set("subledger_journal_failed_time_seconds", 29.5 * 3600, 0.4)),
    ("SubledgerStoreErrors", set(errors, 1, 0.5)),
    ("SubledgerStoreErrors", both(set(errors, 3, 30), set(errors, 4, 0.5))),
    ("SubledgerDiskFull", set("subledger_disk_full", 1, 0.1)),
    (
      "SubledgerDiskFillsUp",
      { $0.set("subledger_disk_free_bytes", from: end - 6) { 60e9 - ($0 - 24 * 3600) * 1e6 } }
    ),
    ("SubledgerLargeWAL", set("subledger_journal_wal_bytes", 2e8, 1)),
    ("SubledgerQuarantineGrows", set(foreign, 5, 0.5)),
    ("SubledgerQuarantineGrows", set(conflicts, 1, 0.5)),
    ("SubledgerOwnerFault", set(faults, 1, 0.5)),
    ("SubledgerOwnerFault", both(set(faults, 3, 30), set(faults, 4, 0.5))),
    ("SubledgerUnmappedProducts", set("subledger_unmapped_products", 2, 2)),
    ("SubledgerRefundDue", set("subledger_refund_deadline_seconds", 10_000, 0.5)),
    ("SubledgerMappingRefused", set("subledger_mapping_refused", 1, 1)),
    ("SubledgerMappingDiffers", set("subledger_mapping_differs", 1, 2)),
    ("SubledgerReceivedAhead", set("subledger_received_ahead_seconds", 600, 1)),
    ("SubledgerLogLinesLost", set("subledger_log_lines_lost_total", 5, 0.5)),
    ("SubledgerRowsMissing", set("subledger_rows_live", 0, 2)),
    ("SubledgerRowsBehind", set("subledger_projection_lag_events", 20_000, 1)),
    ("SubledgerRowsDamaged", set("subledger_projection_damaged_total", 1, 6)),
    ("SubledgerRowsBroken", set("subledger_rows_broken", 1, 1)),
    (
      "SubledgerSinkDown",
      both(
        set("subledger_sink_up{sink=\"a\"}", 0, 1),
        set("subledger_sink_lag_seconds{sink=\"a\"}", 5000, 1))
    ),
    ("SubledgerSinkBehind", set("subledger_sink_lag_seconds{sink=\"a\"}", 5000, 1)),
    ("SubledgerSinkHolds", set("subledger_sink_held{sink=\"a\"}", 1, 2)),
    ("SubledgerSinkGaveUp", set("subledger_sink_dead{sink=\"a\"}", 1, 0.1)),
    ("SubledgerRecoveryFails", failing("recovery", 6)),
    ("SubledgerReconciliationFails", failing("reconciliation", 26)),
    ("SubledgerSharedJournalBehind", set("subledger_shared_journal_behind_seconds", 90, 0.5)),
    (
      "SubledgerSharedJournalFaults",
      set("subledger_shared_journal_faults{kind=\"unproven_event\"}", 1, 0.1)
    ),
    (
      "SubledgerSharedJournalRegressed", set("subledger_shared_journal_regressions_total", 1, 0.5)
    ),
    (
      "SubledgerSharedJournalRegressed",
      both(set("subledger_shared_journal_regressions_total", 1, 30), started(0.5))
    ),
  ]

  /// The daemon started so many hours before the end.
  private static func started(_ hours: Double) -> Change {
    set("subledger_start_time_seconds", (end - hours) * 3600, hours)
  }

  /// It fails every hour, and last succeeded so many hours before the end.
  private static func failing(_ what: String, _ hours: Double) -> Change {
    { scenario in
      let start = (end - hours) * 3600
      scenario.set("subledger_\(what)_success_time_seconds", from: end - hours) { _ in start }
      scenario.set("subledger_\(what)_failures_total", from: end - hours) {
        (($0 - start) / 3600).rounded(.down)
      }
    }
  }

  private static let well: [(name: String, change: Change)] = [
    ("a healthy day", { _ in }),
    ("a restart", { $0.stopScrape(from: end - 0.2, to: end - 0.15) }),
    ("a start that takes some minutes", set("subledger_ready", 0, 0.08)),
    ("one restart", set("subledger_start_time_seconds", 2, 0.5)),
    ("an old error of a file", set(errors, 3, 30)),
    ("an old fault of the owner", set(faults, 3, 30)),
    (
      "an old fault of the owner, and a restart",
      {
        set(faults, 3, 30)(&$0)
        $0.stopScrape(from: end - 0.5, to: end - 0.4)
        set(faults, 0, 0.4)(&$0)
      }
    ),
    ("a quarantine that shrinks", set(foreign, 2, 0.5)),
    (
      "a quarantine as before, not counted yet after a start an hour ago",
      set(foreign, 0, 1.05, to: 0.95)
    ),
    (
      "a quarantine as before, after two hours without a scrape",
      {
        $0.stopScrape(from: end - 2.5, to: end - 0.5)
      }
    ),
    (
      "a large disk of which much is written",
      { $0.set("subledger_disk_free_bytes", from: end - 6) { 90e9 - ($0 - 24 * 3600) * 1e6 } }
    ),
    ("a disk that is nearly full, and stays so", set("subledger_disk_free_bytes", 5e9, 30)),
    ("a checkpoint that waits for a reader", set("subledger_journal_wal_bytes", 2e8, 0.4)),
    (
      "a request for a refund that has hours left",
      set("subledger_refund_deadline_seconds", 11_000, 2)
    ),
    ("a product that is being mapped", set("subledger_unmapped_products", 1, 0.5)),
    ("rows that are being built", set("subledger_rows_live", 0, 0.5)),
    ("rows that catch up", set("subledger_projection_lag_events", 20_000, 0.1)),
    ("a receiver that restarts", set("subledger_sink_up{sink=\"a\"}", 0, 0.2)),
    ("a message that is refused once", set("subledger_sink_held{sink=\"a\"}", 1, 0.5)),
    ("a database that restarts", set("subledger_shared_journal_behind_seconds", 90, 0.05)),
    (
      "a recovery that succeeds after failures",
      { $0.set("subledger_recovery_failures_total", from: end - 2) { ($0 / 1800).rounded(.down) } }
    ),
    (
      "a recovery that fails since a start",
      both(
        both(failing("recovery", 2.6), started(2.8)),
        set("subledger_recovery_success_time_seconds", 0, 2.8))
    ),
    ("damage of the day before", set("subledger_projection_damaged_total", 1, 29)),
  ]
}
