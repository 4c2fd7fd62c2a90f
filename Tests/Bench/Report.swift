import StrictJSON

/// All measurements of a run with their conditions, as a table and as JSON.
struct Report {
  var conditions: Conditions
  var measurements: [Measurement] = []

  mutating func add(
    _ name: String, _ what: String, _ value: Double, _ unit: String,
    ratio: (value: Double, of: String)? = nil,
    target: (Measurement.Target, Measurement.Subject)? = nil
  ) {
    measurements.append(Measurement(name, what, value, unit, ratio: ratio, target: target))
  }

  // MARK: Table

  /// The measurements, a line, the conditions. A column is as wide as its longest cell.
  var table: String {
    var rows = [["measurement", "value", "ratio", "target", ""]]
    for measurement in measurements { rows.append(Self.cells(measurement)) }
    let widths = rows[0].indices.map { column in
      rows.map { $0[column].count }.max() ?? 0
    }
    let lines = rows.map { row in
      zip(row, widths).map { text, width in
        text + String(repeating: " ", count: width - text.count)
      }.joined(separator: "  ")
    }
    let separator = String(repeating: "-", count: lines[0].count)
    let facts = conditions.all.map { "\($0.name): \($0.value)" }
    return ([lines[0], separator] + lines.dropFirst() + [separator] + facts).joined(separator: "\n")
  }

  private static func cells(_ measurement: Measurement) -> [String] {
    [
      measurement.what,
      Decimal.text(measurement.value) + " " + (measurement.unit == "" ? "×" : measurement.unit),
      measurement.ratio.map { Decimal.text($0.value) + " " + $0.of } ?? "",
      measurement.target.map { target($0.0, $0.1, measurement.unit) } ?? "",
      measurement.isMet.map { $0 ? "met" : "missed" } ?? "",
    ]
  }

  private static func target(
    _ target: Measurement.Target, _ subject: Measurement.Subject, _ unit: String
  ) -> String {
    let end = subject == .value && unit != "" ? " " + unit : " ×"
    switch target {
    case .atLeast(let bound): return "≥ " + Decimal.text(bound) + end
    case .atMost(let bound): return "≤ " + Decimal.text(bound) + end
    }
  }

  // MARK: JSON

  /// The report in full precision.
  var json: JSONValue {
    .object([
      ("conditions", .object(conditions.all.map { ($0.name, .string($0.value)) })),
      ("measurements", .array(measurements.map(Self.json))),
    ])
  }

  private static func json(_ measurement: Measurement) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("name", .string(measurement.name)), ("value", number(measurement.value)),
      ("unit", .string(measurement.unit)),
    ]
    if let ratio = measurement.ratio {
      members += [("ratio", number(ratio.value)), ("ratio_of", .string(ratio.of))]
    }
    if let (target, subject) = measurement.target {
      let bound: (String, Double) =
        switch target {
        case .atLeast(let bound): ("at_least", bound)
        case .atMost(let bound): ("at_most", bound)
        }
      members += [
        ("target_of", .string(subject == .value ? "value" : "ratio")),
        (bound.0, number(bound.1)), ("met", .optional(measurement.isMet)),
      ]
    }
    return .object(members)
  }

  /// Null if the value is infinite or not a number, which JSON cannot express.
  private static func number(_ value: Double) -> JSONValue {
    value.isFinite ? .number("\(value)") : .null
  }
}
