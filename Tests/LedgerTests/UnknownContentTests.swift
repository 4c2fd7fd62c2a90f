import AppStore
import Audit
import Ledger
import Queries
import Store
import StrictJSON
import Support
import Testing

/// Notifications whose content has a name that this version does not know.
@Suite struct UnknownContentTests {
  private static func notification(
    _ number: Int, _ content: [(String, JSONValue)], name: String = "newInfo"
  ) throws -> [UInt8] {
    try SharedAuthority.sign(
      .object([
        ("notificationType", .string("NEW_TYPE")),
        ("notificationUUID", .string(Sample.uuid(number))), ("version", .string("2.0")),
        ("signedDate", .integer(Sample.start)),
        (name, .object(content + [("newId", .string("1"))])),
      ]))
  }

  private static let named: [(String, JSONValue)] = [
    ("bundleId", .string(TestLedger.bundleId)), ("appAppleId", .integer(TestLedger.appAppleId)),
    ("environment", .string("Production")),
  ]

  @Test(arguments: [[0, 1, 2], [0, 2], [1, 2]])
  func `one that names a configured app and environment is an event`(_ members: [Int]) throws {
    let ledger = try TestLedger()
    let content = members.map { Self.named[$0] }
    #expect(try ledger.ingest(Self.notification(1, content), at: 1) == .accepted(1))
    let event = try #require(try ledger.events().first)
    #expect(event.bundleId == TestLedger.bundleId && event.environment == .production)
    #expect(event.notificationType == "NEW_TYPE" && event.originalTransactionId == nil)
    #expect(try ledger.reader().payload(of: event)["newInfo"]?["newId"] == .string("1"))
    #expect(try ledger.verify().findings.isEmpty)
    // The same again, and under another name: what is not known is in the journal once.
    #expect(try ledger.ingest(Self.notification(1, content), at: 2) == .duplicate(1))
  }

  @Test func `one that names a purchase is in its history, and changes no row`() throws {
    let ledger = try TestLedger()
    try ledger.ingest(try SharedAuthority.sign(Sample.notification(0)), at: 1)
    let row = try ledger.row("7000", now: Sample.start + Sample.day)?.json.without(
      ["event_count", "last_event"])
    let content = Self.named + [("originalTransactionId", .string("7000"))]
    #expect(try ledger.ingest(Self.notification(1, content), at: 2) == .accepted(2))
    let after = try ledger.row("7000", now: Sample.start + Sample.day)?.json.without(
      ["event_count", "last_event"])
    #expect(row == after)
    #expect(try ledger.history("7000")?.entries.count == 2)
    #expect(try ledger.verify().findings.isEmpty)
  }

  @Test func `one of another app or environment is not admitted`() throws {
    let ledger = try TestLedger(environments: ["Production"])
    let foreign = Self.named.map { $0.0 == "bundleId" ? ($0.0, .string("com.other")) : $0 }
    #expect(try ledger.ingest(Self.notification(1, foreign), at: 1) == .quarantined("other_app"))
    let other = Self.named.map { $0.0 == "appAppleId" ? ($0.0, .integer(5)) : $0 }
    #expect(
      try ledger.ingest(Self.notification(2, other), at: 1) == .quarantined("other_app_apple_id"))
    let sandbox = [Self.named[0], ("environment", JSONValue.string("Sandbox"))]
    #expect(
      try ledger.ingest(Self.notification(3, sandbox), at: 1) == .quarantined("other_environment"))
    #expect(try ledger.verify().findings.isEmpty)
  }

  @Test(arguments: [[], [0], [2]])
  func `one that names no app is admitted as of the app that the owner names`(
    _ members: [Int]
  ) throws {
    let ledger = try TestLedger()
    let body = try Self.notification(1, members.map { Self.named[$0] })
    #expect(try ledger.ingest(body, at: 1) == .quarantined("no_app"))
    let item = try #require(try ledger.quarantine().first)
    #expect(item.reason == "no_app" && item.notificationType == "NEW_TYPE")
    #expect(try ledger.verify().findings.isEmpty)
    #expect(ledger.admit(item.id, at: 2) == .quarantined("no_app"))
    let wrong = Receiver.EvidenceOrigin(bundleId: "com.other", environment: .production)
    guard case .quarantined = ledger.admit(item.id, from: wrong, at: 2) else {
      Issue.record("admitted as of an app that is not configured")
      return
    }
    let origin = Receiver.EvidenceOrigin(
      bundleId: TestLedger.bundleId, environment: .production)
    #expect(ledger.admit(item.id, from: origin, at: 2) == .accepted(1))
    #expect(try ledger.quarantine().isEmpty)
    #expect(try ledger.events().first?.bundleId == TestLedger.bundleId)
    #expect(try ledger.verify().findings.isEmpty)
  }

  @Test func `a payload without an object, or with two known ones, has no content`() throws {
    let ledger = try TestLedger()
    let both = Sample.notification(0).setting("summary", .object([]))
    #expect(
      try ledger.ingest(try SharedAuthority.sign(both), at: 1) == .quarantined("payload_content"))
    let none = Sample.notification(1).setting("data", nil)
    #expect(
      try ledger.ingest(try SharedAuthority.sign(none), at: 1) == .quarantined("payload_content"))
  }

  @Test func `what is not read is counted by its name, and never by its value`() throws {
    let ledger = try TestLedger()
    let long = String(repeating: "é\u{7}", count: 60)
    let told = Sample.notification(0).setting("data.transaction.brandNew", .string("secret"))
      .setting("data.transaction.storefrontId", .string("143441"))
      .setting("data.\(long)", .object([]))
    try ledger.ingest(try SharedAuthority.sign(told), at: 1)
    try ledger.ingest(try SharedAuthority.sign(Sample.notification(1)), at: 1)
    let checks = Doctor.examine(ledger.configuration, file: nil, at: 1)
      .filter { $0.topic == "members" }
    let text = checks.map(\.what).joined(separator: "\n")
    #expect(text.contains("Apple sends transaction.brandNew since 2026-01-01T00:00:00"))
    #expect(text.contains("in 1 of 2 events") && !text.contains("secret"))
    #expect(!text.contains("storefrontId") && !text.contains("\u{7}"))
    #expect(checks.count == 2 && checks.allSatisfy { !$0.isFinding })
    let shown = try ledger.history("7000")?.entries.first?.json["others"]
    #expect(shown?["transaction.brandNew"] == nil)
    #expect(shown?["transaction.storefrontId"] == .string("143441"))
  }
}
