import StrictJSON

/// The summary that a run prints at its end, as text or as JSON.
enum Summary {
  static func written(_ deliveries: Int, of notifications: Int, json: Bool) -> String {
    guard json else { return "\(deliveries) deliveries of \(notifications) notifications" }
    return JSONValue.object([
      ("deliveries", .integer(Int64(deliveries))),
      ("notifications", .integer(Int64(notifications))),
    ]).text
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
