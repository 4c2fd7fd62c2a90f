import AppStore
import Platform
import StrictJSON
import Support
import Testing

@testable import Clients

/// Every call against every fault of an answer: what it is taken for, and that neither time nor
/// requests are without a bound.
@Suite struct FaultTableTests {
  private typealias Step = ScriptedServer.Step

  /// What a fault is taken for.
  fileprivate enum Kind { case transport, answer, status, limited, code }

  /// One fault, and how many requests of a call that may be repeated it costs.
  struct Fault: Sendable, CustomTestStringConvertible {
    let name: String
    let steps: [ScriptedServer.Step]
    fileprivate let kind: Kind
    let requests: Int

    var testDescription: String { name }
  }

  private static let html = "<html><body>canary</body></html>"
  /// Every member that an answer may have, each of another type than documented.
  private static let wrongTypes = """
    {"appAppleId":"canary","hasMore":1,"paginationToken":7,"notificationHistory":"none","data":7,\
    "signedTransactions":{},"signedTransactionInfo":[],"signedAppTransactionInfo":1,"revision":1,\
    "status":"0","testNotificationToken":{},"signedPayload":null,"sendAttempts":"none"}
    """
  private static let head = "HTTP/1.1 200 -\r\nContent-Type: application/json\r\n"

  static let faults: [Fault] = [
    Fault(name: "a connection that is closed", steps: [.close], kind: .transport, requests: 6),
    Fault(name: "a connection that is reset", steps: [.reset], kind: .transport, requests: 6),
    Fault(
      name: "a cut head", steps: [.text("HTTP/1.1 200 -\r\nContent-Ty"), .close],
      kind: .transport, requests: 6),
    Fault(
      name: "a cut body", steps: [.text(head + "Content-Length: 900\r\n\r\n{"), .close],
      kind: .transport, requests: 6),
    Fault(
      name: "a length that is too short",
      steps: [.text(head + "Content-Length: 5\r\n\r\n{\"a\":1}")],
      kind: .answer, requests: 3),
    Fault(
      name: "a length that is no number", steps: [.text(head + "Content-Length: x\r\n\r\n{}")],
      kind: .transport, requests: 3),
    Fault(name: "not HTTP", steps: [.text("canary\r\n"), .close], kind: .transport, requests: 3),
    Fault(
      name: "a compressed body",
      steps: [.response(200, "\u{1F}", fields: "Content-Encoding: gzip\r\n")], kind: .transport,
      requests: 1),
    Fault(
      name: "a head without end",
      steps: [.text(head + String(repeating: "X: \(html)\r\n", count: 2_000))], kind: .transport,
      requests: 1),
    Fault(
      name: "a body over the limit",
      steps: [.response(200, String(repeating: " ", count: 4_194_305))], kind: .transport,
      requests: 1),
    Fault(
      name: "a mebibyte of nothing",
      steps: [.response(200, String(repeating: " ", count: 1_048_577))], kind: .answer,
      requests: 3),
    Fault(
      name: "HTML", steps: [.response(200, html, type: "text/html")], kind: .answer, requests: 3),
    Fault(name: "HTML called JSON", steps: [.response(200, html)], kind: .answer, requests: 3),
    Fault(name: "no body", steps: [.response(200, "")], kind: .answer, requests: 3),
    Fault(
      name: "JSON without a type", steps: [.response(200, "{}", type: nil)], kind: .answer,
      requests: 3),
    Fault(
      name: "wrong types", steps: [.response(200, wrongTypes)], kind: .answer, requests: 3),
    Fault(name: "a list", steps: [.response(200, "[]")], kind: .answer, requests: 3),
    Fault(
      name: "a redirect", steps: [.response(302, "", fields: "Location: /canary\r\n")],
      kind: .status, requests: 1),
    Fault(name: "503 in HTML", steps: [.response(503, html)], kind: .status, requests: 6),
    Fault(name: "502 without a body", steps: [.response(502, "")], kind: .status, requests: 6),
    Fault(name: "400 without a code", steps: [.response(400, "{}")], kind: .status, requests: 1),
    Fault(
      name: "404 with the code of another status",
      steps: [.response(404, #"{"errorCode":5000001}"#)], kind: .status, requests: 1),
    Fault(
      name: "404 in plain text with a code",
      steps: [.response(404, #"{"errorCode":4040002}"#, type: "text/plain")], kind: .code,
      requests: 6),
    Fault(
      name: "a limit that never ends", steps: [.response(429, "{}")], kind: .limited, requests: 6),
  ]

  /// One call of each endpoint.
  private static func call(_ endpoint: Endpoint, _ client: AppStoreClient) throws(AppStoreError) {
    switch endpoint {
    case .notificationHistory:
      _ = try client.notificationHistory(
        NotificationHistoryQuery(startDate: 1, endDate: 2), paginationToken: nil)
    case .requestTestNotification: _ = try client.requestTestNotification()
    case .testNotificationStatus: _ = try client.testNotificationStatus("t")
    case .subscriptionStatuses: _ = try client.subscriptionStatuses("1")
    case .transactionHistory: _ = try client.transactionHistory("1", revision: nil)
    case .transactionInfo: _ = try client.transactionInfo("1")
    case .appTransactionInfo: _ = try client.appTransactionInfo("1")
    case .orderLookup: _ = try client.lookUpOrder("M1")
    case .sendConsumptionInformation:
      try client.sendConsumption(
        ConsumptionInformation(.delivered, sampleContentProvided: true), of: "1")
    }
  }

  private static func kind(_ error: AppStoreError) -> Kind? {
    switch error.reason {
    case .transport: .transport
    case .answer: .answer
    case .status: .status
    case .limited: .limited
    case .code: .code
    case .unauthorized, .signing, .unavailable, .cancelled: nil
    }
  }

  @Test(arguments: Endpoint.allCases, faults) func `each call has an end after each fault`(
    endpoint: Endpoint, fault: Fault
  ) throws {
    // Statuses may have no group, and an order no transaction: both are whole answers of a list.
    let steps = fault.steps
    let fixture = try Fixture { _ in steps }
    let error = try #require(throws: AppStoreError.self) {
      try Self.call(endpoint, fixture.client)
    }
    #expect(Self.kind(error) == fault.kind, "\(error)")
    // A request that was refused for the limit had no effect, and may be sent again.
    let isRepeated = endpoint.isIdempotent || fault.kind == .limited
    #expect(fixture.server.requests.count == (isRepeated ? fault.requests : 1), "\(error)")
    #expect(!"\(error)".contains("canary"), "\(error)")
    // Five waits of at most an hour, or of 31 seconds together where no limit is named; and the
    // budget of a call that may be made once in two seconds.
    #expect(fixture.time.elapsed <= (fault.kind == .limited ? 5 * 3_600_000 : 45_000))
    let path = Set(fixture.server.requests.map(\.target))
    #expect(path.count == 1 && path.first?.hasPrefix("/inApps/") == true, "no redirect is followed")
  }

  /// Bytes that come one by one, each long before any time for silence is over.
  @Test(
    arguments: [true, false], [Endpoint.notificationHistory, .transactionInfo]
  ) func `an answer that comes too slowly ends with the time of the request`(
    isHead: Bool, endpoint: Endpoint
  ) throws {
    let byte: [Step] = [.text("a"), .pause(milliseconds: 10)]
    let start: [Step] =
      isHead
      ? [.text("HTTP/1.1 200 -\r\nX: ")]
      : [.text(Self.head + "Content-Length: 9000\r\n\r\n{\"")]
    let steps = start + (0..<1000).flatMap { _ in byte }
    let fixture = try Fixture(policy: .interactive, total: 1_000) { _ in steps }
    let began = Clock.monotonicNanoseconds()
    let error = try #require(throws: AppStoreError.self) {
      try Self.call(endpoint, fixture.client)
    }
    let milliseconds = (Clock.monotonicNanoseconds() - began) / 1_000_000
    #expect(error.reason == .transport(.timeout(.body)), "\(error)")
    #expect(fixture.server.requests.count == 3)
    #expect(milliseconds >= 2_900, "three requests of a second, not of ten: \(milliseconds)")
  }

  @Test func `nobody at the address is an error after as many attempts as the policy has`() throws {
    let free = try ScriptedServer { _ in [] }.address
    let time = FakeTime()
    let client = try AppStoreClient(
      try Fixture.account(.production, at: free), version: "1", policy: .background,
      cancellation: Cancellation(), clock: time.clock())
    let error = try #require(throws: AppStoreError.self) { try client.transactionInfo("1") }
    guard case .transport = error.reason else { return #expect(Bool(false), "\(error)") }
    #expect(time.waits == [1_000, 2_000, 4_000, 8_000, 16_000])
  }

  // MARK: Retry-After

  /// The date of `FakeTime.start` is Mon, 21 Sep 2026 14:13:20 GMT.
  @Test(
    arguments: [
      ("1790000005000", 5_000), ("1790000005", 5_000), ("7", 7_000), ("0", 1_000),
      ("999999", 3_600_000), ("Mon, 21 Sep 2026 14:13:50 GMT", 30_000),
      ("1789999999000", 1_000), ("Sun, 06 Nov 1994 08:49:37 GMT", 1_000),
      ("9223372036854775807", 3_600_000), ("Fri, 31 Dec 9999 23:59:59 GMT", 3_600_000),
      (nil, 60_000), ("soon", 60_000), ("-5", 60_000), ("1.5", 60_000), ("5000000", 60_000),
      ("99999999999999999999", 60_000),
    ] as [(String?, Int64)], [Endpoint.transactionInfo, .requestTestNotification]
  ) func `each form of Retry-After makes a call wait as long as it says`(
    form: (String?, Int64), endpoint: Endpoint
  ) throws {
    let (value, milliseconds) = form
    let field = value.map { "Retry-After: \($0)\r\n" } ?? ""
    let good = Step.response(
      200, #"{"signedTransactionInfo":"a.b.c","testNotificationToken":"t"}"#)
    let fixture = try Fixture(
      answer: Fixture.inTurn([[Fixture.error(4_290_000, fields: field)], [good]]))
    try Self.call(endpoint, fixture.client)
    #expect(fixture.server.requests.count == 2)
    // Before the second request, the budget of a call may ask for two seconds more than a second.
    #expect(fixture.time.elapsed >= milliseconds && fixture.time.elapsed <= milliseconds + 1_100)
    // A person is not kept waiting, and is told the time.
    guard milliseconds > 10_000 else { return }
    let brief = try Fixture(policy: .interactive) { _ in
      [Fixture.error(4_290_000, fields: field)]
    }
    let error = try #require(throws: AppStoreError.self) { try Self.call(endpoint, brief.client) }
    #expect(error.reason == .limited(milliseconds: milliseconds))
    #expect(brief.server.requests.count == 1 && brief.time.waits.isEmpty)
  }

  @Test func `a limit holds for its endpoint alone, and for every client of the account`() throws {
    let server = try ScriptedServer { request in
      request.target.contains("history")
        ? [Fixture.error(4_290_000, fields: "Retry-After: 60\r\n")] : [Fixture.info]
    }
    let account = try Fixture.account(.production, at: server.address)
    let time = FakeTime()
    let clients = try (0..<2).map { _ in
      try AppStoreClient(
        account, version: "1", policy: .once, cancellation: Cancellation(), clock: time.clock())
    }
    for client in clients {
      let error = try #require(throws: AppStoreError.self) {
        try client.transactionHistory("1", revision: nil)
      }
      #expect(error.reason == .limited(milliseconds: 60_000))
      #expect(try client.transactionInfo("1") == "a.b.c")
    }
    #expect(server.requests.count == 3, "the second client does not ask for the history")
    time.advance(60_000)
    _ = try? clients[1].transactionHistory("1", revision: nil)
    #expect(server.requests.count == 4)
  }
}
