import AppStore
import AppStoreSimulator
import Clients
import Platform
import StrictJSON

/// `simulate run`: plays lifecycles or a fleet into a file or a service.
struct SimulateRun {
  static let valued = [
    "--lifecycle", "--fleet", "--days", "--seed", "--end", "--bundle-id", "--app-apple-id",
    "--environment", "--authority", "--duplicate", "--late", "--drop", "--rate", "--connections",
    "--output", "--url", "--kinds", "--receipt-records", "--receipt-digest", "--v1-secret-file",
    "--refunds", "--reports",
  ]
  static let plain = ["--shuffle", "--force", "--json"]

  private enum Target {
    case file(String)
    case service(ServiceURL)
  }

  private let arguments: Arguments
  private let target: Target
  private let fleet: Fleet
  private let kinds: Set<SimulatedMessage.Kind>
  private let earlierPurchases: Int
  private let digests: MessageSigner.Digests
  /// The shared secret of version 1 notifications.
  private let v1Secret: String
  private let faults: DeliveryFaults
  private let (connections, rate): (Int, Double?)
  private let interruption = Interruption.started()

  /// All arguments are checked before the first signature is made.
  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try SimulateRun(arguments).run()
  }

  private init(_ arguments: Arguments) throws(LedgerError) {
    try arguments.requireNoOperand()
    self.arguments = arguments
    target = try Self.target(arguments)
    fleet = try Self.fleet(arguments)
    kinds = try Self.kinds(arguments)
    earlierPurchases = Int(try arguments.number("--receipt-records", 1...2000) ?? 1) - 1
    let digest = arguments["--receipt-digest"] ?? "sha256"
    guard let digests = MessageSigner.Digests(rawValue: digest) else {
      throw .usage("--receipt-digest '\(digest)': must be sha256, sha1 or both")
    }
    self.digests = digests
    v1Secret = try Self.secret(arguments["--v1-secret-file"])
    var faults = DeliveryFaults()
    faults.duplicate = try Self.decimal("--duplicate", 0...1, arguments) ?? 0
    faults.late = try Self.decimal("--late", 0...1, arguments) ?? 0
    faults.drop = try Self.decimal("--drop", 0...1, arguments) ?? 0
    faults.shuffle = arguments.has("--shuffle")
    self.faults = faults
    rate = try Self.decimal("--rate", 0.001...1_000_000, arguments)
    connections = Int(try arguments.number("--connections", 1...1024) ?? 4)
    if kinds.contains(.v1), v1Secret.isEmpty {
      throw .usage("--kinds v1 needs --v1-secret-file FILE, the secret that the service knows")
    }
    switch target {
    case .service where !kinds.isSubset(of: [.notifications, .v1]):
      throw .usage("--url takes notifications alone; give --output, and the file to ingest")
    case .file(let path)
    where path != "-" && !arguments.has("--force") && (try? DurableFile.size(path)) != nil:
      throw .usage("\(path) exists and was not changed: name another file, or give --force")
    default: break
    }
  }

  // MARK: Arguments

  private static func target(_ arguments: Arguments) throws(LedgerError) -> Target {
    switch (arguments["--output"], try SimulateCommand.service("--url", arguments)) {
    case (let file?, nil): return .file(file)
    case (nil, let service?): return .service(service)
    case (nil, nil): throw .usage("name a target: --output FILE, --output - or --url URL")
    default: throw .usage("--url: give one of --output and --url")
    }
  }

  /// Without `--end` the simulated time ends when the day began, so that the same arguments give
  /// the same payloads on the whole day.
  private static func fleet(_ arguments: Arguments) throws(LedgerError) -> Fleet {
    let now = Clock.now()
    let end = arguments["--end"] == "now" ? now : try arguments.time("--end")
    let customers = try arguments.number("--fleet", 1...Int64(Fleet.maximumCustomers))
    var app = try SimulateCommand.app(arguments)
    if let environment = try arguments.environment() { app.environment = environment.rawValue }
    var fleet = Fleet(
      app: app, customers: Int(customers ?? 0),
      days: try arguments.number("--days", 1...10_000) ?? 400,
      end: end ?? now - now % CivilTime.day,
      seed: UInt64(try arguments.number("--seed", 0...Int64.max) ?? 1))
    fleet.refunds = try decimal("--refunds", 0...1, arguments)
    fleet.lifecycles = try SimulateCommand.lifecycles(arguments)
    guard fleet.refunds == nil || customers != nil else {
      throw .usage("--refunds needs --fleet N: a lifecycle is a script")
    }
    guard fleet.lifecycles.isEmpty != (customers == nil) else {
      throw .usage("give one of --lifecycle NAME and --fleet N")
    }
    return fleet
  }

  private static func kinds(
    _ arguments: Arguments
  ) throws(LedgerError) -> Set<SimulatedMessage.Kind> {
    var kinds: Set<SimulatedMessage.Kind> = []
    let names = arguments["--kinds"] ?? SimulatedMessage.Kind.notifications.rawValue
    for name in names.split(separator: ",", omittingEmptySubsequences: false) {
      guard let kind = SimulatedMessage.Kind(rawValue: String(name)) else {
        let known = SimulatedMessage.Kind.allCases.map(\.rawValue).joined(separator: ", ")
        throw .usage("--kinds '\(name)': must be one of \(known)")
      }
      kinds.insert(kind)
    }
    return kinds
  }

  /// The first line of a file of shared secrets; empty without a file.
  private static func secret(_ path: String?) throws(LedgerError) -> String {
    guard let path else { return "" }
    let line: [UInt8]?
    do throws(LedgerError) { line = try LineReader(path: path, maximum: 1 << 20).next() } catch {
      throw .simulator(.file("read", path, error))
    }
    guard let secret = String(validating: line ?? [], as: UTF8.self), !secret.isEmpty else {
      throw .usage("--v1-secret-file '\(path)': its first line is no secret")
    }
    return secret
  }

  /// The value of a flag that is a share or a rate.
  static func decimal(
    _ flag: String, _ range: ClosedRange<Double>, _ arguments: Arguments
  ) throws(LedgerError) -> Double? {
    guard let value = arguments[flag] else { return nil }
    guard let number = Double(value), range.contains(number) else {
      throw .usage(
        "\(flag) '\(value)': must be a number, \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  // MARK: Running

  private func run() throws(LedgerError) -> ExitCode {
    let signer = try signer()
    let notifications = fleet.notifications()
    if let folder = arguments["--reports"] { try writeReports(notifications, into: folder) }
    let messages = SimulatedMessage.all(
      kinds, of: notifications, app: fleet.app, earlierPurchases: earlierPurchases)
    let deliveries = faults.plan(messages, seed: fleet.seed)
    switch target {
    case .file(let path): return try write(deliveries, of: messages, signer, to: path)
    case .service(let address): return try send(deliveries, of: messages, signer, to: address)
    }
  }

  /// With the authority named on the command line, else in the process environment, else the one
  /// in the working folder. A certificate for receipts is made if some message has one.
  private func signer() throws(LedgerError) -> MessageSigner {
    let named = ProcessEnvironment.variables["SUBLEDGER_AUTHORITY"] ?? ""
    let folder = arguments["--authority"] ?? (named.isEmpty ? "subledger-authority" : named)
    let isNew = !SimulatedAuthority.exists(at: folder)
    return try mapError(LedgerError.simulator) { () throws(SimulatorError) in
      let authority = try SimulatedAuthority.inFolder(folder)
      if isNew {
        Terminal.error("made an authority in \(folder); services must trust \(folder)/root.der")
      }
      let hasReceipts = !kinds.isDisjoint(with: [.v1, .receipts])
      return MessageSigner(
        authority, environment: fleet.app.environment,
        receipts: hasReceipts
          ? try mapError(SimulatorError.signing, try authority.makeReceiptSigner()) : nil,
        digests: digests, v1Secret: v1Secret)
    }
  }

  private func write(
    _ deliveries: [Delivery], of messages: [SimulatedMessage], _ signer: MessageSigner,
    to path: String
  ) throws(LedgerError) -> ExitCode {
    let file = try path == "-" ? nil : Self.create(path)
    let total = deliveries.count
    let written = try mapError(LedgerError.simulator) { () throws(SimulatorError) in
      let written = try NotificationLines.write(
        deliveries, of: messages, signer: signer, shouldStop: { interruption.isRequested },
        progress: { Terminal.progress("\($0) of \(total) written") }
      ) { (lines) throws(SimulatorError) in
        guard let file else { return Terminal.write(lines) }
        do throws(LedgerError) { try file.write(lines) } catch {
          throw .file("write", path + ".partial", error)
        }
      }
      guard written == total, let file else { return written }
      do throws(LedgerError) { try file.finish() } catch { throw .file("make", path, error) }
      return written
    }
    // With `-` standard output holds the notifications.
    let isStopped = written < total
    let text =
      isStopped
      ? "stopped: \(written) of \(total) written" + (path == "-" ? "" : ", no file is left")
      : SimulateSummary.written(total, of: messages, json: arguments.has("--json"))
    if path == "-" { Terminal.error(text) } else { Terminal.print(text) }
    return isStopped ? .interrupted : .good
  }

  /// Apple's reports of the last 28 days before the last one on which something was sold.
  private func writeReports(
    _ notifications: [SimulatedNotification], into folder: String
  ) throws(LedgerError) {
    let book = SalesBook(notifications)
    let last = (book.entries.map(\.day).max() ?? 28) - 1
    let days = last - 27...last
    for (name, text) in [("financial", book.financial(days)), ("sales", book.sales(days))] {
      let file = try Self.create("\(folder)/\(name).txt")
      try file.write(text)
      try file.finish()
    }
  }

  private static func create(_ path: String) throws(LedgerError) -> AtomicFileWriter {
    do throws(LedgerError) { return try AtomicFileWriter(path) } catch {
      throw .simulator(.file("make", path + ".partial", error))
    }
  }

  private func send(
    _ deliveries: [Delivery], of messages: [SimulatedMessage], _ signer: MessageSigner,
    to address: ServiceURL
  ) throws(LedgerError) -> ExitCode {
    let report = try mapError(
      LedgerError.simulator,
      try Player(address: address, connections: connections, rate: rate).play(
        deliveries, of: messages, signer: signer, shouldStop: { interruption.isRequested },
        progress: { Terminal.progress("\($0) of \(deliveries.count) delivered") }))
    Terminal.print(SimulateSummary.sent(report, json: arguments.has("--json")))
    if report.isUnreachable {
      let host = address.text.dropFirst("http://".count).prefix { $0 != "/" }
      let port = host.last?.isNumber == true && host.contains(":") ? "" : ":80"
      throw .unavailable("could not reach \(host)\(port); is the daemon running there?")
    }
    return report.isStopped ? .interrupted : report.isGood ? .good : .findings
  }
}
