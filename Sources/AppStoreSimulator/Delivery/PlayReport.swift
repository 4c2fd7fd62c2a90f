/// The results of the deliveries to a service.
public struct PlayReport: Sendable, Equatable {
  /// The number of planned deliveries.
  public var deliveries = 0
  /// The number of deliveries with a final answer of any status.
  public var answered = 0
  /// Final answers by HTTP status.
  public var byStatus: [Int: Int] = [:]
  /// Successful answers (200 to 206) by their `outcome`.
  public var byOutcome: [String: Int] = [:]
  /// Attempts after the first one, because the service was unavailable.
  public var retries = 0
  /// Deliveries that were given up after the last attempt.
  public var unanswered = 0
  /// The run ended early, by `shouldStop` or by `isUnreachable`: the remaining deliveries were not
  /// made.
  public var isStopped = false
  /// A delivery had no answer to any of its attempts, which ends a run.
  public var isUnreachable = false

  public init() {}

  /// Whether every delivery had an answer that Apple counts as success (200 to 206).
  public var isGood: Bool {
    !isStopped && answered == deliveries && byStatus.keys.allSatisfy { (200...206).contains($0) }
  }
}
