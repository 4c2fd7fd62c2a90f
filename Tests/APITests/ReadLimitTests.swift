import Platform
import StrictJSON
import Support
import Testing

@testable import API

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
}
