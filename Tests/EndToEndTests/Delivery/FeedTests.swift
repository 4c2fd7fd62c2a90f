import Foundation
import StrictJSON
import Support
import Testing

/// `GET /v1/events`: pages, cursors, waiting.
@Suite struct FeedTests {
  private struct Served {
    let installation: Installation
    let daemon: RunningDaemon

    init(events: Int = 0) throws {
      installation = try Installation()
      daemon = try installation.start()
      for number in 1..<(events + 1) { try post(number, otid: "\(7000 + number % 2)") }
    }

    func post(_ number: Int, otid: String = "7000", environment: String = "Production") throws {
      let body = try installation.sign(
        Sample.notification(number, otid: otid, environment: environment))
      #expect(daemon.client().post(body)?.status == 200)
    }

    func page(_ query: String = "", token: String = Installation.token) throws -> JSONElement {
      let answer = try #require(daemon.client().get("/v1/events\(query)", token: token))
      #expect(answer.status == 200, "\(answer.text)")
      return try #require(answer.json)
    }
  }

  private static func seqs(_ page: JSONElement) -> [Int64] {
    page["items"]?.elements.compactMap { $0["seq"]?.integer } ?? []
  }

  private static func next(_ page: JSONElement) -> String { page["next_page"]?.string ?? "" }

  @Test func `pages follow each other to the end, and a cursor goes on there`() throws {
    let served = try Served(events: 5)
    let first = try served.page("?limit=3")
    #expect(Self.seqs(first) == [1, 2, 3] && first["has_more"]?.boolean == true)
    #expect(first["head"]?.integer == 5)
    let second = try served.page("?after=\(Self.next(first))")
    #expect(Self.seqs(second) == [4, 5] && second["has_more"]?.boolean == false)
    let empty = try served.page("?after=\(Self.next(second))")
    #expect(Self.seqs(empty).isEmpty && Self.next(empty) == Self.next(second))
    try served.post(6)
    #expect(Self.seqs(try served.page("?after=\(Self.next(empty))")) == [6])
    let item = try #require(second["items"]?.elements.last)
    #expect(item["stream_seq"]?.integer == 3 && item["previous_seq"]?.integer == 3)
    _ = try served.daemon.stop()
  }

  @Test func `a page without a match moves on, and each filter is obeyed`() throws {
    let served = try Served(events: 4)
    try served.post(5, otid: "7009", environment: "Sandbox")
    let none = try served.page("?type=REFUND")
    #expect(Self.seqs(none).isEmpty && Self.next(none).hasPrefix("5-"))
    #expect(Self.seqs(try served.page("?environment=Sandbox")) == [5])
    #expect(Self.seqs(try served.page("?original_transaction_id=7001")) == [1, 3])
    #expect(Self.seqs(try served.page("?bundle_id=com.none")).isEmpty)
    #expect(Self.seqs(try served.page("?arrival=posted,asked")) == [1, 2, 3, 4, 5])
    #expect(Self.seqs(try served.page("?arrival=history,submitted")).isEmpty)
    #expect(Self.seqs(try served.page("", token: Installation.sandboxToken)) == [5])
    #expect(Self.seqs(try served.page("", token: Installation.otherAppsToken)).isEmpty)
    let received = try #require(
      try served.page()["items"]?.elements.last?["received_at"]?.integer)
    #expect(Self.seqs(try served.page("?after=received:\(received)")).last == 5)
    #expect(Self.seqs(try served.page("?after=received:\(received + 1)")).isEmpty)
    _ = try served.daemon.stop()
  }

  @Test func `what is asked for is included, and a row stays as it was`() throws {
    let served = try Served(events: 3)
    let query = "?include=row,payload,body&original_transaction_id=7001&limit=1"
    let item = try #require(try served.page(query)["items"]?.elements.first)
    #expect(item["row"]?["event_count"]?.integer == 1)
    #expect(item["row"]?["as_of"]?.integer == item["received_at"]?.integer)
    #expect(item["payload"]?["notificationUUID"]?.string == Sample.uuid(1))
    #expect(item["body"]?.string?.split(separator: ".").count == 3)
    _ = try served.daemon.stop()
  }

  @Test func `a request waits until there is an event, or the time is over`() throws {
    let served = try Served(events: 1)
    let client = served.daemon.client()
    #expect(
      client.write(
        Array(
          ("GET /v1/events?wait=20 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
            + "\(Installation.token)\r\n\r\n").utf8)))
    usleep(200_000)
    try served.post(2)
    let page = try #require(client.answer()?.json)
    #expect(Self.seqs(page) == [2])
    let began = Date()
    #expect(Self.seqs(try served.page("?wait=1")).isEmpty)
    #expect(Date().timeIntervalSince(began) >= 1)
    // What is there is answered at once.
    #expect(Self.seqs(try served.page("?wait=30&after=0")) == [1, 2])
    _ = try served.daemon.stop()
  }

  @Test func `a cursor of another history is told as such, and a made-up one refused`() throws {
    let served = try Served(events: 2)
    let client = served.daemon.client()
    let other = client.get("/v1/events?after=2-00000000")
    #expect(other?.status == 410 && other?.json?["code"]?.string == "other_history")
    #expect(client.get("/v1/events?after=9-00000000")?.status == 410)
    for text in ["2", "2-0", "-1-00000000", "x", "2-0000000g", "received:soon"] {
      #expect(client.get("/v1/events?after=\(text)")?.status == 400, "\(text)")
    }
    for query in ["wait=31", "limit=1001", "include=rows", "include=row,", "from=1"] {
      #expect(client.get("/v1/events?\(query)")?.status == 400, "\(query)")
    }
    #expect(client.get("/v1/events", token: nil)?.status == 401)
    _ = try served.daemon.stop()
  }

  @Test func `requests that wait are answered when the daemon stops`() throws {
    let served = try Served(events: 1)
    let client = served.daemon.client()
    #expect(
      client.write(
        Array(
          ("GET /v1/events?wait=30 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
            + "\(Installation.token)\r\n\r\n").utf8)))
    usleep(200_000)
    let began = Date()
    _ = try served.daemon.stop()
    #expect(Date().timeIntervalSince(began) < 25)
  }

  @Test func `one token may wait 250 times; who waits no more, or does not wait, is not counted`()
    throws
  {
    let served = try Served(events: 1)
    func waiting(_ token: String) -> Client {
      let client = served.daemon.client()
      #expect(
        client.write(
          Array(
            ("GET /v1/events?wait=30 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
              + "\(token)\r\n\r\n").utf8)))
      return client
    }
    var clients = (0..<250).map { _ in waiting(Installation.token) }
    // Until all of the others are counted there is a place, which is then taken by one more.
    var refused = served.daemon.client().get("/v1/events?wait=1")
    for _ in 0..<4 where refused?.status != 503 {
      clients.append(waiting(Installation.token))
      refused = served.daemon.client().get("/v1/events?wait=1")
    }
    #expect(refused?.status == 503 && refused?.text.contains("overload") == true)
    #expect(Self.seqs(try served.page("?after=0")) == [1])
    #expect(Self.seqs(try served.page("?wait=1", token: Installation.sandboxToken)).isEmpty)
    #expect(clients.count >= 250)
    clients = []
    var status = 503
    for _ in 0..<1200 where status == 503 {
      usleep(50_000)
      status = served.daemon.client().get("/v1/events?wait=1")?.status ?? 0
    }
    #expect(status == 200)
    #expect(clients.isEmpty)
    _ = try served.daemon.stop()
  }
}
