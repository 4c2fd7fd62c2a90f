/// The rules by which the registers of a stream become answers, as a value. It is handed in with
/// the data folder (`DataFolder.fold`), so that a test can compare two folds in one process.
///
/// What is not a member is the same in all folds: the registers (`StreamState`), and how periods
/// follow each other (`Periods`). Whatever decides an answer is in the fold's fingerprint.
public struct Fold: Sendable, Hashable {
  /// A change of any rule is a new version.
  public var version: Int64
  /// The status within a grace period, and that while Apple retries a charge.
  public var grace = Entitlement.Status.gracePeriod
  public var retry = Entitlement.Status.billingRetry
  /// The statuses in which products other than consumables can be used.
  public var access: [Entitlement.Status] = [.active, .gracePeriod]

  public init(version: Int64) { self.version = version }

  /// The fold of this program.
  public static let current = Fold(version: 4)

  /// The status that a rule gives.
  func status(of rule: StatusRule) -> Entitlement.Status {
    switch rule {
    case .covered, .paidWithoutTransaction, .oneTime: .active
    case .noTransaction, .paidWithoutTransactionOver, .over: .expired
    case .revoked: .revoked
    case .grace, .shortestGrace, .earlierGrace: grace
    case .retry: retry
    }
  }

  /// Whether products other than consumables can be used.
  public func givesAccess(_ status: Entitlement.Status) -> Bool { access.contains(status) }
}
