import Store
import Testing

@testable import Delivery

/// Events and moments in one order.
@Suite struct MessageOrderTests {
  private static let fed = SinkMachine.Mark(seq: 0, hash: [0], clock: 100)

  private static func event(_ seq: Int64, _ received: Int64) -> MessageOrder.Event {
    MessageOrder.Event(
      seq: seq, hash: [UInt8(seq)], stream: 1, receivedAt: received, isWanted: true)
  }

  /// The places of a batch, `t` for a moment and its time, and how far it reaches.
  private static func batch(
    _ events: [MessageOrder.Event], reachesHead: Bool = true, _ sweep: MessageOrder.Sweep?,
    _ moments: [Int64], changes: [MessageOrder.Moment] = [], limit: Int = 10
  ) -> (places: [String], clocks: [Int64], through: SinkMachine.Mark, hasMore: Bool) {
    let batch = MessageOrder.batch(
      events, reachesHead: reachesHead, from: fed, sweep, limit: limit, changes: changes
    ) { (after, through, limit) in
      Array(
        moments.filter { $0 > after && $0 <= through }
          .map { MessageOrder.Moment(.moment(.turn, at: $0, id: 1), at: $0, stream: 1) }
          .prefix(limit))
    }
    let places = batch.messages.map { message in
      switch message.place {
      case .event(let seq, let news): news == 0 ? "\(seq)" : "\(seq).\(news)"
      case .moment(.customer, let at, _): "c\(at)"
      case .moment(_, let at, _):
        "t\(at)"
      }
    }
    return (places, batch.messages.map(\.after.clock), batch.through, batch.hasMore)
  }

  @Test func `a moment follows the events that were received by then`() {
    let found = Self.batch(
      [Self.event(1, 150), Self.event(2, 200), Self.event(3, 200)],
      .init(through: 300, now: 1000), [120, 150, 199, 200, 250, 301])
    #expect(found.places == ["t120", "1", "t150", "t199", "2", "3", "t200", "t250"])
    #expect(found.clocks == [120, 149, 150, 199, 199, 199, 200, 250])
    #expect(found.through == .init(seq: 3, hash: [3], clock: 300))
  }

  @Test func `behind the last event that is read, only what is before it is told`() {
    let found = Self.batch(
      [Self.event(1, 150), Self.event(2, 200)], reachesHead: false,
      .init(through: 300, now: 1000), [150, 199, 200])
    #expect(found.places == ["1", "t150", "t199", "2"] && found.through.clock == 199)
  }

  @Test func `an event shows at once that what is before it may be told`() {
    let found = Self.batch([Self.event(1, 900)], .init(through: 300, now: 1000), [800, 899, 900])
    #expect(found.places == ["t800", "t899", "1"] && found.through.clock == 899)
    // But not what the clock has not reached.
    let early = Self.batch([Self.event(1, 900)], .init(through: 300, now: 850), [800, 870])
    #expect(early.places == ["t800", "1"] && early.through.clock == 850)
  }

  @Test func `moments from the receive time of an event on are told after it`() {
    // It came with a clock that was behind: moments through 100 were told before it.
    let found = Self.batch(
      [Self.event(1, 50), Self.event(2, 120)], .init(through: 300, now: 1000), [49, 50, 90, 110])
    #expect(found.places == ["1", "t50", "t90", "t110", "2"])
    #expect(found.clocks == [49, 50, 90, 110, 119] && found.through.clock == 300)
    // While the clock is not trusted, they wait.
    #expect(Self.batch([Self.event(1, 50)], nil, [50]).through.clock == 49)
  }

  @Test func `an event is done with the last message of what it says of requests for refunds`() {
    var first = Self.event(1, 150)
    first.news = [1, 2]
    let second = MessageOrder.Event(
      seq: 2, hash: [2], stream: 1, receivedAt: 200, isWanted: false, news: [2])
    let batch = MessageOrder.batch([first, second], reachesHead: true, from: Self.fed, nil) {
      (_, _, _) in []
    }
    #expect(
      batch.messages.map(\.place) == [
        .event(seq: 1), .event(seq: 1, news: 1), .event(seq: 1, news: 2), .event(seq: 2, news: 2),
      ])
    #expect(batch.messages.map(\.after.seq) == [0, 0, 1, 2])
  }

  private static func change(
    _ at: Int64, _ reason: CustomerCause.Reason, seq: Int64? = nil, happened: Int64
  ) -> MessageOrder.Moment {
    MessageOrder.Moment(
      .moment(.customer, at: at, id: 1), at: at, stream: 1,
      behind: CustomerCause(reason, seq: seq, at: happened, stream: 1))
  }

  @Test func `what changed by name is told behind its cause, whatever the clock says`() {
    // The clock was ahead, and is at 500 now.
    let changes = [
      Self.change(9001, .event, seq: 1, happened: 9000),
      Self.change(9002, .event, seq: 2, happened: 9000),
    ]
    let found = Self.batch(
      [Self.event(1, 9000), Self.event(2, 9000)], .init(through: 490, now: 500), [450, 600],
      changes: changes)
    #expect(found.places == ["t450", "1", "2", "c9001", "c9002"])
    #expect(found.through == .init(seq: 2, hash: [2], clock: 500, customerClock: 9002))
    // Those of one moment together, as a place cannot be between them.
    let same = changes.map { Self.change(9001, .event, seq: $0.at - 9000, happened: 9000) }
    let part = Self.batch([Self.event(1, 9000)], nil, [], changes: same)
    #expect(part.places == ["1"] && part.through.customerClock == 0)
    // Also while nothing is told that follows from the time alone.
    let stepped = Self.batch([Self.event(1, 9000)], nil, [450], changes: changes)
    #expect(stepped.places == ["1", "c9001"])
    #expect(Self.batch([], nil, [], changes: changes).places == [])
  }

  @Test func `what changed by the time is told behind what the time changed`() {
    let changes = [Self.change(320, .time, happened: 310), Self.change(321, .grant, happened: 318)]
    let early = Self.batch([], .init(through: 300, now: 400), [310], changes: changes)
    #expect(early.places == [] && early.through.customerClock == 0)
    let found = Self.batch([], .init(through: 315, now: 400), [310], changes: changes)
    #expect(found.places == ["t310", "c320", "c321"] && found.through.customerClock == 321)
  }

  @Test func `while the clock is not trusted, events alone are told`() {
    let found = Self.batch([Self.event(1, 900)], nil, [800])
    #expect(found.places == ["1"] && found.through == .init(seq: 1, hash: [1], clock: 100))
  }

  @Test func `a part of the moments ends between two milliseconds, and nothing passes it`() {
    let moments: [Int64] = [110, 120, 120, 130]
    let found = Self.batch(
      [Self.event(1, 115), Self.event(2, 125)], .init(through: 300, now: 1000), moments, limit: 3)
    #expect(found.places == ["t110", "1"] && found.hasMore)
    #expect(found.through == .init(seq: 1, hash: [1], clock: 119))
    // All of one millisecond are told together, however many they are.
    let same = Self.batch([], .init(through: 300, now: 1000), [120, 120, 120, 120], limit: 2)
    #expect(same.places.count == 4 && same.clocks == [119, 119, 119, 120])
    #expect(same.through.clock == 300 && !same.hasMore)
  }
}
