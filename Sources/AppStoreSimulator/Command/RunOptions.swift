import Platform

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
  var kinds: Set<SimulatedMessage.Kind> = [.notifications]
  var receipts = SimulatedMessage.Receipts()
  var digests = MessageSigner.Digests.sha256
  /// The shared secret of version 1 notifications.
  var v1Secret = ""

  var hasReceipts: Bool { !kinds.isDisjoint(with: [.v1, .receipts]) }

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
    try requireUsable()
  }

  /// What no single flag can judge.
  private func requireUsable() throws(SimulatorError) {
    if kinds.contains(.v1), v1Secret.isEmpty {
      throw .usage("--kinds v1 needs --v1-secret-file FILE, the secret that the service knows")
    }
    if case .url = target, !kinds.isSubset(of: [.notifications, .v1]) {
      throw .usage("--url takes notifications alone; give --output, and the file to ingest")
    }
  }

  private static let flagsWithValue: Set<String> = [
    "--lifecycle", "--fleet", "--days", "--seed", "--end", "--bundle-id", "--app-apple-id",
    "--environment", "--authority", "--duplicate", "--late", "--drop", "--rate", "--connections",
    "--output", "--url", "--kinds", "--receipt-records", "--receipt-digest", "--v1-secret-file",
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
    case "--kinds": kinds = try Self.kinds(value)
    case "--receipt-records":
      receipts.earlier = Int(try Self.whole(flag, value, 1...2000)) - 1
    case "--receipt-digest":
      guard let digests = MessageSigner.Digests(rawValue: value) else {
        throw .usage("\(flag) '\(value)': must be sha256, sha1 or both")
      }
      self.digests = digests
    case "--v1-secret-file": v1Secret = try Self.secret(value)
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

  /// Kinds of messages, separated by commas.
  private static func kinds(
    _ value: String
  ) throws(SimulatorError) -> Set<SimulatedMessage.Kind> {
    var kinds: Set<SimulatedMessage.Kind> = []
    for name in value.split(separator: ",", omittingEmptySubsequences: false) {
      guard let kind = SimulatedMessage.Kind(rawValue: String(name)) else {
        let known = SimulatedMessage.Kind.allCases.map(\.rawValue).joined(separator: ", ")
        throw .usage("--kinds '\(name)': must be one of \(known)")
      }
      kinds.insert(kind)
    }
    return kinds
  }

  /// The first line of a file of shared secrets.
  private static func secret(_ path: String) throws(SimulatorError) -> String {
    let line = try OutputFile.read(path).split(separator: 0x0A).first ?? []
    guard let secret = String(validating: line, as: UTF8.self), !secret.isEmpty else {
      throw .usage("--v1-secret-file '\(path)': its first line is no secret")
    }
    return secret
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
