import AppStore
import StrictJSON
import Testing

/// Decoding of the renewal information in V2 notifications.
@Suite struct RenewalInfoTests {
  private static let members: Members = [
    "originalTransactionId": .string("1"), "productId": .string("a"),
    "autoRenewProductId": .string("b"), "autoRenewStatus": .integer(1),
    "renewalDate": .integer(2_000), "expirationIntent": .integer(2),
    "isInBillingRetryPeriod": .boolean(true), "gracePeriodExpiresDate": .integer(3_000),
    "priceIncreaseStatus": .integer(0), "appAccountToken": .string("t"),
    "appTransactionId": .string("70"), "signedDate": .integer(1_100),
    "commitmentInfo": .object([("commitmentAutoRenewStatus", .integer(1))]),
    "renewalPrice": .integer(9_990), "currency": .string("USD"), "offerType": .integer(2),
    "offerIdentifier": .string("o"), "offerDiscountType": .string("PAY_AS_YOU_GO"),
    "offerPeriod": .string("P1M"), "renewalQuantity": .integer(5),
    "eligibleWinBackOfferIds": .array([.string("back"), .integer(1)]),
    "multiSeatInfo": .object([
      ("renewalPriceTiers", .array([.object([("price", .integer(7)), ("quantity", .integer(5))])]))
    ]),
  ]

  private func decode(_ members: Members) throws -> RenewalInfo {
    try RenewalInfo(members.parsed(), outerSignedDate: 9_000)
  }

  @Test func `every member is decoded`() throws {
    var expected = RenewalInfo()
    expected.originalTransactionId = "1"
    (expected.productId, expected.autoRenewProductId) = ("a", "b")
    (expected.autoRenewStatus, expected.expirationIntent) = (1, 2)
    (expected.renewalDate, expected.gracePeriodExpiresDate) = (2_000, 3_000)
    expected.isInBillingRetryPeriod = true
    (expected.priceIncreaseStatus, expected.commitmentAutoRenewStatus) = (0, 1)
    (expected.appAccountToken, expected.appTransactionId) = ("t", "70")
    expected.signedDate = 1_100
    (expected.terms.renewalPrice, expected.terms.currency) = (9_990, "USD")
    (expected.terms.offerType, expected.terms.offerIdentifier) = (2, "o")
    (expected.terms.offerDiscountType, expected.terms.offerPeriod) = ("PAY_AS_YOU_GO", "P1M")
    (expected.terms.renewalQuantity, expected.terms.eligibleWinBackOfferIds) = (5, ["back"])
    var (seats, tier) = (SeatInfo(), SeatInfo.Tier())
    (tier.price, tier.quantity) = (7, 5)
    seats.renewalPriceTiers = [tier]
    expected.terms.multiSeatInfo = seats
    #expect(try decode(Self.members) == expected)
  }

  @Test func `unknown members and members of another kind are ignored`() throws {
    var expected = RenewalInfo()
    expected.signedDate = 9_000
    #expect(try decode([:]) == expected)
    let members: Members = [
      "new": .array([]), "productId": .integer(1), "autoRenewStatus": .string("1"),
      "renewalDate": .string("soon"), "isInBillingRetryPeriod": .integer(1),
      "commitmentInfo": .integer(1), "signedDate": .null,
    ]
    #expect(try decode(members) == expected)
  }

  @Test func `a date with a fraction is truncated`() throws {
    let members = Self.members.with("renewalDate", .number("1767225600123.75"))
    #expect(try decode(members).renewalDate == 1_767_225_600_123)
  }

  @Test func `dates that are texts of digits are numbers, and an empty token is none`() throws {
    var (numbers, texts) = (Self.members.with("appAccountToken", nil), Self.members)
    texts["appAccountToken"] = .string("")
    for name in ["renewalDate", "gracePeriodExpiresDate", "signedDate"] {
      numbers[name] = .integer(1_767_225_600_123)
      texts[name] = .string("1767225600123")
    }
    #expect(try decode(texts) == decode(numbers))
  }

  @Test func `NUL in the original transaction id is refused`() {
    #expect(throws: PayloadFault.nul) {
      try decode(Self.members.with("originalTransactionId", .string("1\0")))
    }
  }
}
