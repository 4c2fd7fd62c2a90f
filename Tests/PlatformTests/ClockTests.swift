import Platform
import Testing

/// The machine's clocks.
@Suite struct ClockTests {
  @Test func `the monotonic clock and the processor time never go back`() {
    var (monotonic, process) = (Clock.monotonicNanoseconds(), Clock.processNanoseconds())
    var goesBack = false
    for _ in 0..<10_000 {
      let next = (Clock.monotonicNanoseconds(), Clock.processNanoseconds())
      goesBack = goesBack || next.0 < monotonic || next.1 < process
      (monotonic, process) = next
    }
    #expect(!goesBack)
  }

  /// 2020-01-01 to 2200-01-01.
  @Test func `the wall clock is in milliseconds since 1970`() {
    #expect((1_577_836_800_000...7_258_118_400_000).contains(Clock.now()))
  }
}
