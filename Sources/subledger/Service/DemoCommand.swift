import AppStore
import AppStoreSimulator
import Clients
import Glibc
import HTTPServer
import Ledger
import Platform
import Store
import StrictJSON

/// `demo`: a simulated App Store sends the notifications of a small fleet to the daemon over HTTP,
/// an outage is played and recovered, and one customer is shown before and after it. Everything is
/// in one folder; the next run continues with it, and with another customer.
enum DemoCommand {
  static let usualFolder = ".demo"
  /// What the demo makes in its folder.
  private static let (tokenFile, configurationFile) = ("/read-token", "/config.json")
  private static let dataFolder = "/data"
  private static let customers = 40
  private static let days: Int64 = 120

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try arguments.requireNoOperand()
    let folder = arguments["--data"] ?? usualFolder
    guard access(DataFolder(path: folder).journal, F_OK) != 0 else {
      throw .usage("\(folder) is the data folder of a daemon; give the demo another one")
    }
    let journal = DataFolder(path: folder + dataFolder).journal
    let isUsed = access(folder + configurationFile, F_OK) == 0 || access(journal, F_OK) == 0
    guard !isUsed || access(folder + tokenFile, F_OK) == 0 else {
      throw .usage("\(folder) is of another installation; give the demo another folder")
    }
    // Before the configuration is written that a running demo uses.
    guard (try? DataFolder(path: folder + dataFolder).isLocked()) != true else {
      throw .unavailable(
        "a demo runs on \(folder) already; stop it with ^C, or give another --data")
    }
    let (configuration, token, authority) = try prepare(folder, listen: arguments["--listen"])
    // A log line for every notification would hide the output.
    Log.setLevel(.warning)
    let daemon = try Daemon.start(configuration)
    let address = "127.0.0.1:\(daemon.server.port)"
    Terminal.print("subledger listens on http://\(address), its data is in \(folder)/data\n")
    let interruption = Interruption.started()
    do throws(LedgerError) {
      try play(to: address, authority, until: try end(folder), interruption)
    } catch {
      _ = daemon.stop()
      throw error
    }
    let outage = try DemoOutage.play(daemon, folder, interruption) {
      (listen, appStore) throws(LedgerError) in
      try configure(folder, listen: listen, token: token, appStore: appStore)
    }
    do throws(LedgerError) {
      try outage.customer.showHistory(DataFolder(path: configuration.data))
    } catch {
      _ = outage.stop()
      throw error
    }
    showRequests(address, token, outage.customer)
    while !interruption.isRequested { usleep(100_000) }
    Terminal.print("stopping; the next run continues with the same data")
    return outage.stop()
  }

  /// A command on the demo's folder, as it can be pasted in any folder: the program is in no search
  /// path unless it was found in one.
  static func command(_ name: String, _ folder: String) -> String {
    let isPath = CommandLine.arguments.first?.contains("/") == true
    let program = isPath ? "'\(ProgramPath.own)'" : "subledger"
    return "\(program) \(name) --config '\(absolute(folder) + configurationFile)'"
  }

  private static func absolute(_ path: String) -> String {
    guard let found = realpath(path, nil) else { return path }
    defer { free(found) }
    return String(cString: found)
  }

  // MARK: Folder, authority, token, configuration

  private static func prepare(
    _ folder: String, listen: String?
  ) throws(LedgerError) -> (Configuration, token: String, SimulatedAuthority) {
    try DataFolder(path: folder).create()
    let authority = try mapError(
      { (error: SimulatorError) in LedgerError.unavailable("\(error)") },
      try SimulatedAuthority.inFolder(folder + "/authority"))
    let token = try token(folder + tokenFile)
    return (try configure(folder, listen: listen, token: token), token, authority)
  }

  /// Writes and reads the configuration.
  ///
  /// - Parameter appStore: how Apple is asked; nil if it is not.
  private static func configure(
    _ folder: String, listen: String?, token: String, appStore: JSONValue? = nil
  ) throws(LedgerError) -> Configuration {
    let file = folder + configurationFile
    let app = SimulatedApp()
    let members: [(String, JSONValue)] = [
      ("listen", .string("127.0.0.1:0")), ("data", .string(folder + dataFolder)),
      (
        "apps",
        .array([
          .object([
            ("bundleId", .string(app.bundleId)), ("appAppleId", .integer(app.appAppleId)),
            ("environments", .array([.string("Production"), .string("Sandbox")])),
          ])
        ])
      ),
      ("trustRoots", .array([.string("authority/root.der")])),
      (
        "readTokens",
        .array([
          .object([
            ("name", .string("demo")), ("sha256", .string(ReadAccess.digest(of: token))),
          ])
        ])
      ),
      (
        "entitlements",
        .object([
          ("pro", .array(["pro.*", "unlock.lifetime"].map(JSONValue.string))),
          ("basic", .array(["basic.*", "student.monthly"].map(JSONValue.string))),
        ])
      ),
    ]
    let configuration = JSONValue.object(members + (appStore.map { [("appStore", $0)] } ?? []))
    try write(Array((configuration.prettyText + "\n").utf8), to: file)
    return try Configuration.load(file: file, variables: [:], listen: listen, data: nil)
  }

  /// Made at the first run and stored, so that copied commands work after a restart too.
  private static func token(_ path: String) throws(LedgerError) -> String {
    if let stored = try? DurableFile.read(path, limit: 100), !stored.isEmpty {
      return String(decoding: stored, as: UTF8.self)
    }
    var generator = SystemRandomNumberGenerator()
    let random = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
    let token = "demo-" + Hexadecimal.encode(random)
    try write(Array(token.utf8), to: path)
    return token
  }

  /// When the simulated time ends: the time of the first run, so that later runs send the same
  /// notifications.
  private static func end(_ folder: String) throws(LedgerError) -> Int64 {
    let path = folder + "/simulated-until"
    let stored = (try? DurableFile.read(path, limit: 100)).flatMap {
      Timestamp.parse(String(decoding: $0, as: UTF8.self))
    }
    if let stored { return stored }
    let now = Clock.now()
    try write(Array(Timestamp.text(now).utf8), to: path)
    return now
  }

  private static func write(_ bytes: [UInt8], to path: String) throws(LedgerError) {
    do throws(LedgerError) {
      try DurableFile.write(bytes, to: path)
    } catch {
      throw .unavailable(error.detail)
    }
  }

  // MARK: Sending and showing

  /// Sends the notifications of a small fleet, some late and some twice.
  private static func play(
    to address: String, _ authority: SimulatedAuthority, until end: Int64,
    _ interruption: Interruption
  ) throws(LedgerError) {
    guard let service = ServiceURL("http://\(address)/v1/notifications") else { return }
    let fleet = Fleet(
      app: SimulatedApp(), customers: customers, days: days, end: end, seed: 7)
    let notifications = fleet.notifications()
    var faults = DeliveryFaults()
    faults.duplicate = 0.1
    faults.late = 0.05
    let messages = notifications.map { SimulatedMessage($0) }
    let deliveries = faults.plan(messages, seed: 7)
    var player = Player(address: service, connections: 8)
    player.millisecondsPerHour = 0
    let report = try mapError(
      LedgerError.simulator,
      try player.play(
        deliveries, of: messages, signer: MessageSigner(authority),
        shouldStop: { interruption.isRequested },
        progress: {
          Terminal.progress("the App Store sends: \($0) of \(deliveries.count) deliveries")
        }))
    let outcomes = report.byOutcome.sorted { $0.key < $1.key }
      .map { CountText.of($0.value, $0.key == "duplicate" ? "duplicates" : $0.key) }
      .joined(separator: ", ")
    Terminal.print(
      "The App Store sent \(CountText.of(report.answered, "notifications")) about \(customers) "
        + "customers: \(outcomes).\n")
  }

  private static func showRequests(_ address: String, _ token: String, _ customer: DemoCustomer) {
    let requests = [
      "entitlements/\(customer.id)", "customers/\(customer.id)?by=original_transaction_id",
      "entitlements?status=active&limit=3",
    ].map { "  curl -s -H 'Authorization: Bearer \(token)' 'http://\(address)/v1/\($0)'" }
    Terminal.print(
      """

      Try, in another terminal:

      \(requests.joined(separator: "\n"))

      Or open the console, http://\(address)/console, with the token \(token)

      ^C stops it.
      """)
  }
}
