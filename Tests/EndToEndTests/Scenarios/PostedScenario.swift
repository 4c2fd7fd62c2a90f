import Foundation
import StrictJSON
import Support

/// What happened to a customer, as a file of `Fixtures/Cases` tells it, and what must be answered.
///
/// `transactions` has the members of each transaction, by id, named as in version 2. An event
/// refers to one by the id, or by an object with the id and the members that differ. `renewal`
/// has the members of the renewal info that differ from those of a renewal by one more period of
/// the transaction's product. An event is one of:
/// - `type`: a notification of version 2, as `TYPE/SUBTYPE`, with `status`;
/// - `app`: a signed transaction, and maybe renewal info, that an app hands over;
/// - `receipt`: an app receipt of this creation date with all `transactions`;
/// - `v1`: a notification of version 1 with all `transactions`;
/// - `body`: a body of version 1 as it is, for those of unusual form.
///
/// An answer is of a time, or of each of several; `now` is without `as_of`. `row` has all members
/// of a row that scenarios decide, those that are null or false left out; `part` has the only
/// members that are decided; `expect` is of the customer by name; `refused` is a status and code.
struct PostedScenario: Sendable {
  let title: String
  let value: JSONValue

  var events: [JSONValue] { value["events"]?.values ?? [] }
  var answers: [JSONValue] { value["answers"]?.values ?? [] }
  /// The answers that are rows.
  var rows: [JSONValue] { answers.filter { $0["row"] != nil || $0["part"] != nil } }
  var environment: String { value["environment"]?.string ?? "Production" }

  /// All scenarios, in the order of the files' names.
  static func all() throws -> [PostedScenario] {
    guard
      let folder = Bundle.module.url(
        forResource: "Cases", withExtension: nil, subdirectory: "Fixtures")
    else { throw TestFailure("there are no scenarios") }
    let files = try FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil)
    return try files.sorted { $0.path < $1.path }.flatMap { file in
      let document = try JSONDocument(parsing: Array(Data(contentsOf: file)))
      return (document.root["scenarios"]?.elements ?? []).map {
        PostedScenario(title: $0["title"]?.string ?? "", value: $0.value)
      }
    }
  }

  // MARK: What is posted

  /// What an event is about, before ids and dates are those of a run.
  enum Content {
    case notification(JSONValue)
    case submitted(transaction: JSONValue, renewal: JSONValue?)
    case receipt(created: JSONValue, records: [JSONValue])
    case bodyV1(JSONValue)
  }

  func content(_ event: JSONValue) -> Content {
    if let body = event["body"] { return .bodyV1(body) }
    let all = (event["transactions"]?.values ?? []).map { self.transaction($0, of: event) }
    if let created = event["receipt"] { return .receipt(created: created, records: all) }
    if event["v1"] != nil { return .bodyV1(bodyV1(all, of: event)) }
    let transaction = event["transaction"].map { self.transaction($0, of: event) }
    let renewal = event["renewal"].map { self.renewal($0, transaction, of: event) }
    if event["app"] != nil {
      return .submitted(transaction: transaction ?? .null, renewal: renewal)
    }
    return .notification(notification(transaction, renewal, of: event))
  }

  private func environment(of event: JSONValue) -> String {
    event["environment"]?.string ?? environment
  }

  private func bundleId(of event: JSONValue) -> String {
    event["bundleId"]?.string ?? "com.example.app"
  }

  private func transaction(_ reference: JSONValue, of event: JSONValue) -> JSONValue {
    let id = reference.string ?? reference["id"]?.string ?? ""
    let usual: [(String, JSONValue)] = [
      ("transactionId", .string(id)), ("originalTransactionId", .string("1000")),
      ("bundleId", .string(bundleId(of: event))),
      ("environment", .string(environment(of: event))),
      ("type", .string("Auto-Renewable Subscription")),
      ("inAppOwnershipType", .string("PURCHASED")), ("signedDate", event["signed"] ?? .null),
    ]
    return .object(usual).with(value["transactions"]?[id]).with(reference).setting("id", nil)
  }

  private func renewal(
    _ members: JSONValue, _ transaction: JSONValue?, of event: JSONValue
  ) -> JSONValue {
    let product = members["productId"] ?? transaction?["productId"] ?? .null
    let usual: [(String, JSONValue)] = [
      ("originalTransactionId", transaction?["originalTransactionId"] ?? .null),
      ("environment", .string(environment(of: event))), ("productId", product),
      ("autoRenewProductId", product), ("autoRenewStatus", .integer(1)),
      ("renewalDate", transaction?["expiresDate"] ?? .null),
      ("signedDate", event["signed"] ?? .null),
    ]
    return .object(usual).with(members)
  }

  private func notification(
    _ transaction: JSONValue?, _ renewal: JSONValue?, of event: JSONValue
  ) -> JSONValue {
    let names = (event["type"]?.string ?? "").split(separator: "/").map(String.init)
    let bundleId = bundleId(of: event)
    var data: [(String, JSONValue)] = [
      ("environment", .string(environment(of: event))), ("bundleId", .string(bundleId)),
    ]
    if environment(of: event) == "Production" {
      data.append(("appAppleId", .integer(bundleId == "com.example.app" ? 123_456_789 : 222)))
    }
    data += [("status", event["status"]), ("transaction", transaction), ("renewalInfo", renewal)]
      .compactMap { name, value in value.map { (name, $0) } }
    var members: [(String, JSONValue)] = [
      ("notificationType", .string(names[0])), ("version", .string("2.0")),
      ("signedDate", event["signed"] ?? .null), ("data", .object(data)),
    ]
    if names.count > 1 { members.append(("subtype", .string(names[1]))) }
    return .object(members)
  }

  // MARK: Version 1

  private static let namesV1 = [
    "productId": "product_id", "transactionId": "transaction_id",
    "originalTransactionId": "original_transaction_id", "purchaseDate": "purchase_date_ms",
    "originalPurchaseDate": "original_purchase_date_ms", "expiresDate": "expires_date_ms",
    "revocationDate": "cancellation_date_ms", "isUpgraded": "is_upgraded",
    "inAppOwnershipType": "in_app_ownership_type",
    "webOrderLineItemId": "web_order_line_item_id",
    "autoRenewProductId": "auto_renew_product_id", "autoRenewStatus": "auto_renew_status",
    "isInBillingRetryPeriod": "is_in_billing_retry_period",
    "gracePeriodExpiresDate": "grace_period_expires_date_ms",
    "expirationIntent": "expiration_intent", "priceIncreaseStatus": "price_consent_status",
  ]

  /// The members that version 1 has too, each as text.
  private static func membersV1(_ value: JSONValue) -> JSONValue {
    .object(
      value.members.compactMap { name, member in
        guard let nameV1 = namesV1[name], member != .null else { return nil }
        return (nameV1, .string(member.string ?? member.text))
      })
  }

  private func bodyV1(_ transactions: [JSONValue], of event: JSONValue) -> JSONValue {
    let environment = environment(of: event)
    let id = transactions.first?["originalTransactionId"]?.string ?? ""
    var receipt: [(String, JSONValue)] = [
      ("environment", .string(environment)), ("status", .integer(0)),
      ("latest_receipt_info", .array(transactions.map(Self.membersV1))),
    ]
    var members: [(String, JSONValue)] = [
      ("notification_type", event["v1"] ?? .null),
      ("environment", .string(environment == "Production" ? "PROD" : environment)),
      ("bid", .string("com.example.app")), ("original_transaction_id", .number(id)),
    ]
    if let renewal = event["renewal"].map({ self.renewal($0, transactions.first, of: event) }) {
      receipt.append(("pending_renewal_info", .array([Self.membersV1(renewal)])))
      let isOn = renewal["autoRenewStatus"]?.text != "0"
      members.append(("auto_renew_status", .string("\(isOn)")))
      if let changed = renewal["autoRenewStatusChangeDate"] {
        members.append(("auto_renew_status_change_date_ms", changed))
      }
    }
    return .object(members + [("unified_receipt", .object(receipt))])
  }
}

extension JSONValue {
  /// The text of a string; nil for any other kind.
  var string: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  var values: [JSONValue] {
    guard case .array(let values) = self else { return [] }
    return values
  }

  var members: [(String, JSONValue)] {
    guard case .object(let members) = self else { return [] }
    return members
  }

  /// The object with the members of another, which replace those of the same name.
  func with(_ other: JSONValue?) -> JSONValue {
    (other?.members ?? []).reduce(self) { $0.setting($1.0, $1.1) }
  }
}
