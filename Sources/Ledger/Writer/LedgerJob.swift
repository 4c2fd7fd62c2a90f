/// What the writer is asked to do.
package enum LedgerJob: Sendable {
  /// - Parameter at: when it arrived, nanoseconds of the monotonic clock.
  case submit(Ledger.Submitted, at: Int64)
  /// Removes notifications from quarantine.
  case drop([Int64], @Sendable (Int?) -> Void)
  /// Forgets an account.
  case erase(account: String, @Sendable (Ledger.Erased) -> Void)
  case projection(ProjectionOrder, @Sendable (ProjectionOrder.Outcome) -> Void)
  /// Takes over the live projection after another thread caught it up.
  case takeOverProjection
  /// Follows the shared journal now.
  case refresh
  /// Appends parts of receipts, which wait in a queue of their own.
  case appendParts
  /// Looks whether another program removed or cut a file of the journal.
  case checkFiles
  /// Puts the damaged projection aside.
  case setProjectionAside
}
