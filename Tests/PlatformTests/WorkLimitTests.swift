import Platform
import Testing

/// Limits of the processor time of a piece of work.
@Suite struct WorkLimitTests {
  @Test func `work ends past its processor time, and waiting does not count`() throws {
    let limit = WorkLimit(until: Cancellation())
    try limit.check()
    limit.begin(milliseconds: 20)
    Cancellation().wait(milliseconds: 100)
    #expect(limit.reason == nil, "it waited")
    let start = Clock.threadNanoseconds()
    while limit.reason == nil {}
    #expect(Clock.threadNanoseconds() - start > 10_000_000)
    #expect(throws: LedgerError.tooLong) { try limit.check() }
    limit.begin(milliseconds: 60_000)
    #expect(limit.reason == nil, "the next piece of work has its own time")
  }

  @Test func `what stops ends the work of all threads that share it`() throws {
    let stopping = Cancellation()
    let limits = (0..<2).map { _ in WorkLimit(until: stopping) }
    for limit in limits { limit.begin(milliseconds: 60_000) }
    stopping.request()
    for limit in limits { #expect(throws: LedgerError.stopped) { try limit.check() } }
  }
}
