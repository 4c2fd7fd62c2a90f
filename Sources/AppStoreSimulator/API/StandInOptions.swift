import HTTPServer
import Platform
import StrictJSON

/// The arguments after `simulate serve`.
struct StandInOptions: Sendable {
  var authority = ""
  var app = SimulatedApp()
  var customers = 100
  var days: Int64 = 400
  var seed: UInt64 = 1
  var lifecycles: [Lifecycle] = []
  /// Milliseconds that the simulated clock begins behind the wall clock.
  var behind: Int64 = 0
  /// How the attempts before the simulated clock's begin ended, Apple's sendAttemptResult.
  var before = SendAttempt.success
  var notify: ServiceAddress?
  var behaviour = Behaviour()
  var listenProduction = "127.0.0.1:0"
  var listenSandbox = "127.0.0.1:0"

  /// - Throws: `SimulatorError.usage` that names the first wrong argument.
  init(_ arguments: [String]) throws(SimulatorError) {
    var rest = arguments[...]
    while let flag = rest.popFirst() {
      guard Self.flags.contains(flag) else { throw .usage("unknown argument '\(flag)'") }
      guard let value = rest.popFirst() else { throw .usage("\(flag) needs a value") }
      try set(flag, value)
    }
    if authority.isEmpty { throw .usage("--authority DIR is missing") }
  }

  private static let flags: Set = [
    "--authority", "--bundle-id", "--app-apple-id", "--customers", "--days", "--seed",
    "--lifecycle", "--behind", "--before", "--notify", "--control", "--listen-production",
    "--listen-sandbox",
  ]

  /// Sets the option of one flag. `flags` and this switch name the same flags.
  private mutating func set(_ flag: String, _ value: String) throws(SimulatorError) {
    switch flag {
    case "--authority": authority = value
    case "--bundle-id": app.bundleId = value
    case "--app-apple-id": app.appAppleId = try RunOptions.whole(flag, value, 1...Int64.max)
    case "--customers":
      let most = Int64(Fleet.maximumCustomers)
      customers = Int(try RunOptions.whole(flag, value, 0...most))
    case "--days": days = try RunOptions.whole(flag, value, 1...10_000)
    case "--seed": seed = UInt64(try RunOptions.whole(flag, value, 0...Int64.max))
    case "--lifecycle":
      lifecycles = try RunOptions.names(value).compactMap { Lifecycle.named($0) }
    case "--behind":
      behind = try RunOptions.whole(flag, value, 0...10_000) * CivilTime.day
    case "--before": before = value
    case "--notify":
      guard let address = ServiceAddress(value) else {
        throw .usage("--notify '\(value)': must be http://HOST:PORT/PATH")
      }
      notify = address
    case "--control": try control(value)
    default:
      guard ListenAddress(value) != nil else {
        throw .usage("\(flag) '\(value)': must be HOST:PORT, such as 127.0.0.1:0")
      }
      if flag == "--listen-production" { listenProduction = value } else { listenSandbox = value }
    }
  }

  private mutating func control(_ value: String) throws(SimulatorError) {
    guard let root = try? JSONDocument(parsing: Array(value.utf8)).root else {
      throw .usage("--control: must be a JSON object")
    }
    do throws(ControlError) {
      _ = try behaviour.apply(root)
    } catch {
      throw .usage("--control: \(error)")
    }
  }
}
