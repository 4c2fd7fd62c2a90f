import Foundation
import StrictJSON
import Support
import Testing

/// What the daemon tells Apple of requests for refunds, and what became of it.
@Suite struct RefundSendingTests {
  fileprivate static let decider = "e2e-token-that-decides-4722"
  private static let consumption = "/inApps/v2/transactions/consumption"

  /// A store whose customers want their money back, and a daemon that the backend has told nothing.
  final class Played {
    let store: PlayedStore
    let clock: AdjustableClock
    private(set) var daemon: RunningDaemon

    /// - Parameter server: for a shared journal; nil for one in the folder.
    init(policies: Bool = true, sharedOn server: TemporaryPostgres? = nil) throws {
      let policy = JSONValue.object([
        ("name", .string("keep")), ("delivery", .string("DELIVERED")), ("sample", .boolean(true)),
        ("prefer", .string("DECLINE")),
      ])
      store = try PlayedStore(
        ["--customers", "600", "--days", "30", "--behind", "1", "--refunds", "0.9"],
        recover: "automatic",
        with: [
          (
            "readTokens",
            .array([
              Installation.token("backend", Installation.token, []),
              Installation.token(
                "decider", RefundSendingTests.decider, [("may", .array([.string("refunds")]))]),
            ])
          )
        ]
          + (policies
            ? [("refunds", .object([("policies", .array([policy]))]))] : []))
      if let server { try Self.shareJournal(of: store.installation, server) }
      clock = try store.installation.adjustClock()
      // The lives of the store's customers end now, and so would its decisions.
      try Self.set(clock, store, later: 0)
      daemon = try store.installation.start()
      try store.advance(PlayedStore.hour * 8, notify: "true")
    }

    private static func shareJournal(
      of installation: Installation, _ server: TemporaryPostgres
    ) throws {
      let database = try server.makeDatabase()
      let (schema, role) = ("s_\(database)", "d_\(database)")
      let migrated = try installation.run(
        "shared-journal", "migrate", "--connection", server.address(database), "--schema", schema)
      #expect(migrated.code == 0, "\(migrated)")
      try server.sql("CREATE ROLE \(role) LOGIN; GRANT \(schema)_daemon TO \(role)")
      let connection = JSONValue.string(server.address(database, user: role))
      try installation.extendConfiguration([
        ("sharedJournal", .object([("connection", connection), ("schema", .string(schema))]))
      ])
    }

    /// Sets the daemon's clock to yesterday, and so much later.
    private static func set(
      _ clock: AdjustableClock, _ store: PlayedStore, later milliseconds: Int64
    ) throws {
      try clock.set(aheadBy: milliseconds - PlayedStore.day)
      try store.control(#"{"clockSkew":\#(milliseconds - PlayedStore.day)}"#)
    }

    func set(later milliseconds: Int64) throws {
      try Self.set(clock, store, later: milliseconds)
    }

    func list(_ query: String) throws -> [JSONElement] {
      let answer = try #require(daemon.client().get("/v1/refund-requests?limit=500\(query)"))
      return try #require(answer.json?["items"], "\(answer.text)").elements
    }

    /// The transactions of open requests.
    func waiting() throws -> [String] {
      try list("&state=waiting&environment=Production").filter {
        $0["exclusion"]?.value == .null
      }.compactMap { $0["transaction_id"]?.string }
    }

    func consent(to id: String) throws {
      let body = #"{"customer_consented":true}"#
      let head =
        "POST /v1/refund-requests/\(id) HTTP/1.1\r\nHost: localhost\r\n"
        + "Content-Type: application/json\r\n"
        + "Authorization: Bearer \(RefundSendingTests.decider)\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n"
      let answer = try #require(daemon.client().send(head, Array(body.utf8)))
      #expect(answer.status == 200, "\(answer.text)")
    }

    func request(_ id: String) throws -> JSONElement {
      try #require(daemon.client().get("/v1/refund-requests/\(id)")?.json)
    }

    func wait(_ id: String, _ what: String, _ isMet: (JSONElement) -> Bool) throws {
      try daemon.command.wait(60, what) {
        (try? self.request(id)).map(isMet) ?? false
      }
    }

    func crash() throws { try daemon.crash() }

    func restart() throws { daemon = try store.installation.start() }

    /// What the store was told last of a request.
    func told(_ id: String) throws -> JSONElement? {
      let request = try store.refundRequests().last { $0["transactionId"]?.string == id }
      return request?["answers"]?.elements.last
    }

    /// The statements about a purchase, in their order.
    func statements(_ id: String) throws -> [String] {
      let otid = try #require(try request(id)["original_transaction_id"]?.string)
      let history = daemon.client().get("/v1/entitlements/\(otid)/history")?.json?["items"]
      return history?.elements.compactMap { $0["notification_type"]?.string }
        .filter { $0.hasPrefix("REFUND_") && $0 != "REFUND_DECLINED" } ?? []
    }
  }

  @Test func `what was decided is sent, and Apple decides by it`() throws {
    let played = try Played()
    let ids = try played.waiting()
    #expect(ids.count > 2, "\(ids)")
    let dry = try played.store.installation.run("refunds", "list", "--dry-run", "--limit", "500")
    #expect(dry.code == 0 && dry.output.contains("waits until"), "\(dry)")
    for id in ids.dropFirst() { try played.consent(to: id) }
    for id in ids.dropFirst() {
      try played.wait(id, "an answer of Apple's") { $0["state"]?.string == "answered" }
      let request = try played.request(id)
      #expect(request["policy"]?.string == "keep")
      #expect(request["sent_preference"]?.string == "DECLINE")
      #expect(request["answer"]?.string == "accepted")
      #expect(try played.told(id)?["body"]?["refundPreference"]?.string == "DECLINE")
    }
    // Nobody said that this customer consents.
    #expect(try played.request(ids[0])["state"]?.string == "waiting")
    #expect(try played.told(ids[0]) == nil)
    try played.store.advance(PlayedStore.hour * 15, notify: "true")
    for id in ids.dropFirst() {
      try played.wait(id, "Apple's decision") { $0["outcome"]?.string == "declined" }
      #expect(try played.request(id)["state"]?.string == "answered")
    }
    #expect(try played.daemon.stop().code == 0)
    #expect(try played.store.installation.run("verify").code == 0)
  }

  @Test func `nothing is sent unless refunds are configured`() throws {
    let played = try Played(policies: false)
    let id = try #require(try played.waiting().first)
    try played.consent(to: id)
    Thread.sleep(forTimeInterval: 6)
    #expect(try played.statements(id) == ["REFUND_WORD"])
    #expect(try played.told(id) == nil)
  }

  @Test func `after a kill between the statement and the answer it is sent again`() throws {
    let played = try Played()
    let id = try #require(try played.waiting().first)
    try played.store.control(
      #"{"faults":[{"kind":"delay","wait":30000,"path":"\#(Self.consumption)"}]}"#)
    try played.consent(to: id)
    try played.wait(id, "a sending") { $0["sent_at"]?.integer != nil }
    #expect(try played.request(id)["answer"]?.value == .null)
    try played.crash()
    try played.store.control(#"{"faults":[]}"#)
    try played.restart()
    #expect(try played.request(id)["state"]?.string == "waiting")
    // Five minutes later.
    try played.set(later: 301_000)
    try played.wait(id, "an answer of Apple's") { $0["state"]?.string == "answered" }
    #expect(
      try played.statements(id)
        == ["REFUND_WORD", "REFUND_SENDING", "REFUND_SENDING", "REFUND_ANSWER"])
    #expect(try played.daemon.stop().code == 0)
    #expect(try played.store.installation.run("verify").code == 0)
  }

  @Test func `while Apple is away it is tried again, and what Apple refuses is not`() throws {
    let played = try Played()
    let ids = try played.waiting()
    try played.store.control(
      #"{"faults":[{"kind":"error","code":5000000,"path":"\#(Self.consumption)"}]}"#)
    try played.consent(to: ids[0])
    try played.wait(ids[0], "a failure") { $0["answer"]?.string == "failed" }
    #expect(try played.request(ids[0])["state"]?.string == "waiting")
    try played.store.control(
      #"{"faults":[{"kind":"error","code":4000035,"path":"\#(Self.consumption)"}]}"#)
    try played.set(later: 301_000)
    try played.wait(ids[0], "a refusal") { $0["state"]?.string == "refused" }
    try played.store.control(#"{"faults":[]}"#)
    try played.set(later: 1_500_000)
    try played.consent(to: ids[1])
    try played.wait(ids[1], "an answer of Apple's") { $0["state"]?.string == "answered" }
    #expect(
      try played.statements(ids[0]) == [
        "REFUND_WORD", "REFUND_SENDING", "REFUND_ANSWER", "REFUND_SENDING", "REFUND_ANSWER",
      ])
  }

  @Test func `of two daemons one tells Apple, and the other goes on when it is killed`() throws {
    let played = try Played(sharedOn: try TemporaryPostgres.shared.get())
    let first = played.store.installation
    let other = try Installation(authority: first.authority)
    other.environment = first.environment
    try Data(contentsOf: first.config).write(to: other.config)
    try other.extendConfiguration([
      ("listen", .string("127.0.0.1:0")), ("data", .string(other.data.path)),
    ])
    let second = try other.start()
    let ids = try played.waiting()
    #expect(ids.count > 8, "\(ids)")
    try played.store.control(
      #"{"faults":[{"kind":"delay","wait":1500,"path":"\#(Self.consumption)"}]}"#)
    for id in ids { try played.consent(to: id) }
    // Of a purchase there may be an older request too.
    func answers() throws -> [Int] {
      let requests = try played.store.refundRequests()
      return ids.map { id in
        requests.filter { $0["transactionId"]?.string == id }
          .reduce(0) { $0 + ($1["answers"]?.elements.count ?? 0) }
      }
    }
    try second.command.wait(60, "the first answers") { try answers().reduce(0, +) >= 3 }
    try played.crash()
    try played.store.control(#"{"faults":[]}"#)
    // What was under way is tried again after five minutes.
    try played.set(later: 301_000)
    try second.command.wait(120, "all answers") {
      ids.allSatisfy { id in
        let request = second.client().get("/v1/refund-requests/\(id)")?.json
        return request?["state"]?.string == "answered"
      }
    }
    let found = try answers()
    #expect(found.allSatisfy { $0 >= 1 } && found.reduce(0, +) <= ids.count + 1, "\(found)")
    #expect(try second.stop().code == 0)
    #expect(try other.run("verify").code == 0)
  }
}
