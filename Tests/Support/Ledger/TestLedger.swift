public import Configuration
import Glibc
public import JournalStore
public import LedgerAudit
public import LedgerEngine
public import LedgerQueries
import Platform
import SignedData
import Simulator
public import StrictJSON

/// A ledger as the daemon has it, in this process and in a folder of its own that goes with it: the
/// same door, writer and readers, with no network between.
public final class TestLedger {
  /// The app of all trials: bundle id, Apple's id of it.
  public static let bundleId = "com.example.app"
  public static let appAppleId: Int64 = 123_456_789

  public let folder: DataFolder
  public let configuration: Configuration
  private let place: Scratch
  public private(set) var ledger: Ledger
  private var receiver: Receiver
  private var opened: LedgerReader?

  /// - Parameters:
  ///   - apps: bundle ids beside the app's, each with a secret of its own: `secret of <bundle id>`.
  ///   - secrets: the app's V1 secrets; none: it takes no V1.
  ///   - durations: what `nonRenewingDurations` says.
  public init(
    secrets: [String] = [], apps: [String] = [],
    environments: [String] = ["Production", "Sandbox"],
    durations: [String: String] = [:]
  ) throws {
    place = try Scratch()
    configuration = try Self.configuration(
      in: place, secrets: secrets, apps: apps, environments: environments, durations: durations)
    folder = DataFolder(path: configuration.data)
    ledger = try Self.start(folder)
    receiver = try Receiver(configuration)
  }

  deinit { ledger.stop() }

  /// A start waits for rows a moment only, and a slow machine needs more than that.
  private static func start(_ folder: DataFolder) throws -> Ledger {
    let ledger = try Ledger.start(folder, now: 0, onFailure: { _ in })
    for _ in 0..<30_000 where ledger.rows.current == nil { usleep(1_000) }
    return ledger
  }

  /// The configuration of a trial's ledger, read from files in a folder of the trial's.
  public static func configuration(
    in place: Scratch, secrets: [String] = [], apps: [String] = [],
    environments: [String] = ["Production", "Sandbox"], durations: [String: String] = [:]
  ) throws -> Configuration {
    try Configuration.load(
      file: try write(place, secrets, apps, environments, durations), variables: [:], listen: nil,
      data: nil)
  }

  private static func write(
    _ place: Scratch, _ secrets: [String], _ apps: [String], _ environments: [String],
    _ durations: [String: String]
  ) throws -> String {
    var all = [(bundleId, secrets)]
    all += apps.map { ($0, ["secret of \($0)"]) }
    var entries: [JSONValue] = []
    for (bundle, secrets) in all {
      var members: [(String, JSONValue)] = [
        ("bundleId", .string(bundle)), ("appAppleId", .integer(appAppleId)),
        ("environments", .array(environments.map(JSONValue.string))),
      ]
      if !secrets.isEmpty {
        try place.write(secrets.map { $0 + "\n" }.joined(), to: bundle + ".secret")
        members.append(("v1SharedSecretFile", .string(bundle + ".secret")))
      }
      // The app's own, so that what an app says counts.
      let durations = bundle == bundleId ? durations : [:]
      members.append(
        ("nonRenewingDurations", .object(durations.map { ($0.key, .string($0.value)) })))
      entries.append(.object(members))
    }
    try place.write(AppStoreStandIn.root, to: "root.der")
    let configuration = JSONValue.object([
      ("data", .string(place.path + "/data")), ("apps", .array(entries)),
      ("trustRoots", .array([.string("root.der")])),
    ])
    return try place.write(configuration.bytes, to: "subledger.json")
  }

  // MARK: Taking

  /// What came of a body: the words that the daemon's answer would carry.
  public enum Answer: Equatable, Sendable {
    case accepted(Int64)
    case duplicate(Int64)
    /// The refusal's code; genuine, and kept in quarantine.
    case quarantined(String)
    case malformed(String)
    case untrusted(String)
    case other(String)
  }

  /// The body of a POST through the door, as of our clock `now`.
  @discardableResult
  public func take(_ body: [UInt8], at now: Int64) throws -> Answer {
    do throws(Refusal) {
      return submit(try receiver.receive(body: body, at: now))
    } catch {
      switch error {
      case .malformed(let code): return .malformed(code)
      case .untrusted(let code): return .untrusted(code)
      default: return .other("\(error)")
      }
    }
  }

  @discardableResult
  public func take(_ text: String, at now: Int64) throws -> Answer {
    try take(Array(text.utf8), at: now)
  }

  /// What the door says of a body, without journaling it.
  public func receive(_ body: [UInt8], at now: Int64) throws(Refusal) -> Receiver.Received {
    try receiver.receive(body: body, at: now)
  }

  /// What the door has let through, to the writer.
  @discardableResult
  public func submit(_ received: Receiver.Received) -> Answer {
    let done = BoundedQueue<Ledger.Outcome>(capacity: 1)
    ledger.submit(received) { _ = done.put($0) }
    return Self.answer(done.takeAll()?.first, received.refusal)
  }

  /// Puts one of quarantine through the door again.
  public func admit(_ id: Int64, at now: Int64) -> Answer {
    let done = BoundedQueue<Ledger.Outcome>(capacity: 1)
    let admission = Quarantine.admit(id, receiver: receiver, ledger: ledger, at: now) {
      _ = done.put($1)
    }
    switch admission {
    case .submitted: return Self.answer(done.takeAll()?.first, nil)
    case .refused(let refusal): return .quarantined(refusal.code)
    case .absent: return .other("absent")
    case .unreadable(let error): return .other("\(error)")
    }
  }

  /// The same folder under another configuration, as after a restart.
  public func mend(
    secrets: [String], apps: [String] = [], environments: [String] = ["Production", "Sandbox"]
  ) throws {
    receiver = try Receiver(
      try Self.configuration(in: place, secrets: secrets, apps: apps, environments: environments))
  }

  private static func answer(_ outcome: Ledger.Outcome?, _ refusal: Refusal?) -> Answer {
    switch outcome {
    case .accepted(let seq): .accepted(seq)
    case .duplicate(let seq): .duplicate(seq)
    case .quarantined: .quarantined(refusal?.code ?? "")
    default: .other("\(String(describing: outcome))")
    }
  }

  // MARK: QueryOptions

  public func reader() throws -> LedgerReader {
    if let opened { return opened }
    let reader = try LedgerReader(ledger, durations: configuration.nonRenewingDurations)
    opened = reader
    return reader
  }

  /// A row: `asOf`, of what Apple had signed by then; `knownAt`, of what had come by then.
  public func row(
    _ originalTransactionId: String, asOf signed: Int64? = nil, knownAt known: Int64? = nil,
    now: Int64 = 0, environment: String = "Production"
  ) throws -> RowDocument? {
    try reader().entitlement(
      originalTransactionId, environment: environment, bundleId: nil,
      LedgerReader.Question(asOf: signed, knownAt: known, now: now))
  }

  public func history(_ originalTransactionId: String) throws -> History? {
    try reader().history(
      originalTransactionId, environment: nil, bundleId: nil, LedgerReader.Question(now: 0))
  }

  /// All events, in the order of the journal.
  public func events() throws -> [StoredEvent] {
    try JournalReader.open(folder).events(after: 0, limit: 10_000)
  }

  public func quarantine() throws -> [StoredQuarantine] {
    try JournalReader.open(folder).quarantined(limit: 10_000)
  }

  /// One number for all rows.
  public func digest() throws -> String {
    try reader().digest() ?? ""
  }

  /// What `verify` finds.
  public func verify() throws -> Verify.Report {
    try Verify.run(folder, configuration, threads: 1) { _, _ in true }
  }

  /// Closes the files, lets `body` have them, and starts again.
  public func atRest<Value>(_ body: () throws -> Value) throws -> Value {
    opened = nil
    ledger.stop()
    defer {
      if let again = try? Self.start(folder) { ledger = again }
    }
    return try body()
  }
}

/// Stands in for Apple: one chain for all trials of a process.
public enum AppStoreStandIn {
  private static let authority = Result { try SimulatedAuthority.make() }

  public static var root: [UInt8] { (try? authority.get().root) ?? [] }

  /// The POST body of a decoded notification.
  public static func sign(_ notification: JSONValue) throws -> [UInt8] {
    try authority.get().sign(notification: notification)
  }
}
