import Foundation
import StrictJSON
import Support
import Testing

/// Every purchase of a customer: `GET /v1/entitlements/{otid}/transactions` and `transaction_v1`.
@Suite struct PurchaseListTests {
  private static let day = Sample.day
  private static let refunded = Sample.start + 10 * day

  private static func purchase(_ number: Int, _ change: [(String, JSONValue)] = []) -> JSONValue {
    let bought = Sample.start + Int64(number - 1) * 30 * day
    let all: [(String, JSONValue)] = [
      ("purchaseDate", .integer(bought)), ("expiresDate", .integer(bought + 30 * day)),
      ("price", .integer(9_990)), ("currency", .string("EUR")),
      ("webOrderLineItemId", .string("5\(number)")),
      ("transactionReason", .string(number == 1 ? "PURCHASE" : "RENEWAL")),
      ("originalPurchaseDate", .integer(Sample.start)),
    ]
    return (all + change).reduce(Sample.notification(number).dated(bought + 1_000)) {
      $0.setting("data.transaction.\($1.0)", $1.1)
    }
  }

  /// A purchase, its refund of 40 %, and a renewal that an app and a notification know by two ids.
  private static let events = [
    purchase(1),
    purchase(
      1,
      [
        ("revocationDate", .integer(refunded)), ("revocationType", .string("REFUND_PRORATED")),
        ("revocationPercentage", .integer(40_000)),
      ]
    ).dated(refunded).setting("notificationType", .string("REFUND"))
      .setting("notificationUUID", .string(Sample.uuid(11))),
    purchase(2), purchase(3, [("webOrderLineItemId", .string("52"))]),
  ]

  private func served() throws -> (Installation, RunningDaemon) {
    let installation = try Installation()
    return (installation, try installation.start(posting: Self.events))
  }

  private func list(_ daemon: RunningDaemon, _ query: String = "") throws -> [JSONElement] {
    let path = "/v1/entitlements/7000/transactions?environment=Production\(query)"
    let answer = try #require(daemon.client().get(path))
    return try #require(answer.json?["items"], "\(answer.text)").elements
  }

  @Test func `a customer's purchases are listed with price and refund, by both clocks`() throws {
    let (installation, daemon) = try served()
    let all = try list(daemon)
    #expect(all.map { $0["transaction_id"]?.string } == ["70001", "70003"])
    #expect(all[0]["refunded_milliunits"] == nil && all[0]["refunded"]?.integer == 3_996)
    #expect(all[0]["price"]?["milliunits"]?.integer == 9_990)
    #expect(all[0]["ended_at"]?.integer == Self.refunded)
    #expect(all[0]["first_seq"]?.integer == 1 && all[0]["last_seq"]?.integer == 2)
    #expect(all[1]["other_transaction_ids"]?.elements.map(\.string) == ["70002"])
    let before = try list(daemon, "&as_of=\(Self.refunded - 1)")
    #expect(before.count == 1 && before[0]["refunded"]?.integer == 0)
    let at = daemon.client().get("/v1/events")?.json?["items"]?.elements[0]["received_at"]?.integer
    let known = try list(daemon, "&known_at=\(try #require(at))")
    #expect(known.first?["refunded"]?.integer == 0 || known.count > 1)
    #expect(daemon.client().get("/v1/entitlements/7001/transactions")?.status == 404)

    let history = daemon.client().get("/v1/entitlements/7000/history")?.json?["items"]?.elements
    let money = history?.compactMap { $0["money"]?["refunded_milliunits"]?.integer }
    #expect(money == [3_996])
    #expect(try daemon.stop().code == 0)
    #expect(try installation.run("verify").code == 0)
  }

  @Test func `a page of purchases ends at its limit, and another token sees none`() throws {
    let (installation, daemon) = try served()
    let client = daemon.client()
    let path = "/v1/entitlements/7000/transactions?limit=1"
    let first = client.get(path)?.json
    let bought = first?["items"]?.elements.first?["purchased_at"]?.integer ?? 0
    let cursor = "\(bought).70001"
    #expect(first?["items"]?.elements.count == 1 && first?["next_page"]?.string == cursor)
    // What is told meanwhile of an earlier purchase moves no page.
    let second = client.get("\(path)&after=\(cursor)")?.json
    let earlier = client.get("\(path)&after=\(bought - 1).9")?.json
    #expect(earlier?["items"]?.elements.first?["transaction_id"]?.string == "70001")
    #expect(second?["items"]?.elements.first?["transaction_id"]?.string == "70003")
    #expect(second?["next_page"]?.value == .null)
    for after in ["3", "-1", "x", "1.", ".1", "x.1"] {
      #expect(client.get("\(path)&after=\(after)")?.status == 400)
    }
    #expect(client.get(path, token: Installation.sandboxToken)?.status != 200)
    withExtendedLifetime(installation) {}
  }

  @Test func `the view has what the route lists, and finds a purchase by each of its ids`() throws {
    let (installation, daemon) = try served()
    let listed = try list(daemon)
    let sql = """
      SELECT transaction_id, other_transaction_ids, price_milliunits, refunded_milliunits,
        first_seq, last_seq FROM transaction_v1 ORDER BY purchased_at_ms
      """
    let result = try installation.run("query", sql, "--csv")
    let lines = result.output.split(separator: "\n").dropFirst().map(String.init)
    #expect(lines == ["70001,,9990,3996,1,2", "70003,\"[\"\"70002\"\"]\",9990,0,3,4"], "\(result)")
    #expect(listed.count == lines.count)
    for id in ["70002", "70003"] {
      let found = daemon.client().get("/v1/search?id=\(id)")?.json?["items"]?.elements ?? []
      #expect(found.map { $0["original_transaction_id"]?.string } == ["7000"], "\(id)")
    }
  }

  /// What is stored of a purchase with several ids is not enough to go on from: it is folded again.
  @Test func `restarts between events leave the rows that a rebuild makes`() throws {
    let installation = try Installation()
    var digests: [String?] = []
    let apart = Self.purchase(2, [("webOrderLineItemId", .string("99"))])
      .dated(Sample.start + 80 * Self.day).setting("notificationUUID", .string(Sample.uuid(12)))
    for event in Self.events + [apart] {
      let daemon = try installation.start()
      #expect(daemon.client().post(try installation.sign(event))?.status == 200)
      #expect(try daemon.stop().code == 0)
      #expect(try installation.run("verify").code == 0)
    }
    digests.append(try installation.digest())
    #expect(try installation.run("rebuild", "--apply").code == 0)
    digests.append(try installation.digest())
    #expect(digests[0] == digests[1] && digests[0] != nil)
    let sql =
      "SELECT group_concat(transaction_id || ' ' || first_seq || '-' || last_seq) "
      + "FROM (SELECT * FROM transaction_v1 ORDER BY transaction_id)"
    let result = try installation.run("query", sql, "--csv")
    #expect(result.output.contains("70001 1-2,70002 3-5,70003 4-4"), "\(result)")
  }
}
