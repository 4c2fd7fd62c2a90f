import AppStore
import AppStoreSimulator
import Clients
import Foundation
import Platform
import SignedData
import StrictJSON
import Support

/// `simulate serve` as a process, and an installation that has its key and trusts its root.
final class PlayedStore {
  static let hour: Int64 = 3_600_000
  static let day = 24 * hour

  let installation: Installation
  private let store: RunningCommand
  private let description: JSONElement
  private let authorityFolder: URL
  /// Where the daemon listens.
  private let listen: String

  /// - Parameters:
  ///   - arguments: of `simulate serve`, after the authority.
  ///   - recover: of the daemon by itself.
  ///   - share: of Apple's limits.
  ///   - more: members of the configuration.
  init(
    _ arguments: [String], recover: String = "off", share: String = "1",
    with more: [(String, JSONValue)] = []
  ) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "st-\(UUID().uuidString)")
    let authority = try SimulatedAuthority.create(at: folder.path)
    installation = try Installation(authority: authority)
    authorityFolder = folder
    let port = try Self.freePort()
    listen = "127.0.0.1:\(port)"
    store = try installation.launch(
      [
        "simulate", "serve", "--authority", folder.path, "--notify",
        "http://127.0.0.1:\(port)/v1/notifications",
      ] + arguments)
    try store.wait(60, "the store to listen") { [store] in
      guard store.isRunning else { throw TestFailure(store.errorsSoFar()) }
      return store.outputSoFar().hasSuffix("\n")
    }
    description = try JSONDocument(parsing: Array(store.outputSoFar().utf8)).root
    try installation.configure(
      with: [("listen", .string(listen)), ("appStore", access(recover, share))] + more)
  }

  deinit {
    store.signal(SIGKILL)
    try? FileManager.default.removeItem(at: authorityFolder)
  }

  private func access(_ recover: String, _ share: String) -> JSONValue {
    .object(
      ["issuerId", "keyId", "keyFile", "production", "sandbox"].map {
        ($0, .string(text($0)))
      } + [("limitShare", .number(share)), ("recover", .string(recover))])
  }

  /// Has the program ask through relays, and recover by itself.
  func relay() throws -> [RecordingRelay] {
    let relays = try ["production", "sandbox"].map { try RecordingRelay(to: port($0)) }
    guard case .object(let members) = access("automatic", "1") else { return [] }
    let asked = members.map { name, value -> (String, JSONValue) in
      switch name {
      case "production": (name, .string(relays[0].address))
      case "sandbox": (name, .string(relays[1].address))
      default: (name, value)
      }
    }
    try installation.configure(with: [("listen", .string(listen)), ("appStore", .object(asked))])
    return relays
  }

  /// The file with the private key.
  var keyFile: URL { URL(filePath: text("keyFile")) }

  private func port(_ environment: String) -> UInt16 {
    text(environment).split(separator: ":").last.flatMap { UInt16($0) } ?? 0
  }

  private func text(_ name: String) -> String { description[name]?.string ?? "" }

  /// A port on which nothing listens now.
  private static func freePort() throws -> UInt16 {
    let listener = try ScriptedServer { _ in [] }
    let text = listener.address.split(separator: ":").last.flatMap { UInt16($0) }
    guard let text else { throw TestFailure("no port: \(listener.address)") }
    return text
  }

  // MARK: The store

  /// Posts a control document, and returns the state once all that is due is sent.
  @discardableResult
  func control(_ document: String) throws -> JSONElement {
    let client = Client(port: port("production"))
    let answer = client.post(Array(document.utf8), to: "/control")
    guard let answer, answer.status == 200, let json = answer.json else {
      throw TestFailure("control: \(answer?.text ?? "no answer")")
    }
    return json
  }

  /// Its requests for refunds, with what it was told.
  func refundRequests() throws -> [JSONElement] {
    let answer = Client(port: port("production")).get("/refund-requests", token: nil)
    return answer?.json?["refundRequests"]?.elements ?? []
  }

  /// Moves the store's clock, a part at a time, so that no answer takes long.
  func advance(_ milliseconds: Int64, notify: String) throws {
    var rest = milliseconds
    try control(#"{"notify":\#(notify)}"#)
    while rest > 0 {
      let part = min(rest, Self.day)
      try control(#"{"advance":\#(part)}"#)
      rest -= part
    }
  }

  /// The requests past Apple's limits, and all for the notification history.
  func requests() throws -> (refused: Int64, all: Int64) {
    let production = try control("{}")["production"]
    let counts = production?["requests"]?["POST /inApps/v1/notifications/history"]
    let limits = production?["limits"]?.members ?? []
    guard !limits.isEmpty || counts == nil else { throw TestFailure("no limits are reported") }
    return (
      limits.reduce(0) { $0 + ($1.value["refused"]?.integer ?? 1) },
      counts?["requests"]?.integer ?? 0
    )
  }

  /// The bodies of all notifications of Production that the store still has, read without the
  /// program that is tested.
  ///
  /// - Parameter since: only those signed from then on, milliseconds since 1970.
  func bodies(since: Int64 = 0) throws -> [[UInt8]] {
    let pem = try Data(contentsOf: keyFile)
    guard let address = ServiceURL(text("production")) else { throw TestFailure("no address") }
    let account = AppStoreAccount(
      bundleId: "com.example.app", environment: .production, service: address,
      key: AppStoreKey(
        issuerId: text("issuerId"), keyId: text("keyId"), signing: try .read(pem: Array(pem))),
      limitShare: 1)
    let client = try AppStoreClient(
      account, version: "test", policy: .background, cancellation: Cancellation())
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    let query = NotificationHistoryQuery(
      startDate: max(since, now - 180 * Self.day + Self.hour), endDate: now + Self.hour)
    var bodies: [[UInt8]] = []
    var token: String?
    repeat {
      let page = try client.notificationHistory(query, paginationToken: token)
      bodies += page.notifications.map { Array(#"{"signedPayload":"\#($0.signedPayload)"}"#.utf8) }
      token = page.hasMore ? page.paginationToken : nil
    } while token != nil
    return bodies
  }

  // MARK: The ledger

  /// The digest of the rows of a ledger that got what this one got before, and all that the store
  /// has, and its number of events.
  func reference(
    _ before: [[UInt8]] = [], since: Int64 = 0
  ) throws -> (digest: String?, events: Int64?) {
    let other = try Installation(authority: installation.authority)
    let ingested = try other.run("ingest", try other.file("all", before + bodies(since: since)))
    guard ingested.code == 0 else { throw TestFailure("\(ingested)") }
    return try Self.state(other)
  }

  static func state(_ installation: Installation) throws -> (digest: String?, events: Int64?) {
    let (code, report) = try installation.verify()
    guard code == 0 else { throw TestFailure("verify: \(code) \(report.text)") }
    return (report["digest"]?.string, report["events"]?.integer)
  }

  /// The bodies that the journal has.
  func journaled() throws -> [[UInt8]] {
    try installation.run("export").lines().compactMap { $0["body"]?.text }
  }

  /// Runs `recover` for Production.
  func recover(_ arguments: String...) throws -> (code: Int32, app: JSONElement) {
    try recover(arguments)
  }

  func recover(_ arguments: [String]) throws -> (code: Int32, app: JSONElement) {
    let finished = try installation.launch(
      ["recover", "--config", installation.config.path, "--environment", "Production", "--json"]
        + arguments
    ).finish(within: 120)
    guard let report = try finished.lines().last, let app = report["apps"]?.elements.first else {
      throw TestFailure("recover: \(finished)")
    }
    return (finished.code, app)
  }
}
