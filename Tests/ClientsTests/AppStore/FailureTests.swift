import AppStore
import Platform
import SignedData
import StrictJSON
import Support
import Testing

@testable import Clients

/// Errors: which are repeated, how often, after which wait; and that none shows a secret.
@Suite struct FailureTests {
  @Test(arguments: ErrorCode.known.keys.sorted()) func `every code is handled as its table says`(
    number: Int64
  ) throws {
    let code = ErrorCode(rawValue: number)
    let fixture = try Fixture { _ in [Fixture.error(number)] }
    let error = try fixture.failure()
    let isLimit = number == 4_290_000
    if !isLimit { #expect(error.code == code) }
    let attempts =
      switch code.action {
      case .again, .wait: 6
      case .seldom: 3
      case .report, .restart, .later, .elsewhere: 1
      }
    #expect(fixture.server.requests.count == attempts)
    #expect(fixture.time.waits.count == attempts - 1)
    #expect(error.isRetryable == (attempts > 1))
    #expect(!"\(error)".contains("canary"), "\(error)")
    if !isLimit { #expect("\(error)".contains("\(number) \(code.name ?? "?")")) }
  }

  @Test func `exactly Apple's four codes are repeated as retryable`() {
    let again = ErrorCode.known.filter { $0.value.action == .again }.keys.sorted()
    #expect(again == [4_040_002, 4_040_004, 4_040_006, 5_000_001])
  }

  @Test(arguments: [
    (#"{"errorCode":4049999}"#, 404, 1), (#"{"errorCode":5009999}"#, 500, 3),
    (#"{"errorCode":4040010}"#, 500, 6), (#"{"errorCode":"4040010"}"#, 404, 1),
    ("<html>", 503, 6), ("", 502, 6), ("", 504, 6), ("", 400, 1), ("", 403, 1), ("", 302, 1),
    ("{}", 415, 1), (#"{"errorCode":-1}"#, 404, 1),
  ]) func `a status without a known code is judged by itself`(
    body: String, status: Int, attempts: Int
  ) throws {
    let fixture = try Fixture { _ in
      [.response(status, body, fields: "Location: /elsewhere\r\n")]
    }
    let error = try fixture.failure()
    #expect(fixture.server.requests.count == attempts, "\(error)")
    #expect("\(error)".contains("\(status)"), "\(error)")
  }

  @Test func `waits double, have an end, and a later answer counts`() throws {
    let failing = try Fixture { _ in [.response(503, "")] }
    _ = try failing.failure()
    #expect(failing.time.waits == [1_000, 2_000, 4_000, 8_000, 16_000])
    let passing = try Fixture(
      answer: Fixture.inTurn([
        [.response(503, "")], [.close], [Fixture.error(5_000_001)], [Fixture.info],
      ]))
    #expect(try passing.client.transactionInfo("1") == "a.b.c")
    #expect(passing.server.requests.count == 4)
  }

  @Test func `a person waits for three attempts and not for long`() throws {
    let fixture = try Fixture(policy: .interactive) { _ in [.response(503, "")] }
    _ = try fixture.failure()
    #expect(fixture.time.waits == [1_000, 2_000])
    let limited = try Fixture(policy: .interactive) { _ in
      [Fixture.error(4_290_000, fields: "Retry-After: 11\r\n")]
    }
    #expect(try limited.failure().reason == .limited(milliseconds: 11_000))
    #expect(limited.server.requests.count == 1 && limited.time.waits.isEmpty)
  }

  @Test func `after 429 the endpoint waits as long as the answer says`() throws {
    let until = FakeTime.start + 7_000
    let fixture = try Fixture(
      answer: Fixture.inTurn([
        [Fixture.error(4_290_000, fields: "Retry-After: \(until)\r\n")], [Fixture.info],
      ]))
    #expect(try fixture.client.transactionInfo("1") == "a.b.c")
    #expect(fixture.time.waits == [7_000])
    let date = "Date: Mon, 21 Sep 2026 14:23:20 GMT\r\n"
    let ahead = try Fixture(
      answer: Fixture.inTurn([
        [Fixture.error(4_290_000, fields: "Retry-After: \(until + 600_000)\r\n" + date)],
        [Fixture.info],
      ]))
    #expect(try ahead.client.transactionInfo("1") == "a.b.c")
    #expect(ahead.time.waits == [7_000], "the server's clock is ten minutes ahead")
  }

  @Test func `a second test notification is never asked for by itself`() throws {
    for answer in [ScriptedServer.Step.response(503, ""), .close, Fixture.error(5_000_001)] {
      let fixture = try Fixture { _ in [answer] }
      #expect(throws: AppStoreError.self) { try fixture.client.requestTestNotification() }
      #expect(fixture.server.requests.count == 1)
    }
  }

  // MARK: 401

  @Test func `a refused token is replaced once`() throws {
    let fixture = try Fixture(
      answer: Fixture.inTurn([[.response(401, "Unauthenticated")], [Fixture.info]]))
    #expect(try fixture.client.transactionInfo("1") == "a.b.c")
    let refused = try Fixture { _ in [.response(401, "", type: nil)] }
    let error = try refused.failure()
    #expect(error.reason == .unauthorized(skew: nil) && refused.server.requests.count == 2)
    for cause in ["keyId", "In-App Purchase", "never released", "clock"] {
      #expect("\(error)".contains(cause), "\(error)")
    }
  }

  @Test func `a refusal is told where the budget has no second request`() throws {
    for policy in [RetryPolicy.interactive, .once] {
      let fixture = try Fixture(.sandbox, policy: policy) { _ in [.response(401, "")] }
      let error = try #require(throws: AppStoreError.self) {
        try fixture.client.requestTestNotification()
      }
      #expect(error.reason == .unauthorized(skew: nil), "\(error)")
      #expect(fixture.server.requests.count == 1)
    }
  }

  @Test func `the token after a refused one is new`() throws {
    // A second later, since a signature is random but the claims are not.
    let fixture = try Fixture { _ in [.response(401, "Unauthenticated")] }
    _ = try fixture.failure()
    let tokens = fixture.server.requests.compactMap { $0.field("Authorization") }
    #expect(tokens.count == 2 && Set(tokens).count == 2)
    #expect(tokens.allSatisfy { $0.hasPrefix("Bearer ey") })
  }

  @Test(
    arguments: [
      ("Mon, 21 Sep 2026 14:03:20 GMT", "600 s ahead of"),
      ("Mon, 21 Sep 2026 14:23:20 GMT", "600 s behind"),
      ("Mon, 21 Sep 2026 14:13:00 GMT", nil), ("garbage", nil),
    ] as [(String, String?)]) func `a wrong clock is measured`(date: String, text: String?) throws
  {
    let fixture = try Fixture { _ in [.response(401, "", type: nil, fields: "Date: \(date)\r\n")] }
    let error = try fixture.failure()
    #expect(text.map("\(error)".contains) ?? !"\(error)".contains("this clock is 2"), "\(error)")
  }

  // MARK: Transport

  @Test(
    arguments: [
      ([.pause(milliseconds: 60_000)], ClientError.timeout(.answer), 6),
      ([.text("HTTP/1.1 200 -\r\nA: b\r\n"), .pause(milliseconds: 60_000)], .timeout(.body), 6),
      (
        [.text("HTTP/1.1 200 -\r\nContent-Length: 9\r\n\r\n{"), .pause(milliseconds: 60_000)],
        .timeout(.body), 6
      ),
      ([.close], .cutOff, 6),
      ([.text("HTTP/1.1 200 -\r\nContent-Length: 9\r\n\r\n{"), .close], .cutOff, 6),
      ([.text("canary\r\n"), .close], .malformed, 3),
      ([.response(200, "x", fields: "Content-Encoding: gzip\r\n")], .encoded, 1),
    ] as [([ScriptedServer.Step], ClientError, Int)])
  func `a fault on the way is repeated within bounds and named`(
    steps: [ScriptedServer.Step], fault: ClientError, attempts: Int
  ) throws {
    let fixture = try Fixture(total: 1_000) { _ in steps }
    let error = try fixture.failure()
    #expect(error.reason == .transport(fault), "\(error)")
    #expect(fixture.server.requests.count == attempts)
    #expect(!"\(error)".contains("canary"))
  }

  @Test func `an answer of more than the limit is refused once`() throws {
    let fixture = try Fixture { _ in [.response(200, String(repeating: " ", count: 4_194_305))] }
    #expect(try fixture.failure().reason == .transport(.tooLarge(limit: 4_194_304)))
    #expect(fixture.server.requests.count == 1)
  }

  @Test func `JSON under another content type is no answer`() throws {
    for type in ["text/html", "application/jsonp", nil] {
      let fixture = try Fixture { _ in
        [.response(200, #"{"signedTransactionInfo":"a"}"#, type: type)]
      }
      guard case .answer = try fixture.failure().reason else {
        Issue.record("\(type ?? "none") was accepted")
        continue
      }
    }
    let fixture = try Fixture { _ in
      [.response(200, #"{"signedTransactionInfo":"a"}"#, type: "Application/JSON; charset=utf-8")]
    }
    #expect(try fixture.client.transactionInfo("1") == "a")
  }

  // MARK: Limits and stops

  @Test func `calls wait for the budget, and what is sent stays within it`() throws {
    let fixture = try Fixture(.sandbox) { _ in [Fixture.info] }
    for _ in 0..<100 { _ = try fixture.client.transactionInfo("1") }
    #expect(fixture.server.requests.count == 100)
    // 2.5 a second, of which 2.5 at once.
    #expect((38_500...40_000).contains(fixture.time.elapsed), "\(fixture.time.elapsed)")
  }

  @Test func `a stop ends a wait, a request and every later call`() throws {
    let server = try ScriptedServer { _ in [.response(503, "")] }
    let account = try Fixture.account(.production, at: server.address)
    let cancellation = Cancellation()
    let client = try AppStoreClient(
      account, version: "1", policy: .background, cancellation: cancellation)
    let thread = try Thread.start("stop") {
      while server.requests.isEmpty { Cancellation().wait(milliseconds: 1) }
      cancellation.request()
    }
    #expect(throws: AppStoreError.self) { try client.transactionInfo("1") }
    thread.join()
    let error = #expect(throws: AppStoreError.self) { try client.transactionInfo("1") }
    #expect(error?.reason == .cancelled)
  }

  @Test func `no error shows key, token or answer`() throws {
    let pem = String(decoding: try Fixture.key.get().pem(), as: UTF8.self)
    let secret = try #require(pem.split(separator: "\n").dropFirst().first)
    for step in [
      ScriptedServer.Step.response(401, ""), Fixture.error(4_040_010), .close,
      .response(200, "{}"), .response(500, ""),
    ] {
      // The server sends back what it was sent, wherever an error could pick it up.
      let fixture = try Fixture(policy: .interactive) { request in
        let token = request.field("Authorization") ?? ""
        guard case .send(let bytes) = step else { return [step] }
        let head = "HTTP/1.1 200 -\r\n".utf8.count
        let echo = Array("X-Apple-Request-UUID: \(token)\r\nDate: \(token)\r\n".utf8)
        return [.send(bytes[..<head] + echo + bytes[head...])]
      }
      let error = try fixture.failure()
      let text = "\(error) \(String(reflecting: error)) \(fixture.client) \(fixture.client.account)"
      for request in fixture.server.requests {
        let token = try #require(request.field("Authorization")?.dropFirst(7))
        #expect(!text.contains(token) && !text.contains(token.suffix(20)))
      }
      #expect(!text.contains(secret))
    }
  }

  @Test func `Apple's id of the request is part of the error`() throws {
    let id = "0f2b1a3c-1111-2222-3333-444455556666"
    let fixture = try Fixture { _ in
      [Fixture.error(4_040_010, fields: "X-Apple-Request-UUID: \(id)\r\n")]
    }
    #expect(try fixture.failure().requestId == id)
    #expect("\(try fixture.failure())".contains(id))
  }
}
