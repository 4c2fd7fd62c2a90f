import AppStore
import Platform

/// The renewal information that counts, of what Apple signed and what V1 said.
package struct RenewalInForce {
  /// The register that holds it. Nil if there is none, or only one of before the purchase in
  /// force, which says nothing of it.
  package let register: StreamState.RenewalRegister?
  /// The end of the period that it is about, milliseconds since 1970.
  let periodEnd: Int64?
  /// Apple's newest data.status, 1 to 5, while the renewal information in force says what that of
  /// the same event said. Newer information that says something else speaks for itself: the status
  /// is then as if it had never been sent.
  let status: Int64?
  /// When that status was signed, milliseconds since 1970; nil if none is in force.
  let statusDate: Int64?
  /// Apple's renewal date of a paid time that no transaction was told of; nil if there is none.
  let undelivered: Int64?
  /// From when on that is a purchase of another product which ended the newest known one: an
  /// upgrade that was not told. Nil if it follows what is known. Milliseconds since 1970.
  let undeliveredSince: Int64?
  /// Whether Apple says that there is a grace period: by the status in force, or by its event,
  /// which has another status where the charge failed before the period ended.
  let isGracePeriod: Bool

  var info: RenewalInfo? { register?.renewal }

  /// Apple's clocks may differ by this much: milliseconds.
  private static let tolerance: Int64 = 60_000

  package init(_ state: StreamState) { self.init(state, Periods(state)) }

  init(_ state: StreamState, _ periods: Periods) {
    let (signed, v1) = (state.renewal, state.renewalV1)
    let isV1 =
      v1.map { v1 in
        signed.map { state.isNewer(v1, than: $0) } ?? true
      } ?? false
    var register = isV1 ? v1 : signed
    let bought = periods.head.flatMap { periods.registers[$0].boughtAt }
    // What was switched off before a charge had been switched on again by then.
    let isOff = register?.renewal.autoRenewStatus == 0
    let charged = bought ?? (isOff ? periods.headCharge(isSandbox: state.isSandbox) : nil)
    if let date = register?.key.signed, Self.isBefore(date, charged) { register = nil }
    let status = state.statusInForce(with: register)
    self.register = register
    periodEnd = register.flatMap { $0.periodEnd ?? $0.renewal.renewalDate }
    self.status = status
    statusDate = status.flatMap { _ in state.status?.signed }
    isGracePeriod = status == 4 || status != nil && state.status?.isGracePeriod == true
    undeliveredSince = status == 1 ? register.flatMap { periods.lostUpgrade($0, state) } : nil
    undelivered =
      undeliveredSince != nil
      ? register?.renewal.renewalDate
      : register?.key.isSigned == false
        ? nil : state.undelivered(register?.renewal, isInForce: status == 1, periods, bought)
  }

  /// Whether something was signed before the purchase in force.
  fileprivate static func isBefore(_ signed: Int64, _ bought: Int64?) -> Bool {
    bought.map { signed.advanced(orBoundBy: tolerance) < $0 } ?? false
  }
}

extension StreamState {
  /// Whether what V1 said is provably newer than what Apple signed: by a date that lies surely
  /// before the V1 body was made; else by what it says of a later period, or of a failed charge.
  fileprivate func isNewer(_ v1: RenewalRegister, than signed: RenewalRegister) -> Bool {
    if certainV1 ?? .min > signed.key.signed { return true }
    guard v1.key.signed > signed.key.signed else { return false }
    let (end, signedEnd) = (v1.periodEnd ?? 0, signed.renewal.renewalDate ?? .max)
    guard end == signedEnd else { return end > signedEnd }
    return v1.renewal.isInBillingRetryPeriod == true
      && signed.renewal.isInBillingRetryPeriod != true && signed.renewal.autoRenewStatus == 1
      && signed.key.signed < signedEnd
  }

  /// A status that came without renewal information counts while it is not older than the event of
  /// the information in force; beside V1, while it is not older than that.
  fileprivate func statusInForce(with register: RenewalRegister?) -> Int64? {
    guard let status else { return nil }
    guard let register else { return status.status }
    let isInForce =
      register.key.isSigned
      ? status.renewal.map { $0.withoutTerms.saysTheSame(as: register.renewal.withoutTerms) }
        ?? (status.signed >= register.key.notification)
      : status.signed >= max(certainV1 ?? .min, register.key.signed)
    return isInForce ? status.status : nil
  }

  /// The renewal date that came with a status of 1, unless newer renewal information names an
  /// earlier one, or the purchase in force is newer; nil if a transaction ends by then or at it. A
  /// status of 1 after a refund is of a purchase that was not told.
  fileprivate func undelivered(
    _ info: RenewalInfo?, isInForce: Bool, _ periods: Periods, _ bought: Int64?
  ) -> Int64? {
    guard let status, status.status == 1, !RenewalInForce.isBefore(status.signed, bought),
      let head = periods.headPeriod, let expires = head.expires,
      let date = status.renewal?.renewalDate ?? (isInForce ? info?.renewalDate : nil),
      date > (head.counts && head.revocation ?? .max <= status.signed ? head.end : expires),
      info?.renewalDate ?? .max >= date
    else { return nil }
    return periods.all.contains { $0.expires == date } ? nil : date
  }
}

extension Periods {
  /// A time no later than the charge of the newest transaction, milliseconds since 1970; nil if it
  /// was revoked from its start, or does not expire.
  fileprivate func headCharge(isSandbox: Bool) -> Int64? {
    guard let head, all[head].counts, all[head].expires != nil else { return nil }
    let ahead = registers[head].held.transaction.chargedAhead(isSandbox: isSandbox)
    return min(registers[head].first ?? .max, all[head].start.advanced(orBoundBy: -ahead))
  }

  /// When it is known that an upgrade ended the newest transaction, milliseconds since 1970: newer
  /// renewal information than that, signed while it runs, is of another product. It is of the next
  /// product where a renewal is charged ahead.
  fileprivate func lostUpgrade(
    _ register: StreamState.RenewalRegister, _ state: StreamState
  ) -> Int64? {
    guard let head, all[head].counts, let date = register.renewal.renewalDate,
      let product = register.renewal.productId, register.key.isSigned
    else { return nil }
    let (signed, transaction) = (register.key.signed, registers[head].held.transaction)
    let ahead = transaction.chargedAhead(isSandbox: state.isSandbox)
    let end = all[head].expires.map { min($0.advanced(orBoundBy: -ahead), all[head].end) }
    guard !ByteSearch.areEqual(product, transaction.productId), signed < date,
      signed > registers[head].key.signed, all[head].start <= signed, signed < end ?? .min,
      !all.contains(where: { $0.expires == date })
    else { return nil }
    return signed
  }
}

extension StreamState.TransactionRegister {
  /// When it was bought, milliseconds since 1970; nil for a renewal, for what V1 does not call a
  /// purchase, and for a product that does not expire.
  fileprivate var boughtAt: Int64? {
    reason == .purchase && expires != nil ? held.transaction.purchaseDate : nil
  }
}
