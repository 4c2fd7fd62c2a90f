import Platform
import Testing

/// Requests to stop.
@Suite struct CancellationTests {
  @Test func `a request ends every wait, before and after it`() throws {
    let cancellation = Cancellation()
    let start = Clock.monotonicNanoseconds()
    let waiting = try (0..<4).map { _ in
      try Thread.start("wait") { cancellation.wait(milliseconds: 60_000) }
    }
    cancellation.request()
    for thread in waiting { thread.join() }
    cancellation.wait(milliseconds: 60_000)
    #expect(cancellation.isRequested)
    #expect(Clock.monotonicNanoseconds() - start < 30_000_000_000)
  }

  @Test func `a wait without a request ends with its time`() {
    let cancellation = Cancellation()
    cancellation.wait(milliseconds: 1)
    cancellation.wait(milliseconds: -1)
    #expect(!cancellation.isRequested)
  }
}
