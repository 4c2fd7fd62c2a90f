import Encoding

/// The words after `simulate run`.
struct RunOptions: Equatable {
  enum Target: Equatable {
    case file(String)
    case url(ServiceAddress)
  }

  var lifecycles: [String] = []
  var fleet: Int?
  var days: Int64 = 400
  var seed: UInt64 = 1
  var end = Self.standardEnd
  var app = SimulatedApp()
  var authority: String?
  var faults = DeliveryFaults()
  var rate: Double?
  var connections = 4
  var replaces = false
  var json = false
  var target = Target.file("-")

  /// 2026-01-01T00:00:00Z: fixed, so that the same words give the same payloads on every day.
  static let standardEnd: Int64 = 1_767_225_600_000

  /// - Parameter now: what `--end now` means.
  /// Reads every word or refuses the first wrong one by name: a mistyped fault rate must not give a
  /// run without faults.
  init(_ arguments: [String], now: Int64) throws(SimulatorError) {
    var words = arguments[...]
    var hasTarget = false
    while let word = words.popFirst() {
      switch word {
      case "--shuffle": faults.shuffle = true
      case "--force": replaces = true
      case "--json": json = true
      case "--output", "--url":
        if hasTarget { throw .usage("\(word): give one of --output and --url") }
        hasTarget = true
        fallthrough
      default:
        guard Self.valued.contains(word) else { throw .usage("unknown word '\(word)'") }
        guard let value = words.popFirst() else { throw .usage("\(word) needs a value") }
        try take(word, value, now)
      }
    }
    guard hasTarget else { throw .usage("say where to: --output FILE, --output - or --url URL") }
    if lifecycles.isEmpty == (fleet == nil) {
      throw .usage("give one of --lifecycle NAME and --fleet N")
    }
  }

  /// Words that take a value.
  private static let valued: Set<String> = [
    "--lifecycle", "--fleet", "--days", "--seed", "--end", "--bundle-id", "--app-apple-id",
    "--environment", "--authority", "--duplicate", "--late", "--drop", "--rate", "--connections",
    "--output", "--url",
  ]

  /// One word with its value. `valued` and this switch name the same words.
  private mutating func take(
    _ word: String, _ value: String, _ now: Int64
  ) throws(SimulatorError) {
    switch word {
    case "--lifecycle": lifecycles = try Self.names(value)
    case "--fleet": fleet = Int(try Self.whole(word, value, 1...Int64(Fleet.maximumCustomers)))
    case "--days": days = try Self.whole(word, value, 1...10_000)
    case "--seed": seed = UInt64(try Self.whole(word, value, 0...Int64.max))
    case "--end": end = try Self.time(word, value, now)
    case "--bundle-id": app.bundleId = value
    case "--app-apple-id": app.appAppleId = try Self.whole(word, value, 1...Int64.max)
    case "--environment":
      guard ["Production", "Sandbox"].contains(value) else {
        throw .usage("\(word) '\(value)': is Production or Sandbox")
      }
      app.environment = value
    case "--authority": authority = value
    case "--duplicate": faults.duplicate = try Self.share(word, value)
    case "--late": faults.late = try Self.share(word, value)
    case "--drop": faults.drop = try Self.share(word, value)
    case "--rate": rate = try Self.number(word, value, 0.001...1_000_000)
    case "--connections": connections = Int(try Self.whole(word, value, 1...1024))
    case "--output": target = .file(value)
    default:
      guard let address = ServiceAddress(value) else {
        throw .usage("--url '\(value)': is http://HOST:PORT/PATH")
      }
      target = .url(address)
    }
  }

  /// Names separated by commas; `all` stands for all of them.
  private static func names(_ value: String) throws(SimulatorError) -> [String] {
    let names = value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    if names == ["all"] { return Lifecycle.all.map(\.name) }
    for name in names where Lifecycle.named(name) == nil {
      throw .usage("--lifecycle '\(name)' is not one that 'simulate list' names")
    }
    return names
  }

  private static func whole(
    _ word: String, _ value: String, _ range: ClosedRange<Int64>
  ) throws(SimulatorError) -> Int64 {
    guard let number = Int64(value), range.contains(number) else {
      let bounds = "\(range.lowerBound) to \(range.upperBound)"
      throw .usage("\(word) '\(value)': is a whole number, \(bounds)")
    }
    return number
  }

  private static func number(
    _ word: String, _ value: String, _ range: ClosedRange<Double>
  ) throws(SimulatorError) -> Double {
    guard let number = Double(value), range.contains(number) else {
      throw .usage("\(word) '\(value)': is a number, \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  private static func share(_ word: String, _ value: String) throws(SimulatorError) -> Double {
    try number(word, value, 0...1)
  }

  /// The contract's times, and `now`, which makes a run differ from day to day.
  private static func time(
    _ word: String, _ value: String, _ now: Int64
  ) throws(SimulatorError) -> Int64 {
    if value == "now" { return now }
    guard let time = CivilTime.parse(value) else {
      throw .usage("\(word) '\(value)': is 2026-01-01T00:00:00Z, milliseconds since 1970, or now")
    }
    return time
  }
}
