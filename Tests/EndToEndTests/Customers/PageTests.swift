import Foundation
import StrictJSON
import Support
import Testing

/// Answers that are cut into pages: a page is bounded, and all pages together are the whole.
@Suite struct PageTests {
  private static let asOf = "as_of=4000000000000"

  /// All items of a list, page by page, and how many pages there were.
  private func all(
    _ client: Client, _ path: String, limit: Int
  ) throws -> (items: [String], pages: Int) {
    var (items, pages, after): ([String], Int, String?) = ([], 0, nil)
    repeat {
      let cursor = after.map { "&after=\($0)" } ?? ""
      let page = try #require(client.get("\(path)&limit=\(limit)\(cursor)")?.json)
      items += page["items"]?.elements.map { $0.value.text } ?? []
      after = page["next_page"]?.string
      pages += 1
    } while after != nil && pages < 500
    return (items, pages)
  }

  private func query(_ client: Client, _ ids: [String], _ more: String = "") -> Client.Answer? {
    let list = ids.map { "\"\($0)\"" }.joined(separator: ",")
    let body = Array("{\"ids\":[\(list)]\(more)}".utf8)
    return client.send(
      "POST /v1/customers/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        + "Authorization: Bearer \(Installation.token)\r\nContent-Length: \(body.count)\r\n\r\n",
      body)
  }

  private func ids(_ answer: Client.Answer?) -> [String] {
    answer?.json?["items"]?.elements.compactMap { $0["id"]?.string } ?? []
  }

  @Test func `the pages of a history are together the whole`() throws {
    let installation = try Installation()
    let names = ["upgrade", "refund-reversed", "grace-recovered", "family-revoke"]
    try installation.live(customers: 6, days: 400, with: names)
    let daemon = try installation.start()
    let list = try #require(daemon.client().get("/v1/entitlements?limit=500")?.json)
    let keys = list["items"]?.elements ?? []
    #expect(keys.count >= 6)
    let client = daemon.client()
    var pages = 0
    for row in keys {
      let id = row["original_transaction_id"]?.string ?? ""
      let environment = row["environment"]?.string ?? ""
      for isRaw in [true, false] {
        let path =
          "/v1/entitlements/\(id)/history?environment=\(environment)&raw=\(isRaw)&\(Self.asOf)"
        let whole = try all(client, path, limit: 1000)
        #expect(whole.pages == 1)
        for limit in [1, 2, 3, 7] {
          let paged = try all(client, path, limit: limit)
          #expect(paged.items == whole.items, "\(id), limit \(limit)")
          pages = max(pages, paged.pages)
        }
      }
    }
    #expect(pages > 5)
    for after in ["0", "-1", "x"] {
      #expect(client.get("/v1/entitlements/7000/history?after=\(after)")?.status == 400)
    }
    #expect(client.get("/v1/entitlements/7000/history?limit=1001")?.status == 400)
    _ = try daemon.stop()
  }

  @Test func `quarantined notifications are on the page of their time, once`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    for number in 1...6 {
      let isOurs = number % 3 != 0
      let body = Sample.notification(number)
        .setting("data.bundleId", .string(isOurs ? "com.example.app" : "com.example.foreign"))
      #expect(client.post(try installation.sign(body))?.status == (isOurs ? 200 : 422))
      usleep(5_000)
    }
    let path = "/v1/entitlements/7000/history?environment=Production"
    let whole = try all(client, path, limit: 1000).items
    #expect(whole.count { $0.contains("foreign") } == 2)
    for limit in [1, 2, 3] { #expect(try all(client, path, limit: limit).items == whole) }
    _ = try daemon.stop()
  }

  @Test func `a page of the feed and of a history ends when it is large`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    let filler = String(repeating: "x", count: 100_000)
    for number in 1...30 {
      let body = Sample.notification(number).setting("data.filler", .string(filler))
      #expect(client.post(try installation.sign(body))?.status == 200)
    }
    for path in [
      "/v1/events?after=0&include=payload",
      "/v1/entitlements/7000/history?raw=true&environment=Production",
    ] {
      let first = try #require(client.get("\(path)&limit=1000"))
      let count = first.json?["items"]?.elements.count ?? 0
      #expect((8...11).contains(count), "\(path): \(count)")
      #expect(first.body.count < 1_400_000)
    }
    let path = "/v1/entitlements/7000/history?raw=true&environment=Production"
    #expect(try all(client, path, limit: 1000).items.count >= 30)
    _ = try daemon.stop()
  }

  @Test func `a query answers equal ids once, and goes on after its cursor`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    let tokens = (1...3).map { "0a0b0c0d-0000-4000-8000-00000000000\($0)" }
    for (number, token) in zip(1..., tokens) {
      let body = Sample.notification(number, otid: "700\(number)")
        .setting("data.transaction.appAccountToken", .string(token))
      #expect(client.post(try installation.sign(body))?.status == 200)
    }
    let repeated = [tokens[1], tokens[0], tokens[1].uppercased(), tokens[0]]
    #expect(ids(query(client, repeated)) == [tokens[1], tokens[0]])
    let rest = query(client, tokens, ",\"after\":\"1\"")
    #expect(ids(rest) == [tokens[1], tokens[2]])
    #expect(rest?.text.contains("\"next_page\":null") == true)
    for after in ["3", "0", "\"x\""] {
      #expect(query(client, tokens, ",\"after\":\(after)")?.status == 400, "\(after)")
    }
    _ = try daemon.stop()
  }

  @Test func `a query ends after 5,000 rows, and its next page has the others`() throws {
    let installation = try Installation()
    let tokens = (1...9).map { "0a0b0c0d-0000-4000-8000-00000000000\($0)" }
    let lines = try (0..<5_625).map { number in
      try installation.sign(
        Sample.notification(number + 1, otid: "\(8_000_000 + number)")
          .setting("data.transaction.appAccountToken", .string(tokens[number % 9])))
    }
    let finished = try installation.run("ingest", try installation.file("many", lines))
    #expect(finished.code == 0)
    let daemon = try installation.start()
    let client = daemon.client()
    // 625 rows each: eight customers have 5,000.
    let first = query(client, tokens)
    #expect(ids(first) == tokens.prefix(8).map { $0 })
    #expect(first?.json?["next_page"]?.string == "8")
    #expect(ids(query(client, tokens, ",\"after\":\"8\"")) == [tokens[8]])
    // One of them alone has too many rows for a short read.
    let customer = client.get("/v1/customers/\(tokens[0])")?.json
    #expect(customer?["subscriptions"]?.elements.count == 625)
    #expect(customer?["more_purchases"]?.boolean == false)
    _ = try daemon.stop()
  }
}
