import Platform
import Testing

/// How many lines of a kind are logged.
@Suite struct LineLimitTests {
  @Test func `so many lines of a kind are logged in a second`() {
    var limit = LineLimit<Int>(linesPerSecond: 3)
    let first = (0..<5).map { limit.admit(404, at: 1000 + $0 * 100) }
    #expect(first.map(\.isLogged) == [true, true, true, false, false])
    #expect(first.allSatisfy { $0.leftOut == 0 })
    #expect(limit.admit(400, at: 1400).isLogged, "another kind has its own limit")
  }

  @Test func `the first line of a later second returns how many were left out`() {
    var limit = LineLimit<Int>(linesPerSecond: 1)
    for _ in 0..<5 { _ = limit.admit(404, at: 1000) }
    #expect(!limit.admit(404, at: 1999).isLogged)
    let next = limit.admit(404, at: 2000)
    #expect(next.isLogged && next.leftOut == 5)
    #expect(limit.admit(404, at: 9000).leftOut == 0)
  }

  @Test func `a sum is taken once, and only of a second that has ended`() {
    var limit = LineLimit<Int>(linesPerSecond: 1)
    for kind in [404, 400, 404, 400, 404, 401] { _ = limit.admit(kind, at: 1000) }
    #expect(limit.takeLeftOut(at: 1999).isEmpty)
    let sums = limit.takeLeftOut(at: 2000)
    #expect(sums.map(\.kind) == [400, 404] && sums.map(\.count) == [1, 2])
    #expect(limit.takeLeftOut(at: 3000).isEmpty)
    #expect(limit.admit(404, at: 3000) == (true, 0))
  }

  @Test func `the limit may be for a minute`() {
    var limit = LineLimit<Int>(linesPerMinute: 1)
    let first = (0..<60).map { limit.admit(1, at: $0 * 1000) }
    #expect(first.map(\.isLogged) == [true] + Array(repeating: false, count: 59))
    #expect(limit.takeLeftOut(at: 59_999).isEmpty)
    #expect(limit.admit(1, at: 60_000) == (true, 59))
  }
}
