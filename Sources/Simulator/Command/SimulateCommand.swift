import Glibc
import Platform
import StrictJSON

/// `subledger simulate …`: a local App Store on the command line.
public enum SimulateCommand {
  /// How a command ends.
  enum Exit: Int32 {
    case good = 0
    /// Some deliveries were refused or not made.
    case findings, usage, unavailable
  }

  /// Runs the words after `simulate`.
  ///
  /// - Parameters:
  ///   - output: takes what belongs on standard output, without the line's end. Notifications for
  ///     `--output -` go to the descriptor itself.
  ///   - progress: takes what belongs on standard error.
  ///   - shouldStop: asked between deliveries, from several threads; true ends the run cleanly.
  /// - Returns: the exit code: 0 good, 1 some deliveries refused or not made, 2 usage,
  ///   3 unavailable.
  public static func run(
    arguments: [String], output: (String) -> Void, progress: @escaping @Sendable (String) -> Void,
    shouldStop: @escaping @Sendable () -> Bool = { false }
  ) -> Int32 {
    do throws(SimulatorError) {
      return try dispatch(arguments, output, progress, shouldStop).rawValue
    } catch {
      progress("subledger simulate: \(error)")
      switch error {
      case .usage, .exists: return Exit.usage.rawValue
      case .file, .authority, .signing, .network: return Exit.unavailable.rawValue
      }
    }
  }

  /// One subcommand a word. `--help` anywhere among the words wins over everything.
  private static func dispatch(
    _ arguments: [String], _ output: (String) -> Void,
    _ progress: @escaping @Sendable (String) -> Void, _ shouldStop: @escaping @Sendable () -> Bool
  ) throws(SimulatorError) -> Exit {
    guard let command = arguments.first else { throw .usage("say what to simulate") }
    let words = Array(arguments.dropFirst())
    let wantsHelp = words.contains { $0 == "--help" || $0 == "-h" }
    switch command {
    case "--help", "-h", "help": output(SimulateHelp.all)
    case "ca": wantsHelp ? output(SimulateHelp.ca) : try makeAuthority(words, output)
    case "list": wantsHelp ? output(SimulateHelp.list) : try list(words, output)
    case "run":
      if !wantsHelp { return try run(words, output, progress, shouldStop) }
      output(SimulateHelp.run)
    default: throw .usage("unknown word '\(command)'")
    }
    return .good
  }

  private static func makeAuthority(
    _ words: [String], _ output: (String) -> Void
  ) throws(SimulatorError) {
    if let flag = words.first(where: { $0.hasPrefix("-") }) {
      throw .usage("unknown word '\(flag)'")
    }
    guard words.count == 1 else { throw .usage("simulate ca needs one folder") }
    _ = try SimulatedAuthority.create(at: words[0])
    output("made \(words[0]); trust it with \"trustRoots\": [\"\(words[0])/root.der\"]")
  }

  private static func list(_ words: [String], _ output: (String) -> Void) throws(SimulatorError) {
    if let word = words.first(where: { $0 != "--json" }) { throw .usage("unknown word '\(word)'") }
    guard words.isEmpty else {
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

  /// Everything that can be refused is refused before the first signature.
  private static func run(
    _ words: [String], _ output: (String) -> Void,
    _ progress: @escaping @Sendable (String) -> Void, _ shouldStop: @escaping @Sendable () -> Bool
  ) throws(SimulatorError) -> Exit {
    let options = try RunOptions(words, now: Clock.now())
    if case .file(let path) = options.target, path != "-", !options.replaces,
      OutputFile.exists(path)
    {
      throw .usage("\(path) exists and was left alone: name another file, or say --force")
    }
    let authority = try authority(options, progress)
    let notifications = notifications(options)
    let deliveries = options.faults.plan(notifications, seed: options.seed)
    let total = deliveries.count
    switch options.target {
    case .file(let path):
      let written = try NotificationFile.write(
        deliveries, of: notifications, authority: authority, to: path,
        replacing: options.replaces, shouldStop: shouldStop,
        progress: { progress("\($0) of \(total) written") })
      // Standard output belongs to the notifications then.
      let say = path == "-" ? progress : output
      guard written == total else {
        say("stopped: \(written) of \(total) written" + (path == "-" ? "" : ", nothing kept"))
        return .findings
      }
      say(Summary.written(total, of: notifications.count, json: options.json))
      return .good
    case .url(let address):
      let player = Player(
        address: address, connections: options.connections, rate: options.rate)
      let report = try player.play(
        deliveries, of: notifications, authority: authority, shouldStop: shouldStop,
        progress: { progress("\($0) of \(total) delivered") })
      output(Summary.sent(report, json: options.json))
      if report.isUnreachable { throw .network("reach \(address.hostField)") }
      return report.isGood ? .good : .findings
    }
  }

  /// Several lifecycles are several customers, so their ids never meet.
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

  /// The authority named on the command line, else in the environment, else the one in the working
  /// folder; made where there is none.
  private static func authority(
    _ options: RunOptions, _ progress: (String) -> Void
  ) throws(SimulatorError) -> SimulatedAuthority {
    let named = getenv("SUBLEDGER_AUTHORITY").map { String(cString: $0) } ?? ""
    let folder = options.authority ?? (named.isEmpty ? "subledger-authority" : named)
    if OutputFile.exists(folder + "/leaf.key.pem") { return try .load(from: folder) }
    let authority = try SimulatedAuthority.create(at: folder)
    progress("made an authority in \(folder); services must trust \(folder)/root.der")
    return authority
  }
}
