import Foundation
import StrictJSON

/// A notification like Apple's, whose members can be changed before it is signed.
enum Sample {
  static let purchase: Int64 = 1_767_225_600_000
  static let month: Int64 = 2_592_000_000

  static func uuid() -> String { UUID().uuidString.lowercased() }

  static func transaction(
    otid: String = "2000000000000001", signed: Int64 = purchase
  ) -> JSONValue {
    .object([
      ("transactionId", .string(otid)), ("originalTransactionId", .string(otid)),
      ("bundleId", .string("com.example.app")), ("productId", .string("pro.monthly")),
      ("purchaseDate", .integer(purchase)), ("originalPurchaseDate", .integer(purchase)),
      ("expiresDate", .integer(purchase + month)), ("quantity", .integer(1)),
      ("type", .string("Auto-Renewable Subscription")), ("signedDate", .integer(signed)),
      ("environment", .string("Production")), ("transactionReason", .string("PURCHASE")),
      ("price", .integer(9990)), ("currency", .string("USD")),
    ])
  }

  static func renewal(
    otid: String = "2000000000000001", signed: Int64 = purchase
  ) -> JSONValue {
    .object([
      ("originalTransactionId", .string(otid)), ("productId", .string("pro.monthly")),
      ("autoRenewProductId", .string("pro.monthly")), ("autoRenewStatus", .integer(1)),
      ("environment", .string("Production")), ("signedDate", .integer(signed)),
      ("renewalDate", .integer(purchase + month)),
    ])
  }

  static func data(
    otid: String = "2000000000000001", signed: Int64 = purchase
  ) -> JSONValue {
    .object([
      ("appAppleId", .integer(123_456_789)), ("bundleId", .string("com.example.app")),
      ("environment", .string("Production")),
      ("transaction", transaction(otid: otid, signed: signed)),
      ("renewalInfo", renewal(otid: otid, signed: signed)), ("status", .integer(1)),
    ])
  }

  static func notification(
    uuid: String = uuid(), otid: String = "2000000000000001", signed: Int64 = purchase
  ) -> JSONValue {
    .object([
      ("notificationType", .string("SUBSCRIBED")), ("subtype", .string("INITIAL_BUY")),
      ("notificationUUID", .string(uuid)), ("data", data(otid: otid, signed: signed)),
      ("version", .string("2.0")), ("signedDate", .integer(signed)),
    ])
  }
}

extension JSONValue {
  /// The value with the member at `path` (such as `data.transaction.price`) replaced, or removed
  /// for nil.
  func with(_ path: String, _ value: JSONValue?) -> JSONValue {
    let names = path.split(separator: ".", maxSplits: 1).map(String.init)
    guard case .object(var members) = self else { return self }
    let index = members.firstIndex { $0.0 == names[0] }
    let changed = names.count == 2 ? index.map { members[$0].1.with(names[1], value) } : value
    switch (index, changed) {
    case (let index?, let changed?): members[index].1 = changed
    case (let index?, nil): members.remove(at: index)
    case (nil, let changed?): members.append((names[0], changed))
    case (nil, nil): break
    }
    return .object(members)
  }
}
