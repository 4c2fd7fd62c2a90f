import Foundation
import Platform
import StrictJSON
import Support
import Synchronization
import Testing

/// What notifications say, as they come to the door.
@Suite struct SemanticsTests {
  private struct Door {
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

    func kept() throws -> Int {
      try installation.run("quarantine", "list", "--json").lines().count
    }

    /// The row now, without what depends on the order of arrival.
    func row(_ otid: String, _ more: String = "") -> String? {
      client.get("/v1/entitlements/\(otid)?as_of=\(Sample.start + Sample.day)\(more)")?.json?
        .value.setting("last_event.seq", nil).setting("original_transaction_id", nil)
        .setting("transaction_id", nil).setting("last_event.notification_uuid", nil).text
    }

    func finish(events: Int, quarantined: Int) throws {
      #expect(try installation.events().count == events)
      #expect(try kept() == quarantined)
      #expect(try daemon.stop().code == 0)
      let verified = try installation.run("verify")
      #expect(verified.code == 0, "\(verified)")
    }
  }

  @Test func duplicatesAtOnce() throws {
    let door = try Door()
    let body = try door.installation.sign(Sample.notification(1))
    let (port, seqs) = (door.daemon.port, Seqs())
    together(10) { _ in
      let client = Client(port: port)
      for _ in 0..<10 { seqs.note(client.post(body)) }
    }
    #expect(seqs.all.count == 100 && seqs.all.allSatisfy { $0 == "1" })
    #expect(seqs.accepted == 1)
    try door.finish(events: 1, quarantined: 0)
  }

  private final class Seqs: Sendable {
    private let state = Mutex((seqs: [String](), accepted: 0))
    func note(_ answer: Client.Answer?) {
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

  @Test func anotherContentUnderAKnownUUID() throws {
    let door = try Door()
    #expect(try door.post(Sample.notification(1)).status == 200)
    let before = door.row("7000")
    let twin = Sample.notification(1).setting("data.transaction.productId", .string("gold"))
    let answer = try door.post(twin)
    #expect(answer.status == 200 && answer.json?["outcome"]?.string == "duplicate")
    #expect(door.row("7000") == before)
    // Upper case is the same uuid.
    let upper = try door.post(
      Sample.notification(1).setting("notificationUUID", .string(Sample.uuid(1).uppercased())))
    #expect(upper.status == 200 && upper.json?["outcome"]?.string == "duplicate")
    try door.finish(events: 1, quarantined: 1)
  }

  @Test func latecomersAndTies() throws {
    let door = try Door()
    for (otid, order) in [("801", [1, 2, 3]), ("802", [3, 1, 2]), ("803", [2, 3, 1])] {
      for number in order {
        let unique = Int(otid).map { $0 * 100 + number } ?? 0
        let notification = Sample.notification(number, otid: otid)
          .setting("notificationUUID", .string(Sample.uuid(unique)))
        #expect(try door.post(notification).status == 200)
      }
    }
    #expect(door.row("801") == door.row("802") && door.row("801") == door.row("803"))
    // Equal dates: the greater uuid wins, whichever came first.
    for (otid, order) in [("811", [1, 2]), ("812", [2, 1])] {
      for number in order {
        let unique = Int(otid).map { $0 * 100 + number } ?? 0
        let notification = Sample.notification(5, otid: otid)
          .setting("notificationUUID", .string(Sample.uuid(unique)))
          .setting("notificationType", .string("DID_CHANGE_RENEWAL_STATUS"))
          .setting("data.renewalInfo.autoRenewStatus", .integer(number == 1 ? 0 : 1))
        #expect(try door.post(notification).status == 200)
      }
    }
    #expect(door.row("811") == door.row("812") && door.row("811") != nil)
    try door.finish(events: 13, quarantined: 0)
  }

  @Test func whatIsNotAdmitted() throws {
    let door = try Door()
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
      let answer = try door.post(notification.setting(path, value))
      #expect(answer.status == 422, "\(path) \(value?.text.prefix(40) ?? "absent"): \(answer.text)")
    }
    try door.finish(events: 0, quarantined: changes.count)
  }

  @Test func unknownWordsAreWelcome() throws {
    let door = try Door()
    #expect(try door.post(Sample.notification(1)).status == 200)
    let before = door.row("7000")
    let unknown = Sample.notification(2).setting("notificationType", .string("NEW_IN_2030"))
      .setting("subtype", .string("NEWER")).setting("data.status", .integer(77))
      .setting("data.somethingNew", .object([("a", .array([.null]))]))
    for (number, version) in [JSONValue.string("1.0"), .string("3.0"), nil].enumerated() {
      let notification = unknown.setting("version", version)
        .setting("notificationUUID", .string(Sample.uuid(20 + number)))
      #expect(try door.post(notification).status == 200)
    }
    #expect(before?.contains("\"status\":\"active\"") == true)
    #expect(door.row("7000")?.contains("\"status\":\"active\"") == true)
    try door.finish(events: 4, quarantined: 0)
  }

  @Test func oddDates() throws {
    let door = try Door()
    func dated(_ number: Int, _ date: Int64) -> JSONValue {
      Sample.notification(number, otid: "90\(number)").setting("signedDate", .integer(date))
        .setting("data.transaction.signedDate", .integer(date))
        .setting("data.renewalInfo.signedDate", .integer(date))
    }
    for (number, date) in [Int64(0), -1, 253_370_764_800_000, Int64.max].enumerated() {
      #expect(try door.post(dated(number, date)).status == 401, "\(date)")
    }
    let now = Clock.now()
    for (number, ahead) in [365 * Sample.day, Sample.day / 24, -5 * 365 * Sample.day].enumerated() {
      let answer = try door.post(dated(10 + number, now + ahead))
      #expect(answer.status == 200, "\(ahead): \(answer.text)")
    }
    let metrics = try #require(door.client.get("/metrics")).text
    #expect(metrics.contains("subledger_signed_ahead_total 2"), "\(metrics)")
    try door.finish(events: 3, quarantined: 0)
  }

  @Test func anomaliesGiveNoAccess() throws {
    let door = try Door()
    let good = Sample.notification(1, otid: "901")
    let before = JSONValue.integer(Sample.start - Sample.day)
    let backwards = good.setting("data.transaction.expiresDate", before)
      .setting("data.renewalInfo.renewalDate", before)
    #expect(try door.post(backwards).status == 200)
    #expect(door.row("901")?.contains("\"gives_access\":false") == true, "\(door.row("901") ?? "")")
    let odd = Sample.notification(2, otid: "902").setting("data.transaction.price", .integer(-1))
      .setting("data.transaction.quantity", .integer(0))
    #expect(try door.post(odd).status == 200)
    let nameless = Sample.notification(3)
      .setting("data.transaction.originalTransactionId", nil)
      .setting("data.renewalInfo.originalTransactionId", nil)
    #expect(try door.post(nameless).status == 200)
    try door.finish(events: 3, quarantined: 0)
  }

  @Test func hostileTextIsOnlyText() throws {
    let door = try Door()
    let texts = [
      "'; DROP TABLE event;--", "<script>alert(1)</script>", "../../etc/passwd", "\u{1B}[2J\r\nx",
      "\u{202E}gnp.exe", "%00", String(repeating: "x", count: 128),
    ]
    for (number, text) in texts.enumerated() {
      let notification = Sample.notification(number, otid: text, type: text)
        .setting("subtype", .string(text)).setting("data.transaction.productId", .string(text))
        .setting("data.transaction.appAccountToken", .string(text))
      #expect(try door.post(notification).status == 200, "\(text.prefix(30))")
    }
    let events = try door.installation.events()
    #expect(events.map { $0["original_transaction_id"]?.string } == texts)
    #expect(events.map { $0["notification_type"]?.string } == texts)
    let listed = try #require(door.client.get("/v1/entitlements?limit=100")?.json)
    #expect(listed["items"]?.elements.count == texts.count)
    let nul = Sample.notification(50, otid: "a\u{0}b")
    #expect(try door.post(nul).status == 400)
    try door.finish(events: texts.count, quarantined: 0)
  }

  @Test func manyCustomersAtOnce() throws {
    let door = try Door()
    let bodies = try (0..<160).map {
      try door.installation.sign(Sample.notification($0, otid: "95\($0)"))
    }
    let (port, seqs) = (door.daemon.port, Seqs())
    together(8) { number in
      let client = Client(port: port)
      for body in bodies[(number * 20)..<(number * 20 + 20)] { seqs.note(client.post(body)) }
    }
    #expect(Set(seqs.all).count == 160 && seqs.accepted == 160)
    try door.finish(events: 160, quarantined: 0)
  }
}
