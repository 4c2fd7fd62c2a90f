import StrictJSON
import Testing

@testable import Recovery

/// Which outages follow from Apple's attempts.
@Suite struct AttemptTimelineTests {
  private static let minute: Int64 = 60_000

  private func timeline(_ attempts: [(Int64, String)]) -> AttemptTimeline {
    var timeline = AttemptTimeline()
    for (time, result) in attempts { timeline.add(result, at: time) }
    return timeline
  }

  private func texts(_ timeline: AttemptTimeline) -> [String] {
    timeline.outages().map {
      "\($0.cause) \($0.from) \($0.to.map(String.init) ?? "-") \($0.attempts)"
    }
  }

  @Test func `an outage lasts from the first failed attempt to the first success after it`() {
    let found = timeline([
      (100, "SUCCESS"), (70_000, "TLS_ISSUE"), (200_000, "TLS_ISSUE"), (900_123, "SUCCESS"),
      (900_456, "SUCCESS"),
    ])
    #expect(texts(found) == ["TLS_ISSUE 70000 900123 2"])
  }

  @Test func `a success in between ends an outage, and another cause has its own`() {
    let found = timeline([
      (60_000, "TIMED_OUT"), (61_000, "NO_RESPONSE"), (180_000, "SUCCESS"), (600_000, "TIMED_OUT"),
    ])
    #expect(
      texts(found) == [
        "TIMED_OUT 60000 180000 1", "NO_RESPONSE 61000 180000 1", "TIMED_OUT 600000 - 1",
      ])
  }

  @Test func `the order of attempts does not matter, and parts can be merged and stored`() throws {
    var attempts: [(Int64, String)] = []
    for number in 0..<400 {
      let time = Int64(number * 7919 % 5000) * 1000
      attempts.append((time, ["SUCCESS", "OTHER", "TLS_ISSUE"][number % 3]))
    }
    let whole = timeline(attempts)
    var merged = AttemptTimeline()
    for part in [attempts[200...], attempts[..<200]] {
      let stored = try JSONDocument(parsing: timeline(Array(part)).json.bytes).root
      merged.merge(try #require(AttemptTimeline(stored)))
    }
    #expect(merged == whole && texts(merged) == texts(whole))
    #expect(!whole.outages().isEmpty)
  }

  @Test func `no answer can fill the memory with causes`() {
    let found = timeline((0..<5000).map { (Int64($0), "CAUSE_\($0)") })
    #expect(found.spans.count <= 33)
    #expect(found.outages().reduce(0) { $0 + $1.attempts } == 5000)
  }
}
