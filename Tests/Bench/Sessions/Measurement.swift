/// One row of the table: a value, and its target if it has one.
struct Measurement {
  /// A target is met at its bound too.
  enum Target {
    case atLeast(Double)
    case atMost(Double)
  }

  /// Whether a target is one for the value or for the ratio.
  enum Subject { case value, ratio }

  /// The name in JSON.
  let name: String
  /// The name in the table.
  let what: String
  let value: Double
  /// Empty if the value is itself a ratio.
  let unit: String
  /// The value divided by another one of the same run, so that machines can be compared.
  var ratio: (value: Double, of: String)?
  var target: (Target, Subject)?

  init(
    _ name: String, _ what: String, _ value: Double, _ unit: String,
    ratio: (value: Double, of: String)? = nil, target: (Target, Subject)? = nil
  ) {
    self.name = name
    self.what = what
    self.value = value
    self.unit = unit
    self.ratio = ratio
    self.target = target
  }

  /// Whether the target is met; nil if there is none.
  var isMet: Bool? {
    guard let (target, subject) = target else { return nil }
    let measured = subject == .value ? value : ratio?.value ?? .nan
    switch target {
    case .atLeast(let bound): return measured >= bound
    case .atMost(let bound): return measured <= bound
    }
  }
}
