import Ledger
import Support
import Testing

@testable import Delivery

/// One sink in a simulated world: events arrive, time alone changes what rows answer, the receiver
/// fails in every way, and the program crashes at any point.
struct SinkWorld {
  typealias Place = SinkMachine.Place

  /// What the program would find in its files after a crash.
  struct Disk {
    var mark = SinkMachineTests.mark(0)
    var held: [Int64: SinkMachine.HeldMessage] = [:]
    var dead: [Place] = []
    var condition = SinkMachine.Condition.on

    mutating func store(_ machine: inout SinkMachine) {
      let changes = machine.takeChanges()
      for ordinal in changes.held { held[ordinal] = machine.held[ordinal] }
      dead += changes.dead.map(\.message.place)
      (mark, condition) = (machine.mark, machine.condition)
    }
  }

  struct Event {
    let stream: Int64
    let receivedAt: Int64
  }

  /// When time alone changes a row, as folded through an event.
  struct Row {
    let receivedAt: Int64
    let turns: Set<Int64>
  }

  var random: SplitMix64
  var settings = SinkMachine.Settings()
  var disk = Disk()
  var machine: SinkMachine
  var now: Int64 = 1_000_000
  /// By seq - 1.
  var events: [Event] = []
  /// The rows of each stream, one for each of its events.
  var rows: [Int64: [Row]] = [:]
  var delivered: [Place: Int] = [:]
  /// First deliveries in their order.
  var order: [Place] = []
  var repeatsBound = 0
  var repeats = 0
  /// What the receiver never takes.
  var poison: Set<Place> = []
  var downUntil: Int64 = 0
  var inFlight: [SinkMachine.Message] = []
  /// When it was last looked at the clock; the clock is not trusted until then.
  var lookedAt: Int64 = 0
  var steppedUntil: Int64 = 0
  var isClockEverStepped = false

  init(_ seed: UInt64) {
    random = SplitMix64(seed: seed)
    settings.concurrency = Int.random(in: 1...8, using: &random)
    settings.order = [.customer, .customer, .none, .total].randomElement(using: &random) ?? .none
    machine = SinkMachine(
      SinkMachine.Stored(mark: SinkMachineTests.mark(0)), settings, seed: seed)
  }

  mutating func chance(_ n: Int) -> Bool { Int.random(in: 0..<n, using: &random) == 0 }

  mutating func step() {
    now += Int64.random(in: 0...2000, using: &random)
    if chance(4), events.count < 200 {
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        arrive(at: Int64.random(in: 1...6, using: &random))
        if settings.order != .total, chance(25) {
          poison.insert(.event(seq: Int64(events.count)))
        }
      }
    }
    if chance(60) { downUntil = now + Int64.random(in: 0...400_000, using: &random) }
    if chance(400) {
      (steppedUntil, isClockEverStepped) = (now + 50_000, true)
    }
    if now - lookedAt >= 1000 { lookedAt = now }
    feed()
    send()
    #expect(inFlight.count <= settings.concurrency)
    for _ in 0..<inFlight.count where !chance(3) { answer() }
    if chance(3) { disk.store(&machine) }
    if chance(80) { crash() }
  }

  /// An event, which may take moments of the row away, and add others.
  mutating func arrive(at stream: Int64) {
    var turns = rows[stream]?.last?.turns ?? []
    if chance(2), let gone = turns.filter({ $0 > now - 3000 }).min() { turns.remove(gone) }
    if chance(2) {
      // Also several at once, and moments of several customers at the same millisecond.
      for _ in 0..<Int.random(in: 1...2, using: &random) {
        let at = (now + Int64.random(in: -4000...60_000, using: &random)) / 500 * 500
        turns.insert(at)
        if settings.order != .total, chance(40) { poison.insert(.turn(at: at, stream: stream)) }
      }
    }
    events.append(Event(stream: stream, receivedAt: now))
    rows[stream, default: []].append(Row(receivedAt: now, turns: turns))
  }

  mutating func feed() {
    let head = Int64(events.count)
    guard machine.room > 0 else { return }
    let last = min(head, machine.fed.seq + Int64(min(machine.room, 7)))
    let sweep =
      now < steppedUntil ? nil : MessageOrder.Sweep(through: lookedAt - 1000, now: now)
    let fed = machine.fed
    let found = fed.seq < last ? Array(fed.seq + 1...last) : []
    let piece = MessageOrder.piece(
      found.map { seq in
        let event = events[Int(seq) - 1]
        return MessageOrder.Event(
          seq: seq, hash: [UInt8(truncatingIfNeeded: seq)], stream: event.stream,
          receivedAt: event.receivedAt, isWanted: true)
      }, reachesHead: last == head, from: fed, sweep, limit: 3
    ) { (after, through, limit) in
      let all = rows.flatMap { stream, rows in
        (rows.last?.turns ?? []).filter { $0 > after && $0 <= through }.map { at in
          MessageOrder.Moment(.turn(at: at, stream: stream), at: at, stream: stream)
        }
      }
      return Array(all.sorted { ($0.at, $0.stream ?? 0) < ($1.at, $1.stream ?? 0) }.prefix(limit))
    }
    machine.feed(piece.messages, through: piece.through)
  }

  /// Whether time alone changes a row at a moment: as was known then, and as is known now.
  func isTurn(_ at: Int64, _ stream: Int64) -> Bool {
    let all = rows[stream] ?? []
    let known = all.last { $0.receivedAt <= at }
    return known?.turns.contains(at) == true && all.last?.turns.contains(at) == true
  }

  mutating func send() {
    while let next = machine.next(at: now) {
      if case .turn(let at, let stream) = next.place, !isTurn(at, stream) {
        machine.leaveOut(next.ordinal)
      } else {
        inFlight.append(next)
      }
    }
  }

  mutating func answer() {
    let message = inFlight.remove(at: Int.random(in: 0..<inFlight.count, using: &random))
    let outcome: SinkMachine.Outcome
    if now < downUntil {
      outcome =
        chance(2) ? .endpoint(.status(503), wait: nil) : .endpoint(.status(429), wait: 900)
    } else if poison.contains(message.place) {
      outcome =
        message.ordinal % 2 == 0
        ? .refused(.status(400)) : .endpoint(.transport("timeout"), wait: nil)
    } else {
      outcome = chance(30) ? .refused(.status(500)) : .delivered
    }
    if outcome == .delivered { deliver(message.place) }
    machine.finish(message.ordinal, outcome, at: now)
  }

  mutating func deliver(_ place: Place) {
    if delivered[place, default: 0] == 0 { order.append(place) } else { repeats += 1 }
    delivered[place, default: 0] += 1
  }

  /// Everything in memory is lost. What was delivered since the last store comes again.
  mutating func crash() {
    // An answer of the receiver may be lost on the way.
    for message in inFlight where chance(2) && !poison.contains(message.place) {
      deliver(message.place)
    }
    repeatsBound += delivered.keys.count { $0.isAfter(disk.mark) } + disk.held.count + 1
    inFlight = []
    machine = SinkMachine(
      SinkMachine.Stored(
        condition: disk.condition, mark: disk.mark, held: Array(disk.held.values),
        dead: disk.dead), settings, seed: random.next(), limit: 1)
  }

  // MARK: Laws

  /// When something happened, so that a customer is told in that order: an event before a moment.
  private func time(_ place: Place) -> (Int64, Int64, Int64) {
    switch place {
    case .event(let seq): (events[Int(seq) - 1].receivedAt, 0, seq)
    case .turn(let at, _), .recalculation(let at, _), .customer(let at, _),
      .quarantined(let at, _):
      (at, 1, 0)
    }
  }

  private func stream(_ place: Place) -> Int64 {
    switch place {
    case .event(let seq): events[Int(seq) - 1].stream
    case .turn(_, let stream), .recalculation(_, let stream), .customer(_, let stream),
      .quarantined(_, let stream):
      stream
    }
  }

  /// Whether a moment was known when it came, and no event has taken it away since.
  private func isLasting(_ at: Int64, _ stream: Int64) -> Bool {
    let all = rows[stream] ?? []
    let known = all.lastIndex { $0.receivedAt <= at }
    return known.map { all[$0...].allSatisfy { $0.turns.contains(at) } } ?? false
  }

  /// What must have been told once the mark is where it is: the events before it, and the moments
  /// that no event took away since.
  private var due: [Place] {
    let mark = machine.mark
    let moments = rows.flatMap { stream, all in
      (all.last?.turns ?? []).filter { $0 <= mark.clock && isLasting($0, stream) }
        .map { Place.turn(at: $0, stream: stream) }
    }
    return (0..<mark.seq).map { .event(seq: $0 + 1) } + moments
  }

  /// What should have been delivered, is not, and is neither held nor dead.
  var missing: [Place] {
    let dead = Set(disk.dead + machine.changes.dead.map(\.message.place))
    let held = Set(machine.held.all.map(\.message.place))
    return due.filter { delivered[$0] == nil && !held.contains($0) && !dead.contains($0) }
  }

  /// Every message up to the mark is delivered, held or dead, and first deliveries ascend.
  func check(_ seed: UInt64) {
    let missing = missing
    if !missing.isEmpty { Issue.record("seed \(seed): \(missing) are behind the mark, not done") }
    // While the clock is not trusted, events are told and moments wait.
    guard settings.order != .none, !isClockEverStepped else { return }
    let dead = Set(disk.dead + machine.changes.dead.map(\.message.place))
    var last: [Int64: Place] = [:]
    for place in order {
      // One event took it away, another gave it back, and a crash had it read again.
      if case .turn(let at, let stream) = place, !isLasting(at, stream) { continue }
      let key = settings.order == .total ? 0 : stream(place)
      if let before = last[key], time(before) > time(place), !dead.contains(before) {
        Issue.record("seed \(seed): \(before) was told before \(place)")
      }
      last[key] = place
    }
  }

  /// Whether everything is told that there is.
  var isDone: Bool {
    let last = rows.values.compactMap { $0.last?.turns.max() }.max() ?? 0
    return machine.held.isEmpty && machine.mark.seq == Int64(events.count)
      && machine.mark.clock >= last
  }

  /// The receiver is well, for as long as it takes.
  mutating func finish() {
    downUntil = 0
    for _ in 0..<8000 {
      lookedAt = now
      feed()
      send()
      let isIdle = inFlight.isEmpty
      while !inFlight.isEmpty { answer() }
      disk.store(&machine)
      if isIdle, isDone { break }
      // Only another customer shows that a message alone is wrong, and not the receiver.
      if isIdle, machine.outage != nil { arrive(at: 100 + Int64(events.count)) }
      now = max(now + 1, isIdle ? machine.wakeAt ?? now + 1000 : 0)
    }
  }
}
