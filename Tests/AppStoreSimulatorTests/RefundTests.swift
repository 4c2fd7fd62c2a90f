import StrictJSON
import Testing

@testable import AppStoreSimulator

/// Requests for refunds: what Apple refuses to be told.
@Suite struct RefundTests {
  private static let told =
    #""customerConsented":true,"deliveryStatus":"DELIVERED","sampleContentProvided":false"#

  private static func answer(
    _ body: String, about transaction: [(String, JSONValue)]
  ) throws -> RefundAnswer {
    let root = try JSONDocument(parsing: Array("{\(body)}".utf8)).root
    return try RefundAnswer(root, about: .object(transaction))
  }

  private static func purchase(
    _ kind: Product.Kind = .consumable, _ ownership: String = "PURCHASED"
  ) -> [(String, JSONValue)] {
    [("type", .string(kind.rawValue)), ("inAppOwnershipType", .string(ownership))]
  }

  @Test(
    arguments: [
      ("", .numbered(.invalidConsent)), (#""customerConsented":false"#, .numbered(.invalidConsent)),
      (#""customerConsented":"true""#, .numbered(.invalidConsent)),
      (#""customerConsented":true"#, .numbered(.invalidDelivery)),
      (#""customerConsented":true,"deliveryStatus":0"#, .numbered(.invalidDelivery)),
      (#""customerConsented":true,"deliveryStatus":"UNDELIVERED""#, .numbered(.invalidDelivery)),
      (#""customerConsented":true,"deliveryStatus":"DELIVERED""#, .numbered(.invalidSample)),
      (told + #","refundPreference":"NO_PREFERENCE""#, .numbered(.invalidPreference)),
      (told + #","refundPreference":1"#, .numbered(.invalidPreference)),
      (told + #","refundPreference":"GRANT_PRORATED""#, .numbered(.invalidPreference)),
      (
        told + #","refundPreference":"GRANT_PRORATED","consumptionPercentage":0"#,
        .numbered(.invalidPreference)
      ),
      (
        told + #","refundPreference":"GRANT_PRORATED","consumptionPercentage":100000"#,
        .numbered(.invalidPreference)
      ),
      (told + #","consumptionPercentage":-1"#, .named("ConsumptionPercentageOutOfRangeError")),
      (told + #","consumptionPercentage":100001"#, .named("ConsumptionPercentageOutOfRangeError")),
      (told + #","consumptionPercentage":0.5"#, .named("ConsumptionPercentageOutOfRangeError")),
      (
        told.replacing("DELIVERED", with: "UNDELIVERED_OTHER") + #","consumptionPercentage":1"#,
        .named("UndeliveredConsumptionPercentageNonZeroError")
      ),
    ] as [(String, RefundAnswer.Refusal)])
  func `what Apple refuses is refused`(_ body: String, _ refusal: RefundAnswer.Refusal) {
    #expect(throws: refusal) { try Self.answer(body, about: Self.purchase(.nonRenewing)) }
  }

  @Test func `a subscription takes no percentage, and zero is one`() {
    for percentage in [0, 1] {
      let body = Self.told + #","consumptionPercentage":\#(percentage)"#
      #expect(throws: RefundAnswer.Refusal.numbered(.percentageOfSubscription)) {
        try Self.answer(body, about: Self.purchase(.autoRenewable))
      }
    }
  }

  @Test func `purchases of members and of the Advanced Commerce API are refused`() {
    let advanced = Self.purchase() + [("advancedCommerceInfo", .object([]))]
    for (purchase, refusal) in [
      (Self.purchase(.autoRenewable, "FAMILY_SHARED"), .numbered(.familyNotSupported)),
      (Self.purchase(.autoRenewable, "ASSIGNED"), .numbered(.assignedNotSupported)),
      (advanced, .named("AdvancedCommerceTransactionNotSupportedError")),
    ] as [([(String, JSONValue)], RefundAnswer.Refusal)] {
      #expect(throws: refusal) { try Self.answer(Self.told, about: purchase) }
    }
  }
}
