public import AppStore
import Entitlements
public import Platform
public import Queries
import Store

/// The customers of one app in one environment, page by page.
public struct CustomerPages {
  private let environment: Environment
  private let bundleId: String
  /// Rows that are still to be listed.
  private var parts: [Part]
  private var after: StreamKey?
  private static let pageLength = 1_000

  /// Rows of one status, nil: of any, and which of them are wanted.
  private struct Part {
    let status: Entitlement.Status?
    let isWanted: (RowDocument, _ now: Int64) -> Bool
  }

  /// - Parameter endedBefore: only customers that are due (`DueCustomer`), where a silence counts
  ///   from this end on, milliseconds since 1970. Nil: every customer with a row.
  public init(_ environment: Environment, bundleId: String, endedBefore: Int64? = nil) {
    (self.environment, self.bundleId) = (environment, bundleId)
    guard let endedBefore else {
      parts = [Part(status: nil) { _, _ in true }]
      return
    }
    // Those whose rows are likely to be wrong now do not wait for the many that ended before.
    let urgent: [Entitlement.Status] = [.gracePeriod, .billingRetry, .expired, .active]
    let ended: [Entitlement.Status] = [.expired, .billingRetry, .gracePeriod, .revoked]
    parts =
      urgent.map { status in
        Part(status: status) { row, _ in DueCustomer(row).isUrgent(endedBefore: endedBefore) }
      }
      + ended.map { status in
        Part(status: status) { row, now in
          let customer = DueCustomer(row)
          return customer.endedSomeTimeAgo(at: now) && !customer.isUrgent(endedBefore: endedBefore)
        }
      }
  }

  /// The customers of the next page, which may be none.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Returns: nil after the last page.
  /// - Throws: `LedgerError` if no list can be read.
  public mutating func next(
    _ reader: LedgerReader, at now: Int64
  ) throws(LedgerError) -> [StreamKey]? {
    guard let part = parts.first else { return nil }
    var filter = LedgerReader.Filter()
    (filter.environment, filter.bundleId) = (environment, bundleId)
    filter.statuses = part.status.map { [$0] } ?? []
    let page = try reader.list(
      filter, after: after, limit: Self.pageLength, LedgerReader.Question(now: now))
    after = page.next
    if page.next == nil { parts.removeFirst() }
    return page.rows.filter { part.isWanted($0, now) }.map(\.key)
  }
}
