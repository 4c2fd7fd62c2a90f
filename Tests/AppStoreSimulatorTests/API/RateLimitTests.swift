import StrictJSON
import Support
import Testing

@testable import AppStoreSimulator

/// Apple's limits: which requests are too many, and what is counted.
@Suite struct RateLimitTests {
  private static let now: Int64 = 1_790_000_000_000

  /// The counts of a call.
  private func count(_ limits: RateLimits, _ kind: Operation.Kind, _ name: String) -> Int64? {
    limits.json[kind.rawValue]?.number(name)
  }

  @Test(arguments: Operation.Kind.allCases, [Environment.production, .sandbox])
  func `within the rate nothing exceeds, and above it all is counted`(
    kind: Operation.Kind, environment: Environment
  ) {
    let rate = kind.limit * (environment == .production ? 1 : 0.1)
    var limits = RateLimits(environment)
    let step = Int64((1000 / rate).rounded(.up))
    for number in 0..<1000 {
      #expect(limits.add(kind, at: Self.now + Int64(number) * step, .second) == nil)
    }
    #expect(count(limits, kind, "aboveRate") == 0 && count(limits, kind, "requests") == 1000)
    #expect(count(limits, kind, "hourlyLimit") == Int64(rate * 3600))
    let last = Self.now + 1000 * step
    let burst = (0..<200).map { _ in limits.add(kind, at: last, .second) }
    let passed = burst.count { $0 == nil }
    #expect(passed >= 1 && passed <= Int(max(1, rate)) + 1, "\(passed)")
    #expect(count(limits, kind, "aboveRate") == Int64(200 - passed))
    #expect(count(limits, kind, "refused") == Int64(200 - passed))
    #expect(burst.compactMap(\.self).allSatisfy { $0 > last && $0 <= last + step })
  }

  @Test func `a wait until the named time is enough`() {
    var limits = RateLimits(.sandbox)
    var now = Self.now
    for _ in 0..<100 {
      while let until = limits.add(.statuses, at: now, .second) { now = until }
    }
    // 5 a second, of which 5 at once.
    #expect((18_900...19_200).contains(now - Self.now), "\(now - Self.now)")
  }

  @Test func `an hour has its own limit, and ends`() {
    var limits = RateLimits(.sandbox)
    for number in 0..<360 {
      #expect(limits.add(.testStatus, at: Self.now + Int64(number), .hour) == nil)
    }
    let until = limits.add(.testStatus, at: Self.now + 360, .hour)
    #expect(until == Self.now + 3_600_000)
    #expect(count(limits, .testStatus, "busiestHour") == 360)
    #expect(count(limits, .testStatus, "refused") == 1)
    #expect(count(limits, .testStatus, "aboveRate") == 360, "all but the first within a second")
    #expect(limits.add(.testStatus, at: Self.now + 3_600_000, .hour) == nil)
    #expect(limits.add(.testStatus, at: Self.now, .off) == nil)
  }

  @Test func `too many requests are refused with 429 and the time of the next`() throws {
    let running = try LocalAppStore(customers: 1, notify: "http://127.0.0.1:1")
    let test = { try running.ask("POST", "/inApps/v1/notifications/test", on: "sandbox") }
    _ = try running.control(#"{"limits":"second"}"#)
    #expect(try test().status == 200)
    let before = LocalAppStore.now()
    let refused = try test()
    expect(refused, isError: 4_290_000)
    let next = try #require(refused.field("Retry-After").flatMap { Int64($0) })
    #expect(next > before && next <= LocalAppStore.now() + 10_000)
    #expect(try running.get("/inApps/v1/transactions/1", on: "sandbox").status == 404)
    let report = try #require(try running.get("/control").json?["sandbox"]?["limits"])
    let counts = try #require(report["Request a Test Notification"])
    #expect(counts["requests"]?.integer == 2 && counts["refused"]?.integer == 1)
    #expect(counts["aboveRate"]?.integer == 1 && counts["hourlyLimit"]?.integer == 360)
    #expect(report["Get Transaction Info"]?["aboveRate"]?.integer == 0)
    _ = try running.control(#"{"limits":"hour"}"#)
    #expect(try test().status == 200)
  }
}
