import AppStore
import Entitlements
import Support

/// A second, deliberately simple answer to what a customer may use by name: every question is asked
/// of plain rows at single moments. It shares no code with what it is compared with.
struct PlainCustomer: Sendable {
  struct Entitlement: Sendable {
    let products: Set<String>
    var leeway: Int64 = 0
  }

  /// The events of each stream, by original transaction id.
  let streams: [String: [FoldEvent]]
  let durations: [String: Int64]
  private let rows: [String: PlainRow]

  init(streams: [String: [FoldEvent]], durations: [String: Int64]) {
    (self.streams, self.durations) = (streams, durations)
    rows = streams.mapValues { PlainRow(events: $0, t: 0, durations: durations) }
  }

  /// The same, as of what Apple had signed by a time.
  func known(at time: Int64) -> PlainCustomer {
    let known = streams.mapValues { $0.filter { $0.signedDate <= time } }
    return PlainCustomer(streams: known.filter { !$0.value.isEmpty }, durations: durations)
  }

  var rowIds: Set<String> {
    Set(streams.keys.filter { row($0, 0).summary != nil })
  }

  func row(_ id: String, _ time: Int64) -> PlainRow {
    var row = rows[id] ?? PlainRow(events: [], t: time, durations: durations)
    row.t = time
    return row
  }

  /// Whether a stream gives an entitlement by itself.
  func isStrict(_ id: String, _ entitlement: Entitlement, _ time: Int64) -> Bool {
    let row = row(id, time)
    return row.givesAccess && row.product.map(entitlement.products.contains) ?? false
  }

  func isInLeeway(_ id: String, _ entitlement: Entitlement, _ time: Int64) -> Bool {
    guard entitlement.leeway > 0 else { return false }
    let row = row(id, time)
    guard row.status == "expired", isCharged(row, entitlement), let end = row.expiresAt,
      end <= time, time < end + entitlement.leeway, row.events.allSatisfy({ $0.signedDate < end })
    else { return false }
    return isStrict(id, entitlement, end - 1)
  }

  /// Whether Apple will charge again for what a row shows.
  private func isCharged(_ row: PlainRow, _ entitlement: Entitlement) -> Bool {
    let commitment = row.shown.map(row.tx)?.commitment
    let payments = commitment.map { $0.totalBillingPeriods - $0.billingPeriodNumber } ?? 1
    if payments <= 0 && row.ri?.commitmentAutoRenewStatus == 0 { return false }
    return row.autoRenew == true
      && row.ri?.autoRenewProductId.map(entitlement.products.contains) ?? true
  }

  /// Whether any purchase that gives an entitlement at a time will be charged again.
  func willRenew(_ entitlement: Entitlement, _ time: Int64) -> Bool {
    streams.keys.contains { id in
      isCharged(row(id, time), entitlement)
        && (isStrict(id, entitlement, time) || isInLeeway(id, entitlement, time))
    }
  }

  func isActive(_ entitlement: Entitlement, _ time: Int64) -> Bool {
    streams.keys.contains {
      isStrict($0, entitlement, time) || isInLeeway($0, entitlement, time)
    }
  }

  /// The word for why a stream gives an entitlement at a time.
  func basis(_ id: String, _ entitlement: Entitlement, _ time: Int64) -> String {
    guard isStrict(id, entitlement, time) else { return "leeway" }
    let row = row(id, time)
    if row.status == "grace_period" { return "grace" }
    let transaction = row.shown.map(row.tx)
    switch transaction?.inAppOwnershipType {
    case "FAMILY_SHARED"?: return "family"
    case "ASSIGNED"?: return "assigned"
    default: return transaction?.type == "Auto-Renewable Subscription" ? "paid" : "one_time"
    }
  }

  /// Every date that an answer could change at, with the moments around it.
  func dates(_ leeway: Int64) -> [Int64] {
    var dates: Set<Int64> = []
    for event in streams.values.joined() {
      for one in event.transactions {
        dates.formUnion([one.purchaseDate, one.expiresDate, one.revocationDate].compactMap { $0 })
        if let length = one.productId.flatMap({ durations[$0] }) {
          dates.insert(one.purchaseDate + length)
        }
      }
      let renewal = [event.renewal?.renewalDate, event.renewal?.gracePeriodExpiresDate]
      dates.formUnion(renewal.compactMap { $0 })
    }
    return dates.union(dates.map { $0 + leeway }).sorted()
  }
}
