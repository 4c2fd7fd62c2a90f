/// Refunds of the newest purchase.
extension Customer {
  mutating func announceNewest(_ type: String) { announce(type, about: newest) }

  /// A partial refund of a subscription ends access as well; the percentage is that of the money.
  mutating func refund(percent: Int64) {
    revoke(
      Purchase.Revocation(
        date: now / 1000 * 1000, type: percent == 100 ? "REFUND_FULL" : "REFUND_PRORATED",
        percentage: percent * 1000))
    announce("REFUND", about: newest)
  }

  /// Revokes the newest purchase, and with it the subscription if it is the current period's.
  mutating func revoke(_ revocation: Purchase.Revocation) {
    newest?.revocation = revocation
    guard newest?.id == current?.id else { return }
    current = newest
    renewal?.isOn = false
    // Apple does not go on trying to charge for what it took back.
    renewal?.intent = nil
    renewal?.isRetrying = nil
    renewal?.graceEnd = nil
    state = .revoked
  }

  /// Removes the revocation from the transaction; its expiresDate is what it was before.
  mutating func reverseRefund() {
    guard newest?.revocation != nil else { return }
    newest?.revocation = nil
    if newest?.id == current?.id {
      current = newest
      state = now < current?.expiresDate ?? now ? .active : .expired
    }
    announce("REFUND_REVERSED", about: newest)
  }
}
