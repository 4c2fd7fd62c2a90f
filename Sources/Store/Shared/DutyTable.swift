public import Platform

/// What one daemon does for all (recovery, reconciliation, sinks, anchors, the clock sweep): who
/// does it now, and how far it is. A value is used by one thread.
public protocol DutyTable: AnyObject {
  /// Takes a duty that nobody holds, or whose holder has not renewed it for `DutyLease.seconds`; or
  /// renews it for its holder.
  ///
  /// - Parameter holder: names this daemon; no other one uses the same name.
  /// - Returns: nil while another holds it.
  func take(
    _ duty: String, for holder: String, by deadline: Deadline
  ) throws(LedgerError) -> DutyLease?

  /// Stores how far the duty is.
  ///
  /// - Returns: false if the duty was taken by another since: it must be stopped at once.
  func save(
    _ position: [UInt8], of duty: String, _ lease: DutyLease, by deadline: Deadline
  ) throws(LedgerError) -> Bool

  /// Lets a duty go, so that another need not wait until it ends.
  func release(_ duty: String, _ lease: DutyLease, by deadline: Deadline) throws(LedgerError)
}

/// A duty that this daemon holds.
public struct DutyLease: Sendable, Equatable {
  /// Grows whenever the duty changes its holder.
  public let epoch: Int64
  /// What the last holder stored; nil if nobody did.
  public let position: [UInt8]?

  /// How long a lease lasts, by the clock of the shared journal.
  public static let seconds: Int64 = 30

  public init(epoch: Int64, position: [UInt8]?) {
    self.epoch = epoch
    self.position = position
  }
}
