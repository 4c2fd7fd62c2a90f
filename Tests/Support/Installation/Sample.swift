package import AppStoreSimulator
import Foundation
import Platform
package import StrictJSON

/// Decoded notifications, to be changed and signed.
package enum Sample {
  /// 2026-01-01T00:00:00Z.
  package static let start: Int64 = 1_767_225_600_000
  package static let day: Int64 = 86_400_000

  package static func uuid(_ number: Int) -> String {
    String(format: "5e5e0000-0000-4000-8000-%012x", number)
  }

  /// A renewal by a month, with a transaction of its own for each number. It is signed at `start`
  /// plus a minute for each number.
  package static func notification(
    _ number: Int, otid: String = "7000", type: String = "DID_RENEW",
    bundleId: String = "com.example.app", environment: String = "Production"
  ) -> JSONValue {
    var data: [(String, JSONValue)] = [
      ("bundleId", .string(bundleId)), ("environment", .string(environment)),
      ("status", .integer(1)),
      (
        "transaction",
        transaction(number, otid: otid, bundleId: bundleId, environment: environment)
      ),
      ("renewalInfo", renewal(number, otid: otid, environment: environment)),
    ]
    if environment == "Production" { data.append(("appAppleId", .integer(123_456_789))) }
    return .object([
      ("notificationType", .string(type)), ("notificationUUID", .string(uuid(number))),
      ("version", .string("2.0")), ("signedDate", .integer(signed(number))),
      ("data", .object(data)),
    ])
  }

  /// The transaction in the notification of this number.
  package static func transaction(
    _ number: Int, otid: String = "7000", bundleId: String = "com.example.app",
    environment: String = "Production"
  ) -> JSONValue {
    .object(
      shared(number, otid, environment) + [
        ("transactionId", .string("\(otid)\(number)")), ("bundleId", .string(bundleId)),
        ("purchaseDate", .integer(signed(number))),
        ("expiresDate", .integer(signed(number) + 30 * day)),
        ("type", .string("Auto-Renewable Subscription")),
        ("inAppOwnershipType", .string("PURCHASED")), ("quantity", .integer(1)),
        ("subscriptionGroupIdentifier", .string("21400001")),
      ])
  }

  /// The renewal information in the notification of this number.
  package static func renewal(
    _ number: Int, otid: String = "7000", environment: String = "Production"
  ) -> JSONValue {
    .object(
      shared(number, otid, environment) + [
        ("autoRenewStatus", .integer(1)), ("autoRenewProductId", .string("pro.monthly")),
        ("renewalDate", .integer(signed(number) + 30 * day)),
      ])
  }

  private static func signed(_ number: Int) -> Int64 { start + Int64(number) * 60_000 }

  private static func shared(
    _ number: Int, _ otid: String, _ environment: String
  ) -> [(String, JSONValue)] {
    [
      ("originalTransactionId", .string(otid)), ("environment", .string(environment)),
      ("productId", .string("pro.monthly")), ("signedDate", .integer(signed(number))),
    ]
  }

  // MARK: Receipts

  /// A receipt's record of a month, the first of a subscription of its own: bought at `start` plus
  /// a day for each number.
  package static func record(
    _ number: Int, of original: String = "7000", product: String = "pro.monthly"
  ) -> ReceiptContent.Record {
    let bought = start + Int64(number) * day
    return ReceiptContent.Record(
      transactionId: "\(original)\(number)", originalTransactionId: original, productId: product,
      purchaseDate: bought, expiresDate: bought + 30 * day)
  }

  /// A body of `POST /v1/receipts`.
  package static func receiptBody(
    _ der: [UInt8], _ more: [(String, JSONValue)] = []
  ) -> [UInt8] {
    JSONValue.object(
      [("receipt", .string(String(decoding: Base64.encode(der), as: UTF8.self)))] + more
    ).bytes
  }

  /// A body with a receipt about the customers 7000 and 7001.
  package static func receipt(_ installation: Installation) throws -> [UInt8] {
    receiptBody(
      try installation.receipt(
        ReceiptContent(
          creationDate: start + 3 * day, records: [record(1), record(2, of: "7001")])))
  }
}

extension JSONValue {
  /// A notification of this date, with what is nested in it.
  package func dated(_ date: Int64) -> JSONValue {
    ["signedDate", "data.transaction.signedDate", "data.renewalInfo.signedDate"].reduce(self) {
      $0.setting($1, .integer(date))
    }
  }
}
