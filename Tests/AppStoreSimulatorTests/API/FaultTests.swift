import StrictJSON
import Support
import Testing

@testable import AppStoreSimulator

/// Faults that a client must survive.
@Suite struct FaultTests {
  private static let path = "/inApps/v1/transactions/1"

  @Test func `an error is forced on some requests to a path`() throws {
    let running = try LocalAppStore(customers: 1)
    _ = try running.control(
      #"{"faults":[{"kind":"error","code":4040002,"count":2,"path":"/inApps/v1/transactions"}]}"#)
    expect(try running.get("/inApps/v1/subscriptions/1"), isError: 4_040_010)
    expect(try running.get(Self.path), isError: 4_040_002)
    expect(try running.get(Self.path), isError: 4_040_002)
    expect(try running.get(Self.path), isError: 4_040_010)
  }

  @Test func `429 has each form of Retry-After`() throws {
    let running = try LocalAppStore(customers: 1)
    func retryAfter(_ form: String) throws -> String? {
      _ = try running.control(
        #"{"faults":[{"kind":"rate-limit","retryAfter":"\#(form)","wait":5000}]}"#)
      let answer = try running.get(Self.path)
      expect(answer, isError: 4_290_000)
      return answer.field("Retry-After")
    }
    let now = LocalAppStore.now()
    let milliseconds = try #require(try retryAfter("milliseconds").flatMap { Int64($0) })
    #expect(milliseconds - now >= 5000 && milliseconds - now < 60_000)
    #expect(try retryAfter("seconds") == "5")
    #expect(try retryAfter("date")?.hasSuffix(" GMT") == true)
    #expect(try retryAfter("absent") == nil)
    #expect(try retryAfter("past").flatMap { Int64($0) } ?? .max < now)
    #expect(try retryAfter("future").flatMap { Int64($0) } ?? 0 > now + 86_400_000)
    #expect(try retryAfter("garbage") == "soon")
  }

  @Test func `answers are replaced and damaged`() throws {
    let running = try LocalAppStore(customers: 1)
    func answer(_ kind: String) throws -> Client.Answer {
      _ = try running.control(#"{"faults":[{"kind":"\#(kind)","count":1}]}"#)
      return try running.get(Self.path)
    }
    #expect(try answer("unauthenticated").status == 401)
    #expect(try answer("redirect").field("Location") == Self.path)
    #expect(try answer("html-503").status == 503)
    #expect(try answer("html-200").field("Content-Type") == "text/html")
    #expect(try answer("oversized").body.count == 1 << 20 + 1)
    #expect(try answer("wrong-types").json?["hasMore"]?.integer == 1)
    #expect(try answer("empty").body.isEmpty)
    let gzip = try answer("gzip")
    #expect(gzip.field("Content-Encoding") == "gzip" && gzip.body.starts(with: [0x1F, 0x8B]))
    let short = try answer("wrong-length")
    #expect(short.json == nil && short.text.hasPrefix("{"))
  }

  @Test(arguments: ["cut-body", "stalled-body", "stalled-head"])
  func `an answer can end early or stall`(_ kind: String) throws {
    let running = try LocalAppStore(customers: 1)
    _ = try running.control(#"{"faults":[{"kind":"\#(kind)"}]}"#)
    let client = Client(port: try running.port("production"))
    #expect(client.write(Array("GET /x HTTP/1.1\r\nHost: x\r\n\r\n".utf8)))
    let isCut = kind == "cut-body"
    #expect(client.isClosed(within: isCut ? 60 : 2) == isCut)
  }

  @Test(arguments: ["slow-head", "slow-body"])
  func `an answer can come byte by byte, and is whole at the end`(_ kind: String) throws {
    let running = try LocalAppStore(customers: 1)
    _ = try running.control(#"{"faults":[{"kind":"\#(kind)","wait":2,"count":1}]}"#)
    let clock = ContinuousClock()
    var answer: Client.Answer?
    let time = try clock.measure { answer = try running.get(Self.path) }
    let slow = try #require(answer)
    expect(slow, isError: 4_040_010)
    let bytes = kind == "slow-head" ? slow.head.utf8.count : slow.body.count
    #expect(bytes > 50 && time >= .milliseconds(2 * bytes), "\(time) for \(bytes) bytes")
    expect(try running.get(Self.path), isError: 4_040_010)
  }

  @Test func `the clock of the service can be wrong`() throws {
    let running = try LocalAppStore(customers: 1)
    let before = try running.get(Self.path).field("Date")
    _ = try running.control(#"{"clockSkew":-600000}"#)
    let answer = try running.get(Self.path)
    #expect(answer.field("Date") != before)
    #expect(answer.status == 401, "the token is of the future")
    #expect(answer.field("x-apple-request-uuid")?.count == 36)
  }

  @Test func `a wrong control document changes nothing`() throws {
    let running = try LocalAppStore(customers: 1)
    let wrong = [
      "x", "[]", #"{"neverReleased":true,"wat":1}"#, #"{"faults":[{"kind":"none"}]}"#,
      #"{"advance":-1}"#, #"{"limits":"day"}"#, #"{"notify":1}"#, #"{"status":"x"}"#,
      #"{"faults":[{"kind":"error","code":1}]}"#,
    ]
    for document in wrong {
      let answer = try running.ask("POST", "/control", document)
      #expect(answer.status == 400 && answer.json?["error"] != nil, "\(document)")
    }
    expect(try running.get(Self.path), isError: 4_040_010)
    let report = try #require(try running.get("/control").json)
    let requests = report["production"]?["requests"]?["GET /inApps/v1/transactions/1"]
    #expect(requests?["requests"]?.integer == 1)
  }
}
