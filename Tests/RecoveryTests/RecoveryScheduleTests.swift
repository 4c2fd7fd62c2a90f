import Encoding
import Testing

@testable import Recovery

/// When the daemon recovers by itself.
@Suite struct RecoveryScheduleTests {
  private static let now: Int64 = 1_767_225_600_000
  private static let hour = CivilTime.hour

  private func schedule(
    _ since: Int64? = nil, isRestored: Bool = false, failures: Int64? = nil
  ) -> RecoverySchedule {
    RecoverySchedule(
      gap: since.map { ($0, isRestored) }, failuresAskedAt: failures, at: Self.now)
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
    #expect(schedule.nextDue == Self.now + CivilTime.day)
  }

  @Test func `what fails is tried again, less and less often, and stays pending`() throws {
    var schedule = schedule(Self.now - Self.hour, isRestored: true)
    var (now, waits) = (Self.now, [Int64]())
    for _ in 0..<9 {
      let task = try #require(schedule.next(at: now))
      guard task.reason == .restore else { break }
      schedule.finish(task, at: now, isComplete: false)
      #expect(schedule.pendingSince == Self.now - Self.hour)
      let due = try #require(schedule.nextDue)
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
    #expect(schedule.nextDue == due + CivilTime.day)
    // A clock that was set back does not put it off.
    let late = self.schedule(failures: Self.now + 90 * CivilTime.day)
    #expect(late.nextDue == Self.now + CivilTime.day)
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
}
