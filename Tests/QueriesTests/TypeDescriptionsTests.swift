import AppStore
import Entitlements
import Queries
import Store
import Support
import Testing

/// The English descriptions of notification types and subtypes.
@Suite struct TypeDescriptionsTests {
  /// Subtypes by type, from Apple's documentation of `notificationType` and `subtype`.
  private static let subtypes: [String: Set<String>] = [
    "SUBSCRIBED": ["INITIAL_BUY", "RESUBSCRIBE"], "DID_RENEW": ["BILLING_RECOVERY"],
    "DID_CHANGE_RENEWAL_PREF": ["UPGRADE", "DOWNGRADE"],
    "DID_CHANGE_RENEWAL_STATUS": ["AUTO_RENEW_ENABLED", "AUTO_RENEW_DISABLED"],
    "OFFER_REDEEMED": ["UPGRADE", "DOWNGRADE", "INITIAL_BUY", "RESUBSCRIBE"],
    "DID_FAIL_TO_RENEW": ["GRACE_PERIOD"],
    "EXPIRED": ["VOLUNTARY", "BILLING_RETRY", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE"],
    "PRICE_INCREASE": ["PENDING", "ACCEPTED"], "RENEWAL_EXTENSION": ["SUMMARY", "FAILURE"],
    "EXTERNAL_PURCHASE_TOKEN": ["UNREPORTED", "CREATED", "ACTIVE_TOKEN_REMINDER"],
    "REFUND": ["SEATS"],
  ]

  @Test func `every type and subtype of Apple has a description`() {
    #expect(Set(TypeDescriptions.subtypes.keys) == NotificationTypes.v2)
    #expect(TypeDescriptions.v1Types == NotificationTypes.v1)
    for type in NotificationTypes.v2 {
      #expect(TypeDescriptions.subtypes[type] == Self.subtypes[type] ?? [], "\(type)")
    }
  }

  @Test func `descriptions are short and differ from each other`() throws {
    for type in NotificationTypes.v2 {
      var seen: Set<String> = []
      for subtype in [nil] + Array(Self.subtypes[type] ?? []).map(Optional.some) {
        let found = try #require(TypeDescriptions.of(type, subtype, isV1: false))
        #expect(
          found.isWhole && seen.insert(found.description).inserted, "\(type) \(subtype ?? "")")
        #expect((4...60).contains(found.description.count) && !found.description.contains("_"))
      }
    }
    for type in NotificationTypes.v1 {
      #expect(TypeDescriptions.of(type, nil, isV1: true)?.isWhole == true, "\(type)")
    }
  }

  private func description(_ type: String, _ subtype: String? = nil, source: EventSource = .v2)
    -> String
  {
    let key = StreamKey(environment: "Sandbox", bundleId: "b", originalTransactionId: "1")
    let event = StoredEvent(
      seq: 1,
      envelope: EventEnvelope(
        notificationUUID: NotificationUUID(high: 0, low: 1), source: source, environment: "Sandbox",
        bundleId: "b", notificationType: type, subtype: subtype, originalTransactionId: "1",
        signedDate: 1, receivedAt: 1), body: [], bodySHA256: [], hash: [])
    return History(key, [event], durations: [:]).entries[0].description
  }

  /// REVOKE alone says neither of family sharing nor of a seat which of them ended.
  @Test(
    arguments: [
      "FAMILY_REVOKE": "family sharing ended", "ASSIGNMENT_REVOKE": "assigned seat withdrawn",
      "LEASE_REVOKE": "family sharing ended, or an assigned seat was withdrawn",
    ]) func `a revocation is described by its type`(_ type: String, _ words: String) throws
  {
    var customer = try ScenarioLedger()
    try customer.send(
      "REVOKE", signed: "25-01-10", received: "25-01-10",
      "1000 team.m 25-01-01→25-02-01 bought revoked 25-01-10 \(type)",
      renewal: "ends team.m 25-02-01", status: 5)
    try customer.send(
      "REFUND", signed: "25-01-11", received: "25-01-11",
      "1000 team.m 25-01-01→25-02-01 bought revoked 25-01-10 \(type)",
      renewal: "ends team.m 25-02-01", status: 5)
    let entries = try #require(try customer.ledger.history("1000")).entries
    #expect(entries.map(\.description) == [words, "refunded"])
  }

  @Test func `unknown types and subtypes are shown as Apple wrote them`() {
    #expect(description("DID_RENEW", "BILLING_RECOVERY") == "renewed after billing had failed")
    #expect(description("DID_RECOVER", source: "v1") == "renewed after billing had failed")
    #expect(description("DID_RENEW", "BY_MAGIC") == "renewed (BY_MAGIC)")
    #expect(description("DID_RENEW", "A\u{202E}B") == "renewed (A<U+202E>B)")
    #expect(description("NEW_THING") == "NEW_THING" && description("NEW", "SUB") == "NEW / SUB")
    #expect(description("NEW\u{1B}[2J\u{2066}") == "NEW<U+1B>[2J<U+2066>")
    // EXPIRED only exists in version 2, CANCEL only in version 1.
    #expect(description("EXPIRED", source: "v1") == "EXPIRED" && description("CANCEL") == "CANCEL")
  }
}
