import Clients
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// Sends to sinks what the journal has, on the thread of `DeliveryService`: from the opening of the
/// files until an error, the loss of the duty or the end.
///
/// Each turn reads ahead for every sink, sends what may be sent, waits for answers, and stores and
/// shows what became of it.
final class DeliveryWorker {
  private let service: DeliveryService
  private let duty: SinkDuty
  private let client: HTTPClient
  private var files: DeliveryFiles
  private var clock: DeliveryClock
  /// What was configured in the last turn.
  private var sinks: [Configuration.Sink] = []
  private var mirrors: [Configuration.Mirror] = []
  private var runners: [SinkRecord.ID: SinkRunner] = [:]
  private var sent: [HTTPClient.RequestID: Sent] = [:]
  /// What is not stored yet, in its order.
  private var unstored: [SinkStore.Change] = []
  private var storedAt: Int64 = 0
  /// Whether the last attempt to store failed: nothing is sent until one succeeds, because a crash
  /// would repeat all of it.
  private var isBlocked = false
  private var publishedAt: Int64 = 0
  private var isUnpublished = false
  /// When the last turn began, monotonic nanoseconds.
  private var turnedAt: Int64 = 0

  private enum Sent {
    case message(SinkRunner, SinkMachine.Message)
    case test(@Sendable (SinkCommand.Outcome) -> Void)
  }

  /// Connections of all sinks together: two for each of the most that may be configured.
  private static let connections = 64
  /// Milliseconds between two commits, and outcomes after which one is due at once.
  private static let storeInterval: Int64 = 100
  private static let storeOutcomes = 100
  private static let publishInterval: Int64 = 250
  /// Milliseconds from one turn to the next.
  private static let gathering: Int64 = 10
  /// Milliseconds for which the end waits for answers.
  private static let endTime: Int64 = 500
  /// Milliseconds between two looks at what nothing signals.
  private static let idle: Int64 = 1000
  /// Messages that are taken back from the dead at once, and that are listed of each kind.
  private static let (redriveLimit, listed) = (10_000, 100)

  // MARK: From start to end

  /// What the thread does.
  static func run(_ service: DeliveryService) {
    let (thread, duty) = (service.thread, SinkDuty(service.ledger))
    var worker: DeliveryWorker?
    thread.work {
      let (isLeased, isLost) = (duty.isLeased, duty.noticesLoss())
      let isNeeded = !service.configuration().sinkNames.isEmpty
      if isLost || !isLeased || !isNeeded {
        worker?.close()
        worker = nil
      }
      // Without a sink, and while another daemon sends, nothing is stored and nothing is done.
      guard isLeased, isNeeded else {
        service.mirrors.adopt([])
        // Only who sends knows what sinks were told; without any, nobody asks.
        service.customers.delivered = isNeeded ? nil : .max
        if isNeeded { service.publishElsewhere(at: Clock.now()) } else { service.publish([]) }
        service.begun.signal()
        for (command, completion) in service.takeCommands() {
          completion(isLeased ? .noSink : service.elsewhere(command))
        }
        return .whenWoken(within: idle)
      }
      do throws(LedgerError) {
        if worker == nil { worker = try DeliveryWorker(service, duty) }
        try worker?.turn()
        return .atOnce
      } catch {
        StoreErrors.record(.sinks, "delivery_failed", error)
        service.begun.signal()
        worker?.close()
        worker = nil
        return .after(idle)
      }
    }
    worker?.end()
  }

  private init(_ service: DeliveryService, _ duty: SinkDuty) throws(LedgerError) {
    (self.service, self.duty) = (service, duty)
    files = try DeliveryFiles(service.ledger, service.customers)
    clock = try DeliveryClock(service.ledger, service.customers, files.store)
    var settings = ClientSettings()
    settings.connections = Self.connections
    do throws(ClientError) { client = try HTTPClient(settings) } catch {
      throw .sql(error.description)
    }
  }

  private func turn() throws(LedgerError) {
    turnedAt = Clock.monotonicNanoseconds()
    guard try duty.takeOver(files) else {
      return service.thread.cancellation.wait(milliseconds: Self.storeInterval)
    }
    try adoptConfiguration()
    try performCommands()
    try clock.look(files.store)
    let arePlacesLeft = try duty.arePlacesLeft(files) {
      store(at: Clock.now(), isLast: true)
      return !isBlocked
    }
    service.begun.signal()
    let hasMore = arePlacesLeft ? try advance() : false
    wait(hasMore)
    if !hasMore { gather() }
    collect()
    store(at: Clock.now())
    publish(at: Clock.now())
  }

  /// Waits a moment for the answers to what is under way: what has none is sent again.
  private func end() {
    let end = Deadline(milliseconds: Self.endTime)
    while !sent.isEmpty, !end.hasPassed {
      service.thread.wakeup.clear()
      client.wait(milliseconds: end.millisecondsLeft, service.thread.wakeup)
      collect()
    }
    store(at: Clock.now(), isLast: true)
    close()
  }

  private func close() {
    service.customers.delivered = nil
    files.store.close()
    for case .test(let completion) in sent.values { completion(.unavailable) }
    sent = [:]
  }

  // MARK: Configuration

  private func adoptConfiguration() throws(LedgerError) {
    let current = service.configuration()
    guard current.sinks != sinks || current.mirrors != mirrors else { return }
    let (records, now) = (try files.store.sinks(), Clock.now())
    unstored += service.mirrors.adopt(current.mirrors, records, lost: files.store.lostNames)
      .map { SinkStore.Change($0) }
    for sink in current.sinks {
      for runner in runners(of: sink.name) { runner.adopt(sink) }
      guard runners[SinkRecord.ID(sink.name)] == nil else { continue }
      let stored = records.filter { $0.id.name == sink.name }
      if stored.isEmpty {
        try add(try files.newRecord(sink, from: service.beginning(of: sink), at: now), sink)
        duty.addPlace()
      }
      for record in stored {
        runners[record.id] = try SinkRunner(sink, try files.checked(record, at: now), files.store)
      }
    }
    let names = Set(current.sinks.map(\.name))
    runners = runners.filter { names.contains($0.key.name) }
    (sinks, mirrors) = (current.sinks, current.mirrors)
  }

  /// Adds a new sink, or a new replay.
  private func add(_ record: SinkRecord, _ sink: Configuration.Sink) throws(LedgerError) {
    unstored.append(SinkStore.Change(record))
    runners[record.id] = try SinkRunner(sink, record, files.store)
  }

  /// The sink of this name and its replays, in their order.
  private func runners(of name: String) -> [SinkRunner] { ordered.filter { $0.id.name == name } }

  private var ordered: [SinkRunner] { runners.values.sorted { $0.id < $1.id } }

  // MARK: Sending

  /// Reads ahead and sends. Returns whether more can be read at once.
  private func advance() throws(LedgerError) -> Bool {
    guard !isBlocked else { return false }
    let (now, head) = (Clock.now(), service.ledger.foldedHead.seq)
    // One snapshot of the journal for everything that is sent now: its locks cost as much as what
    // is read for a message.
    try files.reader.journal.beginSnapshot()
    defer { files.reader.journal.endSnapshot() }
    // Before the sweep: rows that are caught up between the two are swept.
    let waitsForRows = clock.waitsForRows()
    let sweep = clock.sweep(files.reader, at: now)
    var hasMore = false
    for runner in ordered where !runner.isWaiting(at: now) {
      let before = runner.machine.fed.seq
      do throws(LedgerError) {
        if try runner.fill(files, through: head, sweep, waits: waitsForRows) { hasMore = true }
      } catch .busy {
        // The rows were replaced just now.
        runner.wait(at: now)
      }
      if runner.machine.fed.seq != before { isUnpublished = true }
      send(runner, at: now)
    }
    return hasMore
  }

  private func send(_ runner: SinkRunner, at now: Int64) {
    // A receiver that does not answer keeps no other's connections. Replays share their sink's.
    let share = max(1, Self.connections / max(1, sinks.count))
    let others = runners(of: runner.id.name).filter { $0 !== runner }
      .reduce(0) { $0 + $1.machine.underWayCount }
    while others + runner.machine.underWayCount < share, let message = runner.next(at: now) {
      send(message, runner, at: now)
    }
  }

  private func send(_ message: SinkMachine.Message, _ runner: SinkRunner, at now: Int64) {
    do throws(MessageMaker.Failure) {
      let made = try files.maker.message(message.place, for: runner.sink)
      do throws(ClientError) {
        let id = try start(made, message.attempts + 1, runner.sink, replay: runner.id.replay)
        sent[id] = .message(runner, message)
      } catch {
        finish(message, runner, .failure(error), at: now)
      }
    } catch {
      switch error {
      case .notNow: runner.takeBack(message, at: now)
      case .overtaken: runner.cancel(message)
      case .unreadable:
        isUnpublished = true
        runner.finish(message, .refused(.transport("the event cannot be read")), at: now)
      }
    }
  }

  private func start(
    _ message: OutgoingMessage, _ attempt: Int, _ sink: Configuration.Sink, replay: Int64
  ) throws(ClientError) -> HTTPClient.RequestID {
    let made = try DeliveryRequest(message, attempt, sink, replay, version: service.version)
    return try client.start(made.request, DeliveryRequest.settings(sink))
  }

  private func wait(_ hasMore: Bool) {
    let now = Clock.now()
    var until = now + Self.idle
    for runner in runners.values {
      // What is due and was not sent waits for something else.
      if let at = runner.machine.wakeAt { until = min(until, max(at, now + Self.storeInterval)) }
      if runner.hasChanges { until = min(until, storedAt + Self.storeInterval) }
    }
    if isUnpublished { until = min(until, publishedAt + Self.publishInterval) }
    if hasMore { until = now }
    client.wait(milliseconds: Int32(clamping: max(0, until - now)), service.thread.wakeup)
  }

  /// Lets events and answers gather for a moment, because a turn costs as much as a message:
  /// unless a message waits for an answer, and longer while nothing can be sent.
  private func gather() {
    guard !runners.values.contains(where: { $0.machine.isBusy }) else { return }
    let isOpen = runners.values.contains { $0.machine.condition == .on && $0.machine.outage == nil }
    let time = isOpen || !sent.isEmpty ? Self.gathering : Self.storeInterval
    let past = (Clock.monotonicNanoseconds() - turnedAt) / 1_000_000
    guard past < time else { return }
    service.thread.cancellation.wait(milliseconds: time - past)
    client.wait(milliseconds: 0, service.thread.wakeup)
  }

  // MARK: What becomes of it

  private func collect() {
    let now = Clock.now()
    for (id, result) in client.takeAll() {
      switch sent.removeValue(forKey: id) {
      case .message(let runner, let message)?: finish(message, runner, result, at: now)
      case .test(let completion)?: completion(DeliveryRequest.answer(result))
      case nil: break
      }
    }
  }

  private func finish(
    _ message: SinkMachine.Message, _ runner: SinkRunner,
    _ result: Result<ClientResponse, ClientError>, at now: Int64
  ) {
    // The sink may have left the configuration meanwhile.
    guard runners[runner.id] === runner else { return }
    isUnpublished = true
    let isDelivered = runner.finish(message, result, at: now)
    guard isDelivered, runner.id.replay == 0 else { return }
    service.latencies.observe(Double(max(0, now - message.receivedAt)) / 1000)
  }

  /// Stores what changed, if enough has or enough time has passed.
  private func store(at now: Int64, isLast: Bool = false) {
    let outcomes = runners.values.reduce(0) { $0 + $1.machine.changes.outcomes }
    guard
      isLast || outcomes >= Self.storeOutcomes || now - storedAt >= Self.storeInterval
        || now < storedAt
    else { return }
    storedAt = now
    unstored += ordered.compactMap { $0.takeChange(at: now) }
    let removed = runners.values.filter(\.isFinished).map(\.id)
    guard !unstored.isEmpty || !removed.isEmpty else { return noteTold() }
    do throws(LedgerError) {
      try files.store.commit(unstored, removing: removed)
      unstored = []
      for id in removed { runners[id] = nil }
      noteTold()
      // What the table of duties lacks for now, the next holder repeats.
      try? duty.leave(files)
      if isBlocked { Log.write(.info, "sinks_stored") }
      isBlocked = false
    } catch {
      StoreErrors.record(
        .sinks, "sinks_not_stored", error,
        [("hint", .string("nothing is sent until the places of sinks can be stored"))])
      isBlocked = true
    }
  }

  /// Says what need not be kept for sinks, once that is stored.
  private func noteTold() {
    let delivered = runners.values.filter { $0.id.replay == 0 }.map(\.machine.customerClock).min()
    service.customers.delivered = delivered ?? .max
  }

  private func publish(at now: Int64) {
    guard now - publishedAt >= Self.publishInterval || now < publishedAt else { return }
    (publishedAt, isUnpublished) = (now, false)
    let fault = clock.fault(at: now)
    service.publish(ordered.map { $0.status(at: now, fault) })
  }

  // MARK: Commands

  private func performCommands() throws(LedgerError) {
    var commands = service.takeCommands()[...]
    defer { for (_, completion) in commands { completion(.unavailable) } }
    while let (command, completion) = commands.first {
      let outcome = try perform(command, completion)
      commands.removeFirst()
      if let outcome { completion(outcome) }
    }
  }

  /// Does what an operator asks. Returns nil if the completion is called later.
  private func perform(
    _ command: SinkCommand, _ completion: @escaping @Sendable (SinkCommand.Outcome) -> Void
  ) throws(LedgerError) -> SinkCommand.Outcome? {
    guard let runner = runners[SinkRecord.ID(command.name)] else { return performOnMirror(command) }
    let now = Clock.now()
    switch command.verb {
    case .show: break
    case .pause: for runner in runners(of: command.name) { runner.set(.paused, at: now) }
    case .resume:
      if let refusal = try resume(runner, command.from, at: now) { return refusal }
    case .skip:
      guard let seq = command.seq, runner.skip(seq, at: now) else {
        return .refused("seq is not held and does not wait, or is under way just now")
      }
    case .retry where !command.dead: return Self.messages(runner.retry(command.seq, at: now))
    case .retry: return try redrive(runner, command.seq.map { $0...$0 }, at: now)
    case .replay: return try replay(runner, command, at: now)
    case .test:
      test(runner.sink, completion)
      return nil
    }
    storeNow(at: now)
    let replays = runners(of: command.name).filter { $0.id.replay > 0 }
    let fault = clock.fault(at: now)
    return .shown(
      runner.status(at: now, fault), held: runner.held(Self.listed),
      dead: try files.store.dead(runner.id, limit: Self.listed),
      replays: replays.map { $0.status(at: now, fault) })
  }

  private func performOnMirror(_ command: SinkCommand) -> SinkCommand.Outcome {
    let (record, outcome) = service.mirrors.perform(command)
    if let record { unstored.append(SinkStore.Change(record)) }
    store(at: Clock.now(), isLast: true)
    return outcome
  }

  /// Stores and shows what a command did.
  private func storeNow(at now: Int64) {
    store(at: now, isLast: true)
    publishedAt = 0
    publish(at: now)
  }

  private static func messages(_ count: Int) -> SinkCommand.Outcome {
    .done(.object([("messages", .integer(Int64(count)))]))
  }

  private static let noPlace = SinkCommand.Outcome.refused(
    "that is no place in this journal: write now, start, a cursor of GET /v1/events, or "
      + "received:T")

  /// Returns why it cannot.
  private func resume(
    _ runner: SinkRunner, _ from: String?, at now: Int64
  ) throws(LedgerError) -> SinkCommand.Outcome? {
    var mark: SinkMachine.Mark?
    if let from {
      mark = try files.mark(named: from, at: now)
      if mark == nil { return Self.noPlace }
    } else if runner.machine.condition == .lost {
      return .refused("its place is lost: say where it goes on with --from")
    }
    runner.resume(at: mark, now: now)
    for runner in runners(of: runner.id.name) { runner.set(.on, at: now) }
    clock.accept(at: now)
    return nil
  }

  /// Sends again what was given up: messages about the events of a range, or all.
  private func redrive(
    _ runner: SinkRunner, _ range: ClosedRange<Int64>?, at now: Int64
  ) throws(LedgerError) -> SinkCommand.Outcome {
    let dead = try files.store.dead(runner.id, limit: Self.redriveLimit)
      .filter { record in range.map { $0.contains(record.seq ?? 0) } ?? true }
    runner.redrive(dead, at: now)
    storeNow(at: now)
    return Self.messages(dead.count)
  }

  private func replay(
    _ runner: SinkRunner, _ command: SinkCommand, at now: Int64
  ) throws(LedgerError) -> SinkCommand.Outcome {
    guard let mark = try files.mark(named: command.from ?? "start", at: now) else {
      return Self.noPlace
    }
    let head = try files.reader.journal.head().seq
    let last = min(head, command.to ?? head)
    guard last > mark.seq else { return .refused("there is no event in that range") }
    if command.dead { return try redrive(runner, mark.seq + 1...last, at: now) }
    let number = 1 + runners(of: command.name).reduce(0) { max($0, $1.id.replay) }
    let id = SinkRecord.ID(command.name, replay: number)
    try add(SinkRecord(id, mark, since: now, last: last, only: command.only), runner.sink)
    storeNow(at: now)
    return .done(
      .object([
        ("replay", .integer(number)), ("after", .integer(mark.seq)), ("last", .integer(last)),
      ]))
  }

  /// Sends a message without content.
  private func test(
    _ sink: Configuration.Sink, _ completion: @escaping @Sendable (SinkCommand.Outcome) -> Void
  ) {
    do throws(ClientError) {
      let made = files.maker.test(at: Clock.now())
      sent[try start(made, 1, sink, replay: 0)] = .test(completion)
    } catch {
      completion(DeliveryRequest.answer(.failure(error)))
    }
  }
}
