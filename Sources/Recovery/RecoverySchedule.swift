import Platform
import Queries

/// When the daemon recovers and reconciles, and what: a value without a clock. Times are
/// milliseconds since 1970.
struct RecoverySchedule: Equatable {
  typealias Reason = RecoveryStatus.Reason

  struct Task: Equatable {
    var reason: Reason
    var since: Int64
    /// When it is due.
    var due: Int64
  }

  private(set) var tasks: [Task] = []
  /// When silence was last a reason.
  private var silenceAt = Int64.min
  private var failedTimes: [Reason: Int] = [:]

  /// How long after a recovery it is made again.
  static let again: Int64 = 600_000
  private static let retry = Backoff(first: 60_000, longest: CivilTime.hour)
  /// A silence of this many times the longest usual pause is a reason, at least this long.
  private static let silenceFactor: Int64 = 2
  private static let shortestSilence = CivilTime.hour

  /// - Parameters:
  ///   - gap: from when on notifications may be missing; nil if none can be.
  ///   - failuresAskedAt: when the failures were last asked for; nil for never.
  ///   - reconciledAt: when the last reconciliation ended; nil for never.
  init(
    gap: (since: Int64, isRestored: Bool)?, failuresAskedAt: Int64?, reconciledAt: Int64?,
    at now: Int64
  ) {
    if let gap {
      add(Task(reason: gap.isRestored ? .restore : .start, since: gap.since, due: now))
    }
    for (reason, last) in [(Reason.failures, failuresAskedAt), (.reconciliation, reconciledAt)] {
      // A clock that was set back must not put it off for long.
      let last = min(last ?? now - CivilTime.day + Self.again, now)
      add(Task(reason: reason, since: now, due: last + CivilTime.day))
    }
  }

  private mutating func add(_ task: Task) {
    tasks.append(task)
    tasks.sort { $0.due < $1.due }
  }

  /// The next task; nil if none is due. What can be recovered comes before the reconciliation,
  /// which then asks about fewer customers.
  func next(at now: Int64) -> Task? {
    let due = tasks.filter { $0.due <= now }
    guard var task = due.first(where: { $0.reason != .reconciliation }) ?? due.first else {
      return nil
    }
    // Seven days, and the day before that every recovery asks for.
    if task.reason == .failures { task.since = now - 7 * CivilTime.day }
    return task
  }

  /// When the next recovery is due.
  var nextRecovery: Int64? { tasks.first { $0.reason != .reconciliation }?.due }

  /// When the next reconciliation is due.
  var nextReconciliation: Int64? { tasks.first { $0.reason == .reconciliation }?.due }

  /// From when on the unfinished tasks recover; nil if there is no gap.
  var pendingSince: Int64? {
    tasks.filter { !$0.reason.isDaily && $0.reason != .again }.map(\.since).min()
  }

  /// Replaces the task that was carried out.
  ///
  /// - Parameter isComplete: whether everything was asked for; otherwise it is tried again.
  mutating func finish(_ task: Task, at now: Int64, isComplete: Bool) {
    tasks.removeAll { $0.reason == task.reason && $0.due == task.due }
    guard isComplete else {
      let times = failedTimes[task.reason, default: 0] + 1
      failedTimes[task.reason] = times
      let wait = Self.retry.wait(after: times)
      return add(Task(reason: task.reason, since: task.since, due: now + wait))
    }
    failedTimes[task.reason] = nil
    switch task.reason {
    case .start, .restore, .silence:
      add(Task(reason: .again, since: now, due: now + Self.again))
    // A command is not of the schedule.
    case .again, .command: break
    case .failures, .reconciliation:
      add(Task(reason: task.reason, since: now, due: now + CivilTime.day))
    }
  }

  /// Adds a task if nothing was received for longer than usual; once for each silence.
  ///
  /// - Parameters:
  ///   - lastReceived: when the newest event was received.
  ///   - longestPause: between two events of late.
  mutating func consider(lastReceived: Int64, longestPause: Int64, at now: Int64) {
    let bound = max(Self.shortestSilence, longestPause * Self.silenceFactor)
    guard now - lastReceived > bound, lastReceived > silenceAt,
      tasks.allSatisfy(\.reason.isDaily)
    else { return }
    silenceAt = lastReceived
    add(Task(reason: .silence, since: lastReceived, due: now))
  }
}

extension RecoveryStatus.Reason {
  /// Whether it is repeated every day, and follows from no gap.
  var isDaily: Bool { self == .failures || self == .reconciliation }
}
