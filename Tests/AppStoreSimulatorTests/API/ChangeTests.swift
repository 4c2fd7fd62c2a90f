import StrictJSON
import Support
import Testing

@testable import AppStoreSimulator

/// The calls that change something: consumption, finish, app account token, extension.
@Suite struct ChangeTests {
  private static let uuid = "6a1b0c9e-0000-4000-8000-1234567890ab"
  private static let consumption =
    #""customerConsented":true,"deliveryStatus":"DELIVERED","sampleContentProvided":false"#

  /// The first signed transaction that fits, of the newest state of all customers.
  private func transaction(
    _ running: LocalAppStore, _ fits: (JSONElement, JSONElement) -> Bool
  ) throws -> JSONElement {
    for item in try running.allItems(LocalAppStore.body(days: 179)).reversed() {
      guard let data = try payload(item["signedPayload"])["data"],
        data["signedTransactionInfo"] != nil
      else { continue }
      let transaction = try payload(data["signedTransactionInfo"])
      if fits(transaction, data) { return transaction }
    }
    throw TestFailure("no such transaction")
  }

  private func put(
    _ running: LocalAppStore, _ path: String, _ body: String
  ) throws -> Client.Answer {
    try running.ask("PUT", "/inApps/" + path, "{\(body)}")
  }

  @Test func `consumption information is accepted, or refused by its member`() throws {
    let running = try LocalAppStore(customers: 40, days: 100)
    let bought = try transaction(running) { transaction, _ in
      transaction["type"]?.string == "Auto-Renewable Subscription"
        && transaction["inAppOwnershipType"]?.string == "PURCHASED"
    }
    let id = try #require(bought["transactionId"]?.string)
    let path = "v2/transactions/consumption/\(id)"
    let accepted = try put(running, path, Self.consumption)
    #expect(accepted.status == 202 && accepted.body.isEmpty)
    #expect(
      try put(running, path, Self.consumption + #","refundPreference":"DECLINE""#).status == 202)
    for (body, code) in [
      (#""customerConsented":false"#, 4_000_035), ("", 4_000_035),
      (#""customerConsented":true,"deliveryStatus":1"#, 4_000_036),
      (#""customerConsented":true,"deliveryStatus":"DELIVERED""#, 4_000_041),
      (Self.consumption + #","refundPreference":"X""#, 4_000_044),
      (Self.consumption + #","consumptionPercentage":1"#, 4_000_209),
    ] as [(String, Int64)] { expect(try put(running, path, body), isError: code) }
    let app = try #require(bought["appTransactionId"]?.string)
    let other = "v2/transactions/consumption/"
    expect(try put(running, other + app, Self.consumption), isError: 4_000_048)
    expect(try put(running, other + "1", Self.consumption), isError: 4_040_010)
    expect(try put(running, other + "x", Self.consumption), isError: 4_000_006)
    let form = try running.ask("PUT", "/inApps/\(path)", "{}", type: "text/plain")
    #expect(form.status == 415)
  }

  @Test func `finish and app account token are answered without a body`() throws {
    let running = try LocalAppStore(customers: 0, lifecycles: ["cancel"])
    let bought = try transaction(running) { transaction, _ in
      transaction["transactionId"]?.string == transaction["originalTransactionId"]?.string
    }
    let id = try #require(bought["transactionId"]?.string)
    let app = try #require(bought["appTransactionId"]?.string)
    let finished = try running.ask("POST", "/inApps/v1/transactions/\(id)/finish")
    #expect(finished.status == 200 && finished.body.isEmpty)
    expect(
      try running.ask("POST", "/inApps/v1/transactions/\(app)/finish"), isError: 4_000_048)
    expect(try running.ask("POST", "/inApps/v1/transactions/1/finish"), isError: 4_040_010)
    let token = #""appAccountToken":"\#(Self.uuid)""#
    let set = try put(running, "v1/transactions/\(id)/appAccountToken", token)
    #expect(set.status == 200 && set.body.isEmpty)
    for (id, body, code) in [
      (id, #""appAccountToken":"x""#, 4_000_183), (id, "", 4_000_183), ("1", token, 4_040_005),
      (app, token, 4_000_048),
    ] as [(String, String, Int64)] {
      let answer = try put(running, "v1/transactions/\(id)/appAccountToken", body)
      expect(answer, isError: code)
    }
  }

  @Test func `an extension is checked, repeated, and refused the third time`() throws {
    let running = try LocalAppStore(customers: 40, days: 100)
    let now = LocalAppStore.now()
    let active = try transaction(running) { transaction, data in
      data["status"]?.integer == 1 && transaction["expiresDate"]?.integer ?? 0 > now
        && transaction["inAppOwnershipType"]?.string == "PURCHASED"
    }
    let id = try #require(active["originalTransactionId"]?.string)
    let path = "v1/subscriptions/extend/"
    func body(_ identifier: String, days: Int = 30) -> String {
      #""extendByDays":\#(days),"extendReasonCode":1,"requestIdentifier":"\#(identifier)""#
    }
    for (body, code) in [
      (body("a", days: 0), 4_000_009), (body("a", days: 91), 4_000_009), ("", 4_000_009),
      (#""extendByDays":1,"extendReasonCode":4,"requestIdentifier":"a""#, 4_000_010),
      (body(""), 4_000_011), (body(String(repeating: "a", count: 129)), 4_000_011),
    ] as [(String, Int64)] { expect(try put(running, path + id, body), isError: code) }
    expect(try put(running, path + "1", body("a")), isError: 4_040_005)
    _ = try running.control(#"{"extends":false}"#)
    let failed = try put(running, path + id, body("a"))
    #expect(failed.status == 200 && failed.json?["success"]?.boolean == false)
    _ = try running.control(#"{"extends":true}"#)
    for identifier in ["a", "b", "a"] {
      let extended = try #require(try put(running, path + id, body(identifier)).json)
      #expect(extended["success"]?.boolean == true)
      #expect(extended["originalTransactionId"]?.string == id)
      let end = try #require(active["expiresDate"]?.integer)
      #expect(extended["effectiveDate"]?.integer ?? 0 >= end + 30 * 86_400_000)
    }
    expect(try put(running, path + id, body("c")), isError: 4_030_005)
    let ended = try transaction(running) { _, data in data["status"]?.integer == 2 }
    let other = try #require(ended["originalTransactionId"]?.string)
    expect(try put(running, path + other, body("a")), isError: 4_030_004)
  }
}
