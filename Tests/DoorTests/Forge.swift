import Foundation
import Simulator
import StrictJSON

@testable import SignedData

/// Makes what Apple would sign, and what an attacker would.
enum Forge {
  /// The POST body; the payload is put in as it is, whatever is in it.
  static func body(_ signedPayload: [UInt8]) -> [UInt8] {
    Array(#"{"signedPayload":""#.utf8) + signedPayload + Array(#""}"#.utf8)
  }

  static func base64(_ bytes: [UInt8]) -> String {
    String(decoding: Base64.encode(bytes), as: UTF8.self)
  }

  static func url(_ bytes: [UInt8]) -> [UInt8] { Base64URL.encode(bytes) }

  /// Three segments, already encoded, joined.
  static func joined(_ parts: [UInt8]...) -> [UInt8] {
    Array(parts.joined(separator: [UInt8(ascii: ".")]))
  }

  static func parts(_ jws: [UInt8]) -> [[UInt8]] {
    jws.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
  }

  /// Header `{"alg":"ES256","x5c":[…]}` with members before it and another alg where wanted.
  static func header(
    _ chain: [[UInt8]], alg: String = #""ES256""#, extra: String = ""
  ) -> [UInt8] {
    let x5c = chain.map { "\"\(base64($0))\"" }.joined(separator: ",")
    return Array("{\"alg\":\(alg),\"x5c\":[\(x5c)]\(extra)}".utf8)
  }

  /// Signs any header over any payload.
  static func jws(
    header: [UInt8], payload: [UInt8], key: SigningKey
  ) throws -> [UInt8] {
    let input = joined(url(header), url(payload))
    return joined(input, url(try key.sign(input)))
  }

  /// The same JWS with another signature.
  static func resigned(_ jws: [UInt8], _ signature: [UInt8]) -> [UInt8] {
    let parts = parts(jws)
    return joined(parts[0], parts[1], url(signature))
  }

  static func signature(_ jws: [UInt8]) -> [UInt8] {
    Base64URL.decode(parts(jws)[2]) ?? []
  }
}

/// A notification like Apple's, every member of which can be changed before it is signed.
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
  /// The same value with the member at `path` (`data.transaction.price`) set, or gone for nil.
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
