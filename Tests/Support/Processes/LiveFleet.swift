import Foundation
package import Simulator
import StrictJSON

extension Installation {
  /// Journals what an App Store sent about some customers until now, received as it happens: most
  /// of it seconds after it was signed, some hours or days late, some twice.
  ///
  /// - Parameter old: so many more came during the last 14 months.
  /// - Returns: what was sent.
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
    var dice = Dice(seed)
    var deliveries: [(time: Int64, place: Int)] = []
    for (place, notification) in all.enumerated() {
      var delay = 300 + Int64(dice.roll(4_000))
      if dice.roll(100) < 4 { delay = Int64(1 + dice.roll(900)) * 60_000 }
      if dice.roll(200) < 1 { delay = Int64(20 + dice.roll(60)) * 3_600_000 }
      let time = notification.signedDate + delay
      deliveries.append((time, place))
      if dice.roll(25) < 1 { deliveries.append((time + 3_600_000, place)) }
    }
    let sorted = deliveries.filter { $0.time < now }.sorted { $0 < $1 }
    // Signed once: what comes twice is the same bytes twice.
    var bodies: [Int: [UInt8]] = [:]
    let lines = try sorted.map { delivery in
      let body = try bodies[delivery.place] ?? sign(all[delivery.place].payload)
      bodies[delivery.place] = body
      return Array("{\"received_at_ms\":\(delivery.time),\"body\":".utf8) + body + [0x7D]
    }
    let finished = try run("ingest", try file("live", lines))
    guard finished.code == 0 else { throw Trouble("ingest: \(finished)") }
    return all
  }

  /// The same throws for the same seed.
  private struct Dice {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed &* 2_862_933_555_777_941_757 &+ 1 }

    mutating func roll(_ sides: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(sides))
    }
  }
}
