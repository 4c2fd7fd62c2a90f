import Foundation
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
    let signed = start + Int64(number) * 60_000
    let shared: [(String, JSONValue)] = [
      ("originalTransactionId", .string(otid)), ("environment", .string(environment)),
      ("productId", .string("pro.monthly")), ("signedDate", .integer(signed)),
    ]
    let transaction: [(String, JSONValue)] =
      shared + [
        ("transactionId", .string("\(otid)\(number)")), ("bundleId", .string(bundleId)),
        ("purchaseDate", .integer(signed)), ("expiresDate", .integer(signed + 30 * day)),
        ("type", .string("Auto-Renewable Subscription")),
        ("inAppOwnershipType", .string("PURCHASED")), ("quantity", .integer(1)),
        ("subscriptionGroupIdentifier", .string("21400001")),
      ]
    let renewal: [(String, JSONValue)] =
      shared + [
        ("autoRenewStatus", .integer(1)), ("autoRenewProductId", .string("pro.monthly")),
        ("renewalDate", .integer(signed + 30 * day)),
      ]
    var data: [(String, JSONValue)] = [
      ("bundleId", .string(bundleId)), ("environment", .string(environment)),
      ("status", .integer(1)), ("transaction", .object(transaction)),
      ("renewalInfo", .object(renewal)),
    ]
    if environment == "Production" { data.append(("appAppleId", .integer(123_456_789))) }
    return .object([
      ("notificationType", .string(type)), ("notificationUUID", .string(uuid(number))),
      ("version", .string("2.0")), ("signedDate", .integer(signed)), ("data", .object(data)),
    ])
  }
}
