public import Platform
import Synchronization

/// Measures the writer thread: how many notifications it commits at a time, and whether it is
/// stalled.
public final class WriterMeter: Sendable {
  /// Notifications per commit.
  public let batches = Histogram([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000])
  /// Events that were signed before an event of their stream that was already folded.
  public let late = Counter()
  private let fullAt = Atomic<Int64>(Int64.min)
  private let alarm = Mutex(DiskAlarm())
  private let busySince = Atomic<Int64>(Int64.max)
  /// Of notifications and what else is submitted, and of the parts of receipts.
  package let (notifications, parts) = (AnsweredCount(), AnsweredCount())

  /// Nanoseconds for which the disk counts as full after a failed commit, unless a commit succeeds
  /// earlier: while `readyz` reports a full disk, perhaps no notification comes.
  private static let fullDuration: Int64 = 10_000_000_000

  init() {}

  /// Called when a batch of `count` notifications was refused for lack of space.
  func recordDiskFull(_ count: Int) {
    let now = Clock.monotonicNanoseconds()
    fullAt.store(now, ordering: .relaxed)
    alarm.withLock { $0.recordFull(refusing: Int64(count), at: now) }?.write()
  }

  func recordDiskSpace() {
    fullAt.store(Int64.min, ordering: .relaxed)
    alarm.withLock { $0.recordRoom() }
  }

  /// Whether notifications were refused for lack of space, and there was not yet room for ten
  /// seconds.
  public var isDiskAlarmOn: Bool { alarm.withLock { $0.isOn } }

  /// - Parameter probe: whether the disk takes bytes now.
  func lookAtDisk(probe: () -> Bool) {
    let look = alarm.withLock { $0.look(at: Clock.monotonicNanoseconds()) }
    look.line?.write()
    // Not under the lock: the writer would wait for this sync.
    if look.wantsProbe, probe() { alarm.withLock { $0.recordRoom() } }
  }

  /// How many notifications, and how many parts of receipts, were submitted since the start.
  public var submitted: [Int64] { [notifications.submittedCount, parts.submittedCount] }

  /// Whether all of those are answered.
  ///
  /// - Parameter submitted: what `submitted` was.
  public func hasAnswered(_ submitted: [Int64]) -> Bool {
    zip([notifications, parts], submitted).allSatisfy { $0.answeredCount >= $1 }
  }

  /// Called before a batch of `count` notifications is committed.
  func begin(_ count: Int) {
    batches.observe(Double(count))
    busySince.store(Clock.monotonicNanoseconds(), ordering: .relaxed)
  }

  /// Called after a batch is answered.
  func end() { busySince.store(Int64.max, ordering: .relaxed) }

  /// Whether the last commits failed because the disk was full.
  public var isFull: Bool {
    let at = fullAt.load(ordering: .relaxed)
    return at != Int64.min && Clock.monotonicNanoseconds() - at < Self.fullDuration
  }

  /// Seconds that the current batch has taken so far; 0 if there is none.
  public var stalledSeconds: Double {
    let since = busySince.load(ordering: .relaxed)
    return since == Int64.max ? 0 : Double(Clock.monotonicNanoseconds() - since) / 1e9
  }
}

/// How many of what was queued is answered, in the order in which it was queued.
package final class AnsweredCount: Sendable {
  private let submitted = Atomic<Int64>(0)
  private let answered = Atomic<Int64>(0)

  init() {}

  /// Called before something is queued.
  func submit(_ count: Int) { submitted.add(Int64(count), ordering: .sequentiallyConsistent) }

  /// Called after it was answered, or was not queued.
  func answer(_ count: Int) { answered.add(Int64(count), ordering: .sequentiallyConsistent) }

  var submittedCount: Int64 { submitted.load(ordering: .sequentiallyConsistent) }
  var answeredCount: Int64 { answered.load(ordering: .sequentiallyConsistent) }
  var waiting: Int64 { submittedCount - answeredCount }
}
