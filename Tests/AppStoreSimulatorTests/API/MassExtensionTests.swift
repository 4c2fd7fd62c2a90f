import HTTPServer
import StrictJSON
import Support
import Synchronization
import Testing

@testable import AppStoreSimulator

/// The extension of the renewal dates of all active subscribers, and its status.
@Suite struct MassExtensionTests {
  private static let path = "/inApps/v1/subscriptions/extend/mass"
  private static let product = "pro.monthly"
  private static let identifiers = (1...4).map { "6a1b0c9e-0000-4000-8000-00000000000\($0)" }

  private func body(_ identifier: String, _ more: String = "", days: Int = 10) -> String {
    #"{"extendByDays":\#(days),"extendReasonCode":3,"requestIdentifier":"\#(identifier)","#
      + #""productId":"\#(Self.product)"\#(more)}"#
  }

  private func status(_ running: LocalAppStore, _ identifier: String) throws -> Client.Answer {
    try running.get(Self.path + "/\(Self.product)/" + identifier)
  }

  /// The payloads of the newest notifications of a type, by what they are about.
  private func notifications(_ running: LocalAppStore, _ type: String) throws -> [JSONElement] {
    let (start, end) = (LocalAppStore.now() - 2 * 86_400_000, LocalAppStore.now() + 3_600_000)
    return try running.allItems(
      #"{"startDate":\#(start),"endDate":\#(end),"notificationType":"\#(type)"}"#
    ).map { try payload($0["signedPayload"]) }
  }

  @Test func `every active subscriber is extended and told of, and a summary follows`() throws {
    let receiver = Receiver()
    let target = try receiver.start()
    defer { target.drain(within: 0) }
    let running = try LocalAppStore(
      customers: 60, days: 120, behind: 1, notify: "http://127.0.0.1:\(target.port)")
    let identifier = Self.identifiers[0]
    let asked = try running.ask("POST", Self.path, body(identifier))
    #expect(asked.status == 200 && asked.json?["requestIdentifier"]?.string == identifier)
    let early = try #require(try status(running, identifier).json)
    #expect(early["complete"]?.boolean == false && early["succeededCount"] == nil)
    _ = try running.control(#"{"advance":61000}"#)
    let done = try #require(try status(running, identifier).json)
    #expect(done["requestIdentifier"]?.string == identifier && done["complete"]?.boolean == true)
    let succeeded = try #require(done["succeededCount"]?.integer)
    #expect(succeeded > 3 && done["failedCount"]?.integer == 0)
    let told = try notifications(running, "RENEWAL_EXTENDED")
    #expect(told.count == Int(succeeded))
    for each in told {
      let data = try #require(each["data"])
      let transaction = try payload(data["signedTransactionInfo"])
      #expect(transaction["productId"]?.string == Self.product)
      #expect(try payload(data["signedRenewalInfo"])["renewalDate"]?.integer != nil)
      // What is asked now says the same.
      let id = try #require(transaction["transactionId"]?.string)
      let info = try #require(try running.get("/inApps/v1/transactions/" + id).json)
      let now = try payload(info["signedTransactionInfo"])
      #expect(now["expiresDate"]?.integer == transaction["expiresDate"]?.integer)
    }
    let summaries = try notifications(running, "RENEWAL_EXTENSION")
    #expect(summaries.map { $0["subtype"]?.string } == ["SUMMARY"])
    let summary = try #require(summaries.first?["summary"])
    #expect(summary["requestIdentifier"]?.string == identifier)
    #expect(summary["succeededCount"]?.integer == succeeded)
    #expect(summary["productId"]?.string == Self.product)
    #expect(summary["environment"]?.string == "Production" && summaries[0]["data"] == nil)
    // Told again it is only answered.
    #expect(try running.ask("POST", Self.path, body(identifier)).status == 200)
    #expect(try notifications(running, "RENEWAL_EXTENDED").count == Int(succeeded))
    let bodies = receiver.bodies.withLock { $0 }
    #expect(bodies.count >= Int(succeeded) + 1, "they are sent too")
  }

  @Test func `who was extended twice in a year, or all, fail and are told of`() throws {
    let running = try LocalAppStore(customers: 40, days: 120)
    for identifier in Self.identifiers.prefix(3) {
      #expect(try running.ask("POST", Self.path, body(identifier, days: 30)).status == 200)
    }
    _ = try running.control(#"{"advance":61000}"#)
    let third = try #require(try status(running, Self.identifiers[2]).json)
    let failed = try #require(third["failedCount"]?.integer)
    #expect(failed > 0 && third["succeededCount"]?.integer == 0)
    let told = try notifications(running, "RENEWAL_EXTENSION")
    #expect(told.count { $0["subtype"]?.string == "FAILURE" } == Int(failed))
    #expect(told.count { $0["subtype"]?.string == "SUMMARY" } == 3)
    _ = try running.control(#"{"extends":false}"#)
    let country = #","storefrontCountryCodes":["USA"]"#
    #expect(try running.ask("POST", Self.path, body(Self.identifiers[3], country)).status == 200)
    _ = try running.control(#"{"advance":61000}"#)
    let fourth = try #require(try status(running, Self.identifiers[3]).json)
    let some = try #require(fourth["failedCount"]?.integer)
    #expect(0 < some && some < failed, "only those of one country")
    let summary = try notifications(running, "RENEWAL_EXTENSION").last?["summary"]
    let codes = summary?["storefrontCountryCodes"]?.elements
    #expect(codes?.compactMap(\.string) == ["USA"])
  }

  @Test func `each member that Apple refuses has its error`() throws {
    let running = try LocalAppStore(customers: 1)
    let id = Self.identifiers[0]
    for (body, code) in [
      ("[]", 4_000_000), (body(id, days: 0), 4_000_009), (body(id, days: 91), 4_000_009),
      (#"{"extendByDays":1,"extendReasonCode":4}"#, 4_000_010), (body("x"), 4_000_011),
      (
        #"{"extendByDays":1,"extendReasonCode":0,"requestIdentifier":"\#(id)"}"#, 4_000_023
      ),
      (body(id, #","storefrontCountryCodes":[]"#), 4_000_027),
      (body(id, #","storefrontCountryCodes":["us"]"#), 4_000_028),
      (body(id, #","storefrontCountryCodes":"USA""#), 4_000_028),
    ] as [(String, Int64)] {
      expect(try running.ask("POST", Self.path, body), isError: code)
    }
    expect(try status(running, id), isError: 4_040_009)
    expect(
      try status(running, String(repeating: "1", count: 129)), isError: 4_000_011)
    #expect(try running.ask("POST", Self.path, "{}", type: "text/plain").status == 415)
    #expect(try running.ask("POST", Self.path, body(id)).status == 200)
    expect(try running.get(Self.path + "/other/" + id), isError: 4_040_009)
    expect(try running.get(Self.path + "/\(Self.product)/x"), isError: 4_040_009)
  }
}
