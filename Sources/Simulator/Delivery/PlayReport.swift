/// What became of the deliveries to a service.
public struct PlayReport: Sendable, Equatable {
  /// How many there were to make.
  public var deliveries = 0
  /// How many got a final answer, whatever it was.
  public var answered = 0
  /// Final answers by HTTP status.
  public var byStatus: [Int: Int] = [:]
  /// Answers of 200 by their `outcome`.
  public var byOutcome: [String: Int] = [:]
  /// Attempts after the first, because the service was unavailable.
  public var retries = 0
  /// Given up after the last attempt.
  public var unanswered = 0
  /// Told to stop, or `isUnreachable`: the rest was not tried.
  public var isStopped = false
  /// A delivery was given up without an answer to any of its attempts; that ends a run.
  public var isUnreachable = false

  public init() {}

  /// Everything was delivered, and every answer was what Apple calls success (200 to 206).
  public var isGood: Bool {
    !isStopped && answered == deliveries && byStatus.keys.allSatisfy { (200...206).contains($0) }
  }
}
