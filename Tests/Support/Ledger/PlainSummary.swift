package import Entitlements

extension Entitlement {
  /// The row as `PlainRow.summary` has it.
  package var summary: String {
    PlainRow.summary([
      status.rawValue, purchase?.transactionId, productId, expiresAt, gracePeriodExpiresAt,
      revokedAt, autoRenew, pendingProductId, hasGap, givesAccess, hasAnomaly,
    ])
  }
}
