import AppStore
import Entitlements
import Queries
import Testing

@testable import Recovery

/// Whom `reconcile --due` asks about. Days count from the end of the paid period.
@Suite struct DueCustomerTests {
  private static let end: Int64 = 1_767_225_600_000

  private static func time(_ day: Double) -> Int64 { end + Int64(day * 86_400_000) }

  private struct Known {
    var status = Entitlement.Status.expired
    var renews: Bool? = false
    var hasGap = false
    var graceUntil: Double?
    var revokedOn: Double?
    /// The newest event, and on which day Apple signed it.
    var last: (type: String, day: Double) = ("SUBSCRIBED", -30)
    var confirmedOn: Double?

    func customer() throws -> DueCustomer {
      var row = EntitlementRow()
      row.autoRenew = renews
      row.gracePeriodExpiresAt = graceUntil.map(DueCustomerTests.time)
      row.revokedAt = revokedOn.map(DueCustomerTests.time)
      row.spans = [
        EntitlementRow.Span(
          from: .min, status: status, givesAccess: Fold.current.givesAccess(status), purchase: nil,
          productId: "basic", expiresAt: end, hasGap: hasGap)
      ]
      let event = StreamState.LastEvent(
        seq: 1, uuid: NotificationUUID(high: 1, low: 1), notificationType: last.type,
        signedDate: DueCustomerTests.time(last.day))
      return DueCustomer(
        RowDocument(
          key: StreamKey(
            environment: .production, bundleId: "com.example.app", originalTransactionId: "1"),
          entitlement: try #require(row.entitlement(at: end)), eventCount: 1, lastEvent: event,
          succeededBy: nil, confirmedAt: confirmedOn.map(DueCustomerTests.time), knownAt: nil))
    }

    func isUrgent(on day: Double, after hours: Double = 24) throws -> Bool {
      try customer().isUrgent(endedBefore: DueCustomerTests.time(day - hours / 24))
    }

    /// On which of the days an end some time ago is a reason.
    func looks(on days: [Double]) throws -> [Double] {
      let customer = try customer()
      return days.filter { customer.endedSomeTimeAgo(at: DueCustomerTests.time($0)) }
    }
  }

  @Test func `a paid period that ended in silence although it renews is urgent`() throws {
    #expect(try Known(renews: true).isUrgent(on: 1.1))
    #expect(try !Known(renews: true).isUrgent(on: 0.9))
    #expect(try !Known(renews: false).isUrgent(on: 1.1))
    #expect(try !Known(renews: true, confirmedOn: 0.5).isUrgent(on: 1.1))
  }

  @Test func `a gap is asked about at once, and once for each thing that Apple tells`() throws {
    for status in [Entitlement.Status.active, .expired] {
      #expect(try Known(status: status, hasGap: true).isUrgent(on: -10))
      #expect(try !Known(status: status).isUrgent(on: -10))
      #expect(try !Known(status: status, hasGap: true, confirmedOn: -20).isUrgent(on: -10))
      #expect(
        try !Known(status: status, hasGap: true, last: ("RENEWAL_INFO", -20)).isUrgent(on: -10))
      // A notification after the answer.
      #expect(
        try Known(
          status: status, hasGap: true, last: ("DID_CHANGE_RENEWAL_PREF", -15), confirmedOn: -20
        ).isUrgent(on: -10))
    }
  }

  @Test func `a grace period without a date is asked about at once`() throws {
    let failed = ("DID_FAIL_TO_RENEW", 0.0)
    #expect(try Known(status: .gracePeriod, last: failed).isUrgent(on: 0.1))
    #expect(try !Known(status: .gracePeriod, graceUntil: 16, last: failed).isUrgent(on: 0.1))
    #expect(try !Known(status: .gracePeriod, last: failed, confirmedOn: 0.2).isUrgent(on: 0.3))
    #expect(try !Known(status: .billingRetry, last: failed).isUrgent(on: 0.1))
  }

  @Test(arguments: [Entitlement.Status.expired, .billingRetry, .gracePeriod], [true, false, nil])
  func `an end is looked at again after a week and after a month, whether or not it renews`(
    status: Entitlement.Status, renews: Bool?
  ) throws {
    let days: [Double] = [0, 6.9, 7, 29.9, 30, 59.9, 60, 1_000]
    var known = Known(status: status, renews: renews)
    #expect(try known.looks(on: days) == [7, 29.9, 30, 59.9])
    // Asked on day 8, then on day 31.
    known.confirmedOn = 8
    #expect(try known.looks(on: days) == [30, 59.9])
    known.confirmedOn = 31
    #expect(try known.looks(on: days) == [])
    // Said a while after the end, and nothing since.
    (known.confirmedOn, known.last) = (nil, ("EXPIRED", 3))
    #expect(try known.looks(on: days) == [7, 29.9, 30, 59.9])
  }

  @Test func `a revocation is an end too`() throws {
    let known = Known(status: .revoked, revokedOn: -20, last: ("REFUND", -20))
    #expect(try known.looks(on: [-14, -13, 9, 10, 39, 40]) == [-13, 9, 10, 39])
  }
}
