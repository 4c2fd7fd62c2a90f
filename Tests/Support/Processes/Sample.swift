import Foundation
package import StrictJSON

/// A decoded notification to be changed and signed.
package enum Sample {
  /// 2026-01-01T00:00:00Z.
  package static let start: Int64 = 1_767_225_600_000
  package static let day: Int64 = 86_400_000

  package static func uuid(_ number: Int) -> String {
    String(format: "5e5e0000-0000-4000-8000-%012x", number)
  }

  /// A purchase, and a month later each: its renewals. Signed a minute apart per number.
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

extension JSONValue {
  /// The same with the member at that path, of dots, set; nil removes it.
  package func setting(_ path: String, _ value: JSONValue?) -> JSONValue {
    setting(path.split(separator: ".").map(String.init)[...], value)
  }

  private func setting(_ path: ArraySlice<String>, _ value: JSONValue?) -> JSONValue {
    guard let name = path.first, case .object(var members) = self else { return value ?? .null }
    let place = members.firstIndex { $0.0 == name }
    let rest = path.dropFirst()
    let new = rest.isEmpty ? value : (self[name] ?? .object([])).setting(rest, value)
    switch (place, new) {
    case (let place?, let new?): members[place].1 = new
    case (let place?, nil): members.remove(at: place)
    case (nil, let new?): members.append((name, new))
    case (nil, nil): break
    }
    return .object(members)
  }
}

/// Runs a body on so many threads at once and waits for all of them.
package func together(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let done = DispatchGroup()
  for number in 0..<count {
    done.enter()
    Thread.detachNewThread {
      body(number)
      done.leave()
    }
  }
  done.wait()
}

/// All orders of so many things.
package func orders(of count: Int) -> [[Int]] {
  guard count > 1 else { return [Array(0..<count)] }
  return orders(of: count - 1).flatMap { order in
    (0..<count).map { place in
      var longer = order
      longer.insert(count - 1, at: place)
      return longer
    }
  }
}
