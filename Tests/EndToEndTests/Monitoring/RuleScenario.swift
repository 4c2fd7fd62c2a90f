import Foundation
import Support

/// What a scrape sees every five minutes, and which alerts fire, for `promtool test rules`. A
/// scenario begins with a healthy daemon; times are hours since its beginning.
struct RuleScenario {
  let name: String
  private let count: Int
  private var series: [String: [Value]] = [:]
  private var expectations: [String] = []

  private enum Value: Equatable {
    case number(Double), absent
    /// The scrape failed: Prometheus ends the series.
    case stale
  }

  private static let step = 300

  init(_ name: String, hours: Int) {
    (self.name, count) = (name, hours * 3600 / Self.step + 1)
    for (metric, value) in Self.healthy { set(metric) { _ in value } }
    for metric in ["recovery", "reconciliation"] {
      set("subledger_\(metric)_success_time_seconds") { ($0 / 3600).rounded(.down) * 3600 }
    }
  }

  private static let healthy: [(String, Double)] = [
    ("up", 1), ("subledger_build_info", 1), ("subledger_start_time_seconds", 1),
    ("subledger_ready", 1), ("subledger_journal_failed", 0),
    ("subledger_journal_failed_time_seconds", 0), ("subledger_disk_full", 0),
    ("subledger_disk_free_bytes", 60e9), ("subledger_disk_size_bytes", 100e9),
    ("subledger_journal_wal_bytes", 1e6), ("subledger_quarantined{reason=\"other_app\"}", 4),
    ("subledger_mapping_refused", 0), ("subledger_mapping_differs", 0),
    ("subledger_unmapped_products", 0), ("subledger_refund_deadline_seconds", 0),
    ("subledger_received_ahead_seconds", 0),
    ("subledger_log_lines_lost_total", 0), ("subledger_rows_live", 1),
    ("subledger_projection_lag_events", 0), ("subledger_projection_damaged_total", 0),
    ("subledger_rows_broken", 0), ("subledger_sink_up{sink=\"a\"}", 1),
    ("subledger_sink_lag_seconds{sink=\"a\"}", 1), ("subledger_sink_held{sink=\"a\"}", 0),
    ("subledger_sink_dead{sink=\"a\"}", 0), ("subledger_recovery_failures_total", 0),
    ("subledger_reconciliation_failures_total", 0),
    ("subledger_shared_journal_behind_seconds", 0.1),
    ("subledger_shared_journal_faults{kind=\"unproven_event\"}", 0),
    ("subledger_shared_journal_regressions_total", 0),
  ]

  // MARK: What a scrape sees

  /// - Parameters:
  ///   - metric: its name, with labels if it has any besides those of the scrape.
  ///   - value: what it is at a time, in seconds; nil if it is not there.
  mutating func set(
    _ metric: String, from start: Double = 0, to end: Double = .infinity,
    _ value: (Double) -> Double?
  ) {
    let key = Self.labelled(metric)
    var values = series[key] ?? Array(repeating: .absent, count: count)
    for index in values.indices {
      let time = Double(index * Self.step)
      guard time >= start * 3600, time < end * 3600 else { continue }
      values[index] = value(time).map(Value.number) ?? .absent
    }
    series[key] = values
  }

  /// Nothing answers the scrape.
  mutating func stopScrape(from start: Double, to end: Double = .infinity) {
    for (key, values) in series where !key.hasPrefix("up{") {
      series[key] = values.enumerated().map { index, value in
        let time = Double(index * Self.step) / 3600
        return time >= start && time < end && value != .absent ? .stale : value
      }
    }
    set("up", from: start, to: end) { _ in 0 }
  }

  mutating func removeAll() { series = [:] }

  private static func labelled(_ metric: String) -> String {
    let parts = metric.split(separator: "{", maxSplits: 1)
    var labels = parts.count > 1 ? String(parts[1].dropLast()) + "," : ""
    if !labels.contains("instance=") { labels += "instance=\"a:8080\"," }
    return "\(parts[0]){\(labels)job=\"subledger\"}"
  }

  // MARK: What fires

  /// Exactly these alerts fire at a time.
  mutating func expect(_ alerts: [String], at hour: Double) {
    expect(alerts, of: "ALERTS{alertstate=\"firing\"}", hour)
  }

  /// No alert fires until then.
  mutating func expectNone(until hour: Double) {
    let range = "[\(Int((hour * 3600).rounded(.up)))s]"
    expect([], of: "max_over_time(ALERTS{alertstate=\"firing\"}\(range))", hour)
  }

  private mutating func expect(_ alerts: [String], of firing: String, _ hour: Double) {
    let samples = alerts.map { "\n      - {labels: '{alertname=\"\($0)\"}', value: 1}" }.joined()
    expectations.append(
      """
        - expr: 'max by (alertname) (\(firing))'
          eval_time: \(Int(hour * 60))m
          exp_samples:\(samples.isEmpty ? " []" : samples)
      """)
  }

  // MARK: The file

  private var text: String {
    let input = series.sorted { $0.key < $1.key }.map { key, values in
      "  - {series: '\(key)', values: '\(Self.text(values))'}"
    }
    return """
      - name: '\(name)'
        interval: 5m
        input_series:\(input.isEmpty ? " []" : "\n" + input.joined(separator: "\n"))
        promql_expr_test:
      \(expectations.joined(separator: "\n"))
      """
  }

  /// Values in promtool's notation: `a+0xn` is a, and n times a again.
  private static func text(_ values: [Value]) -> String {
    var parts: [String] = []
    var rest = values[...]
    while let value = rest.first {
      let run = rest.prefix { $0 == value }.count
      rest = rest.dropFirst(run)
      switch value {
      case .number(let number): parts.append("\(number)+0x\(run - 1)")
      case .absent: parts.append("_x\(run)")
      case .stale: parts.append("stale" + (run > 1 ? " _x\(run - 1)" : ""))
      }
    }
    return parts.joined(separator: " ")
  }

  /// Runs promtool over scenarios, in a folder of their own.
  ///
  /// - Parameters:
  ///   - minutes: between two evaluations of the rules.
  ///   - hasSilence: whether the rules of silence are evaluated, which takes long.
  static func run(
    _ scenarios: [RuleScenario], evaluatedEvery minutes: Int, hasSilence: Bool
  ) throws -> CommandResult {
    let folder = FileManager.default.temporaryDirectory.appending(path: "rules-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "test.yml")
    let all = try MonitoringFiles.text(MonitoringFiles.rules)
    let rules = hasSilence ? all : all.components(separatedBy: "  - name: subledger-silence")[0]
    try Data(rules.utf8).write(to: folder.appending(path: "rules.yml"))
    let text = """
      rule_files: [rules.yml]
      evaluation_interval: \(minutes)m
      tests:
      \(scenarios.map(\.text).joined(separator: "\n"))

      """
    try Data(text.utf8).write(to: file)
    let tried = try promtool(["test", "rules", file.path], in: folder)
    // One line for each group that holds, and it is empty.
    let lines = tried.output.split(separator: "\n").filter { $0.contains { $0 != " " } }
    return CommandResult(
      code: tried.code, output: lines.joined(separator: "\n"), errors: tried.errors)
  }

  /// Runs Debian's promtool, which `make metrics` names.
  static func promtool(_ arguments: [String], in folder: URL) throws -> CommandResult {
    let tool = ProcessInfo.processInfo.environment["SUBLEDGER_PROMTOOL"] ?? "promtool"
    return try RunningCommand(arguments, in: folder, program: URL(filePath: tool))
      .finish(within: 600)
  }

  static var hasPromtool: Bool {
    ProcessInfo.processInfo.environment["SUBLEDGER_PROMTOOL"] != nil
  }
}
