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
  private var revocations: [Id: Int64] = [:]
  private var cuts: [Id: Int64] = [:]
  private var ends: [Id: Int64] = [:]

  private static let never = Int64.max
  private static let hours24 = 24 * 60 * 60 * 1000 as Int64
  private static let minute = 60 * 1000 as Int64

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
    for id in ids { revocations[id] = computedRev(id) }
    for id in ids { cuts[id] = computedCut(id) }
    for id in ids { ends[id] = computedEnd(id) }
  }

  // MARK: Registers

  private func about(_ id: Id) -> [FoldEvent] {
    events.filter { carried($0, id) != nil }
  }

  private func carried(_ event: FoldEvent, _ id: Id) -> Transaction? {
    event.transactions.first { $0.transactionId == id }
  }

  /// What orders the versions of a register: signed by Apple or not, signed date, notification
  /// date, revoked. V1 has the evidence time instead, its receipt's date, the date at which renewal
  /// was changed, and how many transactions it lists.
  private func rank(_ event: FoldEvent, signed: Int64, isRevoked: Bool) -> [Int64] {
    event.isSigned
      ? [1, signed, event.signedDate, isRevoked ? 1 : 0]
      : [
        0, event.signedDate, event.receiptDate, event.renewalChangeDate ?? 0,
        Int64(event.transactions.count), isRevoked ? 1 : 0,
      ]
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

  private func isSigned(_ id: Id) -> Bool { sources[id]?.isSigned == true }

  /// The newest event with renewal information, of those that Apple signed or of the others.
  private func renewalEvent(isSigned: Bool) -> FoldEvent? {
    let carriers = events.filter { $0.renewal != nil && $0.isSigned == isSigned }
    return carriers.max { a, b in
      let one = rank(a, signed: a.renewal?.signedDate ?? 0, isRevoked: false)
      let other = rank(b, signed: b.renewal?.signedDate ?? 0, isRevoked: false)
      return one == other ? a.uuid < b.uuid : one.lexicographicallyPrecedes(other)
    }
  }

  private func first(_ id: Id) -> Int64? {
    about(id).filter(\.isSigned).compactMap { carried($0, id)?.signedDate }.min()
  }

  private func clear(_ id: Id) -> Int64? {
    about(id).filter { $0.isSigned && $0.notificationType == "REFUND_REVERSED" }
      .compactMap { carried($0, id)?.signedDate }.max()
  }

  private func isUpgradedByV1(_ id: Id) -> Bool {
    about(id).contains { !$0.isSigned && carried($0, id)?.isUpgraded == true }
  }

  /// What V1 or a receipt says that is surely newer than what Apple signed last.
  private func newer(_ id: Id) -> Transaction? {
    guard isSigned(id) else { return nil }
    let others = about(id).filter { !$0.isSigned }
    let newest = others.max { a, b in
      certain(a) == certain(b) ? isBehind(a, b) { carried($0, id) } : certain(a) < certain(b)
    }
    return newest.flatMap { certain($0) > tx(id).signedDate ? carried($0, id) : nil }
  }

  /// The last reason that was told.
  private func reason(_ id: Id) -> String? {
    let tellers = about(id).filter { carried($0, id)?.transactionReason != nil }
    if let own = tx(id).transactionReason { return own }
    let last = tellers.max { isBehind($0, $1) { carried($0, id) } }
    return last.flatMap { carried($0, id)?.transactionReason }
  }

  private var isSandbox: Bool { events.first?.environment == .sandbox }

  /// How long before its start a renewal may be charged.
  private func ahead(_ one: Transaction) -> Int64 {
    guard isSandbox, let expires = one.expiresDate else { return Self.hours24 }
    let (length, overflows) = expires.subtractingReportingOverflow(one.purchaseDate)
    return overflows ? Self.hours24 : min(Self.hours24, max(length, 0) / 30)
  }

  // MARK: Seats

  /// Whether seats were added in the period of another purchase, or this one got some.
  private func isAddition(_ id: Id) -> Bool {
    guard let reason = tx(id).transactionReason, reason != "RENEWAL" else { return false }
    return tx(id).additionalTransactionReason == "SEAT_ADDITION"
  }

  /// Whether `other` can end `one` at all: seats of the same product end nothing.
  private func mayEnd(_ one: Id, _ other: Id) -> Bool {
    !isAddition(other) || tx(other).productId != tx(one).productId
  }

  /// The purchases of a team's period, itself among them.
  private func period(_ id: Id) -> [Id] {
    guard isAddition(id) || tx(id).multiSeatInfo != nil else { return [id] }
    return ids.filter { other in
      guard other != id else { return true }
      let isBefore = older(other, id)
      return (isAddition(id) || isAddition(other)) && tx(other).productId == tx(id).productId
        && expiry(other) ?? Self.never > tx(id).purchaseDate
        && (isBefore || tx(other).purchaseDate < expiry(id) ?? Self.never)
    }
  }

  /// The one of them that lasts longest.
  private func longest(_ id: Id) -> Id {
    period(id).filter(counts).max { a, b in
      end(a) == end(b) ? older(a, b) : end(a) < end(b)
    } ?? id
  }

  private func isUpgraded(_ id: Id) -> Bool { tx(id).isUpgraded || isUpgradedByV1(id) }

  // MARK: The renewal

  /// The end of the period that V1's renewal information is about.
  private func periodEnd(_ event: FoldEvent) -> Int64? {
    guard !event.isSigned else { return event.renewal?.renewalDate }
    let all = event.transactions.filter { $0.expiresDate != nil }
    let own = all.filter { $0.productId == event.renewal?.productId }
    return (own.isEmpty ? all : own)
      .max { ($0.purchaseDate, $0.expiresDate ?? 0) < ($1.purchaseDate, $1.expiresDate ?? 0) }?
      .expiresDate
  }

  /// A time that surely lies before V1 or a receipt was made.
  private func certain(_ event: FoldEvent) -> Int64 {
    if event.source == .receipt { return event.signedDate }
    var dates = [event.renewalChangeDate ?? 0]
    for one in event.transactions {
      let renews = event.transactions.contains { $0.expiresDate == one.purchaseDate }
      dates.append(one.purchaseDate - (renews ? ahead(one) : 0))
      one.revocationDate.map { dates.append($0) }
      if event.renewal?.isInBillingRetryPeriod != nil, let product = event.renewal?.productId,
        one.productId == product, let expires = one.expiresDate
      {
        dates.append(expires - ahead(one))
      }
    }
    return dates.max() ?? 0
  }

  /// Of all V1 bodies.
  private var certain: Int64 {
    events.filter { $0.source == .v1 }.map(certain).max() ?? .min
  }

  private func isNewer(_ v1: FoldEvent, than v2: FoldEvent) -> Bool {
    let (signed, info) = (v2.renewal?.signedDate ?? 0, v2.renewal)
    if certain > signed { return true }
    if v1.signedDate <= signed { return false }
    let (end, other) = (periodEnd(v1) ?? 0, info?.renewalDate ?? Self.never)
    let failed = v1.renewal?.isInBillingRetryPeriod == true && info?.isInBillingRetryPeriod != true
    return end > other || end == other && failed && info?.autoRenewStatus == 1 && signed < other
  }

  private var isHeadBought: Bool {
    guard let head, expiry(head) != nil, !isAddition(head) else { return false }
    return isBought(head)
  }

  /// The event whose renewal information counts.
  private var said: FoldEvent? {
    let (v1, v2) = (renewalEvent(isSigned: false), renewalEvent(isSigned: true))
    var chosen = v2 ?? v1
    if let v1, let v2, isNewer(v1, than: v2) { chosen = v1 }
    guard let chosen else { return nil }
    let date = chosen.isSigned ? chosen.renewal?.signedDate ?? 0 : chosen.signedDate
    if isHeadBought, let head, date + Self.minute < tx(head).purchaseDate { return nil }
    // What was off before a charge was on again by then.
    if chosen.renewal?.autoRenewStatus == 0, let head, counts(head), expiry(head) != nil,
      !isHeadBought,
      date + Self.minute < min(first(head) ?? .max, tx(head).purchaseDate - ahead(tx(head)))
    {
      return nil
    }
    return chosen
  }

  package var ri: RenewalInfo? { said?.renewal }

  private var newestStatus: FoldEvent? {
    events.filter { $0.status.map { $0 >= 1 && $0 <= 5 } ?? false }
      .max { ($0.signedDate, $0.uuid) < ($1.signedDate, $1.uuid) }
  }

  /// The newest status, unless newer renewal information says something else than that which came
  /// with the status, or is newer than a status that came without any.
  package var st: Int64? {
    guard let newest = newestStatus, let said else { return newestStatus?.status }
    guard said.isSigned else {
      return newest.signedDate >= max(certain, said.signedDate) ? newest.status : nil
    }
    var (one, other) = (newest.renewal, said.renewal)
    one?.signedDate = 0
    other?.signedDate = 0
    let counts =
      one == nil ? newest.signedDate >= said.signedDate : "\(one as Any)" == "\(other as Any)"
    return counts ? newest.status : nil
  }

  // MARK: Transactions

  /// The start of the year 2501.
  private static let year2501: Int64 = 16_756_761_600_000
  private static let kinds = ["Consumable", "Non-Consumable", "Non-Renewing Subscription"]

  /// What is not known to be for ever ends when it begins.
  private func isEndless(_ one: Transaction) -> Bool {
    guard let type = one.type else { return false }
    if type == "Auto-Renewable Subscription" { return one.expiresDate ?? .max >= Self.year2501 }
    return !Self.kinds.contains(type) && one.expiresDate == nil
  }

  private func expiry(_ id: Id) -> Int64? {
    let own = isEndless(tx(id)) ? tx(id).purchaseDate : tx(id).expiresDate
    guard own != nil, let newer = newer(id), !isEndless(newer) else { return own }
    return newer.expiresDate ?? own
  }

  var isAnomalous: Bool {
    ids.contains { id in
      let one = tx(id)
      let hasOddDate = one.expiresDate.map { $0 < one.purchaseDate } ?? false
      let hasNoStream =
        one.type == "Auto-Renewable Subscription" && one.originalTransactionId == nil
      return isEndless(one) || hasOddDate || hasNoStream || (one.price ?? 0) < 0
        || (one.quantity ?? 1) <= 0
    }
  }

  /// Those of the same webOrderLineItemId, itself among them. Seats that are added to a period may
  /// have its item.
  private func twins(_ id: Id) -> [Id] {
    guard let name = item(id) else { return [id] }
    return ids.filter { item($0) == name }
  }

  private func item(_ id: Id) -> String? {
    guard let item = tx(id).webOrderLineItemId, !["", "0"].contains(item) else { return nil }
    return tx(id).multiSeatInfo == nil ? item : "\(item) \(tx(id).purchaseDate)"
  }

  func rev(_ id: Id) -> Int64? { revocations[id] }

  private func computedRev(_ id: Id) -> Int64? {
    let clear = twins(id).compactMap(clear).max() ?? .min
    return twins(id).compactMap { ownRev($0, clear) }.min()
  }

  private func ownRev(_ id: Id, _ clear: Int64) -> Int64? {
    var date = tx(id).revocationDate
    if !isSigned(id), isUpgraded(id) { date = nil }
    if let found = date, found > clear {
      return isSigned(id) ? earliest(id, found, after: clear) : found
    }
    let newer = isUpgradedByV1(id) ? nil : newer(id)
    return newer?.revocationDate.flatMap { $0 > clear ? $0 : nil }
  }

  /// Of the dates told since it was last told without one.
  private func earliest(_ id: Id, _ told: Int64, after clear: Int64) -> Int64 {
    let all = about(id).filter(\.isSigned).compactMap { carried($0, id) }
    let clean = all.filter { $0.revocationDate == nil }.map(\.signedDate).max() ?? .min
    let dates = all.filter { $0.signedDate > clean }.compactMap(\.revocationDate)
    return min(dates.filter { $0 > clear }.min() ?? told, told)
  }

  func isVoid(_ id: Id) -> Bool { rev(id).map { $0 <= tx(id).purchaseDate } ?? false }

  private func isBought(_ id: Id) -> Bool {
    reason(id).map { $0 != "RENEWAL" } ?? false
  }

  /// Whether `one`, which begins no earlier than `other`, was charged before that was bought.
  private func isCharged(_ one: Id, before other: Id) -> Bool {
    let (start, bought) = (tx(one).purchaseDate, tx(other).purchaseDate)
    if isBought(other), mayEnd(one, other), first(one) ?? Self.never < bought { return true }
    if isAddition(other) { return false }
    if isBought(one) || start > bought + ahead(tx(one)) || isWhere(other, ends: start) {
      return false
    }
    if isUpgraded(one) { return true }
    let runsOn = expiry(other) ?? Self.never > start.advanced(orBoundBy: ahead(tx(other)))
    if reason(one) == "RENEWAL", runsOn { return true }
    return ids.contains {
      $0 != one && $0 != other && isWhere($0, ends: start) && tx($0).purchaseDate < bought
    }
  }

  /// Whether a transaction ends at a time, or less than a minute before.
  private func isWhere(_ id: Id, ends time: Int64) -> Bool {
    expiry(id).map { $0 <= time && $0 >= time - Self.minute } ?? false
  }

  private func isReplacedBeforeStart(_ id: Id) -> Bool {
    ids.contains { other in
      other != id && reason(other) != "RENEWAL" && !isVoid(other)
        && tx(other).purchaseDate < tx(id).purchaseDate && isCharged(id, before: other)
    }
  }

  private func computedCut(_ id: Id) -> Int64 {
    let start = tx(id).purchaseDate
    let limit = (expiry(id) ?? Self.never).advanced(orBoundBy: -ahead(tx(id)))
    let others = ids.filter { other in
      other != id && !isVoid(other) && mayEnd(id, other)
        && (isAddition(other) || !isReplacedBeforeStart(other))
    }
    return others.filter { other in
      let bought = tx(other).purchaseDate
      if isBought(other) { return bought > start || isCharged(id, before: other) }
      if start < bought && bought < limit { return true }
      return reason(other) == nil && bought < start && isCharged(id, before: other)
    }.map { tx($0).purchaseDate }.min() ?? Self.never
  }

  package func end(_ id: Id) -> Int64 { ends[id] ?? .min }

  private func computedEnd(_ id: Id) -> Int64 {
    let cut = cuts[id] ?? Self.never
    if isUpgraded(id), cut == Self.never { return .min }
    return [expiry(id) ?? Self.never, rev(id) ?? Self.never, cut].min() ?? .min
  }

  var live: [Id] { ids.filter { end($0) > tx($0).purchaseDate } }

  /// Orders transactions by purchase date. Equal dates are ordered by the register's key.
  private func older(_ a: Id, _ b: Id) -> Bool {
    if tx(a).purchaseDate != tx(b).purchaseDate { return tx(a).purchaseDate < tx(b).purchaseDate }
    guard let one = sources[a], let other = sources[b] else { return a < b }
    if one.isSigned != other.isSigned { return other.isSigned }
    let ranks = [(one, tx(a)), (other, tx(b))].map { event, transaction in
      rank(
        event, signed: transaction.signedDate, isRevoked: transaction.revocationDate != nil)
    }
    if ranks[0] != ranks[1] { return ranks[0].lexicographicallyPrecedes(ranks[1]) }
    return one.uuid == other.uuid ? a < b : one.uuid < other.uuid
  }

  private func counts(_ id: Id) -> Bool { !isVoid(id) && cuts[id] ?? .min > tx(id).purchaseDate }

  var head: Id? { newestOfAll.map(longest) }

  private var newestOfAll: Id? {
    ids.filter(counts).max(by: older) ?? ids.filter { !isVoid($0) }.max(by: older)
      ?? ids.filter { cuts[$0] ?? .min > tx($0).purchaseDate }.max(by: older)
      ?? ids.max(by: older)
  }

  /// The newest that had begun; the newest of all, where none had that counts.
  private var newest: Id? {
    guard let head, tx(head).purchaseDate > t else { return head }
    let begun = ids.filter { counts($0) && tx($0).purchaseDate <= t }
    return begun.max(by: older).map(longest) ?? head
  }

  var covering: Id? {
    if let lostUpgrade, lostUpgrade.since <= t { return nil }
    let running = live.filter { t < end($0) }
    let begun = running.filter { tx($0).purchaseDate <= t }
    return begun.max(by: older) ?? running.filter(isEarly).min(by: older)
  }

  /// Whether it begins within a day, and the time before belongs to it.
  private func isEarly(_ id: Id) -> Bool {
    let start = tx(id).purchaseDate
    guard start > t, start <= t + ahead(tx(id)), !isBought(id) else { return false }
    guard let first = first(id) else { return ids.allSatisfy { tx($0).purchaseDate > t } }
    let ends = ids.filter { !isVoid($0) }
      .compactMap { id in expiry(id).map { min($0, cuts[id] ?? $0) } }
    return first < start && t >= ends.filter { $0 <= start }.max() ?? .min
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

  /// Apple's renewal date after everything that is known; nil without a gap.
  private var undelivered: Int64? {
    if let lostUpgrade {
      // Before it, there is a gap only behind what is paid.
      let through = covering.map(paidThrough)
      return lostUpgrade.since <= t || lostUpgrade.until > through ?? .min
        ? head.flatMap { tx($0).purchaseDate <= through ?? t ? lostUpgrade.until : nil } : nil
    }
    guard let head, let expires = expiry(head), let status = newestStatus, status.status == 1,
      said?.isSigned != false
    else { return nil }
    if isHeadBought, status.signedDate + Self.minute < tx(head).purchaseDate { return nil }
    let date = status.renewal?.renewalDate ?? (st == 1 ? ri?.renewalDate : nil)
    let isTakenBack = counts(head) && rev(head).map { $0 <= status.signedDate } ?? false
    guard let date, date > (isTakenBack ? end(head) : expires),
      ri?.renewalDate ?? Self.never >= date,
      !ids.contains(where: { expiry($0) == date })
    else { return nil }
    guard let covering else { return tx(head).purchaseDate <= t ? date : nil }
    let through = paidThrough(covering)
    return through >= tx(head).purchaseDate && through < date ? date : nil
  }

  var gap: Bool { undelivered != nil }

  /// The date of newer renewal information of another product than the newest purchase, while that
  /// runs and is not about to be renewed: an upgrade to it was not told.
  private var lostUpgrade: (since: Int64, until: Int64)? {
    guard let said, said.isSigned, st == 1, let info = said.renewal, let until = info.renewalDate,
      let product = info.productId, let head, counts(head), product != tx(head).productId,
      let expires = expiry(head), !ids.contains(where: { expiry($0) == until })
    else { return nil }
    let signed = info.signedDate
    let told = isSigned(head) ? tx(head).signedDate : tellerDate(head)
    guard signed < until, told < signed,
      signed >= tx(head).purchaseDate, signed < expires - ahead(tx(head)), signed < end(head)
    else { return nil }
    return (signed, until)
  }

  /// Whether renewal information tells of an upgrade that no transaction was told of.
  package var hasLostUpgrade: Bool { lostUpgrade != nil }

  private func tellerDate(_ id: Id) -> Int64 { sources[id]?.signedDate ?? 0 }

  // MARK: The row

  package var shown: Id? { covering ?? newest }

  package var product: String? {
    if gap && covering == nil, let next = ri?.productId ?? ri?.autoRenewProductId { return next }
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
    if let undelivered { return undelivered }
    guard let covering else { return newest.flatMap { expiry($0) } }
    return paidThrough(covering) == Self.never ? nil : paidThrough(covering)
  }

  /// While the status is another one, a refund is told before its date alone.
  var revokedAt: Int64? {
    guard let date = toldRevocation else { return nil }
    return status == "revoked" || gap || t < date ? date : nil
  }

  private var toldRevocation: Int64? {
    guard let head else { return nil }
    if expiry(head) == nil { return ids.compactMap(rev).min() }
    if let own = rev(head) { return own }
    let before = ids.filter { counts($0) && tx($0).purchaseDate < tx(head).purchaseDate }
    guard let date = before.max(by: older).map(longest).flatMap(rev) else { return nil }
    return date < tx(head).purchaseDate ? date : nil
  }

  package var autoRenew: Bool? { ri?.autoRenewStatus.map { $0 == 1 } }

  package var pending: String? {
    guard autoRenew == true, let next = ri?.autoRenewProductId else { return nil }
    if lostUpgrade != nil { return next == ri?.productId ? nil : next }
    guard let said, let end = periodEnd(said), let expires = head.flatMap(expiry), end != expires
    else { return next == product ? nil : next }
    if end < expires { return nil }
    return next == ri?.productId ?? product ? nil : next
  }

  package var status: String {
    guard let newest else { return "expired" }
    guard expiry(newest) != nil else {
      if ids.contains(where: { rev($0).map { $0 <= t } ?? false }) { return "revoked" }
      return lasting.map { t < $0 } ?? true ? "active" : "expired"
    }
    if covering != nil { return "active" }
    if let undelivered, t < undelivered { return "active" }
    if !gap, let rev = rev(newest), rev <= t { return "revoked" }
    return failed ?? (isPast && wasInGrace ? "grace_period" : "expired")
  }

  private var isPast: Bool { head.map { t < tx($0).purchaseDate } ?? false }

  /// After a charge that failed.
  private var failed: String? {
    guard let said, let ri, let head, let ends = expiry(head) else { return nil }
    let expires = max(ends, periodEnd(said) ?? ends)
    if isPast, periodEnd(said) ?? Self.never > t { return nil }
    let isMonthly = tx(head).billingPlanType == "MONTHLY"
    var shortest: Int64?
    if ri.autoRenewStatus != 0 {
      let hint = ri.isInBillingRetryPeriod == true || ri.expirationIntent == 2
      let isSign =
        newestStatus?.notificationType == "DID_FAIL_TO_RENEW"
        && newestStatus?.subtype == "GRACE_PERIOD" && st != nil
      if let grace = ri.gracePeriodExpiresDate {
        if t < grace, st == 4 || isSign || (st == nil && hint) { return "grace_period" }
      } else if st == 4 || isSign, !isMonthly, events.first?.environment != .sandbox,
        newestStatus.map({ $0.signedDate >= expires - Self.hours24 }) ?? false
      {
        shortest = expires + 3 * Self.hours24
      }
    }
    if let shortest, t < shortest { return "grace_period" }
    let days: Int64 = isMonthly ? 90 : 60
    let isRetried = ri.isInBillingRetryPeriod == true || shortest != nil
    return isRetried && t < expires + days * Self.hours24 ? "billing_retry" : nil
  }

  /// Whether the grace period of an earlier period ran.
  private var wasInGrace: Bool {
    events.contains { event in
      let told = periodEnd(event) ?? event.transactions.first?.expiresDate
      guard let until = event.renewal?.gracePeriodExpiresDate, t < until, let told, told <= t
      else { return false }
      return ids.contains { end($0) == told && expiry($0) == told }
    }
  }

  /// The row as one line, to compare and to print.
  package var summary: String? {
    guard !ids.isEmpty || events.contains(where: { $0.renewal != nil }) else { return nil }
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
