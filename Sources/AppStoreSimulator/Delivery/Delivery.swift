import Platform

/// One attempt to deliver one message.
public struct Delivery: Sendable, Equatable {
  /// Index in the list of messages.
  public let message: Int
  /// 0 for the first, up to 5.
  public let attempt: Int
  /// When it arrives on the simulated clock, milliseconds since 1970.
  public let arrival: Int64

  /// Hours from the first attempt to each attempt. Apple retries 1, 12, 24, 48 and 72 hours after
  /// the previous attempt (Responding to App Store Server Notifications). A retry has the same
  /// bytes.
  static let attemptHours: [Int64] = [0, 1, 13, 37, 85, 157]
}

/// Faults in the delivery to the service. Rates are shares of all messages, 0 to 1.
public struct DeliveryFaults: Sendable, Equatable {
  /// Never arrives.
  public var drop = 0.0
  /// The first attempts fail, so that it arrives only at one of the retries.
  public var late = 0.0
  /// Arrives, and again at one or more of the later retries, as if the service's answers had been
  /// lost. By promise 4 the journal must not grow by a repeated delivery.
  public var duplicate = 0.0
  /// Delivers in a random order instead of the order of arrival. By promise 6 rows must not depend
  /// on the order.
  public var shuffle = false

  public init() {}

  /// The deliveries in order. The same seed gives the same plan.
  public func plan(_ messages: [SimulatedMessage], seed: UInt64) -> [Delivery] {
    var generator = SeededGenerator(seed: seed ^ 0x6661_756C_7473)
    var deliveries: [Delivery] = []
    deliveries.reserveCapacity(messages.count)
    for index in messages.indices {
      for attempt in attempts(&generator) {
        let hours = Delivery.attemptHours[attempt]
        let arrival = messages[index].date + hours * CivilTime.hour
        deliveries.append(Delivery(message: index, attempt: attempt, arrival: arrival))
      }
    }
    if shuffle {
      generator.shuffle(&deliveries)
    } else {
      deliveries.sort { ($0.arrival, $0.message) < ($1.arrival, $1.message) }
    }
    return deliveries
  }

  /// The attempts that reach the service. It draws equally many numbers whatever the rates are, so
  /// that another rate for one fault does not change which messages the other faults affect.
  private func attempts(_ generator: inout SeededGenerator) -> [Int] {
    let isDropped = generator.chance(drop)
    let isLate = generator.chance(late)
    let isDuplicated = generator.chance(duplicate)
    // At most 4 of 5 retries, so that a late one can be duplicated too.
    let delay = Int(generator.number(in: 1...4))
    let repeats = Int(generator.number(in: 1...4))
    if isDropped { return [] }
    let first = isLate ? delay : 0
    let last = isDuplicated ? min(first + repeats, Delivery.attemptHours.count - 1) : first
    return Array(first...last)
  }
}
