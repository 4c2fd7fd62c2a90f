import Glibc
import Platform
import SignedData
import StrictJSON

/// `subledger simulate …`: a local App Store on the command line.
public enum SimulateCommand {
  /// Exit codes.
  enum Exit: Int32 {
    case good = 0
    /// Some deliveries were refused or not made.
    case findings
    case usage, unavailable
    /// 128 plus the number of SIGINT, as shells report it.
    case interrupted = 130
  }

  /// Runs the command with the arguments after `simulate`.
  ///
  /// - Parameters:
  ///   - output: receives each line for standard output, without its end. Notifications for
  ///     `--output -` go to the descriptor directly.
  ///   - errors: receives each line for standard error.
  ///   - progress: receives each line that tells how far a long run is.
  ///   - shouldStop: called between deliveries, from several threads; true ends the run cleanly.
  /// - Returns: the exit code: 0 good, 1 some deliveries were refused or not made, 2 wrong
  ///   arguments, 3 unavailable, 130 stopped.
  public static func run(
    arguments: [String], output: (String) -> Void, errors: (String) -> Void,
    progress: @escaping @Sendable (String) -> Void,
    shouldStop: @escaping @Sendable () -> Bool = { false }
  ) -> Int32 {
    do throws(SimulatorError) {
      return try dispatch(arguments, output, errors, progress, shouldStop).rawValue
    } catch {
      // Who reads has read enough.
      if case .file(_, _, EPIPE) = error { return Exit.good.rawValue }
      errors("subledger simulate: \(error)")
      if case .usage = error {
        let name = arguments.first.flatMap { ["ca", "list", "run"].contains($0) ? $0 : nil }
        errors("see: subledger simulate " + (name.map { $0 + " " } ?? "") + "--help")
      }
      switch error {
      case .usage, .exists: return Exit.usage.rawValue
      case .file, .authority, .signing, .network: return Exit.unavailable.rawValue
      }
    }
  }

  /// Runs one subcommand. `--help` anywhere among the arguments prints help instead.
  private static func dispatch(
    _ arguments: [String], _ output: (String) -> Void, _ errors: (String) -> Void,
    _ progress: @escaping @Sendable (String) -> Void, _ shouldStop: @escaping @Sendable () -> Bool
  ) throws(SimulatorError) -> Exit {
    guard let command = arguments.first else { throw .usage("name a subcommand") }
    let rest = Array(arguments.dropFirst())
    let wantsHelp = rest.contains { $0 == "--help" || $0 == "-h" }
    switch command {
    case "--help", "-h", "help": output(SimulateHelp.all)
    case "ca": wantsHelp ? output(SimulateHelp.ca) : try makeAuthority(rest, output)
    case "list": wantsHelp ? output(SimulateHelp.list) : try list(rest, output)
    case "run":
      if !wantsHelp { return try run(rest, output, errors, progress, shouldStop) }
      output(SimulateHelp.run)
    default: throw .usage("unknown subcommand '\(command)'")
    }
    return .good
  }

  private static func makeAuthority(
    _ arguments: [String], _ output: (String) -> Void
  ) throws(SimulatorError) {
    if let flag = arguments.first(where: { $0.hasPrefix("-") }) {
      throw .usage("unknown argument '\(flag)'")
    }
    guard arguments.count == 1 else { throw .usage("simulate ca needs one folder") }
    let folder = arguments[0]
    _ = try SimulatedAuthority.create(at: folder)
    let path = realpath(folder, nil)
    defer { free(path) }
    let root = path.map { String(cString: $0) } ?? folder
    output("made \(folder); trust it with \"trustRoots\": [\"\(root)/root.der\"]")
  }

  private static func list(
    _ arguments: [String], _ output: (String) -> Void
  ) throws(SimulatorError) {
    if let argument = arguments.first(where: { $0 != "--json" }) {
      throw .usage("unknown argument '\(argument)'")
    }
    guard arguments.isEmpty else {
      let items = Lifecycle.all.map {
        JSONValue.object([("name", .string($0.name)), ("summary", .string($0.summary))])
      }
      return output(JSONValue.array(items).text)
    }
    for lifecycle in Lifecycle.all {
      let pad = String(repeating: " ", count: 18 - lifecycle.name.count)
      output(lifecycle.name + pad + lifecycle.summary)
    }
  }

  // MARK: run

  /// All arguments are checked before the first signature is made.
  private static func run(
    _ arguments: [String], _ output: (String) -> Void, _ errors: (String) -> Void,
    _ progress: @escaping @Sendable (String) -> Void, _ shouldStop: @escaping @Sendable () -> Bool
  ) throws(SimulatorError) -> Exit {
    let options = try RunOptions(arguments, now: Clock.now())
    if case .file(let path) = options.target, path != "-", !options.replaces,
      OutputFile.exists(path)
    {
      throw .usage("\(path) exists and was not changed: name another file, or give --force")
    }
    let authority = try authority(options, errors)
    let messages = SimulatedMessage.all(
      options.kinds, of: notifications(options), app: options.app, options.receipts)
    let signer = try signer(options, authority)
    let deliveries = options.faults.plan(messages, seed: options.seed)
    let total = deliveries.count
    switch options.target {
    case .file(let path):
      let written = try NotificationFile.write(
        deliveries, of: messages, signer: signer, to: path,
        replacing: options.replaces, shouldStop: shouldStop,
        progress: { progress("\($0) of \(total) written") })
      // With `-` standard output holds the notifications.
      let write = path == "-" ? errors : output
      guard written == total else {
        write("stopped: \(written) of \(total) written" + (path == "-" ? "" : ", no file is left"))
        return .interrupted
      }
      write(Summary.written(total, of: messages, json: options.json))
      return .good
    case .url(let address):
      let player = Player(
        address: address, connections: options.connections, rate: options.rate)
      let report = try player.play(
        deliveries, of: messages, signer: signer, shouldStop: shouldStop,
        progress: { progress("\($0) of \(total) delivered") })
      output(Summary.sent(report, json: options.json))
      if report.isUnreachable { throw .network("reach \(address.hostField)") }
      if report.isStopped { return .interrupted }
      return report.isGood ? .good : .findings
    }
  }

  /// Each lifecycle is played by a customer of its own, so that their ids differ.
  private static func notifications(_ options: RunOptions) -> [SimulatedNotification] {
    if let customers = options.fleet {
      return Fleet(
        app: options.app, customers: customers, days: options.days, end: options.end,
        seed: options.seed
      ).notifications()
    }
    return options.lifecycles.enumerated().flatMap { index, name in
      Lifecycle.named(name)?.notifications(
        app: options.app, seed: options.seed, endingAt: options.end, customer: index) ?? []
    }.sorted(by: SimulatedNotification.precedes)
  }

  /// A certificate for receipts is made if some message has one.
  private static func signer(
    _ options: RunOptions, _ authority: SimulatedAuthority
  ) throws(SimulatorError) -> MessageSigner {
    do throws(SigningError) {
      return MessageSigner(
        authority, environment: options.app.environment,
        receipts: options.hasReceipts ? try authority.makeReceiptSigner() : nil,
        digests: options.digests, v1Secret: options.v1Secret)
    } catch {
      throw .signing(error)
    }
  }

  /// The authority named on the command line, else in the process environment, else the one in the
  /// working folder. It is made if there is none.
  private static func authority(
    _ options: RunOptions, _ errors: (String) -> Void
  ) throws(SimulatorError) -> SimulatedAuthority {
    let named = getenv("SUBLEDGER_AUTHORITY").map { String(cString: $0) } ?? ""
    let folder = options.authority ?? (named.isEmpty ? "subledger-authority" : named)
    if OutputFile.exists(folder + "/leaf.key.pem") { return try .load(from: folder) }
    let authority = try SimulatedAuthority.create(at: folder)
    errors("made an authority in \(folder); services must trust \(folder)/root.der")
    return authority
  }
}
