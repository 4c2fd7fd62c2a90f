import AppStore
import Entitlements
import Queries

/// Whether Apple is to be asked about a customer, by the row. Times are milliseconds since 1970.
///
/// What was asked is remembered by the answer: what Apple signed then is journaled, or it is held
/// and confirms the row (`confirmed_at`). So each reason asks once, until there is something new.
struct DueCustomer {
  private let row: RowDocument

  private static let day: Int64 = 86_400_000
  /// After which time an end is looked at again, and until when that can be made up for: a purchase
  /// of which nothing was told is found by it. What ended long ago is not asked about once more.
  private static let looks = [(from: 7 * day, until: 30 * day), (from: 30 * day, until: 60 * day)]

  init(_ row: RowDocument) { self.row = row }

  /// Whether the row is likely to be wrong now: something that Apple told is known to be missing,
  /// or nothing was told where something had to be.
  ///
  /// - Parameter time: a paid period that ended before it has ended in silence.
  func isUrgent(endedBefore time: Int64) -> Bool {
    let entitlement = row.entitlement
    let isUndated = entitlement.status == .gracePeriod && entitlement.gracePeriodExpiresAt == nil
    if isUndated || entitlement.hasGap, !isAnswered { return true }
    guard let end = entitlement.expiresAt, end < time, entitlement.autoRenew == true else {
      return false
    }
    return heardOf <= end
  }

  /// Whether access ended about a week or a month ago, whether or not it was to renew, and Apple
  /// has said nothing since that week or month.
  func endedSomeTimeAgo(at now: Int64) -> Bool {
    let entitlement = row.entitlement
    let end = entitlement.status == .revoked ? entitlement.revokedAt : entitlement.expiresAt
    guard let end, end <= now else { return false }
    return Self.looks.contains { look in
      let time = end.advanced(orBoundBy: look.from)
      return time <= now && now < end.advanced(orBoundBy: look.until) && heardOf < time
    }
  }

  /// When Apple last signed anything about the customer.
  private var heardOf: Int64 { max(row.lastEvent?.signedDate ?? 0, row.confirmedAt ?? 0) }

  /// Whether the newest word of Apple is no notification, which an answer is not.
  private var isAnswered: Bool {
    guard let last = row.lastEvent else { return row.confirmedAt != nil }
    return EventSource.all.contains { $0.evidenceJWS?.notificationType == last.notificationType }
      || row.confirmedAt ?? .min >= last.signedDate
  }
}
