package import AppStoreSimulator
import Foundation
import StrictJSON

extension Installation {
  /// Journals what an App Store sent about some customers until now. Most notifications are
  /// received seconds after they were signed, some hours or days late, and some twice.
  ///
  /// - Parameters:
  ///   - days: how long ago the first of the customers bought at most.
  ///   - old: how many more customers there are, with purchases during the last 14 months.
  ///   - lifecycles: names of lifecycles, each of one more customer.
  /// - Returns: the notifications that were sent.
  @discardableResult
  package func live(
    customers: Int, days: Int64, old: Int = 0, seed: UInt64 = 7, with lifecycles: [String] = []
  ) throws -> [SimulatedNotification] {
    let now = Int64(Date().timeIntervalSince1970 * 1000) - 60_000
    var all = Fleet(app: SimulatedApp(), customers: customers, days: days, end: now, seed: seed)
      .notifications()
    if old > 0 {
      let fleet = Fleet(app: SimulatedApp(), customers: old, days: 420, end: now, seed: seed + 1)
      all += fleet.notifications()
    }
    for (number, name) in lifecycles.enumerated() {
      all +=
        Lifecycle.named(name)?.notifications(
          app: SimulatedApp(), seed: seed, endingAt: now, customer: 400_001 + number) ?? []
    }
    var generator = Generator(seed)
    var deliveries: [(time: Int64, index: Int)] = []
    for (index, notification) in all.enumerated() {
      var delay = 300 + Int64(generator.below(4_000))
      if generator.below(100) < 4 { delay = Int64(1 + generator.below(900)) * 60_000 }
      if generator.below(200) < 1 { delay = Int64(20 + generator.below(60)) * 3_600_000 }
      let time = notification.signedDate + delay
      deliveries.append((time, index))
      if generator.below(25) < 1 { deliveries.append((time + 3_600_000, index)) }
    }
    let sorted = deliveries.filter { $0.time < now }.sorted { $0 < $1 }
    // Signed once each, because a redelivery has the same bytes.
    var bodies: [Int: [UInt8]] = [:]
    let lines = try sorted.map { delivery in
      let body = try bodies[delivery.index] ?? sign(all[delivery.index].payload)
      bodies[delivery.index] = body
      return Array("{\"received_at_ms\":\(delivery.time),\"body\":".utf8) + body + [0x7D]
    }
    let finished = try run("ingest", try file("live", lines))
    guard finished.code == 0 else { throw TestFailure("ingest: \(finished)") }
    return all
  }

  /// A linear congruential generator: the same numbers for the same seed.
  private struct Generator {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed &* 2_862_933_555_777_941_757 &+ 1 }

    mutating func below(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(bound))
    }
  }
}
