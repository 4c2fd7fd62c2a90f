import AppStore
import Clients
import StrictJSON
import Support
import Testing

/// Send Consumption Information.
@Suite struct ConsumptionCallTests {
  private static let information = ConsumptionInformation(
    .delivered, sampleContentProvided: true, consumptionPercentage: 40_000, preference: .prorated)

  @Test func `the information is put at the transaction, and 202 without a body is success`() throws
  {
    let fixture = try Fixture { _ in [.response(202, "", type: nil)] }
    try fixture.client.sendConsumption(Self.information, of: "2000000000000009")
    let request = try #require(fixture.server.requests.first)
    #expect(request.method == "PUT" && fixture.server.requests.count == 1)
    #expect(request.target == "/inApps/v2/transactions/consumption/2000000000000009")
    #expect(request.field("Content-Type") == "application/json")
    #expect(request.field("Authorization")?.hasPrefix("Bearer ") == true)
    #expect(
      String(decoding: request.body, as: UTF8.self)
        == #"{"customerConsented":true,"sampleContentProvided":true,"deliveryStatus":"DELIVERED","#
        + #""consumptionPercentage":40000,"refundPreference":"GRANT_PRORATED"}"#)
  }

  /// Of each answer: whether the same is refused again, and whether it may succeed later.
  @Test(
    arguments: [
      (Fixture.error(4_000_006), true, false), (Fixture.error(4_000_035), true, false),
      (Fixture.error(4_000_185), true, false), (Fixture.error(4_000_209), true, false),
      (Fixture.error(4_000_227), true, false), (Fixture.error(4_000_999), true, false),
      (Fixture.error(4_040_010), true, false), (.response(400, ""), true, false),
      (.response(404, ""), false, false), (.response(403, ""), false, false),
      (.response(401, ""), false, false), (Fixture.error(4_290_000), false, true),
      (Fixture.error(5_000_000), false, true), (Fixture.error(5_000_001), false, true),
      (.response(503, ""), false, true), (.response(200, "{}"), false, true),
      (.close, false, true),
    ] as [(ScriptedServer.Step, Bool, Bool)])
  func `an answer says whether the same may be sent again`(
    answer: ScriptedServer.Step, isRefusal: Bool, isRetryable: Bool
  ) throws {
    let fixture = try Fixture(policy: .once) { _ in [answer] }
    let error = try #require(throws: AppStoreError.self) {
      try fixture.client.sendConsumption(Self.information, of: "1")
    }
    #expect(error.isRefusal == isRefusal && error.isRetryable == isRetryable, "\(error)")
  }
}
