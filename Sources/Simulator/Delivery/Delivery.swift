import Encoding

/// One attempt to deliver one notification.
public struct Delivery: Sendable, Equatable {
  /// Index into the notifications.
  public let notification: Int
  /// 0 for the first, up to 5.
  public let attempt: Int
  /// When it arrives on the simulated clock, milliseconds since 1970.
  public let arrival: Int64

  /// Hours from the first attempt to each: Apple tries again 1, 12, 24, 48 and 72 hours after the
  /// attempt before (Responding to App Store Server Notifications). A retry carries the same bytes.
  public static let attemptHours: [Int64] = [0, 1, 13, 37, 85, 157]
}

/// What goes wrong between Apple and the service. Rates are shares of all notifications, 0 to 1.
public struct DeliveryFaults: Sendable, Equatable {
  /// Never arrives at all.
  public var drop = 0.0
  /// The first attempts fail: arrives only at one of the retries.
  public var late = 0.0
  /// What promise 4 is about: the journal may not grow by it.
  /// Arrives, and again at one or more of the later retries, as if our answers had been lost.
  public var duplicate = 0.0
  /// What promise 6 is about: rows may not depend on it.
  /// Any order whatever, instead of that of arrival.
  public var shuffle = false

  public init() {}

  /// The deliveries in order. The same seed, the same plan.
  public func plan(_ notifications: [SimulatedNotification], seed: UInt64) -> [Delivery] {
    var luck = SeededGenerator(seed: seed ^ 0x6661_756C_7473)
    var deliveries: [Delivery] = []
    deliveries.reserveCapacity(notifications.count)
    for index in notifications.indices {
      for attempt in attempts(&luck) {
        let hours = Delivery.attemptHours[attempt]
        let arrival = notifications[index].signedDate + hours * CivilTime.hour
        deliveries.append(Delivery(notification: index, attempt: attempt, arrival: arrival))
      }
    }
    if shuffle {
      luck.shuffle(&deliveries)
    } else {
      deliveries.sort { ($0.arrival, $0.notification) < ($1.arrival, $1.notification) }
    }
    return deliveries
  }

  /// Which attempts reach the service. Draws the same numbers whatever the rates are, so that one
  /// fault more does not change where the others strike.
  private func attempts(_ luck: inout SeededGenerator) -> [Int] {
    let isDropped = luck.chance(drop)
    let isLate = luck.chance(late)
    let isTwice = luck.chance(duplicate)
    // Late leaves room for one more retry, so that it can be duplicated too.
    let delay = Int(luck.number(in: 1...4))
    let repeats = Int(luck.number(in: 1...4))
    if isDropped { return [] }
    let first = isLate ? delay : 0
    let last = isTwice ? min(first + repeats, Delivery.attemptHours.count - 1) : first
    return Array(first...last)
  }
}
