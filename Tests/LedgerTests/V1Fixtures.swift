import Audit
import Foundation
import Platform
import Queries
import StrictJSON
import Support

/// V1 bodies: those of the fixtures, and small ones that are made here.
enum V1Fixtures {
  /// It is only in the bodies and in the configured file.
  static let secret = "canary-5e1f0c2ad9b84e6fb7"

  /// A body of the fixtures, with the secret in it.
  static func fixture(_ name: String) throws -> String {
    let url = Bundle.module.bundleURL.appendingPathComponent("Fixtures/\(name)")
    return try String(contentsOf: url, encoding: .utf8)
      .replacingOccurrences(of: "{{secret}}", with: secret)
      .replacingOccurrences(of: "{{sharedSecret}}", with: secret)
  }

  /// Ten o'clock UTC of a day `yy-mm-dd`, or `yy-mm-ddThh:mm`, in milliseconds.
  static func ms(_ day: String) -> Int64 {
    Timestamp.parse(day.contains("T") ? "20\(day):00Z" : "20\(day)T10:00:00Z") ?? -1
  }

  /// A transaction of latest_receipt_info; `more` are pairs of name and value.
  static func entry(
    _ id: String, _ product: String, _ from: String, _ to: String?, otid: String = "1000",
    _ more: [String: String] = [:]
  ) -> JSONValue {
    var members = [
      "transaction_id": id, "original_transaction_id": otid, "product_id": product,
      "purchase_date_ms": String(ms(from)),
    ]
    if let to { members["expires_date_ms"] = String(ms(to)) }
    return object(members.merging(more) { $1 })
  }

  static func pending(
    _ product: String, _ status: String, otid: String = "1000", _ more: [String: String] = [:]
  ) -> JSONValue {
    object(
      [
        "original_transaction_id": otid, "product_id": product, "auto_renew_product_id": product,
        "auto_renew_status": status,
      ].merging(more) { $1 })
  }

  static func object(_ members: [String: String]) -> JSONValue {
    .object(members.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })
  }

  /// A body. A nil list is left out of the receipt, a nil value out of the top level.
  static func body(
    _ type: String, _ entries: [JSONValue]?, _ pending: [JSONValue]?,
    top: [String: JSONValue?] = [:], receipt more: [(String, JSONValue)] = []
  ) -> String {
    var members: [String: JSONValue?] = [
      "notification_type": .string(type), "environment": .string("PROD"),
      "password": .string(secret), "bid": .string(TestLedger.bundleId),
      "original_transaction_id": .number("1000"),
    ]
    members.merge(top) { $1 }
    var receipt: [(String, JSONValue)] = [
      ("environment", .string("Production")), ("latest_receipt", .string("cmVjZWlwdA==")),
    ]
    if let entries { receipt.append(("latest_receipt_info", .array(entries))) }
    if let pending { receipt.append(("pending_renewal_info", .array(pending))) }
    var written = members.sorted { $0.key < $1.key }.compactMap { name, value in
      value.map { (name, $0) }
    }
    written.append(("unified_receipt", .object(receipt + more)))
    return JSONValue.object(written).text
  }

  /// A first purchase of January 2020.
  static var purchase: String {
    body(
      "INITIAL_BUY", [entry("1000", "basic.m", "20-01-01", "20-02-01")], [pending("basic.m", "1")])
  }

  static func ledger() throws -> TestLedger { try TestLedger(secrets: [secret]) }
}

/// The members of a row that a test compares.
struct Row: Equatable, CustomStringConvertible {
  let description: String

  /// `active basic.m 20-02-01 true`: status, product, end, renewing, then the members `names`.
  init(_ row: RowDocument?, also names: String...) {
    guard let json = row?.json else {
      description = "no row"
      return
    }
    let names = ["status", "product_id", "expires_at", "auto_renew"] + names
    description = names.map { name in
      switch json[name] {
      case .string(let text)?: text
      case .integer(let date)?: Self.day(date)
      case let value?: value.text
      case nil: "?"
      }
    }.joined(separator: " ")
  }

  static func day(_ date: Int64) -> String {
    guard date > 1_000_000_000_000 else { return String(date) }
    let text = Timestamp.text(date).dropFirst(2)
    return text.hasSuffix("T10:00:00Z") ? String(text.prefix(8)) : String(text)
  }
}
