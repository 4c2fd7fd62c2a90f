import StrictJSON
import Support
import Testing

@testable import AppStoreSimulator

/// Get Notification History.
@Suite struct NotificationHistoryTests {
  private func uuids(_ items: [JSONElement]) throws -> [String] {
    try items.map { try payload($0["signedPayload"])["notificationUUID"]?.string ?? "" }
  }

  @Test func `pages of 20 hold every notification of the window once`() throws {
    let running = try LocalAppStore(customers: 30, days: 170)
    let body = LocalAppStore.body(days: 179)
    let first = try #require(try running.history(body).json)
    #expect(first["notificationHistory"]?.elements.count == 20)
    #expect(first["hasMore"]?.boolean == true)
    let items = try running.allItems(body)
    let found = try uuids(items)
    let report = try running.control("{}")
    #expect(Int64(found.count) == report["production"]?["notifications"]?.integer)
    #expect(Set(found).count == found.count && found.count > 60)
    for item in items {
      #expect(item["firstSendAttemptResult"]?.string == "SUCCESS")
      #expect(item["sendAttempts"]?.elements.count == 1)
    }
    // The same bytes at every call.
    let again = try running.allItems(body)
    #expect(again.map { $0["signedPayload"]?.string } == items.map { $0["signedPayload"]?.string })
  }

  @Test func `a token belongs to the exact body and expires`() throws {
    let running = try LocalAppStore(customers: 20)
    let body = LocalAppStore.body(days: 100)
    let token = try running.history(body).json?["paginationToken"]?.string
    #expect(try running.history(body, token: token).status == 200)
    expect(try running.history(body + " ", token: token), isError: 4_000_017)
    expect(try running.history(body, token: "garbage"), isError: 4_000_014)
    _ = try running.control(#"{"tokenLifetime":0}"#)
    expect(try running.history(body, token: token), isError: 4_000_017)
  }

  @Test func `each wrong request has its error`() throws {
    let running = try LocalAppStore(customers: 1)
    let now = LocalAppStore.now()
    let start = #""startDate":\#(now - 86_400_000),"endDate":\#(now)"#
    let cases: [(String, Int64)] = [
      ("no JSON", 4_000_000), ("{}", 4_000_015), (#"{"startDate":"1"}"#, 4_000_015),
      (#"{"startDate":\#(now)}"#, 4_000_016),
      (#"{"startDate":\#(now),"endDate":\#(now)}"#, 4_000_013),
      (#"{"startDate":\#(now - 181 * 86_400_000),"endDate":\#(now)}"#, 4_000_012),
      (#"{\#(start),"notificationType":"TEST","transactionId":"1"}"#, 4_000_019),
      (#"{\#(start),"notificationType":"NOTHING"}"#, 4_000_018),
      (#"{\#(start),"notificationType":"REFUND","notificationSubtype":"VOLUNTARY"}"#, 4_000_018),
      (#"{\#(start),"notificationSubtype":"VOLUNTARY"}"#, 4_000_018),
      (#"{\#(start),"transactionId":"x"}"#, 4_000_006),
      (#"{\#(start),"transactionId":"1"}"#, 4_040_010),
    ]
    for (body, code) in cases { expect(try running.history(body), isError: code) }
    let nulls = #"{\#(start),"notificationType":null,"transactionId":null,"onlyFailures":null}"#
    #expect(try running.history(nulls).status == 200)
    let form = try running.ask(
      "POST", "/inApps/v1/notifications/history", nulls, type: "application/x-www-form-urlencoded")
    #expect(form.status == 415)
    let old = #"{"startDate":\#(now - 31 * 86_400_000),"endDate":\#(now)}"#
    expect(try running.history(old, on: "sandbox"), isError: 4_000_012)
  }

  @Test func `filters choose by type, subtype and customer`() throws {
    let running = try LocalAppStore(customers: 0, lifecycles: ["cancel", "buy-and-renew"])
    let typed = try running.allItems(
      LocalAppStore.body(
        days: 170,
        #","notificationType":"DID_CHANGE_RENEWAL_STATUS""#
          + #","notificationSubtype":"AUTO_RENEW_ENABLED""#
      ))
    #expect(typed.count == 1)
    let notification = try payload(typed.first?["signedPayload"])
    #expect(notification["subtype"]?.string == "AUTO_RENEW_ENABLED")
    let transaction = try payload(notification["data"]?["signedTransactionInfo"])
    let id = try #require(transaction["transactionId"]?.string)
    let own = try running.allItems(LocalAppStore.body(days: 170, #","transactionId":"\#(id)""#))
    #expect(own.count == 6)
  }

  @Test func `quirks of paging can be played`() throws {
    let running = try LocalAppStore(customers: 30, days: 170)
    let body = LocalAppStore.body(days: 179)
    let plain = try uuids(running.allItems(body))
    _ = try running.control(#"{"scramble":true}"#)
    let scrambled = try uuids(running.allItems(body))
    #expect(scrambled != plain && Set(scrambled) == Set(plain))
    _ = try running.control(#"{"scramble":false,"duplicates":true}"#)
    let repeated = try uuids(running.allItems(body))
    #expect(repeated.count > plain.count && Set(repeated) == Set(plain))
    _ = try running.control(#"{"duplicates":false,"lateItem":true}"#)
    #expect(try !uuids(running.allItems(body)).contains(plain[0]))
    #expect(try uuids(running.allItems(body)) == plain)
    _ = try running.control(#"{"emptyLastPage":true,"lastToken":true}"#)
    var pages: [JSONElement] = []
    var token: String?
    repeat {
      pages.append(try #require(try running.history(body, token: token).json))
      token = pages.last?["paginationToken"]?.string
    } while pages.last?["hasMore"]?.boolean == true
    #expect(pages.last?["notificationHistory"]?.elements.isEmpty == true && token != nil)
    _ = try running.control(#"{"variedAttempts":true}"#)
    let attempts = try running.allItems(body).map { $0["sendAttempts"]?.elements ?? [] }
    let results = Set(attempts.joined().compactMap { $0["sendAttemptResult"]?.string })
    #expect(results == Set(SendAttempt.results + ["SOMETHING_NEW"]))
    #expect(Set(attempts.map(\.count)) == [0, 1, 6])
  }
}
