import AppStore
import AppStoreSimulator
import Entitlements
import SignedData
import StrictJSON
import Support
import Testing

@testable import Ledger
@testable import Store

/// The fold reads the same from the form that the journal stores as from the signed body.
@Suite struct JournaledNotificationTests {
  /// 2026 begins.
  private static let end: Int64 = 1_767_225_600_000

  /// The event that the fold reads, as text; nil if it cannot be read.
  private func text(_ payload: JournaledPayload) -> String? {
    (try? JournaledNotification.foldEvent(payload)).map { "\($0)" }
  }

  /// Reads every event in both forms. Returns how many could be read.
  private func compare(_ ledger: TestLedger) throws -> Int {
    let reader = try JournalReader.open(ledger.folder)
    var read = 0
    try reader.forEachPayload(from: 1, through: .max) { _, _, payload in
      guard let event = try? reader.event(seq: payload.seq) else {
        Issue.record("seq \(payload.seq) is missing")
        return false
      }
      let exact = text(JournaledPayload(event))
      #expect(text(payload) == exact, "seq \(payload.seq)")
      if exact != nil { read += 1 }
      return true
    }
    return read
  }

  @Test func `every lifecycle folds from the stored form as from its body`() throws {
    let ledger = try TestLedger()
    var accepted = 0
    for (index, lifecycle) in Lifecycle.all.enumerated() {
      let played = lifecycle.notifications(
        app: SimulatedApp(), seed: 5 + UInt64(index), endingAt: Self.end, customer: index)
      for notification in played {
        let answer = try ledger.ingest(
          try SharedAuthority.sign(notification.payload), at: Self.end)
        guard case .accepted = answer else {
          Issue.record("\(lifecycle.name): \(answer)")
          continue
        }
        accepted += 1
      }
    }
    #expect(try compare(ledger) == accepted && accepted > 60)
  }

  @Test func `a V1 body folds from the stored form as from its body`() throws {
    let ledger = try TestLedger(secrets: ["s"])
    let entry =
      #"{"transaction_id":"7","original_transaction_id":"1","product_id":"p","purchase_date_ms":"1700000000000","expires_date_ms":"1800000000000"}"#
    let body =
      #"{"notification_type":"DID_RENEW","environment":"PROD","password":"s","bid":"com.example.app","unified_receipt":{"latest_receipt_info":[\#(entry)],"pending_renewal_info":[]}}"#
    #expect(try ledger.ingest(body, at: 1_700_000_000_000) == .accepted(1))
    #expect(try compare(ledger) == 1)
  }

  // MARK: JWS in unexpected members

  /// A JWS of the same authority, as a member's text.
  private func jws() throws -> String {
    let body = try SharedAuthority.sign(try notification())
    return try #require(try JSONDocument(parsing: body).root["signedPayload"]?.string)
  }

  private func notification() throws -> JSONValue {
    let lifecycle = try #require(Lifecycle.named("cancel"))
    let played = lifecycle.notifications(
      app: SimulatedApp(), seed: 5, endingAt: Self.end)
    return try #require(played.first?.payload)
  }

  /// The notification with another subtype, and more members before those of `data` or of the top.
  private func notification(
    subtype: String? = nil, data more: [(String, JSONValue)] = [],
    top: [(String, JSONValue)] = []
  ) throws -> JSONValue {
    guard case .object(let members) = try notification() else { return .null }
    return .object(
      top
        + members.map { name, value in
          switch (name, value) {
          case ("data", .object(let members)): (name, .object(more + members))
          case ("subtype", _): (name, subtype.map(JSONValue.string) ?? value)
          default: (name, value)
          }
        })
  }

  @Test func `a JWS in an unexpected member folds from the stored form as from its body`() throws {
    let jws = try jws()
    let string = JSONValue.string(jws)
    let ledger = try TestLedger()
    let all = [
      // An unknown member, at either level.
      try notification(data: [("signedNewInfo", string)]),
      try notification(top: [("signedNewInfo", string)]),
      try notification(top: [("list", .array([string, string, .object([("a", string)])]))]),
      // A member that the fold reads as text, and a name.
      try notification(subtype: jws),
      try notification(subtype: "0", data: [("signedNewInfo", string)]),
      try notification(top: [(jws, .string("0")), ("0", .null)]),
      // A string with escapes, the JWS at its beginning and after an escaped quote.
      try notification(top: [("text", .string("\"" + jws)), ("more", .string(jws + "\n"))]),
      try notification(subtype: "\"" + jws),
      // Nine before those that the fold reads, so that these are stored as they were signed.
      try notification(data: (0..<9).map { ("signedInfo\($0)", string) }),
      try notification(data: (0..<7).map { ("signedInfo\($0)", string) }),
    ]
    for (index, value) in all.enumerated() {
      guard case .object(let members) = value else { continue }
      let uuid = "00000000-0000-4000-8000-00000000000\(index)"
      let named = JSONValue.object(
        members.map { ($0.0, $0.0 == "notificationUUID" ? .string(uuid) : $0.1) })
      let answer = try ledger.ingest(
        try SharedAuthority.sign(named), at: Self.end)
      #expect(answer == .accepted(Int64(index) + 1), "\(index)")
    }
    #expect(try compare(ledger) == all.count)
    let events = try JournalReader.open(ledger.folder)
    let read = try events.payloads(of: try #require(try events.event(seq: 4)?.streamKey))
    #expect(try JournaledNotification.foldEvent(read[3]).subtype == jws)
  }

  /// A changed file may be read differently than it was written, but never differently than the
  /// body that is decoded from it.
  @Test func `a changed stored form folds as the body that it decodes to`() throws {
    let seed = UInt64.random(in: 0...9_999)
    print("tampered notifications: seed \(seed)")
    var random = SeededGenerator(state: seed)
    let ledger = try TestLedger()
    let body = try SharedAuthority.sign(try notification(subtype: try jws()))
    #expect(try ledger.ingest(body, at: Self.end) == .accepted(1))
    let event = try #require(try ledger.events().first)
    let whole = JWSParts(try CompactJWS(parsing: event.body[...]))
    var plain: [UInt8] = []
    var read = 0
    for round in 0..<250 {
      var jws = whole
      for _ in 0...Int.random(in: 0..<3, using: &random) {
        jws.text[Int.random(in: jws.text.indices, using: &random)] =
          Self.bytes[Int.random(in: Self.bytes.indices, using: &random)]
      }
      if round % 5 == 0 {
        jws.header[Int.random(in: jws.header.indices, using: &random)] =
          Self.bytes[Int.random(in: Self.bytes.indices, using: &random)]
      }
      if round % 4 == 0 {
        let part = Int.random(in: jws.nested.indices, using: &random)
        jws.nested[part].gapCount += 1
        jws.nested[part].payloadCount -= 1
      }
      let payload = JournaledPayload(
        seq: 1, source: .v2, uuid: nil, content: .init(jws, &plain), parts: jws)
      let body = try #require(jws.reassembled())
      let exact = JournaledPayload(
        seq: 1, source: .v2, uuid: nil,
        content: .init(body: body, source: .v2, originalTransactionId: nil),
        parts: nil)
      let found = text(exact)
      #expect(text(payload) == found, "seed \(seed), round \(round)")
      if found != nil { read += 1 }
    }
    #expect(read > 20)
  }

  /// Bytes with a meaning in JSON or in a JWS, and some without.
  private static let bytes = Array("\"\\.{}:,\n0aZ_=".utf8) + [0, 0x80, 0xC3, 0xFF]

  /// SplitMix64, so that a failure can be repeated from its seed.
  private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = state
      mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      return mixed ^ (mixed >> 31)
    }
  }
}
