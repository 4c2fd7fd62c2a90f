import StrictJSON
import Support

/// The bodies that Apple would POST for the events of a scenario.
extension Scenario {
  static let secret = "the shared secret of the scenarios"

  func bodies() throws -> [[UInt8]] {
    try events.enumerated().map { index, event in
      event.version == "V1"
        ? event.v1Body.bytes : try SharedAuthority.sign(event.payload(uuid: uuid(index)))
    }
  }

  /// Pseudorandom and the same in every run. UUIDs decide ties, so they must not be in the order
  /// of the events.
  private func uuid(_ index: Int) -> String {
    var generator = SplitMix64(state: title.utf8.reduce(UInt64(index)) { $0 &* 31 &+ UInt64($1) })
    let digits = Array("0123456789abcdef")
    let text = (0..<36).map { index -> Character in
      if [8, 13, 18, 23].contains(index) { return "-" }
      return index == 14 ? "4" : digits[Int(generator.next() >> 60)]
    }
    return String(text)
  }
}

extension Scenario.Event {
  /// A responseBodyV2DecodedPayload whose nested JWS are not signed yet.
  func payload(uuid: String) -> JSONValue {
    var members: [(String, JSONValue)] = [("notificationType", .string(type))]
    if let subtype { members.append(("subtype", .string(subtype))) }
    members += [
      ("notificationUUID", .string(uuid)), ("version", .string("2.0")),
      ("signedDate", .integer(date)),
      type == "RENEWAL_EXTENSION" ? extensionContent : ("data", data),
    ]
    return .object(members)
  }

  private var app: [(String, JSONValue)] {
    [
      ("environment", .string("Production")), ("bundleId", .string(TestLedger.bundleId)),
      ("appAppleId", .integer(TestLedger.appAppleId)),
    ]
  }

  /// A summary of a renewal extension, which names no transaction; other subtypes have `data`.
  private var extensionContent: (String, JSONValue) {
    guard subtype == "SUMMARY" else { return ("data", data) }
    return (
      "summary",
      .object(
        app + [
          ("requestIdentifier", .string("a request")), ("productId", .string("basic.m")),
          ("succeededCount", .integer(2)), ("failedCount", .integer(1)),
        ])
    )
  }

  private var data: JSONValue {
    var members = app + [("bundleVersion", .string("42"))]
    if let status { members.append(("status", .integer(status))) }
    if let transaction = transactions.first {
      members.append(("transaction", v2(transaction)))
      if let renewal { members.append(("renewalInfo", v2(renewal, transaction))) }
    }
    return .object(members)
  }

  private func v2(_ transaction: ScenarioSyntax.Transaction) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("transactionId", .string(transaction.id)),
      ("originalTransactionId", .string(transaction.originalTransactionId)),
      ("bundleId", .string(TestLedger.bundleId)), ("productId", .string(transaction.product)),
      ("purchaseDate", .integer(transaction.start)), ("type", .string(transaction.type)),
      ("inAppOwnershipType", .string(transaction.ownership)),
      ("quantity", .integer(transaction.quantity)), ("environment", .string("Production")),
      ("signedDate", .integer(date)),
    ]
    if let end = transaction.end { members.append(("expiresDate", .integer(end))) }
    return .object(members + transaction.members)
  }

  private func v2(_ renewal: ScenarioSyntax.Renewal, _ transaction: ScenarioSyntax.Transaction)
    -> JSONValue
  {
    var members: [(String, JSONValue)] = [
      ("originalTransactionId", .string(transaction.originalTransactionId)),
      ("productId", .string(renewal.product)), ("autoRenewProductId", .string(renewal.next)),
      ("autoRenewStatus", .integer(renewal.renews ? 1 : 0)),
      ("environment", .string("Production")), ("signedDate", .integer(date)),
    ]
    if let date = renewal.date { members.append(("renewalDate", .integer(date))) }
    return .object(members + renewal.members)
  }

  /// responseBodyV1.
  var v1Body: JSONValue {
    var members: [(String, JSONValue)] = [
      ("notification_type", .string(type)), ("environment", .string("PROD")),
      ("password", .string(Scenario.secret)), ("bid", .string(TestLedger.bundleId)),
      ("bvrs", .string("42")),
    ]
    if let id = originalTransactionId { members.append(("original_transaction_id", .number(id))) }
    if let renewal {
      members.append(("auto_renew_status", .string(renewal.renews ? "true" : "false")))
      members.append(("auto_renew_product_id", .string(renewal.next)))
      if let changed = renewal.changed {
        members.append(("auto_renew_status_change_date_ms", .string(String(changed))))
      }
    }
    let pending = renewal.map { [v1($0)] } ?? []
    let receipt: [(String, JSONValue)] = [
      ("environment", .string("Production")), ("status", .integer(0)),
      ("latest_receipt", .string("cmVjZWlwdA==")),
      ("latest_receipt_info", .array(transactions.map(v1))),
      ("pending_renewal_info", .array(pending)),
    ]
    return .object(members + [("unified_receipt", .object(receipt))])
  }

  private func v1(_ transaction: ScenarioSyntax.Transaction) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("transaction_id", .string(transaction.id)),
      ("original_transaction_id", .string(transaction.originalTransactionId)),
      ("product_id", .string(transaction.product)), ("quantity", .string("1")),
      ("purchase_date_ms", .string(String(transaction.start))),
      ("in_app_ownership_type", .string(transaction.ownership)),
    ]
    if let end = transaction.end {
      members.append(("expires_date_ms", .string(String(end))))
      members.append(("web_order_line_item_id", .string("9" + transaction.id)))
    }
    return .object(members + transaction.entry)
  }

  private func v1(_ renewal: ScenarioSyntax.Renewal) -> JSONValue {
    let members: [(String, JSONValue)] = [
      ("original_transaction_id", .string(originalTransactionId ?? "")),
      ("product_id", .string(renewal.product)), ("auto_renew_product_id", .string(renewal.next)),
      ("auto_renew_status", .string(renewal.renews ? "1" : "0")),
    ]
    return .object(members + renewal.entry)
  }
}

/// The SplitMix64 generator: pseudorandom numbers that are the same in every run.
struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
