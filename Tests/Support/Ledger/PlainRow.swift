package import AppStore
package import Entitlements

/// A second, deliberately simple implementation of the fold and the evaluator: the row at a time,
/// where every question iterates over all events or all transactions again. It shares no code with
/// the implementation that it is compared with.
package struct PlainRow {
  package let events: [FoldEvent]
  package var t: Int64
  package var durations: [String: Int64] = [:]
  package let ids: [Id]
  /// By id, the event with the newest version of the transaction.
  private var sources: [Id: FoldEvent] = [:]
  private var ends: [Id: Int64] = [:]

  private static let never = Int64.max
  private static let hours24 = 24 * 60 * 60 * 1000 as Int64

  /// A transaction id, which stands for the transaction.
  package typealias Id = String

  package init(events: [FoldEvent], t: Int64, durations: [String: Int64] = [:]) {
    self.events = events
    self.t = t
    self.durations = durations
    ids = Array(Set(events.flatMap { $0.transactions.map(\.transactionId) }))
    for id in ids {
      sources[id] = about(id).max { isBehind($0, $1, { carried($0, id) }) }
    }
    for id in ids { ends[id] = computedEnd(id) }
  }

  // MARK: Registers

  private func about(_ id: Id) -> [FoldEvent] {
    events.filter { carried($0, id) != nil }
  }

  private func carried(_ event: FoldEvent, _ id: Id) -> Transaction? {
    event.transactions.first { $0.transactionId == id }
  }

  /// What orders the versions of a register: version, signed date, notification date, revoked. V1
  /// has the evidence time instead, and how many transactions it lists.
  private func rank(_ event: FoldEvent, signed: Int64, isRevoked: Bool) -> [Int64] {
    event.isSigned
      ? [1, signed, event.signedDate, isRevoked ? 1 : 0]
      : [0, event.signedDate, Int64(event.transactions.count), isRevoked ? 1 : 0]
  }

  private func isBehind(
    _ a: FoldEvent, _ b: FoldEvent, _ transaction: (FoldEvent) -> Transaction?
  ) -> Bool {
    let ranks = [a, b].map { event in
      rank(
        event, signed: transaction(event)?.signedDate ?? 0,
        isRevoked: transaction(event)?.revocationDate != nil)
    }
    return ranks[0] == ranks[1] ? a.uuid < b.uuid : ranks[0].lexicographicallyPrecedes(ranks[1])
  }

  package func tx(_ id: Id) -> Transaction {
    sources[id].flatMap { carried($0, id) } ?? Transaction()
  }

  package var ri: RenewalInfo? { renewalEvent?.renewal }

  private var renewalEvent: FoldEvent? {
    let carriers = events.filter { $0.renewal != nil }
    return carriers.max { a, b in
      let one = rank(a, signed: a.renewal?.signedDate ?? 0, isRevoked: false)
      let other = rank(b, signed: b.renewal?.signedDate ?? 0, isRevoked: false)
      return one == other ? a.uuid < b.uuid : one.lexicographicallyPrecedes(other)
    }
  }

  /// The newest status, unless newer renewal information says something else than that which came
  /// with the status, or is newer than a status that came without any.
  package var st: Int64? {
    let carriers = events.filter { $0.status.map { $0 >= 1 && $0 <= 5 } ?? false }
    let newest = carriers.max { ($0.signedDate, $0.uuid) < ($1.signedDate, $1.uuid) }
    guard let newest, let said = renewalEvent, said.isSigned else { return newest?.status }
    var (one, other) = (newest.renewal, said.renewal)
    one?.signedDate = 0
    other?.signedDate = 0
    let counts =
      one == nil ? newest.signedDate >= said.signedDate : "\(one as Any)" == "\(other as Any)"
    return counts ? newest.status : nil
  }

  private func first(_ id: Id) -> Int64? {
    about(id).filter { $0.isSigned }.compactMap { carried($0, id)?.signedDate }.min()
  }

  private func clear(_ id: Id) -> Int64? {
    about(id).filter { $0.isSigned && $0.notificationType == "REFUND_REVERSED" }
      .compactMap { carried($0, id)?.signedDate }.max()
  }

  private func cancel(_ id: Id) -> Int64? {
    about(id).filter { !$0.isSigned }.compactMap { carried($0, id) }
      .filter { !$0.isUpgraded }.compactMap(\.revocationDate).min()
  }

  // MARK: Derived

  /// The start of the year 2501.
  private static let year2501: Int64 = 16_756_761_600_000

  /// A subscription never lasts for ever: without a sensible expiry it ends when it begins.
  private func isEndless(_ id: Id) -> Bool {
    tx(id).type == "Auto-Renewable Subscription"
      && (tx(id).expiresDate == nil || tx(id).expiresDate ?? 0 >= Self.year2501)
  }

  private func expiry(_ id: Id) -> Int64? {
    isEndless(id) ? tx(id).purchaseDate : tx(id).expiresDate
  }

  var isAnomalous: Bool {
    ids.contains { id in
      let one = tx(id)
      let hasOddDate = one.expiresDate.map { $0 < one.purchaseDate } ?? false
      let hasNoStream =
        one.type == "Auto-Renewable Subscription" && one.originalTransactionId == nil
      return isEndless(id) || hasOddDate || hasNoStream || (one.price ?? 0) < 0
        || (one.quantity ?? 1) <= 0
    }
  }

  func rev(_ id: Id) -> Int64? {
    let isV2 = sources[id]?.isSigned == true
    guard let date = isV2 ? tx(id).revocationDate : cancel(id) else { return nil }
    if let clear = clear(id), date <= clear { return nil }
    return date
  }

  func isVoid(_ id: Id) -> Bool { rev(id).map { $0 <= tx(id).purchaseDate } ?? false }

  package func end(_ id: Id) -> Int64 { ends[id] ?? .min }

  private func computedEnd(_ id: Id) -> Int64 {
    let one = tx(id)
    if one.isUpgraded { return .min }
    var ends = [expiry(id) ?? Self.never]
    if let rev = rev(id) { ends.append(rev) }
    for other in ids where other != id && !isVoid(other) {
      let bought = tx(other).purchaseDate
      switch tx(other).transactionReason {
      case "RENEWAL": continue
      case nil:
        let limit = expiry(id).map { $0 - Self.hours24 } ?? Self.never
        if one.purchaseDate < bought && bought < limit { ends.append(bought) }
      default:
        let charged = first(id) ?? Self.never
        if bought > one.purchaseDate || charged < bought { ends.append(bought) }
      }
    }
    return ends.min() ?? Self.never
  }

  var live: [Id] { ids.filter { end($0) > tx($0).purchaseDate } }

  /// Orders transactions by purchase date. Equal dates are ordered by the register's key.
  private func older(_ a: Id, _ b: Id) -> Bool {
    if tx(a).purchaseDate != tx(b).purchaseDate { return tx(a).purchaseDate < tx(b).purchaseDate }
    guard let one = sources[a], let other = sources[b] else { return a < b }
    let ranks = [(one, tx(a)), (other, tx(b))].map { event, transaction in
      rank(
        event, signed: transaction.signedDate, isRevoked: transaction.revocationDate != nil)
    }
    if ranks[0] != ranks[1] { return ranks[0].lexicographicallyPrecedes(ranks[1]) }
    return one.uuid == other.uuid ? a < b : one.uuid < other.uuid
  }

  var head: Id? { ids.filter { !isVoid($0) }.max(by: older) ?? ids.max(by: older) }

  var covering: Id? {
    let running = live.filter { t < end($0) }
    if ids.contains(where: { tx($0).purchaseDate <= t }) {
      return running.filter { tx($0).purchaseDate <= t }.max(by: older)
    }
    return running.filter { tx($0).purchaseDate <= t + Self.hours24 }.min(by: older)
  }

  func paidThrough(_ id: Id) -> Int64 {
    var chain = [id]
    for _ in ids {
      let last = chain.map(end).max() ?? 0
      let next = live.filter { !chain.contains($0) && tx($0).purchaseDate <= last }
      chain += next.filter { end($0) > last }
    }
    return chain.map(end).max() ?? 0
  }

  var gap: Bool {
    guard let head, let expires = expiry(head), st == 1, let date = ri?.renewalDate
    else { return false }
    return date > (covering.map(paidThrough) ?? expires)
  }

  // MARK: The row

  package var shown: Id? { covering ?? head }

  package var product: String? {
    if gap && covering == nil { return ri?.productId ?? ri?.autoRenewProductId }
    return shown.map { tx($0).productId } ?? ri?.productId
  }

  private var lasting: Int64? {
    guard let head, tx(head).expiresDate == nil,
      [nil, "Non-Renewing Subscription"].contains(tx(head).type),
      let product = tx(head).productId, let duration = durations[product]
    else { return nil }
    return tx(head).purchaseDate + duration
  }

  package var expiresAt: Int64? {
    if let lasting { return lasting }
    if gap { return ri?.renewalDate }
    guard let covering else { return head.flatMap { expiry($0) } }
    return paidThrough(covering) == Self.never ? nil : paidThrough(covering)
  }

  var revokedAt: Int64? {
    guard let head else { return nil }
    return expiry(head) == nil ? ids.compactMap(rev).min() : rev(head)
  }

  package var autoRenew: Bool? { ri?.autoRenewStatus.map { $0 == 1 } }

  var pending: String? {
    guard autoRenew == true, ri?.autoRenewProductId != product else { return nil }
    return ri?.autoRenewProductId
  }

  package var status: String {
    guard let head else { return "expired" }
    guard let expires = expiry(head) else {
      if ids.contains(where: { rev($0).map { $0 <= t } ?? false }) { return "revoked" }
      return lasting.map { t < $0 } ?? true ? "active" : "expired"
    }
    if covering != nil { return "active" }
    if gap { return (ri?.renewalDate ?? 0) > t ? "active" : "expired" }
    if let rev = rev(head), rev <= t { return "revoked" }
    let hint = ri?.isInBillingRetryPeriod == true || ri?.expirationIntent == 2
    if let grace = ri?.gracePeriodExpiresDate, t < grace, ri?.autoRenewStatus != 0,
      st == 4 || (st == nil && hint)
    {
      return "grace_period"
    }
    let days: Int64 = tx(head).billingPlanType == "MONTHLY" ? 90 : 60
    if ri?.isInBillingRetryPeriod == true, t < expires + days * Self.hours24 {
      return "billing_retry"
    }
    return "expired"
  }

  /// The row as one line, to compare and to print.
  package var summary: String? {
    guard !ids.isEmpty || ri != nil else { return nil }
    return PlainRow.summary([
      status, shown, product, expiresAt, ri?.gracePeriodExpiresDate, revokedAt, autoRenew, pending,
      gap, givesAccess, isAnomalous,
    ])
  }

  package var givesAccess: Bool {
    ["active", "grace_period"].contains(status) && shown.map { tx($0).type } != "Consumable"
  }

  package static func summary(_ values: [(any Sendable)?]) -> String {
    values.map { $0.map { "\($0)" } ?? "-" }.joined(separator: " ")
  }
}

extension Entitlement {
  /// The row as `PlainRow.summary` has it.
  package var summary: String {
    PlainRow.summary([
      status.rawValue, purchase?.transactionId, productId, expiresAt, gracePeriodExpiresAt,
      revokedAt, autoRenew, pendingProductId, hasGap, givesAccess, hasAnomaly,
    ])
  }
}
