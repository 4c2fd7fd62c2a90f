import Encoding

/// The arguments after `simulate run`.
package struct RunOptions: Equatable {
  /// Where the notifications go.
  enum Target: Equatable {
    case file(String)
    case url(ServiceAddress)
  }

  var lifecycles: [String] = []
  var fleet: Int?
  var days: Int64 = 400
  var seed: UInt64 = 1
  var end: Int64
  var app = SimulatedApp()
  var authority: String?
  var faults = DeliveryFaults()
  var rate: Double?
  var connections = 4
  var replaces = false
  var json = false
  var target = Target.file("-")

  /// Reads all arguments. A mistyped fault rate must not give a run without faults.
  ///
  /// - Parameter now: milliseconds since 1970. Without `--end` the simulated time ends when that
  ///   day began, so that the same arguments give the same payloads on the whole day.
  /// - Throws: `SimulatorError.usage` that names the first wrong argument.
  init(_ arguments: [String], now: Int64) throws(SimulatorError) {
    end = now - now % CivilTime.day
    var rest = arguments[...]
    var hasTarget = false
    while let argument = rest.popFirst() {
      switch argument {
      case "--shuffle": faults.shuffle = true
      case "--force": replaces = true
      case "--json": json = true
      case "--output", "--url":
        if hasTarget { throw .usage("\(argument): give one of --output and --url") }
        hasTarget = true
        fallthrough
      default:
        guard Self.flagsWithValue.contains(argument) else {
          throw .usage("unknown argument '\(argument)'")
        }
        guard let value = rest.popFirst() else { throw .usage("\(argument) needs a value") }
        try set(argument, value, now)
      }
    }
    guard hasTarget else { throw .usage("name a target: --output FILE, --output - or --url URL") }
    if lifecycles.isEmpty == (fleet == nil) {
      throw .usage("give one of --lifecycle NAME and --fleet N")
    }
  }

  private static let flagsWithValue: Set<String> = [
    "--lifecycle", "--fleet", "--days", "--seed", "--end", "--bundle-id", "--app-apple-id",
    "--environment", "--authority", "--duplicate", "--late", "--drop", "--rate", "--connections",
    "--output", "--url",
  ]

  /// Sets the option of one flag. `flagsWithValue` and this switch name the same flags.
  private mutating func set(
    _ flag: String, _ value: String, _ now: Int64
  ) throws(SimulatorError) {
    switch flag {
    case "--lifecycle": lifecycles = try Self.names(value)
    case "--fleet": fleet = Int(try Self.whole(flag, value, 1...Int64(Fleet.maximumCustomers)))
    case "--days": days = try Self.whole(flag, value, 1...10_000)
    case "--seed": seed = UInt64(try Self.whole(flag, value, 0...Int64.max))
    case "--end": end = try Self.time(flag, value, now)
    case "--bundle-id": app.bundleId = value
    case "--app-apple-id": app.appAppleId = try Self.whole(flag, value, 1...Int64.max)
    case "--environment":
      guard ["Production", "Sandbox"].contains(value) else {
        throw .usage("\(flag) '\(value)': must be Production or Sandbox")
      }
      app.environment = value
    case "--authority": authority = value
    case "--duplicate": faults.duplicate = try Self.share(flag, value)
    case "--late": faults.late = try Self.share(flag, value)
    case "--drop": faults.drop = try Self.share(flag, value)
    case "--rate": rate = try Self.number(flag, value, 0.001...1_000_000)
    case "--connections": connections = Int(try Self.whole(flag, value, 1...1024))
    case "--output": target = .file(value)
    default:
      guard let address = ServiceAddress(value) else {
        throw .usage("--url '\(value)': must be http://HOST:PORT/PATH")
      }
      target = .url(address)
    }
  }

  /// Names of lifecycles, separated by commas; `all` stands for all of them.
  ///
  /// - Throws: `SimulatorError.usage` for a name that there is not.
  package static func names(_ value: String) throws(SimulatorError) -> [String] {
    let names = value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    if names == ["all"] { return Lifecycle.all.map(\.name) }
    for name in names where Lifecycle.named(name) == nil {
      throw .usage("--lifecycle '\(name)': must be one that 'simulate list' names")
    }
    return names
  }

  /// - Throws: `SimulatorError.usage` unless the value is a whole number in the range.
  package static func whole(
    _ flag: String, _ value: String, _ range: ClosedRange<Int64>
  ) throws(SimulatorError) -> Int64 {
    guard let number = Int64(value), range.contains(number) else {
      let bounds = "\(range.lowerBound) to \(range.upperBound)"
      throw .usage("\(flag) '\(value)': must be a whole number, \(bounds)")
    }
    return number
  }

  private static func number(
    _ flag: String, _ value: String, _ range: ClosedRange<Double>
  ) throws(SimulatorError) -> Double {
    guard let number = Double(value), range.contains(number) else {
      let bounds = "\(range.lowerBound) to \(range.upperBound)"
      throw .usage("\(flag) '\(value)': must be a number, \(bounds)")
    }
    return number
  }

  private static func share(_ flag: String, _ value: String) throws(SimulatorError) -> Double {
    try number(flag, value, 0...1)
  }

  /// RFC 3339 or milliseconds since 1970, as in all commands, or `now`, with which a run differs
  /// from day to day.
  private static func time(
    _ flag: String, _ value: String, _ now: Int64
  ) throws(SimulatorError) -> Int64 {
    if value == "now" { return now }
    guard let time = Timestamp.parse(value), time >= 0 else {
      throw .usage(
        "\(flag) '\(value)': must be like 2026-01-01T00:00:00Z, milliseconds since 1970, or now")
    }
    return time
  }
}
