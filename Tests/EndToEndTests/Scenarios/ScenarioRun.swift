import AppStoreSimulator
import Platform
import StrictJSON
import Support

/// One scenario in one order of arrival, with ids of its own, so that one daemon serves all runs.
struct ScenarioRun {
  static let submitter = "e2e-token-that-submits-4711"
  static let secretV1 = "canary-8c1f-shared-secret"

  let scenario: PostedScenario
  /// Of all runs, the number of this one, less than 100,000.
  let number: Int
  let order: [Int]

  var name: String { "\(scenario.title), in order \(order)" }

  /// What all ids begin with. The order of ids stays the same, as it breaks ties.
  var prefix: String { "\(100_000 + number)" }

  /// The orders of this many events: all of them, or the first, its reverse and more by chance.
  static func orders(of count: Int, most: Int, seed: UInt64) -> [[Int]] {
    let first = Array(0..<count)
    if count <= 4 { return Array(permutations(of: count).prefix(most)) }
    var random = SplitMix64(seed: seed)
    let shuffled = (2..<max(2, most)).map { _ in first.shuffled(using: &random) }
    return Array(([first, first.reversed()] + shuffled).prefix(most))
  }

  // MARK: Ids and dates

  /// The value with the ids of this run, and with times as Apple writes them.
  func own(_ value: JSONValue, _ name: String = "") -> JSONValue {
    switch value {
    case .object(let members): .object(members.map { ($0.0, own($0.1, $0.0)) })
    case .array(let values): .array(values.map { own($0, name) })
    case .string(let text): own(text, name)
    case .number(let text) where name == "original_transaction_id": .number(prefix + text)
    default: value
    }
  }

  private func own(_ text: String, _ name: String) -> JSONValue {
    switch name {
    case _ where text.isEmpty: return .string(text)
    case "transactionId", "originalTransactionId", "previousOriginalTransactionId",
      "transaction_id", "original_transaction_id":
      return .string(prefix + text)
    case "appAccountToken", "app_account_token": return .string(token(text))
    case _ where name.hasSuffix("_ms"):
      return .string(Timestamp.parse(text).map { "\($0)" } ?? text)
    case _ where name.hasSuffix("Date") || name.hasSuffix("_at"):
      return Timestamp.parse(text).map(JSONValue.integer) ?? .string(text)
    default: return .string(text)
    }
  }

  /// The account token of this run in the place of one of the scenario.
  func token(_ text: String) -> String { "00\(prefix)" + text.dropFirst(8) }

  // MARK: Requests

  struct Request {
    let path: String
    let body: [UInt8]
  }

  /// What is posted for an event.
  func request(_ index: Int, _ installation: Installation) throws -> Request {
    switch scenario.content(scenario.events[index]) {
    case .notification(let value):
      // Of equal dates the one with the greater UUID is newer.
      let uuid = "00\(prefix)-0000-4000-8000-\(String(100_000_000_000 + index))"
      let payload = own(value).setting("notificationUUID", .string(uuid))
      return Request(path: "/v1/notifications", body: try installation.sign(payload))
    case .bodyV1(let value):
      let body = own(value).setting("password", .string(Self.secretV1))
      return Request(path: "/v1/notifications", body: body.bytes)
    case .submitted(let transaction, let renewal):
      var members = [("signedTransaction", try installation.signedText(own(transaction)))]
      if let renewal {
        members.append(("signedRenewalInfo", try installation.signedText(own(renewal))))
      }
      return submission("/v1/transactions", members)
    case .receipt(let created, let records):
      let isSandbox = scenario.environment == "Sandbox"
      var content = ReceiptContent(
        receiptType: isSandbox ? "ProductionSandbox" : "Production",
        creationDate: Timestamp.parse(created.string ?? "") ?? 0)
      content.others = records.map { (17, Self.record(own($0))) }
      let text = Base64.encode(try installation.receipt(content))
      return submission(
        "/v1/receipts", [("receipt", .string(String(decoding: text, as: UTF8.self)))])
    }
  }

  /// An app says what it expects where it is not production.
  private func submission(_ path: String, _ members: [(String, JSONValue)]) -> Request {
    let environment = ("environment", JSONValue.string(scenario.environment))
    return Request(path: path, body: JSONValue.object(members + [environment]).bytes)
  }

  /// An in-app record, with the kind of product, and with milliseconds in its dates.
  private static func record(_ value: JSONValue) -> [UInt8] {
    func attribute(_ type: Int64, _ value: [UInt8]) -> [UInt8] {
      DERWriter.sequence(number(type), number(1), DERWriter.octets(value))
    }
    func number(_ value: Int64) -> [UInt8] {
      DERWriter.integer((0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) })
    }
    func text(_ name: String) -> [UInt8] { DERWriter.text(value[name]?.string ?? "") }
    func date(_ name: String) -> [UInt8] {
      guard case .integer(let time) = value[name] else { return DERWriter.ia5("") }
      return DERWriter.ia5(Timestamp.text(time))
    }
    let isOriginalDateTold = value["originalPurchaseDate"] != nil
    var attributes = [
      attribute(1701, number(1)), attribute(1702, text("productId")),
      attribute(1703, text("transactionId")), attribute(1704, date("purchaseDate")),
      attribute(1705, text("originalTransactionId")),
      attribute(1706, date(isOriginalDateTold ? "originalPurchaseDate" : "purchaseDate")),
      attribute(1708, date("expiresDate")), attribute(1712, date("revocationDate")),
    ]
    if let kind = value["productType"].flatMap({ Int64($0.text) }) {
      attributes.append(attribute(1707, number(kind)))
    }
    return DERWriter.set(attributes.flatMap(\.self))
  }
}
