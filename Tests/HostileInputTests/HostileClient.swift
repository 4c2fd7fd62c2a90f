import AppStoreSimulator
import Foundation
import SignedData
import Store
import StrictJSON
import Support
import Testing

/// A hostile or broken client of a running daemon. After each exchange it checks everything that
/// may have changed: the answer, the connection, every table, the counters and the log.
final class HostileClient {
  static let v1Secret = "canary-of-the-hostile-inputs-9d41"

  let authority: Authority
  let installation: Installation
  let daemon: RunningDaemon
  private let observer: Client
  private let journal: SQLiteConnection
  private let tables: [String]
  private var logged: UInt64 = 0
  private var number = 0
  /// Exchanges so far.
  private(set) var variants = 0

  /// - Parameter takesV1: the app has a V1 secret, and bodies of up to 4 MiB are read.
  init(takesV1: Bool = false, with more: [(String, JSONValue)] = []) throws {
    authority = try Authority.shared.get()
    installation = try Installation(authority: authority.simulated)
    var app = Installation.app()
    if takesV1 {
      let file = installation.folder.appending(path: "v1.secret")
      try Data((Self.v1Secret + "\n").utf8).write(to: file)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: file.path)
      app = app.setting("v1SharedSecretFile", .string(file.path))
    }
    let inSandboxAlone = JSONValue.object([
      ("bundleId", .string("com.example.sandbox")),
      ("environments", .array([.string("Sandbox")])),
    ])
    try installation.configure(apps: [app, inSandboxAlone], with: more)
    daemon = try installation.start()
    observer = daemon.client()
    // Sent at once: a connection without a request is closed at its deadline.
    #expect(observer.get("/healthz")?.status == 200)
    journal = try SQLiteConnection.open(installation.journal.path, .read)
    // Redeliveries are counted a moment later; refusals make no row there.
    tables = try journal.statement(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        + " AND name <> 'redelivery'"
    ).all { $0.text(0) }
  }

  // MARK: Inputs

  /// A new number, so that notifications differ.
  func next() -> Int {
    number += 1
    return number
  }

  /// A good notification that was not sent before.
  func notification(otid: String = "7000") -> JSONValue {
    Sample.notification(next(), otid: otid)
  }

  func fresh() throws -> [UInt8] { try authority.signed(notification()) }

  /// A whole body with a good notification.
  func goodBody() throws -> [UInt8] { ForgedJWS.body(try fresh()) }

  func sign(payload: [UInt8]) throws -> [UInt8] { try authority.simulated.sign(payload: payload) }

  func fresh(header: [UInt8], key: SigningKey? = nil) throws -> [UInt8] {
    let payload = try CompactJWS(parsing: try fresh()[...]).payload
    return try ForgedJWS.jws(header: header, payload: payload, key: key ?? authority.leafKey)
  }

  func fresh(chain: [[UInt8]], key: SigningKey? = nil) throws -> [UInt8] {
    try fresh(header: ForgedJWS.header(chain), key: key)
  }

  /// Signed under a chain to the authority's root that is right except for `change`.
  func forged(
    signed: Int64? = nil, _ change: (inout ChainForgery) throws -> Void
  ) throws -> [UInt8] {
    var forgery = try ChainForgery(under: authority)
    try change(&forgery)
    let chain = try forgery.chain()
    guard let signed else { return try fresh(chain: chain, key: forgery.leafKey) }
    return try self.signed(signed, chain: chain, key: forgery.leafKey)
  }

  /// A notification of this date without nested JWS.
  func signed(_ date: Int64, chain: [[UInt8]], key: SigningKey) throws -> [UInt8] {
    let payload = notification().setting("signedDate", .integer(date))
      .setting("data.transaction", nil).setting("data.renewalInfo", nil)
    return try ForgedJWS.jws(
      header: ForgedJWS.header(chain), payload: payload.bytes, key: key)
  }

  // MARK: Observed state

  /// The state that a refusal must not change.
  struct State: Equatable {
    var rows: [String: Int64]
    var head: [UInt8]

    var events: Int64 { rows["event"] ?? 0 }
  }

  func state() throws -> State {
    var rows: [String: Int64] = [:]
    for table in tables {
      rows[table] = try journal.statement("SELECT count(*) FROM \(table)").first { $0.int(0) }
    }
    let head = try journal.statement("SELECT hash FROM event ORDER BY seq DESC LIMIT 1")
      .first { $0.bytes(0) }
    return State(rows: rows, head: head ?? [])
  }

  /// All counters, without gauges.
  func counters() throws -> [String: Int] {
    let text = try #require(observer.get("/metrics")?.text)
    var counters: [String: Int] = [:]
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let parts = line.split(separator: " ")
      guard parts.count == 2, parts[0].contains("_total") else { continue }
      counters[String(parts[0])] = Int(parts[1])
    }
    return counters
  }

  /// The log lines since the last call, without sums of refusals that have no line of their own.
  func newLines() throws -> [String] {
    let file = try FileHandle(forReadingFrom: daemon.command.errors)
    defer { try? file.close() }
    try file.seek(toOffset: logged)
    let bytes = try file.readToEnd() ?? Data()
    // A partly written line is left for the next call.
    let whole = bytes.lastIndex(of: 0x0A).map { bytes[...$0] } ?? Data()
    logged += UInt64(whole.count)
    return String(decoding: whole, as: UTF8.self).split(separator: "\n").map(String.init)
      .filter { !$0.contains("\"event\":\"refusals_left_out\"") && !$0.contains(Self.ownerFault) }
  }

  /// Waits until the log has the lines of all answers so far: lines are in order, so the line of
  /// one more request is the last.
  func settle() throws {
    // A request above the rate of its status has no line.
    while true {
      let before = try counters()[Self.leftOut]
      #expect(daemon.client().get("/nowhere")?.status == 404)
      if try counters()[Self.leftOut] == before { break }
      usleep(100_000)
    }
    try daemon.command.wait(60, "the line of a request") {
      try newLines().contains { $0.contains("\"status\":404") }
    }
  }

  /// A refusal that a mistake of the owner's may have caused has such a line beside its own, at
  /// most once a minute, and a counter.
  private static let ownerFault = "\"event\":\"owner_fault"

  /// Refusals without a log line of their own.
  private static let leftOut = "subledger_refusals_left_out_total"

  // MARK: Exchanges

  func run(_ row: HostileRow) throws {
    let made = try row.variants(self)
    for variant in made {
      let name = "\(row.id) \(variant.name)"
      switch row.expected {
      case .refused(let statuses, let codes, let closes, let field):
        let answer = try refuses(name, variant, statuses, codes: codes, closes: closes)
        if let field {
          #expect(answer?.head.contains("\r\n\(field)") == true, "\(name): no \(field)")
        }
      case .quarantined(let codes): try refuses(name, variant, [422], codes: codes)
      case .accepted: try accepts(name, variant)
      case .scripted, .coveredBy: break
      }
    }
  }

  /// Sends a variant and checks the table's default for refusals.
  @discardableResult
  func refuses(
    _ name: String, _ variant: HostileRow.Variant, _ statuses: Set<Int>,
    codes: Set<String> = [], closes: Bool = false, lines: Int = 1
  ) throws -> Client.Answer? {
    variants += 1
    var expected = try state()
    let before = try counters()
    _ = try newLines()
    let client = daemon.client()
    _ = client.write(variant.bytes)
    let answer = client.answer(toHead: variant.toHead)
    guard let answer, statuses.contains(answer.status) else {
      Issue.record("\(name): \(answer?.head ?? "no answer") \(answer?.text ?? "")")
      return answer
    }
    if !variant.toHead { expectProblem(name, answer, codes) }
    #expect(!Self.repeats(answer.body, variant.bytes), "\(name) is echoed")
    if closes { #expect(client.isClosed(), "\(name): the connection stays open") }
    if answer.status == 422 { expected.rows["quarantine", default: 0] += 1 }
    #expect(try state() == expected, "\(name) changed the data")
    try expectOneCounter(name, before, isQuarantined: answer.status == 422)
    let leftOut = try counters()[Self.leftOut, default: 0] - before[Self.leftOut, default: 0]
    try expectLines(name, variant, lines - leftOut)
    return answer
  }

  private func expectProblem(_ name: String, _ answer: Client.Answer, _ codes: Set<String>) {
    #expect(answer.field("Content-Type") == "application/problem+json", "\(name)")
    let problem = answer.json
    let code = problem?["code"]?.string ?? ""
    #expect(!code.isEmpty && (codes.isEmpty || codes.contains(code)), "\(name) has \(code)")
    #expect(problem?["status"]?.integer == Int64(answer.status), "\(name)")
    #expect(problem?["retryable"]?.boolean == (answer.status == 408), "\(name)")
  }

  /// One refusal is counted, and one quarantined notification where it was quarantined. Counters of
  /// the chain cache and of lines left out may change too.
  private func expectOneCounter(
    _ name: String, _ before: [String: Int], isQuarantined: Bool
  ) throws {
    var moved = try counters().filter { $0.value != before[$0.key] ?? 0 }
    moved = moved.filter { !$0.key.hasPrefix("subledger_chain_cache_") && $0.key != Self.leftOut }
    let quarantined = moved.filter { $0.key.hasPrefix("subledger_notifications_total{") }
    #expect(quarantined.count == (isQuarantined ? 1 : 0), "\(name) moved \(moved)")
    #expect(
      quarantined.keys.allSatisfy { $0.contains(#"outcome="quarantined""#) },
      "\(name) \(quarantined)")
    let refused = moved.filter { $0.key.contains("refusals_total{") }
    let faults = moved.filter { $0.key.hasPrefix("subledger_owner_faults_total{") }
    #expect(
      refused.count == 1 && faults.count <= 1
        && moved.count == 1 + quarantined.count + faults.count, "\(name) moved \(moved)")
    for (counter, value) in moved {
      #expect(value == (before[counter] ?? 0) + 1, "\(name) moved \(counter) by more")
    }
  }

  /// Waits for `count` log lines, which a thread of the daemon writes.
  private func lines(_ name: String, _ count: Int) throws -> [String] {
    var lines: [String] = []
    try daemon.command.wait(60, "\(count) lines of \(name)") {
      lines += try newLines()
      return lines.count >= count
    }
    #expect(lines.count == count, "\(name) logged \(lines)")
    return lines
  }

  private func expectLines(
    _ name: String, _ variant: HostileRow.Variant, _ count: Int
  ) throws {
    for line in try lines(name, count) {
      let entry = try? JSONDocument(parsing: Array(line.utf8)).root
      #expect(entry?["reason"]?.string?.isEmpty == false, "\(name) logged \(line)")
      let isProven = entry?["outcome"]?.string != "refused"
      #expect(isProven || entry?["bundle_id"] == nil, "\(name) logged \(line)")
      #expect(line.utf8.count <= 2048, "\(name) logged \(line.utf8.count) bytes")
      #expect(!Self.repeats(Array(line.utf8), variant.bytes), "\(name) is logged")
    }
  }

  /// Expects 200, one more event and one log line.
  func accepts(_ name: String, _ variant: HostileRow.Variant) throws {
    variants += 1
    let before = try state()
    _ = try newLines()
    let client = daemon.client()
    _ = client.write(variant.bytes)
    let answer = client.answer()
    #expect(answer?.status == 200, "\(name): \(answer?.text ?? "no answer")")
    #expect(answer?.json?["outcome"]?.string == "accepted", "\(name)")
    let after = try state()
    #expect(after.events == before.events + 1, "\(name)")
    #expect(after.rows["quarantine"] == before.rows["quarantine"], "\(name)")
    for line in try lines(name, 1) {
      let entry = try? JSONDocument(parsing: Array(line.utf8)).root
      #expect(entry?["outcome"]?.string == "accepted" && entry?["reason"] == nil, "\(line)")
    }
  }

  /// At the end `verify` succeeds and no file contains a secret.
  func finish() throws {
    let log = daemon.log
    for secret in [Installation.token, Installation.sandboxToken, Self.v1Secret] {
      #expect(!log.contains(secret), "a secret is logged")
    }
    #expect(try daemon.stop().code == 0)
    let verified = try installation.run("verify")
    #expect(verified.code == 0, "\(verified)")
    for (name, bytes) in try installation.files() {
      #expect(bytes.range(of: Data(Self.v1Secret.utf8)) == nil, "the secret is in \(name)")
    }
  }

  /// Fixed texts of some answers.
  private static let fixedTexts = [
    "Send Authorization: Bearer and a read token.", "Send application/json in UTF-8, uncompressed.",
    // Names of bodies, which tell what is wanted or where it belongs.
    "signedTransaction", "signedPayload", "Content-Length", "POST /v1/notifications",
  ]

  /// Whether any 16 consecutive bytes of a request occur in an answer or log line.
  static func repeats(_ found: [UInt8], _ request: [UInt8]) -> Bool {
    var text = String(decoding: found, as: UTF8.self)
    for phrase in fixedTexts { text = text.replacing(phrase, with: "") }
    // Reason codes are our own words, and Apple uses some of them too. Of proven notifications the
    // log names environment, app and customer.
    let root = try? JSONDocument(parsing: found).root
    let proven = ["environment", "bundle_id", "original_transaction_id"]
    // What is valid, and which parameter is not, are words of the table of routes.
    let expected = root?["expected"].map { String(decoding: $0.text, as: UTF8.self) }
    if let expected { text = text.replacing(expected, with: "") }
    for name in ["code", "reason", "type", "parameter"] + proven {
      guard let value = root?[name]?.string, !value.isEmpty else { continue }
      text = text.replacing("\"\(name)\":\"\(value)\"", with: "")
      if !proven.contains(name) { text = text.replacing(value, with: "") }
    }
    let bytes = Array(text.utf8)
    guard bytes.count >= 16 else { return false }
    // Offsets by their first eight bytes; where those match, all sixteen are compared.
    var offsets: [UInt64: [Int]] = [:]
    var window: UInt64 = 0
    for (index, byte) in bytes.enumerated() {
      window = window << 8 | UInt64(byte)
      if index >= 7, index + 8 < bytes.count { offsets[window, default: []].append(index - 7) }
    }
    for (index, byte) in request.enumerated() {
      window = window << 8 | UInt64(byte)
      guard index >= 7, index + 8 < request.count, let found = offsets[window] else { continue }
      let run = request[index - 7...index + 8]
      if found.contains(where: { bytes[$0...$0 + 15].elementsEqual(run) }) { return true }
    }
    return false
  }
}

extension HostileRow.Variant {
  /// A POST of a body to /v1/notifications.
  static func post(_ name: String, _ body: [UInt8]) -> HostileRow.Variant {
    let head =
      "POST /v1/notifications HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
      + "Content-Length: \(body.count)\r\n\r\n"
    return HostileRow.Variant(name: name, bytes: Array(head.utf8) + body)
  }

  static func post(_ name: String, _ body: String) -> HostileRow.Variant {
    post(name, Array(body.utf8))
  }

  /// A POST of a JWS.
  static func jws(_ name: String, _ signedPayload: [UInt8]) -> HostileRow.Variant {
    post(name, ForgedJWS.body(signedPayload))
  }

  /// A POST with these fields beside Host, and this body.
  static func fields(_ fields: String, _ body: [UInt8] = []) -> HostileRow.Variant {
    let head = "POST /v1/notifications HTTP/1.1\r\nHost: h\r\n\(fields)\r\n"
    return HostileRow.Variant(name: String(fields.prefix(60)), bytes: Array(head.utf8) + body)
  }

  static func raw(_ text: String) -> HostileRow.Variant {
    HostileRow.Variant(name: String(text.prefix(60)), bytes: Array(text.utf8))
  }

  /// A GET with the token, unless other fields are given.
  static func get(
    _ target: String, _ fields: [String] = ["Authorization: Bearer \(Installation.token)"],
    method: String = "GET"
  ) -> HostileRow.Variant {
    let lines = ["\(method) \(target) HTTP/1.1", "Host: h"] + fields + ["", ""]
    return HostileRow.Variant(
      name: "\(method) \(target.prefix(60))", bytes: Array(lines.joined(separator: "\r\n").utf8),
      toHead: method == "HEAD")
  }
}
