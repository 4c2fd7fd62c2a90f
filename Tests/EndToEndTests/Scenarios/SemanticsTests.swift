import Foundation
import Platform
import StrictJSON
import Support
import Synchronization
import Testing

/// What becomes of notifications with unusual content, order or dates.
@Suite struct SemanticsTests {
  private struct Server {
    let installation: Installation
    let daemon: RunningDaemon
    let client: Client

    init() throws {
      installation = try Installation()
      daemon = try installation.start()
      client = daemon.client()
    }

    func post(_ notification: JSONValue) throws -> Client.Answer {
      try #require(client.post(try installation.sign(notification)))
    }

    /// The number of notifications in quarantine.
    func quarantined() throws -> Int {
      try installation.run("quarantine", "list", "--json").lines().count
    }

    /// The row a day after the start, without the members that depend on ids or order of arrival.
    func row(_ otid: String, _ more: String = "") -> String? {
      client.get("/v1/entitlements/\(otid)?as_of=\(Sample.start + Sample.day)\(more)")?.json?
        .value.setting("last_event.seq", nil).setting("original_transaction_id", nil)
        .setting("transaction_id", nil).setting("last_event.notification_uuid", nil).text
    }

    /// Stops the daemon, and checks the counts and the files.
    func finish(events: Int, quarantined: Int) throws {
      #expect(try installation.events().count == events)
      #expect(try self.quarantined() == quarantined)
      #expect(try daemon.stop().code == 0)
      let verified = try installation.run("verify")
      #expect(verified.code == 0, "\(verified)")
    }
  }

  @Test func `concurrent duplicates are journaled once`() throws {
    let server = try Server()
    let body = try server.installation.sign(Sample.notification(1))
    let (port, seqs) = (server.daemon.port, Seqs())
    runConcurrently(10) { _ in
      let client = Client(port: port)
      for _ in 0..<10 { seqs.record(client.post(body)) }
    }
    #expect(seqs.all.count == 100 && seqs.all.allSatisfy { $0 == "1" })
    #expect(seqs.accepted == 1)
    try server.finish(events: 1, quarantined: 0)
  }

  /// The answers to concurrent requests.
  private final class Seqs: Sendable {
    private let state = Mutex((seqs: [String](), accepted: 0))
    func record(_ answer: Client.Answer?) {
      let text = answer?.json?["seq"]?.integer.map { "\($0)" } ?? "\(answer?.status ?? 0)"
      let isAccepted = answer?.json?["outcome"]?.string == "accepted"
      state.withLock { state in
        state.seqs.append(text)
        state.accepted += isAccepted ? 1 : 0
      }
    }
    var all: [String] { state.withLock { $0.seqs } }
    var accepted: Int { state.withLock { $0.accepted } }
  }

  @Test func `other content under a known UUID goes to quarantine`() throws {
    let server = try Server()
    #expect(try server.post(Sample.notification(1)).status == 200)
    let before = server.row("7000")
    let conflicting = Sample.notification(1).setting("data.transaction.productId", .string("gold"))
    let answer = try server.post(conflicting)
    #expect(answer.status == 200 && answer.json?["outcome"]?.string == "conflict")
    #expect(server.row("7000") == before)
    // A UUID in upper case is the same UUID.
    let upper = try server.post(
      Sample.notification(1).setting("notificationUUID", .string(Sample.uuid(1).uppercased())))
    #expect(upper.status == 200 && upper.json?["outcome"]?.string == "duplicate")
    try server.finish(events: 1, quarantined: 1)
  }

  @Test func `late events and ties give the same row in every order`() throws {
    let server = try Server()
    for (otid, order) in [("801", [1, 2, 3]), ("802", [3, 1, 2]), ("803", [2, 3, 1])] {
      for number in order {
        let unique = Int(otid).map { $0 * 100 + number } ?? 0
        let notification = Sample.notification(number, otid: otid)
          .setting("notificationUUID", .string(Sample.uuid(unique)))
        #expect(try server.post(notification).status == 200)
      }
    }
    #expect(server.row("801") == server.row("802") && server.row("801") == server.row("803"))
    // Of events with equal dates the one with the greater UUID wins, in any order of arrival.
    for (otid, order) in [("811", [1, 2]), ("812", [2, 1])] {
      for number in order {
        let unique = Int(otid).map { $0 * 100 + number } ?? 0
        let notification = Sample.notification(5, otid: otid)
          .setting("notificationUUID", .string(Sample.uuid(unique)))
          .setting("notificationType", .string("DID_CHANGE_RENEWAL_STATUS"))
          .setting("data.renewalInfo.autoRenewStatus", .integer(number == 1 ? 0 : 1))
        #expect(try server.post(notification).status == 200)
      }
    }
    #expect(server.row("811") == server.row("812") && server.row("811") != nil)
    try server.finish(events: 13, quarantined: 0)
  }

  @Test func `notifications of other apps, environments or shapes go to quarantine`() throws {
    let server = try Server()
    let good = Sample.notification(1)
    let changes: [(String, JSONValue?)] = [
      ("data.bundleId", .string("com.example.foreign")), ("data.bundleId", nil),
      ("data.appAppleId", .integer(1)), ("data.appAppleId", nil),
      ("data.environment", nil), ("data.environment", .string("Xcode")),
      ("data.environment", .string("production")), ("data.environment", .string("Sandbox")),
      ("notificationUUID", nil), ("notificationUUID", .string("")),
      ("notificationUUID", .string("not-a-uuid")),
      ("notificationUUID", .string(String(repeating: "a", count: 100_000))),
      ("data", nil), ("summary", .object([])), ("notificationType", nil),
      ("signedDate", nil), ("signedDate", .string("1767225660000")),
      ("signedDate", .number("1767225660000.5")),
      ("data.transaction.originalTransactionId", .string("other")),
      ("data.transaction.bundleId", .string("com.example.foreign")),
      ("data.transaction.environment", .string("Sandbox")),
      ("data.renewalInfo.environment", .string("Sandbox")),
    ]
    for (number, (path, value)) in changes.enumerated() {
      var notification = good
      if path != "notificationUUID" {
        notification = notification.setting("notificationUUID", .string(Sample.uuid(500 + number)))
      }
      let answer = try server.post(notification.setting(path, value))
      #expect(answer.status == 422, "\(path) \(value?.text.prefix(40) ?? "absent"): \(answer.text)")
    }
    try server.finish(events: 0, quarantined: changes.count)
  }

  @Test func `unknown types, subtypes, versions and members are accepted`() throws {
    let server = try Server()
    #expect(try server.post(Sample.notification(1)).status == 200)
    let before = server.row("7000")
    let unknown = Sample.notification(2).setting("notificationType", .string("NEW_IN_2030"))
      .setting("subtype", .string("NEWER")).setting("data.status", .integer(77))
      .setting("data.somethingNew", .object([("a", .array([.null]))]))
    for (number, version) in [JSONValue.string("1.0"), .string("3.0"), nil].enumerated() {
      let notification = unknown.setting("version", version)
        .setting("notificationUUID", .string(Sample.uuid(20 + number)))
      #expect(try server.post(notification).status == 200)
    }
    #expect(before?.contains("\"status\":\"active\"") == true)
    #expect(server.row("7000")?.contains("\"status\":\"active\"") == true)
    try server.finish(events: 4, quarantined: 0)
  }

  @Test func `dates outside the certificates are refused, and dates ahead of the clock accepted`()
    throws
  {
    let server = try Server()
    func dated(_ number: Int, _ date: Int64) -> JSONValue {
      Sample.notification(number, otid: "90\(number)").setting("signedDate", .integer(date))
        .setting("data.transaction.signedDate", .integer(date))
        .setting("data.renewalInfo.signedDate", .integer(date))
    }
    for (number, date) in [Int64(0), -1, 253_370_764_800_000, Int64.max].enumerated() {
      #expect(try server.post(dated(number, date)).status == 401, "\(date)")
    }
    let now = Clock.now()
    for (number, ahead) in [365 * Sample.day, Sample.day / 24, -5 * 365 * Sample.day].enumerated() {
      let answer = try server.post(dated(10 + number, now + ahead))
      #expect(answer.status == 200, "\(ahead): \(answer.text)")
    }
    let metrics = try #require(server.client.get("/metrics")).text
    #expect(metrics.contains("subledger_signed_ahead_total 2"), "\(metrics)")
    try server.finish(events: 3, quarantined: 0)
  }

  @Test func `contradictory notifications give no access`() throws {
    let server = try Server()
    let good = Sample.notification(1, otid: "901")
    let before = JSONValue.integer(Sample.start - Sample.day)
    let backwards = good.setting("data.transaction.expiresDate", before)
      .setting("data.renewalInfo.renewalDate", before)
    #expect(try server.post(backwards).status == 200)
    #expect(
      server.row("901")?.contains("\"gives_access\":false") == true, "\(server.row("901") ?? "")")
    let odd = Sample.notification(2, otid: "902").setting("data.transaction.price", .integer(-1))
      .setting("data.transaction.quantity", .integer(0))
    #expect(try server.post(odd).status == 200)
    let nameless = Sample.notification(3)
      .setting("data.transaction.originalTransactionId", nil)
      .setting("data.renewalInfo.originalTransactionId", nil)
    #expect(try server.post(nameless).status == 200)
    try server.finish(events: 3, quarantined: 0)
  }

  @Test func `hostile text is stored and returned unchanged`() throws {
    let server = try Server()
    let texts = [
      "'; DROP TABLE event;--", "<script>alert(1)</script>", "../../etc/passwd", "\u{1B}[2J\r\nx",
      "\u{202E}gnp.exe", "%00", String(repeating: "x", count: 128),
    ]
    for (number, text) in texts.enumerated() {
      let notification = Sample.notification(number, otid: text, type: text)
        .setting("subtype", .string(text)).setting("data.transaction.productId", .string(text))
        .setting("data.transaction.appAccountToken", .string(text))
      #expect(try server.post(notification).status == 200, "\(text.prefix(30))")
    }
    let events = try server.installation.events()
    #expect(events.map { $0["original_transaction_id"]?.string } == texts)
    #expect(events.map { $0["notification_type"]?.string } == texts)
    let listed = try #require(server.client.get("/v1/entitlements?limit=100")?.json)
    #expect(listed["items"]?.elements.count == texts.count)
    let nul = Sample.notification(50, otid: "a\u{0}b")
    #expect(try server.post(nul).status == 422)
    try server.finish(events: texts.count, quarantined: 1)
  }

  @Test func `notifications of many customers are accepted concurrently`() throws {
    let server = try Server()
    let bodies = try (0..<160).map {
      try server.installation.sign(Sample.notification($0, otid: "95\($0)"))
    }
    let (port, seqs) = (server.daemon.port, Seqs())
    runConcurrently(8) { number in
      let client = Client(port: port)
      for body in bodies[(number * 20)..<(number * 20 + 20)] { seqs.record(client.post(body)) }
    }
    #expect(Set(seqs.all).count == 160 && seqs.accepted == 160)
    try server.finish(events: 160, quarantined: 0)
  }
}
