import Testing

@testable import AppStoreSimulator

/// The plan of deliveries with faults, and the lines of notifications.
@Suite struct DeliveryTests {
  static let messages = Fleet(
    app: SimulatedApp(), customers: 200, days: 400, end: LifecycleTests.end, seed: 5
  ).notifications().map { SimulatedMessage($0) }

  static func plan(_ change: (inout DeliveryFaults) -> Void) -> [Delivery] {
    var faults = DeliveryFaults()
    change(&faults)
    return faults.plan(messages, seed: 5)
  }

  @Test func `without faults each notification arrives once and in order`() {
    #expect(Self.plan { _ in }.map(\.message) == Array(Self.messages.indices))
  }

  @Test func `duplicates arrive at the times of Apple's retries`() {
    let plan = Self.plan { $0.duplicate = 0.1 }
    let byNotification = Dictionary(grouping: plan, by: \.message)
    #expect(byNotification.count == Self.messages.count)
    let share = Double(byNotification.values.count { $0.count > 1 }) / Double(byNotification.count)
    #expect((0.05...0.16).contains(share))
    let hours = Set(
      plan.map { ($0.arrival - Self.messages[$0.message].date) / 3_600_000 })
    #expect(hours.isSubset(of: [0, 1, 13, 37, 85, 157]))
  }

  @Test func `a late notification arrives only at a retry`() {
    let plan = Self.plan { $0.late = 0.2 }
    #expect(plan.count == Self.messages.count)
    let share = Double(plan.count { $0.attempt > 0 }) / Double(plan.count)
    #expect((0.14...0.27).contains(share))
    #expect(plan.map(\.arrival) == plan.map(\.arrival).sorted())
  }

  @Test func `a dropped notification never arrives`() {
    let share = Double(Self.plan { $0.drop = 0.3 }.count) / Double(Self.messages.count)
    #expect((0.62...0.78).contains(share))
    #expect(Self.plan { $0.drop = 1 }.isEmpty)
  }

  @Test func `a shuffled plan has the same deliveries in a seeded order`() {
    let plain = Self.plan { $0.duplicate = 0.1 }
    let shuffles = (0..<2).map { _ in
      Self.plan {
        $0.duplicate = 0.1
        $0.shuffle = true
      }
    }
    #expect(shuffles[0] != plain)
    #expect(shuffles[0] == shuffles[1])
    let sorted = [plain, shuffles[0]].map {
      $0.sorted { ($0.message, $0.attempt) < ($1.message, $1.attempt) }
    }
    #expect(sorted[0] == sorted[1])
  }

  @Test func `duplicate deliveries have equal bytes`() throws {
    let deliveries = Self.plan {
      $0.duplicate = 0.5
      $0.shuffle = true
    }
    var bytes: [UInt8] = []
    let written = try NotificationLines.write(
      deliveries, of: Self.messages, signer: MessageSigner(.make())
    ) { bytes += $0 }
    #expect(written == deliveries.count)
    let lines = bytes.split(separator: 0x0A)
    #expect(lines.count == deliveries.count)
    #expect(Set(lines).count == Self.messages.count)
  }

  @Test func `a stopped run tells how many lines it wrote`() throws {
    var calls = 0
    let written = try NotificationLines.write(
      Self.plan { _ in }, of: Self.messages, signer: MessageSigner(.make()),
      shouldStop: {
        calls += 1
        return calls > 50
      }, to: { _ in })
    #expect(written == 50)
  }
}
