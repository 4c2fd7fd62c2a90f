import AppStore
import Entitlements
import Testing

@testable import Store

/// Which status gives access is a rule of the fold: a stored row says what its fold answered.
struct StoredAccessTests {
  private static let pairs = Entitlement.Status.allCases.flatMap { status in
    [(status, false), (status, true)]
  }

  @Test func `a row with another access has another digest`() throws {
    for status in Entitlement.Status.allCases {
      let shares = [true, false].map { givesAccess in
        var row = EntitlementRow()
        row.spans = [
          EntitlementRow.Span(
            from: .min, status: status, givesAccess: givesAccess, purchase: nil, productId: nil,
            expiresAt: nil, hasGap: false)
        ]
        let key = StreamKey(environment: .production, bundleId: "app", originalTransactionId: "1")
        return SetDigest(key: key, content: RowSums(row, [], key).content, state: [])
      }
      #expect(shares[0] != shares[1], "\(status)")
    }
  }

  @Test func `a row answers with the access that its fold gave`() {
    for (status, givesAccess) in Self.pairs {
      var row = EntitlementRow()
      row.spans = [
        EntitlementRow.Span(
          from: .min, status: status, givesAccess: givesAccess, purchase: nil, productId: nil,
          expiresAt: nil, hasGap: false)
      ]
      #expect(row.entitlement(at: 0)?.givesAccess == givesAccess, "\(status)")
      #expect(row.current(at: 0, durations: [:])?.givesAccess == givesAccess, "\(status)")
    }
  }
}
