public import AppStore
import Entitlements
import JournalStore
public import LedgerQueries

/// The customers of one app in one environment, page by page.
public struct CustomerPages {
  private let environment: Environment
  private let bundleId: String
  /// Only those that are due: nil for all.
  private let endedBefore: Int64?
  /// The statuses that are still to be listed; nil in it: all at once.
  private var statuses: [Entitlement.Status?]
  private var after: StreamKey?
  private static let pageLength = 1_000

  /// - Parameter endedBefore: only customers that are due: those whose paid period ended before
  ///   this time, milliseconds since 1970, who renew, and of whom Apple has said nothing since.
  ///   Nil: every customer with a row.
  public init(_ environment: Environment, bundleId: String, endedBefore: Int64? = nil) {
    (self.environment, self.bundleId, self.endedBefore) = (environment, bundleId, endedBefore)
    // No other status can have a paid period that ended in silence.
    statuses = endedBefore == nil ? [nil] : [.expired, .billingRetry, .gracePeriod]
  }

  /// The customers of the next page, which may be none.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Returns: nil after the last page.
  /// - Throws: `LedgerReader.Failure` if no list can be read.
  public mutating func next(
    _ reader: LedgerReader, at now: Int64
  ) throws(LedgerReader.Failure) -> [StreamKey]? {
    guard let status = statuses.first else { return nil }
    var filter = LedgerReader.Filter()
    (filter.environment, filter.bundleId) = (environment, bundleId)
    filter.statuses = status.map { [$0] } ?? []
    let page = try reader.list(
      filter, after: after, limit: Self.pageLength, LedgerReader.Question(now: now))
    after = page.next
    if page.next == nil { statuses.removeFirst() }
    return page.rows.filter(isDue).map(\.key)
  }

  private func isDue(_ row: RowDocument) -> Bool {
    guard let endedBefore else { return true }
    guard let end = row.entitlement.expiresAt, end < endedBefore,
      row.entitlement.autoRenew == true
    else { return false }
    return max(row.lastEvent?.signedDate ?? 0, row.confirmedAt ?? 0) <= end
  }
}
