import AppStore
import Clients
import Platform
import StrictJSON
import Support
import Testing

/// What is asked, and what the answers are read as.
@Suite struct AnswerTests {
  private func fixture(
    _ body: String, in environment: Environment = .production
  ) throws -> Fixture {
    try Fixture(environment) { _ in [.response(200, body)] }
  }

  @Test func `notification history sends its query and reads its page`() throws {
    let fixture = try fixture(
      #"""
      {"notificationHistory":[
        {"signedPayload":"a.b.c","firstSendAttemptResult":"SUCCESS","sendAttempts":[
          {"attemptDate":1,"sendAttemptResult":"TLS_ISSUE"},
          {"attemptDate":2,"sendAttemptResult":"NEW_RESULT"}]},
        {"signedPayload":"d.e.f","sendAttempts":null}],
       "hasMore":true,"paginationToken":"t+/=1"}
      """#)
    let query = NotificationHistoryQuery(startDate: 5, endDate: 9)
    let page = try fixture.client.notificationHistory(query, paginationToken: nil)
    #expect(page.hasMore && page.paginationToken == "t+/=1")
    #expect(page.notifications.map(\.signedPayload) == ["a.b.c", "d.e.f"])
    #expect(page.notifications[0].sendAttempts.map(\.result) == ["TLS_ISSUE", "NEW_RESULT"])
    #expect(page.notifications[0].sendAttempts.map(\.date) == [1, 2])
    #expect(page.notifications[1].sendAttempts.isEmpty)
    let failures = NotificationHistoryQuery(startDate: 5, endDate: 9, onlyFailures: true)
    _ = try fixture.client.notificationHistory(failures, paginationToken: "t+/=1")
    let requests = fixture.server.requests
    #expect(requests.map(\.method) == ["POST", "POST"])
    #expect(requests[0].target == "/inApps/v1/notifications/history")
    #expect(
      requests[1].target == "/inApps/v1/notifications/history?paginationToken=t%2B%2F%3D1")
    #expect(String(decoding: requests[0].body, as: UTF8.self) == #"{"startDate":5,"endDate":9}"#)
    #expect(
      String(decoding: requests[1].body, as: UTF8.self)
        == #"{"startDate":5,"endDate":9,"onlyFailures":true}"#)
    #expect(requests[0].field("Content-Type") == "application/json")
    #expect(requests[0].field("Accept") == "application/json")
    #expect(requests[0].field("User-Agent") == "subledger/1.2")
  }

  @Test func `the proxy of the account is asked in place of Apple`() throws {
    let proxy = try ScriptedServer { _ in [.response(200, #"{"testNotificationToken":"token"}"#)] }
    let account = AppStoreAccount(
      bundleId: Fixture.bundleId, environment: .sandbox,
      service: try #require(ServiceURL("http://127.0.0.1:9")),
      key: AppStoreKey(issuerId: "issuer", keyId: "KEY", signing: try Fixture.key.get()),
      limitShare: 1, proxy: ServiceURL(proxy.address))
    let client = try AppStoreClient(
      account, version: "1.2", policy: .once, cancellation: Cancellation())
    #expect(try client.requestTestNotification() == "token")
    #expect(
      proxy.requests.map(\.target) == ["http://127.0.0.1:9/inApps/v1/notifications/test"])
  }

  @Test func `a test notification is asked for and followed`() throws {
    let asked = try fixture(#"{"testNotificationToken":"token/1"}"#)
    #expect(try asked.client.requestTestNotification() == "token/1")
    let request = try #require(asked.server.requests.first)
    #expect(request.method == "POST" && request.target == "/inApps/v1/notifications/test")
    #expect(request.field("Content-Length") == "0" && request.field("Content-Type") == nil)
    let followed = try fixture(
      #"{"signedPayload":"a.b.c","sendAttempts":[{"attemptDate":1,"sendAttemptResult":"X"}]}"#)
    #expect(try followed.client.testNotificationStatus("token/1").signedPayload == "a.b.c")
    #expect(
      followed.server.requests.first?.target == "/inApps/v1/notifications/test/token%2F1")
  }

  @Test func `subscription statuses are read from every group`() throws {
    let fixture = try fixture(
      #"""
      {"environment":"Production","bundleId":"com.example.app","appAppleId":1,"data":[
        {"subscriptionGroupIdentifier":"g1","lastTransactions":[
          {"originalTransactionId":"1","status":1,"signedTransactionInfo":"t1",
           "signedRenewalInfo":"r1"},
          {"originalTransactionId":"2","status":6,"signedTransactionInfo":"t2"}]},
        {"subscriptionGroupIdentifier":"g2","lastTransactions":[]}]}
      """#)
    let statuses = try fixture.client.subscriptionStatuses("77")
    #expect(statuses.map(\.originalTransactionId) == ["1", "2"])
    #expect(statuses.map(\.status) == [1, 6])
    #expect(statuses.map(\.signedRenewalInfo) == ["r1", nil])
    #expect(statuses.map(\.subscriptionGroupIdentifier) == ["g1", "g1"])
    #expect(fixture.server.requests.first?.target == "/inApps/v1/subscriptions/77")
    #expect(fixture.server.requests.first?.method == "GET")
  }

  @Test func `transaction history sends the revision of the page before`() throws {
    let fixture = try fixture(
      #"{"revision":"r 2","hasMore":true,"environment":"Production","signedTransactions":["a","b"]}"#
    )
    let page = try fixture.client.transactionHistory("77", revision: nil)
    #expect(page.signedTransactions == ["a", "b"] && page.hasMore && page.revision == "r 2")
    _ = try fixture.client.transactionHistory("77", revision: page.revision)
    #expect(
      fixture.server.requests.map(\.target) == [
        "/inApps/v2/history/77", "/inApps/v2/history/77?revision=r%202",
      ])
  }

  @Test func `transactions and app transactions are returned as they are`() throws {
    let info = try fixture(#"{"signedTransactionInfo":"a.b.c"}"#)
    #expect(try info.client.transactionInfo("7") == "a.b.c")
    #expect(info.server.requests.first?.target == "/inApps/v1/transactions/7")
    let app = try fixture(#"{"signedAppTransactionInfo":"d.e.f"}"#, in: .sandbox)
    #expect(try app.client.appTransactionInfo("7") == "d.e.f")
    #expect(app.server.requests.first?.target == "/inApps/v1/transactions/appTransactions/7")
  }

  @Test func `an order is valid, or of no transaction`() throws {
    let valid = try fixture(#"{"status":0,"signedTransactions":["a","b"]}"#)
    #expect(try valid.client.lookUpOrder("MX/1").signedTransactions == ["a", "b"])
    #expect(valid.server.requests.first?.target == "/inApps/v1/lookup/MX%2F1")
    let invalid = try fixture(#"{"status":1,"signedTransactions":["a"]}"#)
    let order = try invalid.client.lookUpOrder("MX1")
    #expect(!order.isValid && order.signedTransactions.isEmpty)
    let short = try fixture(#"{"status":1}"#)
    #expect(try !short.client.lookUpOrder("MX1").isValid)
  }

  @Test func `the sandbox is never asked for an order`() throws {
    let fixture = try fixture("{}", in: .sandbox)
    let error = #expect(throws: AppStoreError.self) { try fixture.client.lookUpOrder("MX1") }
    #expect(error?.reason == .unavailable && fixture.server.connections == 0)
  }

  @Test(arguments: [
    "", "<html>canary</html>", "[]", "null", "{", #"{"revision":"r"}"#,
    #"{"revision":1,"hasMore":false}"#, #"{"revision":"r","hasMore":1}"#,
    #"{"revision":"r","hasMore":false,"signedTransactions":"canary"}"#,
    #"{"revision":"r","hasMore":false,"signedTransactions":[1]}"#,
    #"{"revision":"r","hasMore":false,"hasMore":true}"#,
    #"{"revision":"r","hasMore":false,"environment":"Sandbox"}"#,
    #"{"revision":"r","hasMore":false,"environment":7}"#,
    #"{"revision":"r","hasMore":false,"bundleId":"com.example.canary"}"#,
    #"{"revision":"r","hasMore":true,"signedTransactions":[]}"#,
  ]) func `an answer that is not as documented is an error that shows nothing of it`(
    body: String
  ) throws {
    let fixture = try fixture(body)
    let error = try #require(throws: AppStoreError.self) {
      try fixture.client.transactionHistory("7", revision: "r")
    }
    guard case .answer = error.reason else { return #expect(Bool(false), "\(error)") }
    #expect(!"\(error)".contains("canary"))
    #expect(fixture.server.requests.count == 3, "a proxy may have answered: bounded attempts")
  }

  @Test func `pages that lead nowhere are an error`() throws {
    let empty = try fixture(#"{"notificationHistory":[],"hasMore":true,"paginationToken":"t"}"#)
    let query = NotificationHistoryQuery(startDate: 5, endDate: 9)
    #expect(try empty.client.notificationHistory(query, paginationToken: nil).hasMore)
    #expect(throws: AppStoreError.self) {
      try empty.client.notificationHistory(query, paginationToken: "t")
    }
    let lost = try fixture(#"{"notificationHistory":[],"hasMore":true}"#)
    #expect(throws: AppStoreError.self) {
      try lost.client.notificationHistory(query, paginationToken: nil)
    }
  }
}
