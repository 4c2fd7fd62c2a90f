import AppStore
import Platform
import Testing

@testable import Recovery

/// Which time is asked for.
@Suite struct RecoveryPlanTests {
  private static let now: Int64 = 1_767_225_600_000 + 5 * CivilTime.hour
  private static let day = CivilTime.day

  private func plan(since: Int64? = nil, until: Int64? = nil) -> RecoveryPlan {
    RecoveryPlan(since: since, until: until, startedAt: Self.now, startSeq: 0)
  }

  @Test func `without a time, all that Apple has is asked for`() {
    for (environment, days) in [(Environment.production, 180), (.sandbox, 30)] {
      let window = plan().window(environment)
      #expect(window.lowerBound == Self.now - Int64(days) * Self.day + CivilTime.hour)
      #expect(window.upperBound > Self.now)
      #expect(plan().gone(environment) == nil)
    }
  }

  @Test func `a time is asked for with a day more at both ends`() {
    let (since, until) = (Self.now - 9 * Self.day, Self.now - 4 * Self.day)
    let window = plan(since: since, until: until).window(.production)
    #expect(window == since - Self.day..<until + Self.day)
    #expect(plan(since: since).window(.sandbox).upperBound > Self.now)
  }

  @Test func `what is older than Apple's history is gone`() {
    let since = Self.now - 200 * Self.day
    let plan = plan(since: since)
    #expect(plan.gone(.production) == since..<plan.window(.production).lowerBound)
    #expect(plan.gone(.sandbox) == since..<plan.window(.sandbox).lowerBound)
    let over = self.plan(since: since, until: since + Self.day)
    #expect(over.gone(.production) == since..<since + Self.day)
    #expect(over.slices(.production).isEmpty)
  }

  @Test func `slices are at most a day, touch each other, and are the same later that day`() {
    let since = Self.now - 40 * Self.day
    let slices = plan(since: since).slices(.production)
    let window = plan(since: since).window(.production)
    #expect(slices.first?.from == window.lowerBound && slices.last?.to == window.upperBound)
    #expect(zip(slices, slices.dropFirst()).allSatisfy { $0.to == $1.from })
    #expect(slices.allSatisfy { $0.from < $0.to && $0.to - $0.from <= Self.day })
    #expect(slices.dropFirst().allSatisfy { $0.from % Self.day == 0 })
  }

  @Test func `a far time does not overflow`() {
    #expect(plan(since: 0, until: .max).slices(.production).count > 100)
  }
}
