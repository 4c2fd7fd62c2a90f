import StrictJSON
import Support
import Testing

@testable import AppStoreSimulator

/// Statuses, transactions and orders of one customer.
@Suite struct CustomerTests {
  /// The transactions of the customer of the first notification of a type.
  private func transaction(_ running: LocalAppStore, _ type: String) throws -> JSONElement {
    let body = LocalAppStore.body(days: 179, #","notificationType":"\#(type)""#)
    let notification = try payload(running.allItems(body).first?["signedPayload"])
    return try payload(notification["data"]?["signedTransactionInfo"])
  }

  @Test func `a status is signed now, and filtered`() throws {
    let running = try LocalAppStore(customers: 0, lifecycles: ["cancel"])
    let before = LocalAppStore.now()
    let purchase = try transaction(running, "SUBSCRIBED")
    for name in ["transactionId", "appTransactionId"] {
      let id = try #require(purchase[name]?.string)
      let answer = try #require(try running.get("/inApps/v1/subscriptions/\(id)").json)
      #expect(answer["environment"]?.string == "Production")
      #expect(answer["appAppleId"]?.integer == 123_456_789)
      let entries = answer["data"]?.elements.first?["lastTransactions"]?.elements ?? []
      #expect(entries.count == 1 && entries.first?["status"]?.integer == 2)
      for name in ["signedTransactionInfo", "signedRenewalInfo"] {
        #expect(try payload(entries.first?[name])["signedDate"]?.integer ?? 0 >= before)
      }
    }
    let id = try #require(purchase["transactionId"]?.string)
    let path = "/inApps/v1/subscriptions/\(id)"
    #expect(try running.get("\(path)?status=1").json?["data"]?.elements.isEmpty == true)
    #expect(try running.get("\(path)?status=1&status=2").json?["data"]?.elements.count == 1)
    expect(try running.get("\(path)?status=6"), isError: 4_000_031)
    _ = try running.control(#"{"status":"twice"}"#)
    let twice = try running.get(path).json?["data"]?.elements.first?["lastTransactions"]
    #expect(twice?.elements.count == 2)
    _ = try running.control(#"{"status":"without-renewal"}"#)
    let entry = try running.get(path).json?["data"]?.elements.first?["lastTransactions"]
    #expect(entry?.elements.first?["signedRenewalInfo"] == nil)
  }

  @Test func `an id of the other environment and a wrong one have their errors`() throws {
    let running = try LocalAppStore(customers: 0, lifecycles: ["cancel"])
    let purchase = try transaction(running, "SUBSCRIBED")
    let id = try #require(purchase["transactionId"]?.string)
    for path in ["v1/subscriptions", "v2/history", "v1/transactions", "v2/refund/lookup"] {
      #expect(try running.get("/inApps/\(path)/\(id)?").status == 200)
      expect(try running.get("/inApps/\(path)/\(id)", on: "sandbox"), isError: 4_040_010)
      expect(try running.get("/inApps/\(path)/abc"), isError: 4_000_006)
    }
    let app = try #require(purchase["appTransactionId"]?.string)
    expect(try running.get("/inApps/v1/transactions/\(app)"), isError: 4_000_048)
    let info = try running.get("/inApps/v1/transactions/appTransactions/\(id)").json
    let receipt = try payload(info?["signedAppTransactionInfo"])
    #expect(receipt["appTransactionId"]?.string == app)
    #expect(try running.get("/inApps/v9/nothing").status == 404)
  }

  @Test func `a transaction history has pages, filters and a revision to continue from`() throws {
    // In four years some customers renew often enough for a second page.
    let running = try LocalAppStore(customers: 60, days: 1500)
    var longest: (id: String, pages: [JSONElement]) = ("", [])
    let body = LocalAppStore.body(days: 179, #","notificationType":"DID_RENEW""#)
    var ids: Set<String> = []
    for item in try running.allItems(body) {
      let data = try payload(item["signedPayload"])["data"]
      let id = try payload(data?["signedTransactionInfo"])["originalTransactionId"]?.string ?? ""
      guard ids.insert(id).inserted else { continue }
      let pages = try pages(running, id)
      if pages.count > longest.pages.count { longest = (id, pages) }
    }
    let signed = longest.pages.map { $0["signedTransactions"]?.elements ?? [] }
    #expect(longest.pages.count > 1)
    #expect(signed.dropLast().allSatisfy { $0.count == 20 })
    let found = try signed.joined().map { try payload($0)["transactionId"]?.string ?? "" }
    #expect(Set(found).count == found.count)
    let path = "/inApps/v2/history/\(longest.id)"
    let last = try #require(longest.pages.last?["revision"]?.string)
    let rest = try #require(try running.get("\(path)?revision=\(last)").json)
    #expect(rest["signedTransactions"]?.elements.isEmpty == true)
    #expect(rest["revision"]?.string == last && rest["hasMore"]?.boolean == false)
    expect(try running.get("\(path)?revision=\(last)&sort=DESCENDING"), isError: 4_000_005)
    let newest = try running.get("\(path)?sort=DESCENDING").json?["signedTransactions"]
    #expect(try payload(newest?.elements.first)["transactionId"]?.string == found.last)
  }

  private func pages(_ running: LocalAppStore, _ id: String) throws -> [JSONElement] {
    var pages: [JSONElement] = []
    repeat {
      let query = pages.last?["revision"]?.string.map { "?revision=\($0)" } ?? ""
      pages.append(try #require(try running.get("/inApps/v2/history/\(id)\(query)").json))
    } while pages.last?["hasMore"]?.boolean == true
    return pages
  }

  @Test func `each wrong filter has its error`() throws {
    let running = try LocalAppStore(customers: 0, lifecycles: ["one-time"])
    let id = try #require(try transaction(running, "ONE_TIME_CHARGE")["transactionId"]?.string)
    let cases: [(String, Int64)] = [
      ("revision=x", 4_000_005), ("startDate=x", 4_000_015), ("endDate=-1", 4_000_016),
      ("sort=UP", 4_000_021), ("productType=BOX", 4_000_022), ("productId=", 4_000_023),
      ("subscriptionGroupIdentifier=x", 4_000_024), ("excludeRevoked=1", 4_000_025),
      ("inAppOwnershipType=X", 4_000_026), ("revoked=1", 4_000_030),
    ]
    for (query, code) in cases {
      expect(try running.get("/inApps/v2/history/\(id)?\(query)"), isError: code)
    }
    let counts: [(String, Int)] = [
      ("", 3), ("productType=CONSUMABLE&productType=NON_RENEWABLE", 2), ("revoked=True", 1),
      ("revoked=false", 2), ("productId=unlock%2Elifetime", 1), ("endDate=1", 0),
    ]
    for (query, count) in counts {
      let answer = try running.get("/inApps/v2/history/\(id)?\(query)").json
      #expect(answer?["signedTransactions"]?.elements.count == count, "\(query)")
    }
    let refunds = try running.get("/inApps/v2/refund/lookup/\(id)").json
    #expect(refunds?["signedTransactions"]?.elements.count == 1)
  }

  @Test func `an order is looked up in production alone`() throws {
    let running = try LocalAppStore(customers: 0, lifecycles: ["cancel"])
    let id = try #require(try transaction(running, "SUBSCRIBED")["transactionId"]?.string)
    let found = try #require(try running.get("/inApps/v1/lookup/M\(id)").json)
    #expect(found["status"]?.integer == 0)
    #expect(try payload(found["signedTransactions"]?.elements.first)["transactionId"]?.string == id)
    let missing = try #require(try running.get("/inApps/v1/lookup/MX").json)
    #expect(missing["status"]?.integer == 1 && missing["signedTransactions"] == nil)
    expect(try running.get("/inApps/v1/lookup/m-1"), isError: 4_000_000)
    #expect(try running.get("/inApps/v1/lookup/M\(id)", on: "sandbox").body.isEmpty)
  }
}
