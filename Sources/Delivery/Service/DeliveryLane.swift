import Clients
import Ledger
import Platform
import Queries
import Store

/// One sink at work, or one replay to it: the machine, what is stored of it, what was counted.
struct DeliveryLane {
  let id: SinkRecord.ID
  var sink: Configuration.Sink
  var machine: SinkMachine
  var record: SinkRecord
  /// The journal's head when it was last read ahead.
  private(set) var head: Int64 = 0
  var deadCount: Int64
  var lastFailure: SinkMachine.Failure?
  /// As in `DeliveryStatus`.
  var lastStatus: Int64?
  var counts = DeliveryStatus.Counts()
  /// Until when nothing can be read for it from the ledger's files.
  private var waitsUntil: Int64 = 0
  private var filter: MessageFilter
  /// The state that `record.since` belongs to.
  private var noted = ""

  init(
    _ sink: Configuration.Sink, _ record: SinkRecord, _ store: SinkStore
  ) throws(LedgerError) {
    (id, self.sink, self.record) = (record.id, sink, record)
    filter = MessageFilter(sink, only: record.only)
    let mark = SinkMachine.Mark(seq: record.seq, hash: record.hash, clock: record.clock)
    let dead = try store.dead(id, afterSeq: record.seq, clock: record.clock)
    let stored = SinkMachine.Stored(
      condition: SinkMachine.Condition(rawValue: record.state) ?? .lost, mark: mark,
      held: try store.held(id).map { SinkMachine.HeldMessage($0, mark) },
      dead: dead.map(\.place))
    machine = SinkMachine(
      stored, Self.settings(sink, record), seed: UInt64(bitPattern: Int64(id.name.hashValue)))
    deadCount = try store.deadCount(id)
    noted = state
  }

  /// As `DeliveryStatus` has it.
  var state: String {
    guard machine.condition == .on else { return machine.condition.rawValue }
    return machine.outage != nil ? "down" : machine.isFull ? "full" : "up"
  }

  /// Notes when the state began, if it is another one, and why.
  mutating func note(at now: Int64) {
    guard state != noted else { return }
    (noted, record.since) = (state, now)
    if machine.condition != .lost { record.reason = machine.outage?.failure.text }
  }

  /// A replay has a quarter of the requests.
  private static func settings(
    _ sink: Configuration.Sink, _ record: SinkRecord
  ) -> SinkMachine.Settings {
    SinkMachine.Settings(
      order: sink.order,
      concurrency: record.id.replay == 0 ? sink.concurrency : max(1, sink.concurrency / 4))
  }

  mutating func adopt(_ sink: Configuration.Sink) {
    self.sink = sink
    filter = MessageFilter(sink, only: record.only)
    machine.adopt(Self.settings(sink, record))
  }

  /// The last event that it delivers.
  private func last(_ head: Int64) -> Int64 { min(head, record.last ?? .max) }

  /// Lets other sinks go on while the ledger's files cannot be read for this one.
  mutating func wait(at now: Int64) { waitsUntil = now + Self.pause }

  /// Whether it waits. The clock may have been set back meanwhile.
  func isWaiting(at now: Int64) -> Bool { (1...Self.pause).contains(waitsUntil - now) }

  private static let pause: Int64 = 250

  /// Whether a replay has come to its end.
  var isFinished: Bool {
    guard let last = record.last else { return false }
    return machine.mark.seq >= last && machine.held.isEmpty && machine.underWayCount == 0
  }

  /// Reads ahead. Returns whether there is more to read.
  ///
  /// - Parameter sweep: how far what time alone changes is told; nil: it is not.
  /// - Throws: what SQLite reports.
  mutating func fill(
    _ files: DeliveryWorker.Files, through head: Int64, _ sweep: MessageOrder.Sweep?
  ) throws(LedgerError) -> Bool {
    self.head = head
    let (room, last, fed) = (machine.room, last(head), machine.fed)
    guard room > 0 else { return false }
    let sweep = id.replay == 0 ? sweep : nil
    let events =
      fed.seq < last
      ? try files.reader.journal.messageEvents(
        after: fed.seq, through: last, limit: min(room, Self.pieceSize)) : []
    guard !events.isEmpty || sweep.map({ $0.through > fed.clock }) ?? false else { return false }
    let filter = filter
    let piece = try MessageOrder.piece(
      events.map { event in
        MessageOrder.Event(
          message: .init(
            place: .event(seq: event.seq), stream: event.stream, receivedAt: event.receivedAt,
            after: fed), seq: event.seq, hash: event.hash, isWanted: filter.passes(event))
      }, reachesHead: events.last?.seq ?? last == last, from: fed, sweep
    ) { (after, through, limit) throws(LedgerError) in
      try files.moments(filter, after: after, through: through, limit)
    }
    machine.feed(piece.messages, through: piece.through)
    return piece.hasMore || machine.fed.seq < last && machine.room > 0
  }

  /// Events that are read at once.
  private static let pieceSize = 200
  /// Milliseconds by which the clock of a sink that has nothing to send may be stored late.
  private static let clockInterval: Int64 = 10_000

  // MARK: Storing

  /// What must be stored since the last call; nil if nothing must.
  mutating func takeChange(at now: Int64) -> SinkStore.Change? {
    note(at: now)
    let changes = machine.takeChanges()
    let isLate = abs(machine.mark.clock - record.clock) >= Self.clockInterval
    let isMoved = machine.mark.seq != record.seq || changes.outcomes > 0 || isLate
    guard isMoved || !changes.isEmpty else { return nil }
    (record.seq, record.hash) = (machine.mark.seq, machine.mark.hash)
    record.clock = machine.mark.clock
    record.state = machine.condition.rawValue
    var change = SinkStore.Change(record)
    for ordinal in changes.held {
      if let held = machine.held[ordinal] {
        change.held.append(HeldRecord(held))
      } else {
        change.released.append(ordinal)
      }
    }
    change.dead = changes.dead.map { HeldRecord($0.message, nextAt: $0.diedAt) }
    deadCount += Int64(change.dead.count)
    return change
  }
}

extension HeldRecord {
  init(_ held: SinkMachine.HeldMessage) { self.init(held.message, nextAt: held.nextAt) }

  init(_ message: SinkMachine.Message, nextAt: Int64) {
    var (seq, turn): (Int64?, Int64?) = (nil, nil)
    var (stream, kind) = (message.stream, HeldRecord.Kind.turn)
    switch message.place {
    case .event(let place): seq = place
    case .turn(let at, let place): (turn, stream) = (at, place)
    case .recalculation(let at, let place): (turn, stream, kind) = (at, place, .recalculation)
    case .quarantined(let at, let id): (turn, stream, kind) = (at, id, .quarantined)
    }
    var status: Int?
    if case .status(let code) = message.failure { status = code }
    self.init(
      ordinal: message.ordinal, seq: seq, turn: turn, stream: stream,
      receivedAt: message.receivedAt, attempts: message.attempts, refusals: message.refusals,
      nextAt: nextAt, firstAt: message.firstAt, status: status, failure: message.failure?.text,
      kind: kind)
  }

  /// Whose later messages wait for it: what is quarantined belongs to no customer.
  var customer: Int64? { kind == .quarantined ? nil : stream }

  var place: SinkMachine.Place {
    if let seq { return .event(seq: seq) }
    let (at, stream) = (turn ?? 0, stream ?? 0)
    return switch kind {
    case .turn: .turn(at: at, stream: stream)
    case .recalculation: .recalculation(at: at, stream: stream)
    case .quarantined: .quarantined(at: at, id: stream)
    }
  }
}

extension SinkMachine.HeldMessage {
  init(_ record: HeldRecord, _ mark: SinkMachine.Mark) {
    var message = SinkMachine.Message(
      ordinal: record.ordinal, place: record.place, stream: record.customer,
      receivedAt: record.receivedAt, after: mark)
    (message.attempts, message.refusals) = (record.attempts, record.refusals)
    message.firstAt = record.firstAt
    message.failure = record.status.map { .status($0) } ?? record.failure.map { .transport($0) }
    self.init(message: message, nextAt: record.nextAt)
  }
}
