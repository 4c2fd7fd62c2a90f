import AppStoreSimulator
import Glibc
import HTTPServer
import Platform
import StrictJSON

/// `simulate serve`: a local App Store Server API.
enum SimulateServe {
  static let valued = [
    "--authority", "--bundle-id", "--app-apple-id", "--customers", "--days", "--seed",
    "--lifecycle", "--behind", "--before", "--notify", "--control", "--listen-production",
    "--listen-sandbox", "--refunds",
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let options = try options(arguments)
    let interruption = Interruption.started()
    let store = try mapError(
      LedgerError.simulator, try SimulatedAppStore(options) { Terminal.error($0) })
    Terminal.print(store.description)
    while !interruption.isRequested { usleep(50_000) }
    store.stop()
    return .good
  }

  private static func options(
    _ arguments: Arguments
  ) throws(LedgerError) -> SimulatedAppStore.Options {
    try arguments.requireNoOperand()
    guard let authority = arguments["--authority"], !authority.isEmpty else {
      throw .usage("--authority DIR is missing")
    }
    var options = SimulatedAppStore.Options(authority: authority)
    options.app = try SimulateCommand.app(arguments)
    let most = Int64(Fleet.maximumCustomers)
    if let count = try arguments.number("--customers", 0...most) { options.customers = Int(count) }
    if let days = try arguments.number("--days", 1...10_000) { options.days = days }
    if let seed = try arguments.number("--seed", 0...Int64.max) { options.seed = UInt64(seed) }
    options.refunds = try SimulateRun.decimal("--refunds", 0...1, arguments)
    options.lifecycles = try SimulateCommand.lifecycles(arguments)
    options.behind = (try arguments.number("--behind", 0...10_000) ?? 0) * CivilTime.day
    if let result = arguments["--before"] { options.before = result }
    options.notify = try SimulateCommand.service("--notify", arguments)
    if let document = arguments["--control"] {
      guard let root = try? JSONDocument(parsing: Array(document.utf8)).root else {
        throw .usage("--control: must be a JSON object")
      }
      do throws(ControlError) { try options.control(root) } catch {
        throw .usage("--control: \(error)")
      }
    }
    options.listenProduction = try listen("--listen-production", arguments)
    options.listenSandbox = try listen("--listen-sandbox", arguments)
    return options
  }

  private static func listen(
    _ flag: String, _ arguments: Arguments
  ) throws(LedgerError) -> String {
    let value = arguments[flag] ?? "127.0.0.1:0"
    guard ListenAddress(value) != nil else {
      throw .usage("\(flag) '\(value)': must be HOST:PORT, such as 127.0.0.1:0")
    }
    return value
  }
}
