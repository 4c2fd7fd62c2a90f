import AppStore
import Entitlements
import Ledger
import Store
import StrictJSON
import Support

/// The notifications of all histories. They are signed once, because signing costs more than the
/// rest of a history. The values come from small pools, so that dates collide and some contents
/// contradict each other.
struct Fixtures: Sendable {
  enum Kind: Sendable {
    case event(NewEvent, Receiver.Received)
    /// Genuine but of another app, to be quarantined.
    case foreign(NewQuarantine)
    /// Not genuine, or not a notification.
    case refused
  }

  struct Item: Sendable {
    let name: String
    let body: [UInt8]
    let kind: Kind
    let isV1: Bool

    var event: NewEvent? {
      if case .event(let event, _) = kind { return event }
      return nil
    }
  }

  let items: [Item]
  let configuration: Configuration
  /// Indices of pairs of items with the same UUID and different contents.
  let conflicts: [[Int]]

  static let secret = "the secret that V1 carries"
  /// The beginning of all histories: 2025-06-01T00:00:00Z, in milliseconds since 1970 UTC.
  static let start: Int64 = 1_748_736_000_000
  private static let day: Int64 = 86_400_000

  static let shared = Result { try Fixtures() }

  private init() throws {
    let scratch = try Scratch()
    configuration = try TestLedger.configuration(in: scratch, secrets: [Self.secret])
    var chance = SplitMix64(seed: 4711)
    var bodies: [(String, [UInt8], Bool)] = []
    for stream in ["1000", "1001", "1002", "1003"] {
      for number in 0..<6 {
        let body = try Self.v2(stream, number, uuid: nil, &chance)
        bodies.append(("\(stream)/\(number)", body, false))
      }
    }
    for number in 0..<3 { bodies.append(("V1 \(number)", Self.v1(number, &chance), true)) }
    let conflicting = bodies.count..<bodies.count + 4
    for number in 0..<4 {
      let uuid = "77777777-0000-4000-8000-00000000000\(number / 2)"
      let body = try Self.v2("1001", 10 + number, uuid: uuid, &chance)
      bodies.append(("same uuid \(number)", body, false))
    }
    for number in 0..<3 {
      let body = try Self.v2("1000", 20 + number, uuid: nil, bundle: "com.example.alien", &chance)
      bodies.append(("other app \(number)", body, false))
    }
    var forged = bodies[0].1
    forged[forged.count - 12] = forged[forged.count - 12] == 0x41 ? 0x42 : 0x41
    bodies.append(("forged", forged, false))
    bodies.append(("truncated", Array(bodies[1].1.dropLast(9)), false))
    let receiver = try Receiver(configuration)
    items = bodies.map { name, body, isV1 in
      Item(name: name, body: body, kind: Self.kind(body, receiver), isV1: isV1)
    }
    conflicts = [
      [conflicting.lowerBound, conflicting.lowerBound + 1],
      [conflicting.lowerBound + 2, conflicting.upperBound - 1],
    ]
  }

  private static func kind(_ body: [UInt8], _ receiver: Receiver) -> Kind {
    guard let received = try? receiver.receive(body: body, at: start) else { return .refused }
    switch received.submission {
    case .event(let event): return .event(event, received)
    case .quarantine(let item): return .foreign(item)
    case .statement: return .refused
    }
  }

  // MARK: Bodies

  private static func moment(_ chance: inout SplitMix64) -> Int64 {
    start + chance.below(8) * 7 * day + chance.pick([0, 0, 0, day, -day, 3_600_000])
  }

  private static func v2(
    _ stream: String, _ number: Int, uuid: String?, bundle: String = TestLedger.bundleId,
    _ chance: inout SplitMix64
  ) throws -> [UInt8] {
    // The same id in the other environment is another stream.
    let environment = stream == "1000" && number % 3 == 2 ? "Sandbox" : "Production"
    let signed = moment(&chance)
    let shared: [(String, JSONValue)] = [
      ("originalTransactionId", .string(stream)), ("environment", .string(environment)),
      ("signedDate", .integer(chance.once(in: 4) ? moment(&chance) : signed)),
    ]
    let app: [(String, JSONValue)] = [
      ("bundleId", .string(bundle)), ("appAppleId", .integer(TestLedger.appAppleId)),
      ("environment", .string(environment)),
    ]
    var data = app + [("status", .integer(chance.pick([1, 1, 2, 3, 4, 5])))]
    data.append(("transaction", transaction(shared, bundle, &chance)))
    if !chance.once(in: 4) { data.append(("renewalInfo", renewal(shared, &chance))) }
    let low = String(chance.next() | 1 << 47, radix: 16).suffix(12)
    let name = uuid ?? "\(number % 10)0000000-0000-4000-8000-\(low)"
    return try SharedAuthority.sign(
      .object([
        (
          "notificationType",
          .string(chance.pick(["SUBSCRIBED", "DID_RENEW", "REFUND", "NEW_ONE"]))
        ),
        ("notificationUUID", .string(name)), ("version", .string("2.0")),
        ("signedDate", .integer(signed)), ("data", .object(data)),
      ]))
  }

  private static func transaction(
    _ shared: [(String, JSONValue)], _ bundle: String, _ chance: inout SplitMix64
  ) -> JSONValue {
    let bought = moment(&chance)
    var members =
      shared + [
        ("transactionId", .string("90" + String(chance.below(4)))), ("bundleId", .string(bundle)),
        ("productId", .string(chance.pick(["basic", "pro"]))), ("purchaseDate", .integer(bought)),
        ("expiresDate", .integer(bought + chance.pick([7, 14, 28]) * day)),
        ("type", .string("Auto-Renewable Subscription")),
        ("inAppOwnershipType", .string("PURCHASED")), ("quantity", .integer(1)),
        ("transactionReason", .string(chance.pick(["PURCHASE", "RENEWAL"]))),
      ]
    if chance.once(in: 3) { members.append(("revocationDate", .integer(moment(&chance)))) }
    return .object(members)
  }

  private static func renewal(
    _ shared: [(String, JSONValue)], _ chance: inout SplitMix64
  ) -> JSONValue {
    .object(
      shared + [
        ("productId", .string("basic")),
        ("autoRenewProductId", .string(chance.pick(["basic", "pro"]))),
        ("autoRenewStatus", .integer(chance.below(2))), ("renewalDate", .integer(moment(&chance))),
      ])
  }

  private static func v1(_ number: Int, _ chance: inout SplitMix64) -> [UInt8] {
    let bought = moment(&chance)
    let entry = JSONValue.object([
      ("transaction_id", .string("9001")), ("original_transaction_id", .string("1003")),
      ("product_id", .string("basic")), ("quantity", .string("1")),
      ("purchase_date_ms", .string(String(bought))),
      ("expires_date_ms", .string(String(bought + 28 * day))),
    ])
    let body = JSONValue.object([
      ("notification_type", .string(number == 0 ? "INITIAL_BUY" : "DID_RENEW")),
      ("environment", .string("PROD")), ("password", .string(secret)),
      ("bid", .string(TestLedger.bundleId)), ("original_transaction_id", .string("1003")),
      ("auto_renew_status", .string("true")),
      (
        "unified_receipt",
        .object([
          ("environment", .string("Production")), ("latest_receipt_info", .array([entry])),
        ])
      ),
    ])
    return body.bytes
  }
}
