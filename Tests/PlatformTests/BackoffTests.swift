import Platform
import Testing

/// How long is waited after errors in a row.
@Suite struct BackoffTests {
  @Test func `the wait doubles with each error up to a bound`() {
    let backoff = Backoff(first: 1_000, longest: 60_000)
    let waits = [1, 2, 3, 6, 7, 20, 1_000_000].map(backoff.wait(after:))
    #expect(waits == [1_000, 2_000, 4_000, 32_000, 60_000, 60_000, 60_000])
  }

  @Test func `a wait is varied by a tenth at most`() {
    var random = SystemRandomNumberGenerator()
    let waits = (0..<1000).map { _ in Backoff.varied(5_000, by: &random) }
    #expect(waits.allSatisfy { (4_500...5_500).contains($0) } && Set(waits).count > 100)
  }
}
