import Foundation
import StrictJSON
import Support
import Synchronization
import Testing

/// Rows S1, S3, S4 and S15 of the hostile inputs, which need many requests: duplicates and order.
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

  /// SQL compares bytes, so the fold must not treat two spellings of one accent as one customer.
  @Test func `two Unicode spellings of one id are two customers`() throws {
    let server = try Server()
    let ids = ["caf\u{E9}", "cafe\u{301}", "\u{212B}", "\u{C5}", "A\u{30A}"]
    for (number, id) in (ids + ids).enumerated() {
      #expect(try server.post(Sample.notification(number, otid: id)).status == 200)
    }
    let items = try #require(server.client.get("/v1/entitlements?limit=50")?.json?["items"])
      .elements
    #expect(items.count == ids.count)
    for item in items { #expect(item["event_count"]?.integer == 2) }
    let mixed = Sample.notification(20, otid: ids[0])
      .setting("data.renewalInfo.originalTransactionId", .string(ids[1]))
    let bundle = Sample.notification(21).setting("data.bundleId", .string("com.ex\u{E1}mple"))
      .setting("data.transaction.bundleId", .string("com.exa\u{301}mple"))
    for notification in [mixed, bundle] { #expect(try server.post(notification).status == 422) }
    try server.finish(events: 10, quarantined: 2)
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
