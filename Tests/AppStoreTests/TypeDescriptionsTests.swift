import AppStore
import Testing

/// The descriptions of notification types. What the history shows is tested in LedgerQueriesTests.
@Suite struct TypeDescriptionsTests {
  @Test func `every known type has a description`() {
    #expect(Set(TypeDescriptions.subtypes.keys) == NotificationTypes.v2)
    #expect(TypeDescriptions.v1Types == NotificationTypes.v1)
  }

  @Test func `a description tells whether it covers the subtype`() throws {
    let known = try #require(TypeDescriptions.of("DID_RENEW", "BILLING_RECOVERY", isV1: false))
    #expect(known.description == "renewed after billing had failed" && known.isWhole)
    let unknown = try #require(TypeDescriptions.of("DID_RENEW", "NEW_SUBTYPE", isV1: false))
    #expect(unknown.description == "renewed" && !unknown.isWhole)
  }

  @Test func `a type has a description only in its own version`() {
    #expect(TypeDescriptions.of("NEW_TYPE", nil, isV1: false) == nil)
    #expect(TypeDescriptions.of("EXPIRED", nil, isV1: true) == nil)
    #expect(TypeDescriptions.of("CANCEL", nil, isV1: false) == nil)
  }
}
