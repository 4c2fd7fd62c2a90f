import Foundation
import StrictJSON
import Support
import Testing

/// What the owner says of requests for refunds, and of the consent of customers.
@Suite struct RefundWordTests {
  private static let hour: Int64 = 3_600_000
  private static let decider = "e2e-token-that-decides-4721"
  private static let account = "0d9a3f0e-7c1b-4f52-9d7e-2f1c0a5b6e4d"

  /// A daemon that Apple asked about the transactions 70011 and 70021, an hour ago.
  private struct Served {
    let installation: Installation
    let daemon: RunningDaemon

    init() throws {
      installation = try Installation()
      try installation.configure(
        apps: [Installation.app()],
        with: [
          (
            "readTokens",
            .array([
              Installation.token("backend", Installation.token, []),
              Installation.token(
                "decider", RefundWordTests.decider,
                [("may", .array([.string("refunds"), .string("erase")]))]),
            ])
          )
        ])
      daemon = try installation.start()
      let asked = Int64(Date().timeIntervalSince1970 * 1000) - RefundWordTests.hour
      for number in 1...2 {
        let event = Sample.notification(number, otid: "700\(number)", type: "CONSUMPTION_REQUEST")
          .dated(asked).setting("data.transaction.transactionId", .string("700\(number)1"))
          .setting("data.transaction.purchaseDate", .integer(asked - 5 * RefundWordTests.hour))
          .setting("data.transaction.appAccountToken", .string(RefundWordTests.account))
          .setting("data.consumptionRequestReason", .string("UNINTENDED_PURCHASE"))
        #expect(daemon.client().post(try installation.sign(event))?.status == 200)
      }
    }

    func post(
      _ path: String, _ body: String, token: String = RefundWordTests.decider
    ) throws -> Client.Answer {
      let head =
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        + "Authorization: Bearer \(token)\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
      return try #require(daemon.client().send(head, Array(body.utf8)))
    }

    func events() throws -> Int { try installation.events("--limit", "100").count }
  }

  private static let path = "/v1/refund-requests/70011"
  private static let word =
    #"{"customer_consented":true,"delivery_status":"DELIVERED","consumption_percentage":100000}"#

  @Test func `a word about a request is one event, however often it is said`() throws {
    let served = try Served()
    let first = try served.post(Self.path, Self.word)
    #expect(first.status == 200 && first.json?["outcome"]?.string == "accepted", "\(first.text)")
    let line = first.json?["refund_request"]
    #expect(line?["state"]?.string == "waiting" && line?["customer_consented"]?.boolean == true)
    let count = try served.events()
    let second = try served.post(Self.path, Self.word)
    #expect(second.json?["outcome"]?.string == "duplicate")
    #expect(second.json?["refund_request"]?.value == line?.value)
    #expect(try served.events() == count)
    let third = try served.post(Self.path, #"{"customer_consented":false}"#)
    #expect(third.json?["refund_request"]?["customer_consented"]?.boolean == false)
    let shown = try #require(served.daemon.client().get(Self.path)?.json)
    #expect(shown.value == third.json?["refund_request"]?.value)
    let other = served.daemon.client().get("/v1/refund-requests/70021")?.json
    #expect(other?["customer_consented"]?.value == .null)
    let history = served.daemon.client().get("/v1/entitlements/7001/history")?.json?["items"]
    let types = history?.elements.compactMap { $0["notification_type"]?.string }
    #expect(types?.suffix(2) == ["REFUND_WORD", "REFUND_WORD"], "\(types ?? [])")
    #expect(try served.daemon.stop().code == 0)
    #expect(try served.installation.run("verify").code == 0)
  }

  @Test func `who may not say it, what is not asked and what is no word are refused`() throws {
    let served = try Served()
    #expect(try served.post(Self.path, Self.word, token: Installation.token).status == 403)
    #expect(try served.post("/v1/refund-requests/7001", Self.word).status == 404)
    for body in [
      "{}", #"{"customer_consented":"true"}"#, #"{"customer_consented":null}"#,
      #"{"customer_consented":true,"delivery_status":"LOST"}"#,
      #"{"customer_consented":true,"consumption_percentage":100001}"#,
      #"{"customer_consented":true,"refund_preference":"GIVE"}"#,
      #"{"customer_consented":true,"unknown":1}"#,
    ] {
      #expect(try served.post(Self.path, body).status == 400, "\(body)")
    }
    #expect(try served.post("/v1/customers/nobody/consent", #"{"granted":true}"#).status == 400)
    #expect(try served.events() == 2)
  }

  @Test func `consent is one event, and its link is forgotten with the account`() throws {
    let served = try Served()
    let path = "/v1/customers/user-1/consent?by=account&bundle_id=com.example.app"
    for outcome in ["accepted", "duplicate"] {
      let answer = try served.post(path, #"{"granted":true}"#)
      #expect(answer.status == 200 && answer.json?["outcome"]?.string == outcome, "\(answer.text)")
    }
    #expect(try served.post(path, #"{"granted":false}"#).json?["outcome"]?.string == "accepted")
    let named = try served.post(
      "/v1/customers/\(Self.account)/consent", #"{"granted":true,"at":1767225600000}"#)
    #expect(named.json?["outcome"]?.string == "accepted")
    #expect(try served.events() == 5)
    let erased = served.daemon.client().send(
      "DELETE /v1/accounts/user-1 HTTP/1.1\r\nHost: localhost\r\n"
        + "Authorization: Bearer \(Self.decider)\r\n\r\n", [])
    #expect(erased?.status == 200, "\(erased?.text ?? "")")
    #expect(try served.daemon.stop().code == 0)
    #expect(try served.installation.run("verify").code == 0)
    for (name, file) in try served.installation.files() {
      #expect(file.range(of: Data("user-1".utf8)) == nil, "\(name)")
    }
  }

  @Test func `a rebuild reads what was said, and so does a ledger that imports the journal`() throws
  {
    let served = try Served()
    #expect(try served.post(Self.path, Self.word).status == 200)
    #expect(try served.daemon.stop().code == 0)
    let answered = try served.installation.run(
      "refunds", "answer", "70021", "--consented", "yes", "--prefer", "DECLINE")
    #expect(answered.code == 0 && answered.output.contains("journaled"), "\(answered)")
    func rows() throws -> String {
      try served.installation.run(
        "query", "SELECT * FROM refund_request_v1 ORDER BY transaction_id", "--json"
      ).output
    }
    let before = try rows()
    #expect(before.contains("DECLINE") && before.contains("\"customer_consented\":1"))
    #expect(try served.installation.run("rebuild", "--apply").code == 0)
    #expect(try rows() == before)
    #expect(try served.installation.run("refunds", "answer", "70021").code == 2)
    #expect(
      try served.installation.run("refunds", "answer", "1", "--consented", "yes").code == 1)
  }

  @Test func `a trial says what policies would have answered`() throws {
    let served = try Served()
    #expect(try served.post(Self.path, Self.word).status == 200)
    let policies = #"""
      {"refunds":{"policies":[
      {"name":"used up","said_consumed_at_least":100000,"delivery":"DELIVERED","sample":true,
      "prefer":"DECLINE"},
      {"name":"surprise","reasons":["UNINTENDED_PURCHASE"],"bought_within_hours":24,
      "refunds_before_at_most":0,"delivery":"DELIVERED","sample":true,"prefer":"GRANT_FULL"}]}}
      """#
    let file = served.installation.folder.appending(path: "policies.json")
    try Data(policies.utf8).write(to: file)
    let trial = try served.installation.run("refunds", "try", file.path)
    #expect(trial.code == 0, "\(trial)")
    for line in ["used up: DECLINE", "surprise: GRANT_FULL"] {
      #expect(trial.output.contains(line), "\(line) \(trial)")
    }
    #expect(trial.errors.contains("of 1 request nobody said"), "\(trial)")
  }
}
