import AppStore
import Entitlements
import Testing

@testable import Store

/// Which status gives access is a rule of the fold: a stored row says what its fold answered.
struct StoredStatusTests {
  private static let pairs = Entitlement.Status.allCases.flatMap { status in
    [(status, false), (status, true)]
  }

  @Test func `each status is stored with access and without by an id of its own`() {
    #expect(StoredStatus.all.count == Self.pairs.count)
    for (status, givesAccess) in Self.pairs {
      let id = StoredStatus.id(of: status, givesAccess: givesAccess)
      let found = StoredStatus.with(id: id)
      #expect(found?.status == status && found?.givesAccess == givesAccess, "\(status)")
    }
  }

  /// The ids are in files, which other builds read, and the views name two of them.
  @Test func `the ids are those of all builds`() {
    let ids = Self.pairs.map { StoredStatus.id(of: $0, givesAccess: $1) }
    #expect(ids == [5, 0, 6, 1, 2, 7, 3, 8, 4, 9])
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
        return SetDigest(key: key, content: RowSums(row).content, state: [])
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
