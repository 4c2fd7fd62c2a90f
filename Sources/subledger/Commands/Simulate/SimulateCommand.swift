import AppStoreSimulator
import Clients
import Glibc
import Platform
import StrictJSON

/// `simulate`: a local App Store. Each of its subcommands has flags and a help of its own.
enum SimulateCommand {
  private struct Subcommand {
    let name: String
    let help: String
    /// The flags that take a value.
    var valued: [String] = []
    /// The flags that take none.
    var plain: [String] = []
    let action: @Sendable (Arguments) throws(LedgerError) -> ExitCode
  }

  private static let subcommands = [
    Subcommand(name: "ca", help: SimulateHelp.ca, action: makeAuthority),
    Subcommand(name: "list", help: SimulateHelp.list, plain: ["--json"], action: list),
    Subcommand(
      name: "run", help: SimulateHelp.run, valued: SimulateRun.valued, plain: SimulateRun.plain,
      action: SimulateRun.run),
    Subcommand(
      name: "serve", help: SimulateHelp.serve, valued: SimulateServe.valued,
      action: SimulateServe.run),
  ]

  /// Runs the command with the arguments after `simulate`.
  static func run(_ arguments: [String]) -> ExitCode {
    let name = arguments.first ?? ""
    guard let chosen = subcommands.first(where: { $0.name == name }) else {
      return Command.perform("simulate") { () throws(LedgerError) in
        guard ["--help", "-h", "help"].contains(name) else {
          throw .usage(name.isEmpty ? "name a subcommand" : "unknown subcommand '\(name)'")
        }
        Terminal.print(SimulateHelp.all)
        return .good
      }
    }
    let page = "simulate \(name)"
    let prefix = name == "serve" ? page : "simulate"
    return Command.perform(prefix, page: page) { () throws(LedgerError) in
      let rest = Array(arguments.dropFirst())
      if rest.contains("--help") || rest.contains("-h") {
        Terminal.print(chosen.help)
        return .good
      }
      return try chosen.action(try Arguments(rest, valued: chosen.valued, plain: chosen.plain))
    }
  }

  private static func makeAuthority(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    guard arguments.operands.count == 1 else { throw .usage("simulate ca needs one folder") }
    let folder = arguments.operands[0]
    _ = try mapError(LedgerError.simulator, try SimulatedAuthority.create(at: folder))
    let path = realpath(folder, nil)
    defer { free(path) }
    let root = path.map { String(cString: $0) } ?? folder
    Terminal.print("made \(folder); trust it with \"trustRoots\": [\"\(root)/root.der\"]")
    return .good
  }

  private static func list(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try arguments.requireNoOperand()
    let items = Lifecycle.all.map {
      JSONValue.object([("name", .string($0.name)), ("summary", .string($0.summary))])
    }
    Terminal.print(
      .array(items),
      or: Lifecycle.all.map { $0.name.padded(to: 18) + $0.summary }.joined(separator: "\n"),
      arguments)
    return .good
  }

  /// The value of `--lifecycle`: names, separated by commas; `all` stands for all of them.
  ///
  /// - Throws: `LedgerError.usage` for a name that there is not.
  static func lifecycles(_ arguments: Arguments) throws(LedgerError) -> [Lifecycle] {
    guard let value = arguments["--lifecycle"] else { return [] }
    if value == "all" { return Lifecycle.all }
    var lifecycles: [Lifecycle] = []
    for name in value.split(separator: ",", omittingEmptySubsequences: false) {
      guard let lifecycle = Lifecycle.named(String(name)) else {
        throw .usage("--lifecycle '\(name)': must be one that 'simulate list' names")
      }
      lifecycles.append(lifecycle)
    }
    return lifecycles
  }

  /// The app that `--bundle-id` and `--app-apple-id` name.
  ///
  /// - Throws: `LedgerError.usage` for an id that is no number.
  static func app(_ arguments: Arguments) throws(LedgerError) -> SimulatedApp {
    var app = SimulatedApp()
    if let id = arguments["--bundle-id"] { app.bundleId = id }
    if let id = try arguments.number("--app-apple-id", 1...Int64.max) { app.appAppleId = id }
    return app
  }

  /// The value of a flag that names where notifications are sent: plain HTTP, because it is meant
  /// for a service on the same machine. The path is `/v1/notifications` if it has none.
  ///
  /// - Throws: `LedgerError.usage` for another address.
  static func service(
    _ flag: String, _ arguments: Arguments
  ) throws(LedgerError) -> ServiceURL? {
    guard let value = arguments[flag] else { return nil }
    let host = value.dropFirst("http://".count).prefix { $0 != "/" }
    let path = value.dropFirst("http://".count + host.count)
    guard value.hasPrefix("http://"), !host.hasSuffix(":0"),
      let url = ServiceURL(
        receiver: "http://\(host)" + (path.count > 1 ? path : "/v1/notifications"),
        isPrivate: true)
    else { throw .usage("\(flag) '\(value)': must be http://HOST:PORT/PATH") }
    return url
  }
}

extension LedgerError {
  /// For what the simulated App Store cannot do.
  static func simulator(_ error: SimulatorError) -> LedgerError {
    if case .exists = error { .usage("\(error)") } else { .unavailable("\(error)") }
  }
}
