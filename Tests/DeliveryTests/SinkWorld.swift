import Ledger
import Store
import Support
import Testing

@testable import Delivery

/// One sink in a simulated world: events arrive, time alone changes what rows answer, customers get
/// and lose what they have by name, the receiver fails in every way and is away for days, the clock
/// is set, and the program crashes at any point.
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

  /// What a customer has by name changed.
  struct Change {
    let at: Int64
    let cause: CustomerCause
    var place: Place { .moment(.customer, at: at, id: cause.stream) }
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
  /// What changed by name in its order; what sinks were told long ago is forgotten.
  var changes: [Change] = []
  /// Why something changed by name, which was not found yet.
  var causes: [CustomerCause] = []
  var lastChange: Int64 = 0
  /// Changes that were told or left out because they were forgotten.
  var forgotten = 0
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
  /// How far the wall clock is ahead.
  var lead: Int64 = 0
  var wall: Int64 { now + lead }

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
    if chance(200) {
      (steppedUntil, isClockEverStepped) = (now + 50_000, true)
      let leads: [Int64] = [0, 60_000, 240_000, 7_200_000, 86_400_000, -7_200_000]
      lead = leads.randomElement(using: &random) ?? 0
    }
    if now >= steppedUntil { lead = 0 }
    if chance(300) {
      // Away for ten days, after which something comes again.
      downUntil = now + 864_000_000
      now = downUntil - 1000
    }
    if wall - lookedAt >= 1000 || wall < lookedAt { lookedAt = wall }
    if chance(2) { find() }
    feed()
    send()
    #expect(inFlight.count <= settings.concurrency)
    for _ in 0..<inFlight.count where !chance(3) { answer() }
    if chance(3) {
      disk.store(&machine)
      if chance(10) { forget() }
    }
    if chance(80) { crash() }
  }

  /// An event, which may take moments of the row away, and add others.
  mutating func arrive(at stream: Int64) {
    var turns = rows[stream]?.last?.turns ?? []
    if chance(2), let gone = turns.filter({ $0 > wall - 3000 }).min() { turns.remove(gone) }
    if chance(2) {
      // Also several at once, and moments of several customers at the same millisecond.
      for _ in 0..<Int.random(in: 1...2, using: &random) {
        let at = (wall + Int64.random(in: -4000...60_000, using: &random)) / 500 * 500
        turns.insert(at)
        if settings.order != .total, chance(40) {
          poison.insert(.moment(.turn, at: at, id: stream))
        }
      }
    }
    let received = max(wall, events.last?.receivedAt ?? 0)
    events.append(Event(stream: stream, receivedAt: received))
    rows[stream, default: []].append(Row(receivedAt: received, turns: turns))
    if chance(3) {
      causes.append(.init(.event, seq: Int64(events.count), at: received, stream: stream))
    }
  }

  /// Whether what follows from the time alone is told.
  var isTrusted: Bool { abs(lead) <= ClockWatch.tolerance }

  /// Finds what changed by name, as late as may be.
  mutating func find() {
    if isTrusted, chance(4), let (stream, all) = rows.randomElement(using: &random),
      let turn = all.last?.turns.filter({ $0 <= lookedAt - 1000 }).max()
    {
      causes.append(.init(.time, at: turn, stream: stream))
    }
    store()
  }

  /// Gives every change its moment, as `CustomerWorker` does.
  mutating func store() {
    let first = max(wall, events.last?.receivedAt ?? 0, lastChange) + 1
    var next: [Int64: Int64] = [:]
    for cause in causes {
      let at = next[cause.stream] ?? first
      next[cause.stream] = at + 1
      changes.append(Change(at: at, cause: cause))
      if settings.order != .total, chance(25) { poison.insert(changes[changes.count - 1].place) }
    }
    changes.sort { ($0.at, $0.cause.stream) < ($1.at, $1.cause.stream) }
    lastChange = max(lastChange, changes.last?.at ?? 0)
    causes = []
  }

  /// Removes changes that are old and told.
  mutating func forget() {
    let before = min(wall - 8 * 86_400_000, machine.customerClock)
    changes.removeAll { $0.at < before }
  }

  /// As `CustomerStore` gives them.
  func changes(after customerClock: Int64, _ limit: Int) -> [MessageOrder.Moment] {
    let later = changes.filter { $0.at > customerClock }
    let last = later.prefix(limit).last?.at ?? 0
    return later.prefix { $0.at <= last }.map { change in
      MessageOrder.Moment(
        change.place, at: change.at, stream: change.cause.stream, behind: change.cause)
    }
  }

  mutating func feed() {
    let head = Int64(events.count)
    let sweep = isTrusted ? MessageOrder.Sweep(through: lookedAt - 1000, now: wall) : nil
    if let sweep {
      let before = machine.fed
      machine.goBack(to: sweep.now)
      if machine.fed != before {
        repeatsBound += inFlight.count + delivered.keys.count { $0.isAfter(machine.mark) }
      }
    }
    guard machine.capacity > 0 else { return }
    let last = min(head, machine.fed.seq + Int64(min(machine.capacity, 7)))
    let fed = machine.fed
    let found = fed.seq < last ? Array(fed.seq + 1...last) : []
    if let first = found.first, events[Int(first) - 1].receivedAt <= fed.clock {
      repeatsBound += machine.window.count + delivered.count
    }
    let batch = MessageOrder.batch(
      found.map { seq in
        let event = events[Int(seq) - 1]
        return MessageOrder.Event(
          seq: seq, hash: [UInt8(truncatingIfNeeded: seq)], stream: event.stream,
          receivedAt: event.receivedAt, isWanted: true, news: Self.news(seq))
      }, reachesHead: last == head, from: fed, sweep, limit: 3,
      changes: changes(after: fed.customerClock, 3)
    ) { (after, through, limit) in
      let all = rows.flatMap { stream, rows in
        (rows.last?.turns ?? []).filter { $0 > after && $0 <= through }.map { at in
          MessageOrder.Moment(.moment(.turn, at: at, id: stream), at: at, stream: stream)
        }
      }
      return Array(all.sorted { ($0.at, $0.stream ?? 0) < ($1.at, $1.stream ?? 0) }.prefix(limit))
    }
    machine.feed(batch.messages, through: batch.through)
  }

  /// Whether time alone changes a row at a moment: as was known then, and as is known now.
  func isTurn(_ at: Int64, _ stream: Int64) -> Bool {
    let all = rows[stream] ?? []
    let known = all.last { $0.receivedAt <= at }
    return known?.turns.contains(at) == true && all.last?.turns.contains(at) == true
  }

  mutating func send() {
    while let next = machine.next(at: wall) {
      if case .moment(.customer, _, _) = next.place,
        !changes.contains(where: { $0.place == next.place })
      {
        forgotten += 1
        machine.cancel(next.ordinal)
      } else if case .moment(.turn, let at, let stream) = next.place, !isTurn(at, stream) {
        machine.cancel(next.ordinal)
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
    machine.finish(message.ordinal, outcome, at: wall)
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

  /// What an event says of requests for refunds: some say two things.
  private static func news(_ seq: Int64) -> [Int64] { seq % 3 == 0 ? [1, 2] : [] }

  /// When something happened, so that a customer is told in that order: an event before a moment.
  private func time(_ place: Place) -> (Int64, Int64, Int64) {
    switch place {
    case .event(let seq, _): (events[Int(seq) - 1].receivedAt, 0, seq)
    case .moment(_, let at, _):
      (at, 1, 0)
    }
  }

  private func stream(_ place: Place) -> Int64 {
    switch place {
    case .event(let seq, _): events[Int(seq) - 1].stream
    case .moment(_, _, let stream):
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
        .map { Place.moment(.turn, at: $0, id: stream) }
    }
    let named = changes.filter { $0.at <= mark.customerClock }.map(\.place)
    let told = (0..<mark.seq).flatMap { seq in
      ([0] + Self.news(seq + 1)).map { Place.event(seq: seq + 1, news: $0) }
    }
    return told + moments + named
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
    #expect(forgotten == 0, "seed \(seed): a change was forgotten that was not told")
    checkNamed(seed)
    // While the clock is not trusted, events are told and moments wait.
    guard settings.order != .none, !isClockEverStepped else { return }
    let dead = Set(disk.dead + machine.changes.dead.map(\.message.place))
    var last: [Int64: Place] = [:]
    for place in order {
      if case .moment(.customer, _, _) = place { continue }
      // One event took it away, another gave it back, and a crash had it read again.
      if case .moment(.turn, let at, let stream) = place, !isLasting(at, stream) { continue }
      let key = settings.order == .total ? 0 : stream(place)
      if let before = last[key], time(before) > time(place), !dead.contains(before) {
        Issue.record("seed \(seed): \(before) was told before \(place)")
      }
      last[key] = place
    }
  }

  /// What a customer has by name is told behind the event that says so, and in its order.
  private func checkNamed(_ seed: UInt64) {
    guard settings.order != .none else { return }
    let dead = Set(disk.dead + machine.changes.dead.map(\.message.place))
    var (known, last): (Set<Place>, [Int64: Int64]) = ([], [:])
    for place in order {
      known.insert(place)
      guard case .moment(.customer, let at, let stream) = place else { continue }
      if let before = last[stream], before > at {
        Issue.record("seed \(seed): \(before) was told before \(at)")
      }
      last[stream] = at
      guard let seq = changes.first(where: { $0.place == place })?.cause.seq else { continue }
      if !known.contains(.event(seq: seq)), !dead.contains(.event(seq: seq)) {
        Issue.record("seed \(seed): \(place) was told before event \(seq)")
      }
    }
  }

  /// Whether everything is told that there is.
  var isDone: Bool {
    let last = rows.values.compactMap { $0.last?.turns.max() }.max() ?? 0
    return machine.held.isEmpty && machine.mark.seq == Int64(events.count)
      && machine.mark.clock >= last && causes.isEmpty && machine.mark.customerClock >= lastChange
  }

  /// The receiver is well, for as long as it takes.
  mutating func finish() {
    (downUntil, lead, steppedUntil) = (0, 0, 0)
    for _ in 0..<8000 {
      lookedAt = now
      store()
      feed()
      send()
      let isIdle = inFlight.isEmpty
      while !inFlight.isEmpty { answer() }
      disk.store(&machine)
      if isIdle, isDone { break }
      // Only another customer shows that a message alone is wrong, and not the receiver.
      if isIdle, machine.outage != nil { arrive(at: 100 + Int64(events.count)) }
      now = max(now + 1, isIdle ? machine.wakeAt ?? now + 30_000 : 0)
    }
  }
}
