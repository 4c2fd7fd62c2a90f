import AppStore
import Ledger
import Platform
import Store
import StrictJSON
import Support
import Testing

@testable import API
@testable import HTTPServer

/// Reads that use more processor time than one may.
@Suite struct ReadLimitTests {
  private static let id = "7000"

  /// Each asks whether it may go on, and none may.
  @Test func `a read that takes too long is refused with 503, and counted`() throws {
    let authority = try Authority.shared.get()
    let server = try InProcessServer(root: authority.root, readMilliseconds: 0)
    #expect(server.post(signedPayload: try authority.signed(Sample.notification(1)))?.status == 200)
    let list = try #require(
      server.post(
        Array(#"{"ids":["\#(Self.id)"],"by":"original_transaction_id"}"#.utf8),
        ["Content-Type: application/json", InProcessServer.authorization],
        to: "/v1/customers/query"))
    let paths = [
      "/v1/entitlements", "/v1/entitlements/\(Self.id)/history",
      "/v1/entitlements/\(Self.id)/transactions",
    ]
    let before = try server.count(#"subledger_store_errors_total{part="reads"}"#)
    for response in [list] + paths.compactMap({ server.get($0) }) {
      #expect(response.status == 503)
      #expect(response.json?["code"]?.string == "too_long")
    }
    #expect(try server.count(#"subledger_store_errors_total{part="reads"}"#) >= before + 3)
    #expect(server.post(signedPayload: try authority.signed(Sample.notification(2)))?.status == 200)
  }

  /// Another test may have written the line of this minute, so what it says is looked at here.
  @Test func `the log names the path of a read that was cut, without its id`() throws {
    let match = try #require(MatchedRoute("/v1/entitlements/\(Self.id)/history", "GET"))
    #expect(match.route.title == "GET /v1/entitlements/{otid}/history")
  }

  @Test func `a customer with more than a hundred grants is answered by a long read`() throws {
    let ledger = try TestLedger()
    let reader = try ledger.reader()
    let match = try #require(MatchedRoute("/v1/customers/user-1", "GET"))
    let head = RequestHead(method: "GET", path: "/v1/customers/user-1", query: "by=account")
    let request = HTTPRequest(head: head)
    let call = try Call(
      request, AdmittedRequest(match: match, token: .all),
      ResponseSender(receiver: .caller(BoundedQueue(capacity: 1)), slot: 0, ticket: 0))
    let asked = try CustomerRoutes.Asked(call)
    func answers(isShort: Bool) throws -> Bool {
      try CustomerRoutes.response(
        asked, call, try Configuration(), reader, isShort: isShort) != nil
    }
    func grant(_ count: Int) {
      let done = BoundedQueue<Outcome>(capacity: count)
      let new = NewStatement(
        .grant(entitlement: "pro", until: nil, reason: nil), of: CustomerName(.account, "user-1"),
        environment: .production, bundleId: TestLedger.bundleId, token: "backend",
        receivedAt: Sample.start)
      ledger.ledger.submit(
        (0..<count).map { _ in (Receiver.Received(new), { _ = done.enqueue($0) }) })
      for _ in 0..<count { _ = done.dequeue() }
    }
    grant(100)
    #expect(try answers(isShort: true))
    grant(1)
    #expect(try !answers(isShort: true))
    #expect(try answers(isShort: false))
  }
}
