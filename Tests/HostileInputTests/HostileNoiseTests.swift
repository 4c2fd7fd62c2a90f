import AppStoreSimulator
import Foundation
import Platform
import SignedData
import StrictJSON
import Support
import Synchronization
import Testing

/// Generated requests and bodies, from the grammars of the table, over real sockets. Each gets an
/// answer or the connection ends; never a 5xx, never a 200 for a forgery, and no echo of the input.
@Suite struct HostileNoiseTests {
  private static let count = TestCount.hostile.number
  private static let seed = TestSeed.drawn
  private static let threads = 4

  @Test func `generated requests and bodies are answered, and only genuine ones are stored`() throws
  {
    let hostile = try HostileClient(
      takesV1: true,
      with: [("limits", .object([("headerSeconds", .integer(2)), ("bodySeconds", .integer(2))]))])
    try hostile.accepts(
      "first", .jws("first", try hostile.authority.signed(hostile.notification())))
    let page = hostile.daemon.client().get("/v1/entitlements?limit=1")
    let noise = Noise(
      authority: hostile.authority.simulated, cursor: page?.json?["next_page"]?.string ?? "00")
    let counts = Counts()
    let port = hostile.daemon.port
    runConcurrently(Self.threads) { thread in
      var random = SeededGenerator(seed: Self.seed, stream: UInt64(thread))
      for round in 0..<Self.count / Self.threads {
        let number = 1_000_000 * (thread + 1) + round
        guard let input = try? noise.input(number, &random) else { continue }
        counts.record(Self.exchange(input, port), input, "stream \(thread) round \(round)")
      }
    }
    counts.report()
    #expect(counts.faults.isEmpty, "\(counts.faults.prefix(20).joined(separator: "\n"))")
    #expect(hostile.daemon.command.isRunning)
    try hold(hostile, counts)
  }

  /// Nil where the connection ended without an answer.
  private static func exchange(_ input: Noise.Input, _ port: UInt16) -> Counts.Result {
    let client = Client(port: port)
    _ = client.write(input.bytes)
    // Input shorter than its declared length gets no answer: closing our side ends the exchange.
    if input.mayBeShort { client.finishSending() }
    let toHead = input.bytes.starts(with: Array("HEAD".utf8))
    var answer = client.answer(toHead: toHead)
    // Only 100 Continue; this client has sent its body already.
    if answer?.status == 100 { answer = client.answer(toHead: toHead) }
    guard let answer else { return client.isTimedOut ? .silence : .end }
    return .answer(answer)
  }

  /// Everything stored was signed or carried the secret, and everything answered with 200 is
  /// stored.
  private func hold(_ hostile: HostileClient, _ counts: Counts) throws {
    let file = hostile.installation.folder.appending(path: "all.ndjson").path
    let exported = try hostile.installation.run("export", "--output", file)
    #expect(exported.code == 0, "\(exported)")
    var seqs: Set<Int64> = []
    for line in try Data(contentsOf: URL(filePath: file)).split(separator: 0x0A) {
      let event = try JSONDocument(parsing: Array(line)).root
      if let seq = event["seq"]?.integer { seqs.insert(seq) }
      guard let jws = event["body"]?["signedPayload"]?.string else { continue }
      #expect(counts.isGenuine(Array(jws.utf8)) || event["seq"]?.integer == 1, "what nobody signed")
    }
    #expect(seqs.isSuperset(of: counts.seqs), "an answered event is missing")
    let quarantined = try hostile.state().rows["quarantine"] ?? 0
    #expect(
      Int(quarantined) <= counts.quarantined + counts.ends, "more in quarantine than was answered")
    for line in hostile.daemon.log.split(separator: "\n") {
      #expect(line.utf8.count <= 2048 && line.hasPrefix("{"), "\(line.prefix(100))")
    }
    try hostile.finish()
  }
}

/// The results of all inputs, from all threads.
private final class Counts: Sendable {
  enum Result {
    case answer(Client.Answer)
    case end
    /// Neither an answer nor the end of the connection before the client's timeout.
    case silence
  }

  private struct State {
    var statuses: [Int: Int] = [:]
    var levels: [String: [Int: Int]] = [:]
    var genuine: Set<[UInt8]> = []
    var seqs: Set<Int64> = []
    var faults: [String] = []
  }

  private let state = Mutex(State())

  var seqs: Set<Int64> { state.withLock { $0.seqs } }
  /// Failures, collected here because the threads do not belong to the test.
  var faults: [String] { state.withLock { $0.faults } }
  var quarantined: Int { state.withLock { $0.statuses[422] ?? 0 } }
  var ends: Int { state.withLock { $0.statuses[0] ?? 0 } }

  func isGenuine(_ jws: [UInt8]) -> Bool { state.withLock { $0.genuine.contains(jws) } }

  private func fault(_ text: String) { state.withLock { $0.faults.append(text) } }

  func record(_ result: Result, _ input: Noise.Input, _ position: String) {
    let name = "\(input.level) \(position)"
    var status = 0
    switch result {
    case .end: break
    case .silence: fault("\(name): neither an answer nor an end")
    case .answer(let answer):
      status = answer.status
      // 505 is the status for an unsupported HTTP version, not a server error.
      if !(200..<500).contains(status), status != 505 {
        fault("\(name): \(status) \(answer.text)")
      }
      if status >= 400, HostileClient.repeats(answer.body, input.bytes) {
        fault("\(name) is echoed")
      }
      if status == 200, let outcome = answer.json?["outcome"]?.string {
        if !input.mayBeAccepted() { fault("\(name): \(outcome), and not genuine") }
        let seq = answer.json?["seq"]?.integer ?? 0
        if outcome == "accepted" { state.withLock { _ = $0.seqs.insert(seq) } }
      }
    }
    state.withLock { state in
      state.statuses[status, default: 0] += 1
      state.levels[input.level, default: [:]][status, default: 0] += 1
      if let jws = input.genuine { state.genuine.insert(jws) }
    }
  }

  func report() {
    for (level, statuses) in state.withLock({ $0.levels }).sorted(by: { $0.key < $1.key }) {
      let counts = statuses.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
      print("hostile noise, \(level): \(counts.joined(separator: ", "))")
    }
  }
}

/// The generator of inputs: a good one, changed at one level.
private struct Noise: Sendable {
  struct Input {
    let level: String
    let bytes: [UInt8]
    /// The signed payload that these bytes contain, or contained before they were changed.
    var genuine: [UInt8]?
    /// The body as it was sent, if the framing is right.
    var body: [UInt8]?
    var mayBeShort = false

    /// Whether the input may be accepted. The journal shows whether it was genuine.
    func mayBeAccepted() -> Bool {
      if genuine != nil { return true }
      guard let body, let root = try? JSONDocument(parsing: body).root else { return false }
      return root["password"]?.string == HostileClient.v1Secret
    }
  }

  let authority: SimulatedAuthority
  let cursor: String

  func input(_ number: Int, _ random: inout SeededGenerator) throws -> Input {
    switch random.number(in: 0...9) {
    case 0, 1: try http(number, &random)
    case 2: try json(number, &random)
    case 3: try jws(number, &random)
    case 4: try nested(number, &random)
    case 5: try payload(number, &random)
    case 6, 7: v1(number, &random)
    default: reading(&random)
    }
  }

  private func signed(_ number: Int) throws -> [UInt8] {
    try authority.signedPayload(
      Sample.notification(number % 100_000 + 1, otid: "9\(number % 50)")
        .setting("notificationUUID", .string(Sample.uuid(number))))
  }

  private func post(_ level: String, _ body: [UInt8], genuine: [UInt8]?) -> Input {
    Input(
      level: level, bytes: HostileRow.Variant.post(level, body).bytes, genuine: genuine, body: body)
  }

  /// Requests with changed heads, lengths and chunks.
  private func http(_ number: Int, _ random: inout SeededGenerator) throws -> Input {
    let jws = try signed(number)
    let body = ForgedJWS.body(jws)
    var head = [
      "POST /v1/notifications HTTP/1.1", "Host: h", "Content-Type: application/json",
      "Content-Length: \(body.count)",
    ]
    var tail = body
    if random.chance(0.4) {
      head[3] = "Transfer-Encoding: chunked"
      let cut = Int(random.number(in: 1...Int64(body.count - 1)))
      tail = []
      for chunk in [body[..<cut], body[cut...]] {
        tail += Array((String(chunk.count, radix: 16) + "\r\n").utf8) + chunk + [0x0D, 0x0A]
      }
      tail += Array("0\r\n\r\n".utf8)
    }
    for _ in 0..<random.number(in: 0...2) {
      let odd = [
        "Content-Length: \(body.count)", "Content-Length: 0", "Content-Length: +1", "Host: x",
        "Transfer-Encoding: chunked", "Transfer-Encoding: x", "X: y", "X : y", " folded",
        "Expect: 100-continue",
        "Connection: close", "Connection: keep-alive", "Upgrade: h2c", "Content-Encoding: gzip",
        "X: \(String(repeating: "y", count: 9000))", "Content-Type: text/plain", "", ":",
      ]
      head.insert(random.pick(odd), at: Int(random.number(in: 1...Int64(head.count))))
    }
    var bytes = Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    if random.chance(0.6) { bytes = random.changed(bytes) }
    if random.chance(0.2) { tail = random.changed(tail) }
    return Input(level: "http", bytes: bytes + tail, genuine: jws, mayBeShort: true)
  }

  private func json(_ number: Int, _ random: inout SeededGenerator) throws -> Input {
    let jws = try signed(number)
    var body = ForgedJWS.body(jws)
    // Changes around the JWS; the next level changes the JWS itself.
    switch random.number(in: 0...3) {
    case 0: body = random.changed(Array(body.prefix(18))) + body.dropFirst(18)
    case 1: body = body.dropLast(2) + random.changed(Array(body.suffix(2)))
    case 2:
      let extra = random.pick([
        "\"a\":1,", "\"a\":{},", "\"signedPayload\":1,", "\"notification_type\":\"X\",", "\"\":[],",
        "\"a\":1e400,", "\"a\":\"\\ud800\",", "\"a\":[[[[]]]],", ",", "//", "\"a\" 1,",
      ])
      body = [0x7B] + Array(extra.utf8) + body.dropFirst()
    default: body = random.changed(body)
    }
    return post("json", body, genuine: jws)
  }

  private func jws(_ number: Int, _ random: inout SeededGenerator) throws -> Input {
    let good = try signed(number)
    let parts = ForgedJWS.parts(good)
    var decoded = parts.map { Base64URL.decode($0) ?? [] }
    let index = Int(random.number(in: 0...2))
    decoded[index] = random.changed(decoded[index])
    let changed = ForgedJWS.joined(
      ForgedJWS.url(decoded[0]), ForgedJWS.url(decoded[1]), ForgedJWS.url(decoded[2]))
    return post("jws", ForgedJWS.body(changed), genuine: changed == good ? good : nil)
  }

  /// A changed nested JWS inside a properly signed notification.
  private func nested(_ number: Int, _ random: inout SeededGenerator) throws -> Input {
    let good = try CompactJWS(parsing: try signed(number)[...])
    let root = try JSONDocument(parsing: good.payload).root
    let name = random.pick(["signedTransactionInfo", "signedRenewalInfo"])
    let inner = Array((root["data"]?[name]?.string ?? "").utf8)
    var parts = ForgedJWS.parts(inner).map { Base64URL.decode($0) ?? [] }
    let index = Int(random.number(in: 0...2))
    parts[index] = random.changed(parts[index])
    let changed = ForgedJWS.joined(
      ForgedJWS.url(parts[0]), ForgedJWS.url(parts[1]), ForgedJWS.url(parts[2]))
    let text = JSONValue.string(String(decoding: changed, as: UTF8.self))
    let outer = try authority.sign(payload: root.value.setting("data.\(name)", text).bytes)
    return post("nested", ForgedJWS.body(outer), genuine: changed == inner ? outer : nil)
  }

  /// Genuine notifications with arbitrary content.
  private func payload(_ number: Int, _ random: inout SeededGenerator) throws -> Input {
    let paths = [
      "notificationType", "subtype", "notificationUUID", "version", "signedDate", "data",
      "data.bundleId", "data.environment", "data.appAppleId", "data.status", "data.transaction",
      "data.transaction.originalTransactionId", "data.transaction.purchaseDate",
      "data.transaction.expiresDate", "data.transaction.price", "data.transaction.signedDate",
      "data.transaction.revocationDate", "data.renewalInfo", "data.renewalInfo.signedDate",
      "data.renewalInfo.gracePeriodExpiresDate", "data.renewalInfo.autoRenewStatus", "summary",
    ]
    let values: [JSONValue?] = [
      nil, .null, .integer(0), .integer(-1), .integer(.max), .integer(.min), .number("1e300"),
      .string(""), .string("x"), .string("\u{0}"), .string("'; DROP TABLE event;--"), .array([]),
      .object([]), .boolean(true), .string(String(repeating: "9", count: 200)), .number("0.5"),
      .integer(Sample.start), .string("\u{202E}"), .object([("a", .array([.null]))]),
    ]
    var notification = Sample.notification(number % 100_000 + 1, otid: "9\(number % 50)")
      .setting("notificationUUID", .string(Sample.uuid(number)))
    for _ in 0..<random.number(in: 1...3) {
      notification = notification.setting(random.pick(paths), random.pick(values))
    }
    let jws =
      random.chance(0.2)
      ? try authority.sign(payload: random.changed(notification.bytes))
      : try authority.signedPayload(notification)
    return post("payload", ForgedJWS.body(jws), genuine: jws)
  }

  private func v1(_ number: Int, _ random: inout SeededGenerator) -> Input {
    let secrets: [JSONValue?] = [
      .string(HostileClient.v1Secret), .string(HostileClient.v1Secret),
      .string(HostileClient.v1Secret), nil, .string(""),
      .string(String(HostileClient.v1Secret.dropLast())), .array([.string(HostileClient.v1Secret)]),
      .null,
    ]
    let entry = JSONValue.object([
      ("transaction_id", .string("6\(number)")), ("original_transaction_id", .string("6000")),
      ("product_id", .string("basic.m")), ("purchase_date_ms", .string("\(Sample.start)")),
      ("expires_date_ms", .string("\(Sample.start + 30 * Sample.day)")),
    ])
    var body = JSONValue.object([
      ("notification_type", .string("DID_RENEW")), ("environment", .string("PROD")),
      ("bid", .string("com.example.app")), ("original_transaction_id", .number("6000")),
      ("unified_receipt", .object([("latest_receipt_info", .array([entry]))])),
    ]).setting("password", random.pick(secrets))
    let paths = [
      "notification_type", "environment", "bid", "unified_receipt", "cancellation_date_ms",
      "unified_receipt.latest_receipt_info", "unified_receipt.pending_renewal_info",
      "original_transaction_id", "unified_receipt.password", "auto_renew_status",
    ]
    let values: [JSONValue?] = [
      nil, .null, .integer(1), .string("x"), .string(""), .array([]), .object([]), .array([.null]),
      .array([.object([("password", .string("x"))])]), .integer(.min), .number("1e300"),
    ]
    for _ in 0..<random.number(in: 0...2) {
      body = body.setting(random.pick(paths), random.pick(values))
    }
    var bytes = body.bytes
    if random.chance(0.4) { bytes = random.changed(bytes) }
    return post("v1", bytes, genuine: nil)
  }

  /// Read requests: paths, queries, cursors, tokens.
  private func reading(_ random: inout SeededGenerator) -> Input {
    var target = random.pick([
      "/v1/entitlements/901?as_of=\(Sample.start)&known_at=2026-01-01T00:00:00Z",
      "/v1/entitlements?limit=5&after=\(cursor)&status=active",
      "/v1/entitlements/901/history?raw=true",
      "/v1/entitlements?product_id=pro.monthly&environment=Production", "/metrics", "/version",
      "/v1/entitlements?app_account_token=a%20b%C3%A9",
    ])
    if random.chance(0.8) {
      target = String(decoding: random.changed(Array(target.utf8)), as: UTF8.self)
    }
    var token = "Bearer \(Installation.token)"
    if random.chance(0.1) {
      token = String(decoding: random.changed(Array(token.utf8)), as: UTF8.self)
    }
    let method = random.pick(["GET", "GET", "GET", "HEAD", "POST", "get"])
    let bytes = Array(
      "\(method) \(target) HTTP/1.1\r\nHost: h\r\nAuthorization: \(token)\r\n\r\n".utf8)
    return Input(level: "read", bytes: bytes, mayBeShort: true)
  }

}
