import HTTPServer
import Platform
import StrictJSON
import Support
import Synchronization
import Testing

@testable import AppStoreSimulator

/// The service asks about refunds, takes answers, and decides by them.
@Suite struct RefundDeskTests {
  private static let told =
    #""customerConsented":true,"deliveryStatus":"DELIVERED","sampleContentProvided":false"#
  private static let hour: Int64 = 3_600_000

  private func put(_ running: LocalAppStore, _ id: String, _ body: String) throws -> Client.Answer {
    try running.ask("PUT", "/inApps/v2/transactions/consumption/\(id)", body)
  }

  private func books(_ running: LocalAppStore) throws -> [JSONElement] {
    try #require(running.get("/refund-requests").json?["refundRequests"]).elements
  }

  /// Those that can still be answered for some minutes.
  private func open(_ running: LocalAppStore) throws -> [JSONElement] {
    let now = try #require(running.control("{}")["now"]?.integer)
    return try books(running).filter { $0["deadline"]?.integer ?? 0 > now + Self.hour / 6 }
  }

  /// The answer to a request, and the percentage that it must lead to; nil if it is to be declined.
  private func answer(_ request: JSONElement, _ number: Int) -> (body: String, granted: Int64?) {
    let isRenewing = request["type"]?.string == "Auto-Renewable Subscription"
    return switch number % 4 {
    case 0: (Self.told + #","refundPreference":"DECLINE""#, nil)
    case 1: (Self.told + #","refundPreference":"GRANT_FULL""#, 100_000)
    case 2 where !isRenewing:
      (
        Self.told + #","refundPreference":"GRANT_PRORATED","consumptionPercentage":33000"#, 67_000
      )
    case 2: (Self.told.replacing("DELIVERED", with: "UNDELIVERED_OTHER"), 100_000)
    default: (Self.told.replacing("false", with: "true"), nil)
    }
  }

  @Test func `what is told of a purchase decides about its refund`() throws {
    let receiver = Receiver()
    let target = try receiver.start()
    defer { target.drain(within: 0) }
    let running = try LocalAppStore(
      customers: 600, days: 14, behind: 10, refunds: 0.8,
      notify: "http://127.0.0.1:\(target.port)")
    var wanted: [String: Int64?] = [:]
    for turn in 0..<4 {
      for (number, request) in try open(running).enumerated() {
        guard let uuid = request["notificationUUID"]?.string, wanted[uuid] == nil else { continue }
        let id = try #require(request["transactionId"]?.string)
        let (body, granted) = answer(request, number + turn)
        // What is told later replaces it.
        #expect(try put(running, id, "{\(Self.told)}").status == 202)
        let accepted = try put(running, id, "{\(body)}")
        #expect(accepted.status == 202 && accepted.body.isEmpty)
        wanted[uuid] = .some(granted)
      }
      _ = try running.control(#"{"advance":\#(8 * Self.hour)}"#)
    }
    _ = try running.control(#"{"advance":\#(16 * Self.hour)}"#)
    #expect(wanted.count > 20)
    for request in try books(running) {
      let uuid = try #require(request["notificationUUID"]?.string)
      guard let granted = wanted[uuid] else { continue }
      let outcome = try #require(request["outcomes"]?.elements.first)
      let type = granted == nil ? "REFUND_DECLINED" : "REFUND"
      #expect(outcome["notificationType"]?.string == type)
      #expect(outcome["revocationPercentage"]?.integer == granted)
      #expect(
        request["answers"]?.elements.map { $0["counts"]?.boolean } == [false, true], "\(uuid)")
      #expect(request["answers"]?.elements[1]["body"]?["customerConsented"]?.boolean == true)
    }
    try expectAgreement(running, receiver)
  }

  /// Production's books, its notification history and what reached the service tell the same, each
  /// notification once.
  private func expectAgreement(_ running: LocalAppStore, _ receiver: Receiver) throws {
    let signed = try running.allItems(LocalAppStore.body(days: 80)).map { $0["signedPayload"] }
    let uuids = try signed.map { try payload($0)["notificationUUID"]?.string }
    #expect(Set(uuids).count == uuids.count)
    for request in try books(running) {
      for told in [request] + (request["outcomes"]?.elements ?? []) {
        #expect(uuids.contains(told["notificationUUID"]?.string))
      }
    }
    let known = Set(signed.compactMap { $0?.string })
    var arrived: [String] = []
    for body in receiver.bodies.withLock({ $0 }) {
      let element = try JSONDocument(parsing: Array(body.utf8)).root["signedPayload"]
      let data = try payload(element)["data"]
      if data?["environment"]?.string == "Production" {
        arrived.append(try #require(element?.string))
      }
    }
    #expect(Set(arrived).count == arrived.count && known.isSuperset(of: arrived))
    #expect(arrived.count > 100)
  }

  @Test func `a request that arrives late or twice is one request, and waits no longer`() throws {
    let receiver = Receiver()
    let target = try receiver.start()
    defer { target.drain(within: 0) }
    let running = try LocalAppStore(
      customers: 600, days: 14, behind: 10, refunds: 0.8,
      notify: "http://127.0.0.1:\(target.port)", control: #"{"notify":"TIMED_OUT"}"#)
    let before = Set(try books(running).map { $0["notificationUUID"]?.string })
    receiver.status.store(500, ordering: .relaxed)
    _ = try running.control(#"{"notify":true,"advance":\#(10 * Self.hour)}"#)
    receiver.status.store(200, ordering: .relaxed)
    // Apple's second retry comes 13 hours after the first attempt.
    _ = try running.control(#"{"advance":\#(20 * Self.hour)}"#)
    let asked = try books(running).filter { !before.contains($0["notificationUUID"]?.string) }
    let bodies = receiver.bodies.withLock { $0 }
    var copies: [String?: Int] = [:]
    for body in bodies {
      let root = try payload(JSONDocument(parsing: Array(body.utf8)).root["signedPayload"])
      copies[root["notificationUUID"]?.string, default: 0] += 1
    }
    let early = asked.filter { copies[$0["notificationUUID"]?.string] ?? 0 > 1 }
    #expect(!early.isEmpty)
    for request in early {
      let outcome = try #require(request["outcomes"]?.elements.first)
      let decided = try #require(outcome["signedDate"]?.integer)
      let deadline = try #require(request["deadline"]?.integer)
      #expect(deadline < decided && decided < deadline + 4 * Self.hour)
    }
  }

  @Test func `a malformed answer has no number, and one that is too late is kept`() throws {
    let running = try LocalAppStore(
      customers: 60, days: 100, lifecycles: ["family-revoke", "seat"], refunds: 0.5)
    let old = try #require(books(running).first { $0["outcomes"]?.elements.isEmpty == false })
    let id = try #require(old["transactionId"]?.string)
    for body in ["", "{", "[]", "1"] {
      let refused = try put(running, id, body)
      #expect(refused.status == 400 && refused.json?["errorCode"] == nil, "\(refused.text)")
      #expect(refused.field("Content-Type") == "application/json")
    }
    let named = try put(running, id, "{\(Self.told)}")
    #expect(named.status == 202)
    let kept = try #require(books(running).last { $0["transactionId"]?.string == id })
    #expect(kept["answers"]?.elements.map { $0["counts"]?.boolean } == [false])
    #expect(try running.get("/refund-requests").json?["answers"]?.integer == 1)
    let app = try #require(old["appTransactionId"]?.string)
    expect(try put(running, app, "{\(Self.told)}"), isError: 4_000_048)
    expect(try put(running, "1", "{\(Self.told)}"), isError: 4_040_010)
    expect(try put(running, "x", "{\(Self.told)}"), isError: 4_000_006)
    for item in try running.allItems(LocalAppStore.body(days: 179)) {
      let data = try payload(item["signedPayload"])["data"]
      guard data?["signedTransactionInfo"] != nil else { continue }
      let bought = try payload(data?["signedTransactionInfo"])
      let refusals: [String: Int64] = ["FAMILY_SHARED": 4_000_185, "ASSIGNED": 4_000_227]
      guard let code = refusals[bought["inAppOwnershipType"]?.string ?? ""] else { continue }
      let member = try #require(bought["transactionId"]?.string)
      expect(try put(running, member, "{\(Self.told)}"), isError: code)
    }
    let v1 = try running.ask("PUT", "/inApps/v1/transactions/consumption/\(id)", "{\(Self.told)}")
    #expect(v1.status == 404 && v1.body.isEmpty)
  }

  @Test func `an error without a known number has Apple's name in its place`() throws {
    let running = try LocalAppStore(customers: 60, days: 100, refunds: 0.5)
    let once = try #require(books(running).first { $0["type"]?.string == "Consumable" })
    let id = try #require(once["transactionId"]?.string)
    let answer = try put(running, id, "{\(Self.told),\"consumptionPercentage\":100001}")
    #expect(answer.status == 400 && answer.json?["errorCode"] == nil)
    #expect(
      answer.json?["errorMessage"]?.string == "ConsumptionPercentageOutOfRangeError")
  }

  @Test func `the call is limited to fifty a second, in the sandbox to five`() {
    for (environment, count) in [(Environment.production, 50), (.sandbox, 5)] {
      var limits = RateLimits(environment)
      let refused = (0...count).map { _ in limits.add(.consumption, at: 1000, .second) }
      #expect(refused.dropLast().allSatisfy { $0 == nil } && refused.last != .some(nil))
    }
  }
}
