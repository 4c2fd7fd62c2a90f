import Platform
import Queries
import Testing

@testable import Recovery

/// When the daemon recovers by itself.
@Suite struct RecoveryScheduleTests {
  private static let now: Int64 = 1_767_225_600_000
  private static let hour = CivilTime.hour

  private func schedule(
    _ since: Int64? = nil, isRestored: Bool = false, failures: Int64? = nil,
    reconciled: Int64? = RecoveryScheduleTests.now
  ) -> RecoverySchedule {
    RecoverySchedule(
      gap: since.map { ($0, isRestored) }, failuresAskedAt: failures, reconciledAt: reconciled,
      at: Self.now)
  }

  @Test func `a start recovers the gap, and again ten minutes later`() throws {
    var schedule = schedule(Self.now - Self.hour, failures: Self.now)
    let task = try #require(schedule.next(at: Self.now))
    #expect(task.reason == .start && task.since == Self.now - Self.hour)
    #expect(schedule.pendingSince == task.since)
    schedule.finish(task, at: Self.now + 5, isComplete: true)
    #expect(schedule.next(at: Self.now + 599_000) == nil && schedule.pendingSince == nil)
    let again = try #require(schedule.next(at: Self.now + 600_005))
    #expect(again.reason == .again && again.since == Self.now + 5)
    schedule.finish(again, at: Self.now + 600_010, isComplete: true)
    #expect(schedule.nextRecovery == Self.now + CivilTime.day)
  }

  @Test func `what fails is tried again, less and less often, and stays pending`() throws {
    var schedule = schedule(Self.now - Self.hour, isRestored: true)
    var (now, waits) = (Self.now, [Int64]())
    for _ in 0..<9 {
      let task = try #require(schedule.next(at: now))
      guard task.reason == .restore else { break }
      schedule.finish(task, at: now, isComplete: false)
      #expect(schedule.pendingSince == Self.now - Self.hour)
      let due = try #require(schedule.nextRecovery)
      waits.append(due - now)
      now = due
    }
    #expect(waits.first == 60_000 && (waits.max() ?? 0) <= Self.hour)
  }

  @Test func `what Apple could not deliver is asked for once a day, eight days back`() throws {
    var schedule = schedule(failures: Self.now - 23 * Self.hour)
    #expect(schedule.next(at: Self.now) == nil)
    let due = Self.now + Self.hour
    let task = try #require(schedule.next(at: due))
    #expect(task.reason == .failures && task.since == due - 7 * CivilTime.day)
    schedule.finish(task, at: due, isComplete: true)
    #expect(schedule.nextRecovery == due + CivilTime.day)
    // A clock that was set back does not put it off.
    let late = self.schedule(failures: Self.now + 90 * CivilTime.day)
    #expect(late.nextRecovery == Self.now + CivilTime.day)
  }

  @Test func `a silence longer than usual is a reason, once`() throws {
    var schedule = schedule()
    func consider(_ silence: Int64, _ pause: Int64) {
      schedule.consider(
        lastReceived: Self.now - silence, longestPause: pause, at: Self.now)
    }
    consider(Self.hour, 0)
    consider(9 * Self.hour, 5 * Self.hour)
    #expect(schedule.next(at: Self.now) == nil)
    consider(11 * Self.hour, 5 * Self.hour)
    let task = try #require(schedule.next(at: Self.now))
    #expect(task.reason == .silence && task.since == Self.now - 11 * Self.hour)
    schedule.finish(task, at: Self.now, isComplete: true)
    let again = try #require(schedule.next(at: Self.now + 600_000))
    schedule.finish(again, at: Self.now + 600_000, isComplete: true)
    consider(11 * Self.hour, 5 * Self.hour)
    #expect(schedule.next(at: Self.now) == nil)
  }

  @Test func `those who are due are reconciled once a day, after what can be recovered`() throws {
    var schedule = schedule(
      Self.now - Self.hour, failures: Self.now, reconciled: Self.now - 25 * Self.hour)
    let first = try #require(schedule.next(at: Self.now))
    #expect(first.reason == .start)
    schedule.finish(first, at: Self.now, isComplete: true)
    let task = try #require(schedule.next(at: Self.now))
    #expect(task.reason == .reconciliation && schedule.pendingSince == nil)
    // It may take long: what becomes due meanwhile comes first.
    let again = try #require(schedule.next(at: Self.now + 600_000))
    #expect(again.reason == .again)
    schedule.finish(again, at: Self.now + 600_000, isComplete: true)
    schedule.consider(
      lastReceived: Self.now - 9 * Self.hour, longestPause: 0, at: Self.now + 600_000)
    let silence = try #require(schedule.next(at: Self.now + 600_000))
    #expect(silence.reason == .silence)
    schedule.finish(silence, at: Self.now + 600_000, isComplete: true)
    #expect(schedule.next(at: Self.now + 600_000) == task)
    let end = Self.now + 2 * Self.hour
    schedule.finish(task, at: end, isComplete: true)
    #expect(schedule.nextReconciliation == end + CivilTime.day)
  }

  @Test func `without any reconciliation the first is soon, and a failed one soon again`() throws {
    var schedule = schedule(failures: Self.now, reconciled: nil)
    #expect(schedule.nextReconciliation == Self.now + RecoverySchedule.again)
    let task = try #require(schedule.next(at: Self.now + RecoverySchedule.again))
    var now = Self.now + RecoverySchedule.again
    schedule.finish(task, at: now, isComplete: false)
    #expect(schedule.nextReconciliation == now + 60_000)
    for _ in 0..<9 {
      now = try #require(schedule.nextReconciliation)
      let task = try #require(schedule.next(at: now))
      schedule.finish(task, at: now, isComplete: false)
    }
    #expect(schedule.nextReconciliation == now + Self.hour)
    // Its failures do not put off a recovery.
    now += 10 * Self.hour
    schedule.consider(lastReceived: Self.now, longestPause: 0, at: now)
    let silence = try #require(schedule.next(at: now))
    #expect(silence.reason == .silence)
    schedule.finish(silence, at: now, isComplete: false)
    #expect(schedule.nextRecovery == now + 60_000)
  }
}
