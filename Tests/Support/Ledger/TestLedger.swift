public import AppStore
import AppStoreSimulator
public import Audit
public import Entitlements
import Glibc
public import Ledger
import Platform
public import Queries
import SignedData
public import Store
import StrictJSON

/// A ledger in this process with a temporary folder: ingest, writer and readers as in the daemon,
/// without the network.
public final class TestLedger {
  /// The app of all tests: its bundle id, and Apple's id.
  public static let bundleId = "com.example.app"
  public static let appAppleId: Int64 = 123_456_789

  public private(set) var folder: DataFolder
  public let configuration: Configuration
  private let scratch: Scratch
  public private(set) var ledger: Ledger
  private var receiver: Receiver
  private var opened: LedgerReader?

  /// - Parameters:
  ///   - secrets: the app's V1 secrets; if there are none, it accepts no V1.
  ///   - apps: bundle ids of further apps, each with the secret `secret of <bundle id>`.
  ///   - durations: the app's `nonRenewingDurations`.
  public init(
    secrets: [String] = [], apps: [String] = [],
    environments: [String] = ["Production", "Sandbox"],
    durations: [String: String] = [:]
  ) throws {
    scratch = try Scratch()
    configuration = try Self.configuration(
      in: scratch, secrets: secrets, apps: apps, environments: environments, durations: durations)
    folder = DataFolder(path: configuration.data)
    ledger = try Self.start(folder, configuration)
    receiver = try Receiver(configuration)
  }

  deinit { ledger.stop() }

  /// Starts a ledger and waits for its projection for up to a minute. The start itself waits only
  /// briefly, which is not enough on a slow machine.
  private static func start(
    _ folder: DataFolder, _ configuration: Configuration
  ) throws -> Ledger {
    let ledger = try Ledger.start(
      folder, now: 0, durations: configuration.durations, onFailure: { _ in })
    for _ in 0..<60_000 where ledger.liveProjection.state != .following { usleep(1_000) }
    return ledger
  }

  /// `P30D+`: thirty days, which add up when bought again.
  private static func duration(_ text: String) -> JSONValue {
    text.last == "+"
      ? .object([("lasts", .string(String(text.dropLast()))), ("again", .string("adds"))])
      : .string(text)
  }

  /// The configuration of a test's ledger, read from files that it writes to the folder.
  public static func configuration(
    in scratch: Scratch, secrets: [String] = [], apps: [String] = [],
    environments: [String] = ["Production", "Sandbox"], durations: [String: String] = [:]
  ) throws -> Configuration {
    try Configuration.load(
      file: try write(scratch, secrets, apps, environments, durations), variables: [:], listen: nil,
      data: nil)
  }

  private static func write(
    _ scratch: Scratch, _ secrets: [String], _ apps: [String], _ environments: [String],
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
        try scratch.write(secrets.map { $0 + "\n" }.joined(), to: bundle + ".secret")
        members.append(("v1SharedSecretFile", .string(bundle + ".secret")))
      }
      // Written under the app, so that the app's own setting is tested.
      let durations = bundle == bundleId ? durations : [:]
      members.append(
        ("nonRenewingDurations", .object(durations.map { ($0.key, Self.duration($0.value)) })))
      entries.append(.object(members))
    }
    try scratch.write(SharedAuthority.root, to: "root.der")
    let configuration = JSONValue.object([
      ("data", .string(scratch.path + "/data")), ("apps", .array(entries)),
      ("trustRoots", .array([.string("root.der")])),
    ])
    return try scratch.write(configuration.bytes, to: "subledger.json")
  }

  // MARK: Ingest

  /// The outcome of a body, in the terms of the daemon's answer.
  public enum Answer: Equatable, Sendable {
    case accepted(Int64)
    case duplicate(Int64)
    /// Genuine and stored in quarantine; the code of the refusal.
    case quarantined(String)
    /// Evidence that says nothing new.
    case confirmed
    case refused(String)
    case malformed(String)
    case untrusted(String)
    case other(String)
  }

  /// Ingests the body of a POST.
  ///
  /// - Parameter now: our clock, in milliseconds since 1970 UTC.
  @discardableResult
  public func ingest(_ body: [UInt8], at now: Int64) throws -> Answer {
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
  public func ingest(_ text: String, at now: Int64) throws -> Answer {
    try ingest(Array(text.utf8), at: now)
  }

  /// Ingests lines of NDJSON, and returns what became of each.
  public func ingest(lines: [[UInt8]], at now: Int64) -> [Outcome] {
    let done = BoundedQueue<[Outcome]>(capacity: 1)
    BatchReceive.receive(
      lines.map { $0[...] }, skipsRefused: true, receiver: receiver, ledger: ledger, at: now,
      limit: Self.lineLimit
    ) { _ = done.enqueue($0) }
    return done.dequeueAll()?.first ?? []
  }

  /// What the fold reads of a line; empty if it is refused. Nothing is journaled.
  public func foldEvents(line: [UInt8], at now: Int64) -> [(StreamKey, FoldEvent)] {
    receive(line: line, at: now).compactMap { received in
      received.stream.flatMap { stream in received.foldEvent(seq: 0).map { (stream, $0) } }
    }
  }

  /// What a line is received as; empty if it is refused. Nothing is journaled.
  public func receive(line: [UInt8], at now: Int64) -> [Receiver.Received] {
    let parts = try? BatchReceive.receive(
      line: line[...], receiver, at: now, limit: Self.lineLimit, verifying: nil)
    return parts ?? []
  }

  private static let lineLimit = 4 << 20

  /// Ingests the JWS of a transaction or of renewal information, as Apple answered with it.
  @discardableResult
  public func ingest(
    evidence jws: [UInt8], _ source: EventSource, of environment: Environment = .production,
    at now: Int64
  ) -> Answer {
    do throws(Refusal) {
      let origin = Receiver.EvidenceOrigin(bundleId: Self.bundleId, environment: environment)
      return submit(try receiver.receive(evidence: jws[...], source, from: origin, at: now))
    } catch {
      return .refused(error.code)
    }
  }

  /// Ingests a receipt, and returns what became of the whole.
  @discardableResult
  public func ingest(
    receipt der: [UInt8], of environment: Environment = .production, at now: Int64
  ) -> Answer {
    let text = String(decoding: Base64.encode(der), as: UTF8.self)
    let body = JSONValue.object([
      ("receipt", .string(text)), ("environment", .string(environment.rawValue)),
    ])
    do throws(Refusal) {
      guard let root = try? JSONDocument(parsing: body.bytes).root else { throw .malformed("json") }
      let received = try receiver.receive(submittedReceipt: root, at: now)
      let done = BoundedQueue<Outcome>(capacity: 1)
      let parts = received.parts.submissions(onOutcome: { _, _ in }) { _ = done.enqueue($0) }
      if !parts.isEmpty { ledger.submit(whole: parts) }
      return Self.answer(done.dequeueAll()?.first)
    } catch {
      return .refused(error.code)
    }
  }

  /// Receives and proves a body without journaling it.
  public func receive(_ body: [UInt8], at now: Int64) throws(Refusal) -> Receiver.Received {
    try receiver.receive(body: body, at: now)
  }

  /// Hands what was received to the writer, and waits for the outcome.
  @discardableResult
  public func submit(_ received: Receiver.Received) -> Answer {
    let done = BoundedQueue<Outcome>(capacity: 1)
    ledger.submit(received) { _ = done.enqueue($0) }
    return Self.answer(done.dequeueAll()?.first)
  }

  /// Ingests a quarantined notification again.
  ///
  /// - Parameter origin: the app that the owner says it is of.
  public func admit(
    _ id: Int64, from origin: Receiver.EvidenceOrigin? = nil, at now: Int64
  ) -> Answer {
    let done = BoundedQueue<[Outcome]>(capacity: 1)
    do {
      try QuarantineAdmission.admit(
        [id], from: origin, receiver: receiver, ledger: ledger, at: now
      ) {
        _ = done.enqueue($0)
      }
    } catch {
      return .other("\(error)")
    }
    switch done.dequeueAll()?.first?.first {
    case .refused(let refusal): return .quarantined(refusal.code)
    case .skipped: return .other("absent")
    case let outcome: return Self.answer(outcome)
    }
  }

  /// Changes the configuration of the same folder, as after a restart.
  public func reconfigure(
    secrets: [String], apps: [String] = [], environments: [String] = ["Production", "Sandbox"]
  ) throws {
    receiver = try Receiver(
      try Self.configuration(in: scratch, secrets: secrets, apps: apps, environments: environments))
  }

  private static func answer(_ outcome: Outcome?) -> Answer {
    switch outcome {
    case .accepted(let seq): .accepted(seq)
    case .duplicate(let seq): .duplicate(seq)
    case .quarantined(let code, _): .quarantined(code)
    case .held(isNew: true): .confirmed
    case .refused(let refusal): .refused(refusal.code)
    default: .other("\(String(describing: outcome))")
    }
  }

  // MARK: Queries

  public func reader() throws -> LedgerReader {
    if let opened { return opened }
    let reader = try LedgerReader(ledger)
    opened = reader
    return reader
  }

  /// A row: `asOf` of what Apple had signed by then, `knownAt` of what had been received by then.
  public func row(
    _ originalTransactionId: String, asOf signed: Int64? = nil, knownAt known: Int64? = nil,
    now: Int64 = 0, environment: Environment = .production
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

  /// The digest of all rows; empty if there is no projection.
  public func digest() throws -> String {
    try reader().digest() ?? ""
  }

  /// What `verify` finds.
  public func verify() throws -> CheckReport {
    try Verify.run(folder, configuration, threads: 1) { _, _ in true }
  }

  /// Waits until no customer waits to be judged; a minute at most.
  public func waitUntilJudged() {
    let deadline = Deadline(milliseconds: 60_000)
    while ledger.judging.waitingCount > 0, !deadline.hasPassed {
      WakeupEvent().wait(milliseconds: 1)
    }
  }

  /// Stops the ledger, and starts one that answers by another fold.
  public func restart(by fold: Fold) throws {
    opened = nil
    ledger.stop()
    folder = DataFolder(path: folder.path, fold: fold)
    ledger = try Self.start(folder, configuration)
  }

  /// Stops the ledger, runs `body` on its files, and starts it again.
  public func whileStopped<Value>(_ body: () throws -> Value) throws -> Value {
    opened = nil
    ledger.stop()
    defer {
      if let again = try? Self.start(folder, configuration) { ledger = again }
    }
    return try body()
  }
}
