import AppStore
import StrictJSON
import Testing

/// Decoding of the transactions in V2 notifications.
@Suite struct TransactionTests {
  private static let members: Members = [
    "transactionId": .string("2"), "originalTransactionId": .string("1"),
    "purchaseDate": .integer(1_000), "expiresDate": .integer(2_000), "signedDate": .integer(1_100),
  ]

  private func decode(_ members: Members) throws -> Transaction? {
    try Transaction(members.parsed(), outerSignedDate: 9_000)
  }

  @Test func `every member is decoded`() throws {
    let texts: [(String, WritableKeyPath<Transaction, String?>)] = [
      ("previousOriginalTransactionId", \.previousOriginalTransactionId),
      ("webOrderLineItemId", \.webOrderLineItemId), ("appTransactionId", \.appTransactionId),
      ("appAccountToken", \.appAccountToken), ("productId", \.productId),
      ("subscriptionGroupIdentifier", \.subscriptionGroupIdentifier), ("type", \.type),
      ("inAppOwnershipType", \.inAppOwnershipType), ("transactionReason", \.transactionReason),
      ("billingPlanType", \.billingPlanType), ("currency", \.currency),
      ("storefront", \.storefront), ("offerIdentifier", \.offerIdentifier),
      ("offerDiscountType", \.offerDiscountType), ("offerPeriod", \.offerPeriod),
      ("revocationType", \.revocationType),
    ]
    let integers: [(String, WritableKeyPath<Transaction, Int64?>)] = [
      ("quantity", \.quantity), ("price", \.price), ("offerType", \.offerType),
      ("revocationDate", \.revocationDate), ("revocationReason", \.revocationReason),
      ("revocationPercentage", \.revocationPercentage),
    ]
    var members = Self.members.with("isUpgraded", .boolean(true))
    var expected = Transaction()
    (expected.transactionId, expected.originalTransactionId) = ("2", "1")
    (expected.purchaseDate, expected.expiresDate, expected.signedDate) = (1_000, 2_000, 1_100)
    expected.isUpgraded = true
    expected.commitment = Transaction.Commitment(
      billingPeriodNumber: 2, totalBillingPeriods: 12, commitmentExpiresDate: 3_000)
    members["commitmentInfo"] = .object([
      ("billingPeriodNumber", .integer(2)), ("totalBillingPeriods", .integer(12)),
      ("commitmentExpiresDate", .integer(3_000)),
    ])
    for (name, member) in texts {
      members[name] = .string("the " + name)
      expected[keyPath: member] = "the " + name
    }
    for (index, (name, member)) in integers.enumerated() {
      members[name] = .integer(Int64(index))
      expected[keyPath: member] = Int64(index)
    }
    #expect(try decode(members) == expected)
  }

  @Test func `unknown members and members of another kind are ignored`() throws {
    let plain = try decode(Self.members)
    let members = Self.members.with("new", .object([("productId", .string("p"))]))
      .with("productId", .integer(1)).with("price", .string("9990")).with("quantity", .null)
      .with("isUpgraded", .string("true")).with("commitmentInfo", .array([]))
    #expect(try decode(members) == plain)
  }

  @Test(arguments: ["transactionId", "purchaseDate"])
  func `a transaction without id or purchase date is not used`(_ name: String) throws {
    for value in [nil, .null, .boolean(true), .string("")] as [JSONValue?] {
      #expect(try decode(Self.members.with(name, value)) == nil)
    }
  }

  @Test func `the notification's signedDate is used if there is no other`() throws {
    #expect(try decode(Self.members.with("signedDate", nil))?.signedDate == 9_000)
  }

  @Test func `a date with a fraction is truncated`() throws {
    let members = Self.members.with("purchaseDate", .number("1767225600123.75"))
    #expect(try decode(members)?.purchaseDate == 1_767_225_600_123)
  }

  @Test func `dates that are texts of digits are numbers`() throws {
    let commitment = [("billingPeriodNumber", 2), ("totalBillingPeriods", 12)].map {
      ($0.0, JSONValue.integer($0.1))
    }
    var (numbers, texts) = (Self.members, Self.members)
    for name in ["purchaseDate", "expiresDate", "signedDate", "revocationDate"] {
      numbers[name] = .integer(1_767_225_600_123)
      texts[name] = .string("1767225600123")
    }
    numbers["commitmentInfo"] = .object(commitment + [("commitmentExpiresDate", .integer(3_000))])
    texts["commitmentInfo"] = .object(commitment + [("commitmentExpiresDate", .string("3000"))])
    #expect(try decode(texts) == decode(numbers))
  }

  @Test func `an empty account token is none`() throws {
    let token = Self.members.with("appAccountToken", .string(""))
    #expect(try decode(token) == decode(Self.members))
  }

  /// Promise 8: such a transaction must not count as one that never expires.
  @Test func `an expiresDate that is not a date counts as past`() throws {
    for text in [
      "", "never", "-2000", "+2000", " 2000", "2e3", "2026-01-01", "9223372036854775808",
    ] {
      #expect(try decode(Self.members.with("expiresDate", .string(text)))?.expiresDate == .min)
    }
    #expect(try decode(Self.members.with("expiresDate", .number("1e300")))?.expiresDate == .min)
    for value in [nil, .null] as [JSONValue?] {
      let transaction = try #require(try decode(Self.members.with("expiresDate", value)))
      #expect(transaction.expiresDate == nil)
    }
  }

  @Test(arguments: ["transactionId", "originalTransactionId"])
  func `NUL in an identifier is refused`(_ name: String) {
    #expect(throws: PayloadFault.nul) {
      try decode(Self.members.with(name, .string("1\0")))
    }
  }
}
