import AppStore
import AppStoreSimulator
import Foundation
import Ledger
import Platform
import Queries
import StrictJSON
import Support
import Testing

/// A life of `Fixtures/lives.json`: what Apple tells of one subscription, and what is right. Dates
/// are texts in ISO 8601.
struct ToldLife: CustomTestStringConvertible {
  let title: String
  let isSandbox: Bool
  let told: [JSONValue]
  let answers: [JSONValue]

  var testDescription: String { title }
  var environment: Environment { isSandbox ? .sandbox : .production }

  static let secret = "the shared secret of the lives"

  static func all() throws -> [ToldLife] {
    let url = Bundle.module.bundleURL.appendingPathComponent("Fixtures/lives.json")
    let root = try JSONDocument(parsing: Array(try Data(contentsOf: url))).root
    return root.elements.map { life in
      ToldLife(
        title: life["title"]?.string ?? "", isSandbox: life["sandbox"] != nil,
        told: life["told"]?.elements.map(\.value) ?? [],
        answers: life["answers"]?.elements.map(\.value) ?? [])
    }
  }

  /// The orders of arrival: all of up to four events, and 24 of more.
  var orders: [[Int]] {
    let all = permutations(of: min(told.count, 4))
    guard told.count > 4 else { return all }
    return all.map { $0 + Array(4..<told.count) }
  }

  /// When the last was told, as far as it says so.
  var last: Int64 {
    let dates = told.flatMap { event in
      ["signed", "receipt", "changed", "app.signed"].compactMap { Self.date(event.at($0)) }
        + event.list("entries").compactMap { Self.date($0["from"]) }
    }
    return dates.max() ?? 0
  }

  /// Tells the event at an index.
  func tell(_ index: Int, _ ledger: TestLedger) throws {
    let event = told[index]
    let now: Int64 = 1_900_000_000_000
    if let app = event["app"] {
      let jws = try SharedAuthority.sign(payload: transaction(app))
      ledger.ingest(evidence: jws, "transaction", of: environment, at: now)
    } else if let created = event["receipt"] {
      let content = ReceiptContent(
        receiptType: isSandbox ? "ProductionSandbox" : "Production",
        creationDate: Self.date(created) ?? 0, records: event.list("records").map(record))
      ledger.ingest(
        receipt: try SharedAuthority.receipt(content), of: environment, at: now)
    } else if event["v1"] != nil {
      try ledger.ingest(v1(event).bytes, at: now)
    } else {
      try ledger.ingest(try SharedAuthority.sign(v2(event, index)), at: now)
    }
  }

  static func date(_ value: JSONValue?) -> Int64? {
    guard case .string(let text)? = value, text.contains("T") else { return nil }
    return Timestamp.parse(text)
  }

  // MARK: What Apple sends

  private func v2(_ event: JSONValue, _ index: Int) -> JSONValue {
    var data: [(String, JSONValue)] = [
      ("bundleId", .string(TestLedger.bundleId)), ("environment", .string(environment.rawValue)),
      ("appAppleId", .integer(TestLedger.appAppleId)),
      ("transaction", transaction(event["transaction"] ?? .null)),
    ]
    if let renewal = event["renewal"] { data.append(("renewalInfo", self.renewal(renewal))) }
    if let status = event["status"] { data.append(("status", status)) }
    return .object(
      [
        ("notificationType", event["v2"] ?? .null), ("version", .string("2.0")),
        ("notificationUUID", .string(Sample.uuid(900 - index * 7))),
        ("signedDate", .integer(Self.date(event["signed"]) ?? 0)), ("data", .object(data)),
      ] + (event["subtype"].map { [("subtype", $0)] } ?? []))
  }

  private func transaction(_ told: JSONValue) -> JSONValue {
    let names = [
      "id": "transactionId", "product": "productId", "from": "purchaseDate", "to": "expiresDate",
      "reason": "transactionReason", "item": "webOrderLineItemId", "token": "appAccountToken",
      "revoked": "revocationDate", "signed": "signedDate",
    ]
    let members: [(String, JSONValue)] = [
      ("originalTransactionId", .string("1000")), ("bundleId", .string(TestLedger.bundleId)),
      ("environment", .string(environment.rawValue)),
      ("type", .string("Auto-Renewable Subscription")), ("quantity", .integer(1)),
      ("inAppOwnershipType", .string("PURCHASED")), ("currency", .string("USD")),
    ]
    return .object(members + Self.members(told, names))
  }

  private func renewal(_ told: JSONValue) -> JSONValue {
    let names = [
      "product": "productId", "next": "autoRenewProductId", "to": "renewalDate",
      "signed": "signedDate",
    ]
    return .object(
      [
        ("originalTransactionId", .string("1000")),
        ("environment", .string(environment.rawValue)),
        ("autoRenewStatus", .integer(told.says("renews") ? 1 : 0)),
      ] + Self.members(told, names).filter { $0.0 != "renews" })
  }

  private static func members(
    _ told: JSONValue, _ names: [String: String]
  ) -> [(String, JSONValue)] {
    guard case .object(let members) = told else { return [] }
    return members.map { (names[$0.0] ?? $0.0, date($0.1).map(JSONValue.integer) ?? $0.1) }
  }

  private func v1(_ event: JSONValue) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("notification_type", event["v1"] ?? .null), ("password", .string(Self.secret)),
      ("environment", .string(isSandbox ? "Sandbox" : "PROD")),
      ("bid", .string(TestLedger.bundleId)), ("original_transaction_id", .integer(1000)),
    ]
    if let changed = Self.date(event["changed"]) {
      members.append(("auto_renew_status_change_date_ms", .string("\(changed)")))
    }
    var receipt: [(String, JSONValue)] = [
      ("environment", .string(environment.rawValue)), ("status", .integer(0)),
      ("latest_receipt_info", .array(event.list("entries").map(entry))),
    ]
    if let renewal = event["renewal"] {
      let pending: [(String, JSONValue)] = [
        ("original_transaction_id", .string("1000")),
        ("product_id", renewal["product"] ?? .null),
        ("auto_renew_product_id", renewal["next"] ?? .null),
        ("auto_renew_status", .string(renewal.says("renews") ? "1" : "0")),
      ]
      receipt.append(("pending_renewal_info", .array([.object(pending)])))
    }
    return .object(members + [("unified_receipt", .object(receipt))])
  }

  private func entry(_ told: JSONValue) -> JSONValue {
    let names = [
      "id": "transaction_id", "product": "product_id", "item": "web_order_line_item_id",
      "token": "app_account_token", "from": "purchase_date_ms", "to": "expires_date_ms",
      "revoked": "cancellation_date_ms",
    ]
    let members = Self.members(told, names).map { name, value -> (String, JSONValue) in
      if name == "trial" { return ("is_trial_period", .string("true")) }
      guard case .integer(let date) = value else { return (name, value) }
      return (name, .string(String(date)))
    }
    return .object([("original_transaction_id", .string("1000"))] + members)
  }

  private func record(_ told: JSONValue) -> ReceiptContent.Record {
    func text(_ name: String) -> String? {
      if case .string(let text)? = told[name] { text } else { nil }
    }
    var record = ReceiptContent.Record(
      transactionId: text("id") ?? "", originalTransactionId: "1000",
      productId: text("product") ?? "", purchaseDate: Self.date(told["from"]) ?? 0,
      expiresDate: Self.date(told["to"]))
    record.kind = 3
    record.webOrderLineItemId = text("item").flatMap { Int64($0) }
    record.isTrial = told.says("trial")
    return record
  }
}

extension JSONValue {
  fileprivate func list(_ name: String) -> [JSONValue] {
    if case .array(let values)? = self[name] { values } else { [] }
  }

  fileprivate func says(_ name: String) -> Bool {
    if case .boolean(true)? = self[name] { true } else { false }
  }

  /// The value at a path with dots; null for an absent one.
  func at(_ path: String) -> JSONValue {
    path.split(separator: ".").reduce(self) { $0[String($1)] ?? .null }
  }
}
