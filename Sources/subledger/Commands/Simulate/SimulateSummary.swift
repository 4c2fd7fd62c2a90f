import AppStoreSimulator
import StrictJSON

/// The summary that a run prints at its end, as text or as JSON.
enum SimulateSummary {
  static func written(_ deliveries: Int, of messages: [SimulatedMessage], json: Bool) -> String {
    let counts = SimulatedMessage.Kind.allCases.map { kind in
      (kind, messages.count { $0.kind == kind })
    }
    let present = counts.filter { $0.0 == .notifications || $0.1 > 0 }
    guard json else {
      let parts = present.map { "\($0.1) \(title($0.0))" }
      return "\(deliveries) deliveries of " + parts.joined(separator: ", ")
    }
    return JSONValue.object(
      [("deliveries", .integer(Int64(deliveries)))]
        + present.map { ($0.0.rawValue, .integer(Int64($0.1))) }
    ).text
  }

  private static func title(_ kind: SimulatedMessage.Kind) -> String {
    kind == .v1 ? "version 1 notifications" : kind.rawValue
  }

  static func sent(_ report: PlayReport, json: Bool) -> String {
    let statuses = report.byStatus.sorted { $0.key < $1.key }
    let outcomes = report.byOutcome.sorted { $0.key < $1.key }
    guard json else {
      var parts = ["\(report.answered) of \(report.deliveries) delivered"]
      parts += statuses.map { "\($0.value) answered \($0.key)" }
      parts += outcomes.map { "\($0.value) \($0.key)" }
      if report.retries > 0 { parts.append("\(report.retries) retries") }
      if report.unanswered > 0 { parts.append("\(report.unanswered) given up") }
      if report.isStopped { parts.append("stopped") }
      return parts.joined(separator: ", ")
    }
    let object: (([(key: String, value: Int)]) -> JSONValue) = { counts in
      .object(counts.map { ($0.key, .integer(Int64($0.value))) })
    }
    return JSONValue.object([
      ("deliveries", .integer(Int64(report.deliveries))),
      ("answered", .integer(Int64(report.answered))),
      ("by_status", object(statuses.map { (String($0.key), $0.value) })),
      ("by_outcome", object(outcomes)),
      ("retries", .integer(Int64(report.retries))),
      ("given_up", .integer(Int64(report.unanswered))),
      ("stopped", .boolean(report.isStopped)),
    ]).text
  }
}
