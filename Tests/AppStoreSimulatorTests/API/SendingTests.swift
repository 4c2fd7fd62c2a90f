import HTTPServer
import StrictJSON
import Support
import Synchronization
import Testing

@testable import AppStoreSimulator

/// The notifications that the service sends itself, and what it lists of the attempts.
@Suite struct SendingTests {
  private func results(_ items: [JSONElement]) -> [[String]] {
    items.map { $0["sendAttempts"]?.elements.compactMap { $0["sendAttemptResult"]?.string } ?? [] }
  }

  @Test func `an outage is played, listed, and ended by Apple's retries`() throws {
    let receiver = Receiver()
    let target = try receiver.start()
    defer { target.drain(within: 0) }
    let running = try LocalAppStore(
      customers: 20, days: 60, behind: 10, notify: "http://127.0.0.1:\(target.port)",
      control: #"{"notify":"TLS_ISSUE"}"#)
    let failures = LocalAppStore.body(days: 30, #","onlyFailures":true"#)
    #expect(try running.allItems(failures).isEmpty)
    let during = try running.control(#"{"advance":172800000}"#)
    #expect(during["production"]?["failures"]?.integer ?? 0 > 0)
    let failed = try running.allItems(failures)
    #expect(failed.count > 0 && receiver.bodies.withLock { $0.isEmpty })
    for attempts in results(failed) {
      #expect(1...4 ~= attempts.count && Set(attempts) == ["TLS_ISSUE"])
    }
    _ = try running.control(#"{"notify":true,"advance":345600000}"#)
    // Only the sandbox's stay, which are sent once.
    #expect(try running.allItems(failures).isEmpty)
    let sent = receiver.bodies.withLock { $0 }
    let all = try running.allItems(LocalAppStore.body(days: 30))
    for item in failed {
      let text = try #require(item["signedPayload"]?.string)
      #expect(sent.contains(#"{"signedPayload":"\#(text)"}"#))
      let now = all.first { $0["signedPayload"]?.string == text }
      #expect(now.map { results([$0])[0].last } == "SUCCESS")
      let dates = now?["sendAttempts"]?.elements.compactMap { $0["attemptDate"]?.integer } ?? []
      #expect(dates.count > 1 && dates[1] - dates[0] == 3_600_000)
    }
  }

  @Test func `a refusal and a service that is away are failures`() throws {
    let receiver = Receiver()
    let target = try receiver.start()
    receiver.status.store(500, ordering: .relaxed)
    let running = try LocalAppStore(
      customers: 20, days: 30, behind: 2, notify: "http://127.0.0.1:\(target.port)/")
    _ = try running.control(#"{"advance":86400000}"#)
    target.drain(within: 0)
    _ = try running.control(#"{"advance":80000000}"#)
    let failed = try running.allItems(LocalAppStore.body(days: 30, #","onlyFailures":true"#))
    let found = Set(results(failed).joined())
    #expect(found == ["UNSUCCESSFUL_HTTP_RESPONSE_CODE", "NO_RESPONSE"])
  }

  @Test func `a test notification has a status once it was sent`() throws {
    let receiver = Receiver()
    let target = try receiver.start()
    defer { target.drain(within: 0) }
    let running = try LocalAppStore(customers: 1, notify: "http://127.0.0.1:\(target.port)")
    for environment in ["production", "sandbox"] {
      let asked = try running.ask("POST", "/inApps/v1/notifications/test", on: environment)
      let token = try #require(asked.json?["testNotificationToken"]?.string)
      // When the clock has been advanced, everything that is due was sent.
      _ = try running.control(#"{"advance":1}"#)
      let path = "/inApps/v1/notifications/test/"
      let status = try #require(try running.get(path + token, on: environment).json)
      #expect(results([status]) == [["SUCCESS"]])
      let notification = try payload(status["signedPayload"])
      #expect(notification["notificationType"]?.string == "TEST")
      expect(try running.get(path + "nothing", on: environment), isError: 4_000_020)
      let other = "00000000-0000-4000-8000-000000000000_0"
      expect(try running.get(path + other, on: environment), isError: 4_040_008)
    }
    #expect(receiver.bodies.withLock { $0.count } == 2)
  }

  @Test func `without an address there is no test notification`() throws {
    let running = try LocalAppStore(customers: 1)
    expect(try running.ask("POST", "/inApps/v1/notifications/test"), isError: 4_040_007)
  }

  @Test func `failures before the begin are listed with all their attempts`() throws {
    let running = try LocalAppStore(customers: 10, days: 100, before: "TIMED_OUT")
    let items = try running.allItems(LocalAppStore.body(days: 120))
    #expect(results(items).contains(Array(repeating: "TIMED_OUT", count: 6)))
    #expect(results(items).allSatisfy { Set($0) == ["TIMED_OUT"] })
  }
}
