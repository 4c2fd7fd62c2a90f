import AppStore
import StrictJSON
import Testing

/// What may be told to Apple about a purchase whose refund is asked for.
@Suite struct ConsumptionInformationTests {
  typealias Information = ConsumptionInformation
  typealias Rule = Information.Rule

  private static func bought(
    _ type: String?, _ ownership: String? = "PURCHASED", advanced: Bool = false
  ) -> Transaction {
    var transaction = Transaction()
    (transaction.type, transaction.inAppOwnershipType) = (type, ownership)
    if advanced { transaction.advancedCommerce = AdvancedCommerce() }
    return transaction
  }

  private static let types = [
    ProductType.autoRenewable, ProductType.nonRenewing, ProductType.consumable,
    ProductType.nonConsumable, "Another", nil,
  ]

  private static let all = Information.Delivery.allCases.flatMap { delivery in
    [nil, -1, 0, 1, 50_000, 99_999, 100_000, 100_001, .max, .min].flatMap { percentage in
      ([nil] + Information.Preference.allCases).map {
        Information(
          delivery, sampleContentProvided: true, consumptionPercentage: percentage, preference: $0)
      }
    }
  }

  @Test func `the body has Apple's members and leaves out what is not said`() {
    var information = Information(.serverOutage, sampleContentProvided: false)
    #expect(
      information.json.text
        == #"{"customerConsented":true,"sampleContentProvided":false,"#
        + #""deliveryStatus":"UNDELIVERED_SERVER_OUTAGE"}"#)
    information.consumptionPercentage = 0
    information.preference = .full
    #expect(
      information.json.text.hasSuffix(
        #","consumptionPercentage":0,"refundPreference":"GRANT_FULL"}"#)
    )
  }

  /// (type, delivery, percentage, preference), and what Apple's pages say of it.
  @Test(
    arguments: [
      (ProductType.autoRenewable, .delivered, nil, .prorated, nil),
      (ProductType.autoRenewable, .delivered, 0, .decline, .renewablePercentage),
      (ProductType.autoRenewable, .other, nil, .full, nil),
      (ProductType.consumable, .delivered, nil, .full, nil),
      (ProductType.consumable, .delivered, 100_000, .decline, nil),
      (ProductType.consumable, .delivered, 100_001, nil, .percentageOutOfRange),
      (ProductType.consumable, .delivered, -1, nil, .percentageOutOfRange),
      (ProductType.consumable, .wrongItem, 0, .full, nil),
      (ProductType.consumable, .qualityIssue, 1, .full, .undeliveredPercentage),
      (ProductType.nonConsumable, .delivered, 1, .prorated, nil),
      (ProductType.nonConsumable, .delivered, 99_999, .prorated, nil),
      (ProductType.nonConsumable, .delivered, 0, .prorated, .proratedWithoutPercentage),
      (ProductType.nonRenewing, .delivered, 100_000, .prorated, .proratedWithoutPercentage),
      (ProductType.nonRenewing, .delivered, nil, .prorated, .proratedWithoutPercentage),
    ] as [(String, Information.Delivery, Int64?, Information.Preference?, Rule?)])
  func `each rule refuses what Apple refuses`(
    type: String, delivery: Information.Delivery, percentage: Int64?,
    preference: Information.Preference?, rule: Rule?
  ) {
    let information = Information(
      delivery, sampleContentProvided: true, consumptionPercentage: percentage,
      preference: preference)
    #expect(information.refusal(for: Self.bought(type)) == rule)
  }

  @Test func `nothing is sent about a purchase that another one paid for or Apple excludes`() {
    for (transaction, rule) in [
      (Self.bought(ProductType.consumable, "FAMILY_SHARED"), Rule.familyShared),
      (Self.bought(ProductType.autoRenewable, "ASSIGNED"), .assigned),
      (Self.bought(ProductType.autoRenewable, nil, advanced: true), .advancedCommerce),
    ] {
      for information in Self.all {
        let allowed = information.allowed(for: transaction)
        #expect(allowed.information == nil && allowed.refusals == [rule])
      }
    }
  }

  /// Written from Apple's pages, not from the rules' code.
  private static func violates(_ information: Information, _ transaction: Transaction) -> Bool {
    let isRenewable = transaction.type == ProductType.autoRenewable
    let isOther = transaction.type.map(Set(types.dropFirst().prefix(3)).contains) ?? false
    let percentage = information.consumptionPercentage
    return percentage != nil && !isOther
      || percentage.map { $0 < 0 || $0 > 100_000 } ?? false
      || information.delivery != .delivered && percentage ?? 0 != 0
      || information.preference == .prorated
        && (isRenewable ? percentage != nil : !(percentage ?? 0 > 0 && percentage ?? 0 < 100_000))
  }

  @Test func `what is sent instead is allowed, and as near as the rules permit`() {
    for type in Self.types {
      let transaction = Self.bought(type)
      for information in Self.all {
        let (allowed, refusals) = information.allowed(for: transaction)
        guard let allowed else {
          Issue.record("nothing is sent instead of \(information)")
          continue
        }
        #expect(!Self.violates(allowed, transaction), "\(allowed)")
        #expect(Self.violates(information, transaction) == !refusals.isEmpty)
        #expect((allowed == information) == refusals.isEmpty)
        #expect(allowed.delivery == information.delivery && allowed.sampleContentProvided)
        if information.preference != .prorated {
          #expect(allowed.preference == information.preference)
        }
      }
    }
  }

  @Test(
    arguments: [
      (0, .full), (100_000, .decline), (40_000, .prorated), (nil, nil), (-1, nil), (100_001, nil),
    ] as [(Int64?, Information.Preference?)])
  func `a prorated refund falls back to what the percentage means`(
    percentage: Int64?, preference: Information.Preference?
  ) {
    let information = Information(
      .delivered, sampleContentProvided: true, consumptionPercentage: percentage,
      preference: .prorated)
    let allowed = information.allowed(for: Self.bought(ProductType.consumable)).information
    #expect(allowed?.preference == preference)
  }
}
