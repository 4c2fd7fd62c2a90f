import Clients
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// One sink at work, or one replay to it: the machine, what is stored of it, what was counted.
final class SinkRunner {
  let id: SinkRecord.ID
  private(set) var sink: Configuration.Sink
  private(set) var machine: SinkMachine
  private var record: SinkRecord
  private var filter: MessageFilter
  /// The journal's head when it was last read ahead.
  private var head: Int64 = 0
  /// Until when nothing can be read for it from the ledger's files.
  private var waitsUntil: Int64 = 0
  /// As in `DeliveryStatus`.
  private var counts = DeliveryStatus.Counts()
  private var lastFailure: SinkMachine.Failure?
  private var lastStatus: Int64?
  private var deadCount: Int64
  /// The state that `record.since` belongs to.
  private var noted = ""
  /// Ordinals of messages that are no longer dead, which is not stored yet.
  private var redriven: [Int64] = []

  init(
    _ sink: Configuration.Sink, _ record: SinkRecord, _ store: SinkStore
  ) throws(LedgerError) {
    (id, self.sink, self.record) = (record.id, sink, record)
    filter = MessageFilter(sink, only: record.only)
    let mark = record.mark
    let dead = try store.deadCount(id)
    let stored = SinkMachine.Stored(
      condition: SinkMachine.Condition(rawValue: record.state) ?? .lost, mark: mark,
      held: try store.held(id).map { SinkMachine.HeldMessage($0, mark) },
      dead: try store.dead(id, afterSeq: mark.seq, time: min(mark.clock, mark.customerClock)).map(
        \.place),
      lastDead: dead.last)
    machine = SinkMachine(
      stored, Self.settings(sink, record), seed: UInt64(bitPattern: Int64(id.name.hashValue)))
    deadCount = dead.count
    noted = state
  }

  func adopt(_ sink: Configuration.Sink) {
    self.sink = sink
    filter = MessageFilter(sink, only: record.only)
    machine.adopt(Self.settings(sink, record))
  }

  /// A replay has a quarter of the requests.
  private static func settings(
    _ sink: Configuration.Sink, _ record: SinkRecord
  ) -> SinkMachine.Settings {
    SinkMachine.Settings(
      order: sink.order,
      concurrency: record.id.replay == 0 ? sink.concurrency : max(1, sink.concurrency / 4))
  }

  // MARK: Sending

  /// Events that are read at once.
  private static let batchSize = 200
  private static let pause: Int64 = 250

  /// Lets other sinks go on while the ledger's files cannot be read for this one.
  func wait(at now: Int64) { waitsUntil = now + Self.pause }

  /// Whether it waits. The clock may have been set back meanwhile.
  func isWaiting(at now: Int64) -> Bool { (1...Self.pause).contains(waitsUntil - now) }

  /// Reads ahead. Returns whether there is more to read.
  ///
  /// - Parameters:
  ///   - sweep: how far what time alone changes is told; nil: it is not.
  ///   - waits: whether nothing is read now; a replay, which tells no moments, does not wait.
  /// - Throws: what SQLite reports.
  func fill(
    _ files: DeliveryFiles, through head: Int64, _ sweep: MessageOrder.Sweep?, waits: Bool
  ) throws(LedgerError) -> Bool {
    self.head = head
    guard !waits || id.replay > 0 else { return false }
    let sweep = id.replay == 0 ? sweep : nil
    if let sweep { machine.goBack(to: sweep.now) }
    let (capacity, last, fed) = (machine.capacity, min(head, record.last ?? .max), machine.fed)
    guard capacity > 0 else { return false }
    let changes = id.replay == 0 ? try files.changes(filter, after: fed.customerClock) : []
    let events =
      fed.seq < last
      ? try files.reader.journal.messageEvents(
        after: fed.seq, through: last, limit: min(capacity, Self.batchSize)) : []
    guard !events.isEmpty || !changes.isEmpty || sweep.map({ $0.through > fed.clock }) ?? false
    else { return false }
    let filter = filter
    let batch = try MessageOrder.batch(
      events.map { event throws(LedgerError) in
        MessageOrder.Event(
          seq: event.seq, hash: event.hash, stream: event.stream, receivedAt: event.receivedAt,
          isWanted: filter.passes(event), news: try files.refundNews(event, filter))
      }, reachesHead: events.last?.seq ?? last == last, from: fed, sweep, changes: changes
    ) { (after, through, limit) throws(LedgerError) in
      try files.moments(filter, after: after, through: through, limit)
    }
    machine.feed(batch.messages, through: batch.through)
    return batch.hasMore || machine.fed.seq < last && machine.capacity > 0
  }

  /// The next message to send; nil if none may be sent now.
  func next(at now: Int64) -> SinkMachine.Message? {
    isWaiting(at: now) ? nil : machine.next(at: now)
  }

  /// Takes back a message that cannot be made now.
  func takeBack(_ message: SinkMachine.Message, at now: Int64) {
    machine.takeBack(message.ordinal)
    wait(at: now)
  }

  /// Leaves a message out that says nothing any more.
  func cancel(_ message: SinkMachine.Message) { machine.cancel(message.ordinal) }

  // MARK: What becomes of a message

  /// Notes what a request resulted in. Returns whether the message is delivered.
  func finish(
    _ message: SinkMachine.Message, _ result: Result<ClientResponse, ClientError>, at now: Int64
  ) -> Bool {
    if case .failure(.address) = result { counts.blocked += 1 }
    lastStatus = (try? result.get()).map { Int64($0.status) }
    let outcome = DeliveryRequest.outcome(result, at: now)
    finish(message, outcome, at: now)
    return outcome == .delivered
  }

  func finish(_ message: SinkMachine.Message, _ outcome: SinkMachine.Outcome, at now: Int64) {
    let (wasDown, deadBefore) = (machine.outage != nil, machine.changes.dead.count)
    machine.finish(message.ordinal, outcome, at: now)
    switch outcome {
    case .delivered:
      counts.delivered += 1
      lastFailure = nil
    case .endpoint(let failure, _):
      counts.failed += 1
      lastFailure = failure
    case .refused(let failure):
      counts.refused += 1
      lastFailure = failure
    case .gone: lastFailure = .status(410)
    }
    note(at: now)
    log(outcome, wasDown: wasDown, machine.changes.dead.dropFirst(deadBefore))
  }

  private func log(
    _ outcome: SinkMachine.Outcome, wasDown: Bool, _ dead: ArraySlice<SinkMachine.DeadMessage>
  ) {
    let name = ("sink", JSONValue.string(id.name))
    if outcome == .gone {
      Log.write(
        .warning, "sink_gone",
        [
          name, ("reason", .string("the receiver answered 410")),
          ("next", .string("subledger sink resume \(id.name)")),
        ])
    } else if let outage = machine.outage, !wasDown {
      Log.write(.warning, "sink_down", [name, ("reason", .string(outage.failure.text))])
    } else if wasDown, machine.outage == nil {
      Log.write(.info, "sink_up", [name])
    }
    for dead in dead {
      Log.write(
        .warning, "message_dead",
        [
          name, ("reason", .optional(dead.message.failure?.text)),
          ("next", .string("subledger sink show \(id.name)")),
        ])
    }
  }

  // MARK: Commands

  /// Pauses it, or lets it go on; not one whose place is lost.
  func set(_ condition: SinkMachine.Condition, at now: Int64) {
    if machine.condition != .lost { machine.set(condition, at: now) }
  }

  /// Goes on, at another place if one is given.
  func resume(at mark: SinkMachine.Mark?, now: Int64) {
    if let mark { machine.resume(at: mark, now: now) }
    lastFailure = nil
  }

  /// Gives a message up. Returns false if there is none that is not under way.
  func skip(_ seq: Int64, at now: Int64) -> Bool {
    machine.places(of: seq).filter { machine.skip($0, at: now) }.isEmpty == false
  }

  /// Tries held messages now: one, or all. Returns how many.
  func retry(_ seq: Int64?, at now: Int64) -> Int {
    guard let seq else { return machine.retry(nil, at: now) }
    return machine.places(of: seq).reduce(0) { $0 + machine.retry($1, at: now) }
  }

  /// Sends dead messages again.
  func redrive(_ dead: [HeldRecord], at now: Int64) {
    let mark = machine.mark
    machine.redrive(
      dead.map { record in
        SinkMachine.NewMessage(
          place: record.place, stream: record.customer, receivedAt: record.receivedAt, after: mark)
      }, at: now)
    deadCount -= Int64(dead.count)
    redriven += dead.map(\.ordinal)
  }

  /// What it holds, the first so many.
  func held(_ limit: Int) -> [HeldRecord] { machine.held.first(limit).map { HeldRecord($0) } }

  // MARK: What is stored and shown

  /// Milliseconds by which the clock of a sink that has nothing to send may be stored late.
  private static let clockInterval: Int64 = 10_000

  /// Whether something is to be stored soon.
  var hasChanges: Bool { !machine.changes.isEmpty || machine.changes.outcomes > 0 }

  /// Whether a replay has come to its end.
  var isFinished: Bool {
    guard let last = record.last else { return false }
    return machine.mark.seq >= last && machine.held.isEmpty && machine.underWayCount == 0
  }

  /// What must be stored since the last call; nil if nothing must.
  func takeChange(at now: Int64) -> SinkStore.Change? {
    note(at: now)
    let changes = machine.takeChanges()
    let isLate = abs(machine.mark.clock - record.clock) >= Self.clockInterval
    let isMoved = machine.mark.seq != record.seq || changes.outcomes > 0 || isLate
    guard isMoved || !changes.isEmpty else { return nil }
    record.mark = machine.mark
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
    (change.redriven, redriven) = (redriven, [])
    return change
  }

  /// Notes when the state began, if it is another one, and why.
  private func note(at now: Int64) {
    guard state != noted else { return }
    (noted, record.since) = (state, now)
    if machine.condition != .lost { record.reason = machine.outage?.failure.text }
  }

  /// As `DeliveryStatus` has it.
  private var state: String {
    guard machine.condition == .on else { return machine.condition.rawValue }
    return machine.outage != nil ? "down" : machine.isFull ? "full" : "up"
  }

  /// What it does now, as `GET /v1/sinks` shows it.
  ///
  /// - Parameter fault: what is wrong with the clock.
  func status(at now: Int64, _ fault: String?) -> DeliveryStatus {
    let outage = machine.outage
    let oldest = machine.window.oldestReceivedAt
    return DeliveryStatus(
      id: id, kind: sink.kind.rawValue, url: String(sink.url.text.prefix { $0 != "?" }),
      state: state, since: record.since,
      reason: outage?.failure.text ?? record.reason ?? lastFailure?.text ?? fault,
      lastStatus: lastStatus,
      seq: machine.mark.seq, hash: machine.mark.hash, end: min(head, record.last ?? .max),
      lagMilliseconds: oldest.map { max(0, now - $0) } ?? 0,
      held: Int64(machine.held.count), dead: deadCount,
      nextAttemptAt: outage?.probeAt
        ?? (machine.held.isEmpty ? nil : machine.held.nextAt.map { max(now, $0) }),
      last: record.last, counts: counts)
  }
}

extension HeldRecord {
  /// What an event says of requests for refunds has numbers after this, which no `MessageKind` has.
  private static let news: Int64 = 100

  init(_ held: SinkMachine.HeldMessage) { self.init(held.message, nextAt: held.nextAt) }

  init(_ message: SinkMachine.Message, nextAt: Int64) {
    var (seq, turn): (Int64?, Int64?) = (nil, nil)
    var (stream, kind) = (message.stream, Int64(0))
    switch message.place {
    case .event(let place, let news): (seq, kind) = (place, news == 0 ? 0 : Self.news + news)
    case .moment(let found, let at, let id): (kind, turn, stream) = (found.rawValue, at, id)
    }
    var status: Int?
    if case .status(let code) = message.failure { status = code }
    self.init(
      ordinal: message.ordinal, seq: seq, turn: turn, stream: stream,
      receivedAt: message.receivedAt, attempts: message.attempts, refusals: message.refusals,
      nextAt: nextAt, firstAt: message.firstAt, status: status, failure: message.failure?.text,
      kind: kind)
  }

  /// Whose later messages wait for it: what is quarantined belongs to no customer, and 0 is the id
  /// of no stream.
  var customer: Int64? {
    kind == MessageKind.quarantined.rawValue || stream == 0 ? nil : stream
  }

  var place: SinkMachine.Place {
    seq.map { .event(seq: $0, news: max(0, kind - Self.news)) }
      ?? .moment(MessageKind(rawValue: kind) ?? .turn, at: turn ?? 0, id: stream ?? 0)
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
