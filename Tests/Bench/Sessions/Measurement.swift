/// One row of the table: a figure, and what is asked of it.
struct Measurement {
  /// What is asked, bounds included.
  enum Target {
    case atLeast(Double)
    case atMost(Double)
  }

  /// What a target is about.
  enum Subject { case value, ratio }

  /// Its name in JSON.
  let name: String
  let what: String
  let value: Double
  /// Empty where the value is a ratio itself.
  let unit: String
  /// The value set against something that makes machines comparable.
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

  /// Whether the target is met; nil where there is none.
  var isMet: Bool? {
    guard let (target, subject) = target else { return nil }
    let measured = subject == .value ? value : ratio?.value ?? .nan
    switch target {
    case .atLeast(let bound): return measured >= bound
    case .atMost(let bound): return measured <= bound
    }
  }
}
