import AppStore
import Entitlements
import Platform
import Queries
import SignedData
import Store
import StrictJSON
import Support
import Testing

/// Each entry of a timeline has exactly what its event changed.
@Suite struct HistoryTests {
  private static let start: Int64 = 1_735_725_600_000
  private static let month: Int64 = 31 * 86_400_000
  private let key = StreamKey(
    environment: "Production", bundleId: "com.example.app", originalTransactionId: "1000")

  /// A JWS without a valid signature: journaled events are not proven again.
  private func jws(_ value: JSONValue) -> [UInt8] {
    Array("e30.".utf8) + Base64URL.encode(value.bytes) + Array(".AA".utf8)
  }

  private func text(_ value: JSONValue) -> JSONValue {
    .string(String(decoding: jws(value), as: UTF8.self))
  }

  private func event(
    _ seq: Int64, _ type: String, signed: Int64, transaction: Int64 = 0, renews: Bool = true,
    purchaseDate: JSONValue? = nil
  ) -> StoredEvent {
    let begins = Self.start + transaction * Self.month
    let uuid = NotificationUUID(high: 0x4000, low: 0x8000_0000_0000_0000 | UInt64(seq))
    let transactionInfo = JSONValue.object([
      ("transactionId", .string("100\(transaction)")), ("originalTransactionId", .string("1000")),
      ("bundleId", .string("com.example.app")), ("environment", .string("Production")),
      ("productId", .string("basic")), ("type", .string("Auto-Renewable Subscription")),
      ("purchaseDate", purchaseDate ?? .integer(begins)),
      ("expiresDate", .integer(begins + Self.month)),
      ("transactionReason", .string(transaction == 0 ? "PURCHASE" : "RENEWAL")),
      ("signedDate", .integer(signed)),
    ])
    let renewalInfo = JSONValue.object([
      ("originalTransactionId", .string("1000")), ("environment", .string("Production")),
      ("productId", .string("basic")), ("autoRenewProductId", .string("basic")),
      ("autoRenewStatus", .integer(renews ? 1 : 0)), ("signedDate", .integer(signed)),
    ])
    let payload = JSONValue.object([
      ("notificationType", .string(type)), ("notificationUUID", .string(uuid.description)),
      ("version", .string("2.0")), ("signedDate", .integer(signed)),
      (
        "data",
        .object([
          ("bundleId", .string("com.example.app")), ("environment", .string("Production")),
          ("appAppleId", .integer(1)), ("status", .integer(1)),
          ("signedTransactionInfo", text(transactionInfo)),
          ("signedRenewalInfo", text(renewalInfo)),
        ])
      ),
    ])
    return StoredEvent(
      seq: seq,
      envelope: EventEnvelope(
        notificationUUID: uuid, source: "v2", environment: "Production",
        bundleId: "com.example.app", notificationType: type, subtype: nil,
        originalTransactionId: "1000", signedDate: signed, receivedAt: signed + 5),
      body: jws(payload), bodySHA256: [], hash: [])
  }

  @Test func `a transaction that cannot be read is told, and one whose dates are texts is not`() {
    let renewal = Self.start + Self.month
    let events = [
      event(1, "SUBSCRIBED", signed: Self.start),
      event(2, "DID_RENEW", signed: renewal, transaction: 1, purchaseDate: .string("today")),
      event(
        3, "DID_RENEW", signed: renewal + 1, transaction: 1,
        purchaseDate: .string(String(renewal))),
    ]
    let entries = History(key, events, durations: [:]).entries
    let words = "; its transaction cannot be read and was not folded"
    #expect(entries.map { $0.description.hasSuffix(words) } == [false, true, false])
    #expect(entries.map(\.transactionId) == ["1000", nil, "1001"])
    let members = entries.map { $0.json["unread_transaction"] }
    #expect(members.map { $0 == .boolean(true) } == [false, true, false])
    #expect(members[0] == nil && members[2] == nil)
  }

  private func changes(_ entry: History.Entry) -> [String: String] {
    Dictionary(
      uniqueKeysWithValues: entry.changes.map {
        ($0.field, "\($0.before.text)>\($0.after.text)")
      })
  }

  @Test func `each entry has its transaction, its changes and whether it came late`() throws {
    let events = [
      event(1, "SUBSCRIBED", signed: Self.start),
      event(2, "DID_CHANGE_RENEWAL_STATUS", signed: Self.start + 1000, renews: false),
      event(3, "DID_RENEW", signed: Self.start + Self.month - 1000, transaction: 1),
      event(4, "SOMETHING_NEW", signed: Self.start + 500),
    ]
    let history = History(key, events, durations: [:])
    #expect(history.entries.map(\.event.seq) == [1, 2, 3, 4])
    #expect(history.entries.map(\.isLate) == [false, false, false, true])
    #expect(history.entries.map(\.transactionId) == ["1000", "1000", "1001", "1000"])
    let first = changes(history.entries[0])
    #expect(first["status"] == #"null>"active""# && first["gives_access"] == "null>true")
    #expect(changes(history.entries[1]) == ["auto_renew": "true>false"])
    let ends = (Self.start + Self.month, Self.start + 2 * Self.month)
    #expect(
      changes(history.entries[2])
        == ["auto_renew": "false>true", "expires_at": "\(ends.0)>\(ends.1)"])
    #expect(history.entries[3].changes.isEmpty)
  }

  @Test func `what changed because time passed is not a change by the next event`() {
    let events = [
      event(1, "SUBSCRIBED", signed: Self.start),
      event(2, "SOMETHING_NEW", signed: Self.start + 2 * Self.month),
    ]
    let history = History(key, events, durations: [:])
    #expect(history.entries[1].changes.isEmpty)
  }

  private func transitions(_ history: History) -> [HistoryTransition] {
    history.items.compactMap { item in
      if case .transition(let transition) = item { transition } else { nil }
    }
  }

  @Test func `what time alone decided stands before the event that was signed after it`() throws {
    let events = [
      event(1, "SUBSCRIBED", signed: Self.start),
      event(2, "DID_RENEW", signed: Self.start + Self.month - 1000, transaction: 1),
      event(3, "SOMETHING_NEW", signed: Self.start + 3 * Self.month, transaction: 1),
      event(4, "DID_RENEW", signed: Self.start + 5 * Self.month, transaction: 5),
    ]
    let history = History(key, events, through: Self.start + 6 * Self.month, durations: [:])
    let kinds = history.items.map { $0.json["object"]?.text ?? "" }
    #expect(
      kinds == [#""event""#, #""event""#, #""transition""#] + [#""event""#, #""event""#]
        + [#""transition""#])
    let ended = try #require(transitions(history).first)
    #expect(ended.at == Self.start + 2 * Self.month && ended.access == false)
    #expect(ended.description == "period ended")
    #expect(
      Dictionary(uniqueKeysWithValues: ended.changes.map { ($0.field, $0.after.text) })
        == ["status": #""expired""#, "gives_access": "false"])
    #expect(transitions(history).last?.at == Self.start + 6 * Self.month)
    // Neither what has not come yet, nor a period that follows another without a change of access.
    let earlier = History(key, events, through: Self.start + 6 * Self.month - 1, durations: [:])
    #expect(earlier.items.count == 5)
  }

  /// Promise 9.
  @Test func `an event that cannot be read is shown and changes nothing`() {
    let good = event(1, "SUBSCRIBED", signed: Self.start)
    let broken = StoredEvent(
      seq: 2,
      envelope: EventEnvelope(
        notificationUUID: NotificationUUID(high: 0, low: 2), source: "v2",
        environment: "Production", bundleId: "com.example.app", notificationType: "X", subtype: nil,
        originalTransactionId: "1000", signedDate: Self.start + 1, receivedAt: Self.start + 9),
      body: Array("not a JWS".utf8), bodySHA256: [], hash: [])
    let history = History(
      key, [good, broken, event(3, "X", signed: Self.start + 2, renews: false)], durations: [:])
    #expect(history.entries.map(\.changes.isEmpty) == [false, true, false])
    #expect(history.entries[1].transactionId == nil)
    #expect(history.json["items"]?.text.contains("not a JWS") == false)
  }

  /// Four times the events cost four times as much; a quadratic cost would be sixteen times.
  @Test func `the cost of a history is linear in the number of events`() {
    func seconds(_ count: Int64) -> Double {
      let events = (0..<count).map { number in
        event(
          number + 1, "DID_RENEW", signed: Self.start + number * Self.month, transaction: number)
      }
      return processorSeconds { _ = History(key, events, durations: [:]) }
    }
    let (few, many) = (seconds(100), seconds(400))
    #expect(many < 9 * few, "100 in \(few) s, 400 in \(many) s")
  }

  @Test func `the JSON has the members of the contract`() throws {
    let history = History(key, [event(1, "SUBSCRIBED", signed: Self.start)], durations: [:])
    let root = try JSONDocument(parsing: history.json.bytes).root
    #expect(root["object"]?.string == "list" && root["next_page"]?.kind == .null)
    let item = try #require(root["items"]?.elements.first)
    #expect(item["seq"]?.integer == 1 && item["notification_type"]?.string == "SUBSCRIBED")
    #expect(item["changes"]?["status"]?["after"]?.string == "active")
    #expect(item["received_at"]?.integer == Self.start + 5 && item["late"]?.boolean == false)
  }
}
