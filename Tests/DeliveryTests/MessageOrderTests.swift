import Testing

@testable import Delivery

/// Events and moments in one order.
@Suite struct MessageOrderTests {
  private static let fed = SinkMachine.Mark(seq: 0, hash: [0], clock: 100)

  private static func event(_ seq: Int64, _ received: Int64) -> MessageOrder.Event {
    MessageOrder.Event(
      seq: seq, hash: [UInt8(seq)], stream: 1, receivedAt: received, isWanted: true)
  }

  /// The places of a piece, `t` for a moment and its time, and how far it reaches.
  private static func piece(
    _ events: [MessageOrder.Event], reachesHead: Bool = true, _ sweep: MessageOrder.Sweep?,
    _ moments: [Int64], limit: Int = 10
  ) -> (places: [String], clocks: [Int64], through: SinkMachine.Mark, hasMore: Bool) {
    let piece = MessageOrder.piece(
      events, reachesHead: reachesHead, from: fed, sweep, limit: limit
    ) { (after, through, limit) in
      Array(
        moments.filter { $0 > after && $0 <= through }
          .map { MessageOrder.Moment(.turn(at: $0, stream: 1), at: $0, stream: 1) }
          .prefix(limit))
    }
    let places = piece.messages.map { message in
      switch message.place {
      case .event(let seq): "\(seq)"
      case .turn(let at, _), .recalculation(let at, _), .customer(let at, _),
        .quarantined(let at, _):
        "t\(at)"
      }
    }
    return (places, piece.messages.map(\.after.clock), piece.through, piece.hasMore)
  }

  @Test func `a moment follows the events that were received by then`() {
    let found = Self.piece(
      [Self.event(1, 150), Self.event(2, 200), Self.event(3, 200)],
      .init(through: 300, now: 1000), [120, 150, 199, 200, 250, 301])
    #expect(found.places == ["t120", "1", "t150", "t199", "2", "3", "t200", "t250"])
    #expect(found.clocks == [120, 149, 150, 199, 199, 199, 200, 250])
    #expect(found.through == .init(seq: 3, hash: [3], clock: 300))
  }

  @Test func `behind the last event that is read, only what is before it is told`() {
    let found = Self.piece(
      [Self.event(1, 150), Self.event(2, 200)], reachesHead: false,
      .init(through: 300, now: 1000), [150, 199, 200])
    #expect(found.places == ["1", "t150", "t199", "2"] && found.through.clock == 199)
  }

  @Test func `an event shows at once that what is before it may be told`() {
    let found = Self.piece([Self.event(1, 900)], .init(through: 300, now: 1000), [800, 899, 900])
    #expect(found.places == ["t800", "t899", "1"] && found.through.clock == 899)
    // But not what the clock has not reached.
    let early = Self.piece([Self.event(1, 900)], .init(through: 300, now: 850), [800, 870])
    #expect(early.places == ["t800", "1"] && early.through.clock == 850)
  }

  @Test func `while the clock is not trusted, events alone are told`() {
    let found = Self.piece([Self.event(1, 900)], nil, [800])
    #expect(found.places == ["1"] && found.through == .init(seq: 1, hash: [1], clock: 100))
  }

  @Test func `a part of the moments ends between two milliseconds, and nothing passes it`() {
    let moments: [Int64] = [110, 120, 120, 130]
    let found = Self.piece(
      [Self.event(1, 115), Self.event(2, 125)], .init(through: 300, now: 1000), moments, limit: 3)
    #expect(found.places == ["t110", "1"] && found.hasMore)
    #expect(found.through == .init(seq: 1, hash: [1], clock: 119))
    // All of one millisecond are told together, however many they are.
    let same = Self.piece([], .init(through: 300, now: 1000), [120, 120, 120, 120], limit: 2)
    #expect(same.places.count == 4 && same.clocks == [119, 119, 119, 120])
    #expect(same.through.clock == 300 && !same.hasMore)
  }
}
