import AppStore
import Testing

/// The descriptions of Apple's values.
@Suite struct ValueDescriptionsTests {
  @Test func `a known value is followed by its description`() {
    #expect(ValueDescriptions.offerType.text("4") == "4 (win-back)")
    #expect(ValueDescriptions.ownership["ASSIGNED"] == "a seat that was assigned to the customer")
    #expect(
      ValueDescriptions.revocationType.list
        == "REFUND_FULL (refunded in full), REFUND_PRORATED (refunded in part), "
        + "FAMILY_REVOKE (family sharing ended), ASSIGNMENT_REVOKE (assigned seat withdrawn)")
  }

  @Test func `an unknown value stays as Apple wrote it`() {
    #expect(ValueDescriptions.offerType.text("5") == "5")
    #expect(ValueDescriptions.offerDiscountType["one_time"] == nil)
    #expect(ValueDescriptions.ownership.text("") == "")
  }
}
