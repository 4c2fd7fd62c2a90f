import Testing

@testable import Delivery

/// When what follows from the time alone is told, and when not.
@Suite struct ClockWatchTests {
  private static let start: Int64 = 1_767_225_600_000

  @Test func `a clock that is set by more than five minutes is not trusted until it agrees`() {
    var watch = ClockWatch()
    watch.look(wall: Self.start, sinceBoot: 1000)
    #expect(!watch.isStepped)
    for step in [ClockWatch.tolerance + 1, -ClockWatch.tolerance - 1, 86_400_000] {
      watch.look(wall: Self.start + 5000 + step, sinceBoot: 6000)
      #expect(watch.isStepped)
      watch.look(wall: Self.start + 6000 + step, sinceBoot: 7000)
      #expect(watch.isStepped)
      watch.look(wall: Self.start + 8000, sinceBoot: 9000)
      #expect(!watch.isStepped)
    }
  }

  @Test func `a clock that is corrected little by little is followed`() {
    var watch = ClockWatch()
    for second in Int64(0)..<3600 {
      watch.look(wall: Self.start + second * 1500, sinceBoot: second * 1000)
      #expect(!watch.isStepped)
    }
    // A machine that slept has both clocks go on.
    watch.look(wall: Self.start + 5_400_000 + 86_400_000, sinceBoot: 3_600_000 + 86_400_000)
    #expect(!watch.isStepped)
  }

  @Test func `the operator can say that the clock is right`() {
    var watch = ClockWatch(offset: Self.start)
    watch.look(wall: Self.start + 3_600_000, sinceBoot: 0)
    #expect(watch.isStepped)
    watch.accept(wall: Self.start + 3_600_000, sinceBoot: 0)
    watch.look(wall: Self.start + 3_601_000, sinceBoot: 1000)
    #expect(!watch.isStepped)
  }

  @Test func `what was known before a restart shows a step meanwhile`() {
    var watch = ClockWatch(offset: Self.start - 7_200_000)
    watch.look(wall: Self.start, sinceBoot: 0)
    #expect(watch.isStepped)
  }
}
