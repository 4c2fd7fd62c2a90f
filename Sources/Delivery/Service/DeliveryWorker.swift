import Clients
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// What the thread of `DeliveryService` does, from start to end.
final class DeliveryWorker {
  let service: DeliveryService
  private let cancellation: Cancellation
  private var client: HTTPClient?
  private(set) var files: Files?
  private var sinks: [Configuration.Sink] = []
  private var mirrors: [Configuration.Mirror] = []
  var lanes: [SinkRecord.ID: DeliveryLane] = [:]
  private var sent: [HTTPClient.RequestID: Sent] = [:]
  var clock = ClockWatch()
  /// What is stored of it.
  var storedOffset: Int64?
  /// When it was last looked what the clock tells.
  var lookedAt: Int64 = 0
  /// A time, and how many notifications had been submitted by then. It is looked at for this time
  /// once all of them are answered.
  var awaited: (time: Int64, submitted: Int64)?
  /// What is not stored yet, in its order.
  var unstored: [SinkStore.Change] = []
  var storedAt: Int64 = 0
  /// Whether the last attempt to store failed: nothing is sent until one succeeds, because a crash
  /// would repeat all of it.
  var isBlocked = false
  var placing = Placing.done
  /// What the holders of the duty left, with the places of this one; which holding of the duty it
  /// is; since when events that it names are waited for, monotonic nanoseconds.
  private var positions = SinkPositions()
  private var holding: Int64?
  private var takenAt: Int64?
  var publishedAt: Int64 = 0
  var isUnpublished = false
  /// When the last turn began, monotonic nanoseconds.
  private var turnedAt: Int64 = 0

  private enum Sent {
    case message(SinkRecord.ID, SinkMachine.Message)
    case test(@Sendable (SinkCommand.Outcome) -> Void)
  }

  /// Connections of all sinks together: two for each of the most that may be configured.
  private static let connections = 64
  /// Milliseconds between two commits, and outcomes after which one is due at once.
  static let storeInterval: Int64 = 100
  static let storeOutcomes = 100
  static let publishInterval: Int64 = 250
  /// Milliseconds from one turn to the next.
  private static let gathering: Int64 = 10
  /// Milliseconds for which the end waits for answers.
  private static let endTime: Int64 = 500
  /// Milliseconds between two looks at what nothing signals.
  private static let idle: Int64 = 1000

  init(_ service: DeliveryService) {
    self.service = service
    cancellation = service.thread.cancellation
  }

  func run() {
    while !cancellation.isRequested {
      // Without a sink, and while another daemon sends, nothing is stored and nothing is done.
      let isOnDuty = service.ledger.duties.holds(.sinks)
      if files != nil, let held = holding, service.ledger.duties.epoch(.sinks) != held {
        close()
        (holding, takenAt) = (nil, nil)
      }
      let configuration = service.configuration()
      let isIdle =
        sinks.isEmpty && mirrors.isEmpty && configuration.sinks.isEmpty
        && configuration.mirrors.isEmpty
      if !isOnDuty || isIdle {
        service.mirrors.adopt([], paused: [], unknown: [])
        // A command that comes while it waits may be about a sink that was configured meanwhile.
        refuseCommands()
        service.thread.wait(milliseconds: Self.idle)
        continue
      }
      do throws(LedgerError) { try turn() } catch {
        StoreErrors.record(.sinks, "delivery_failed", [("error", .string(error.description))])
        close()
        cancellation.wait(milliseconds: Self.idle)
      }
    }
    end()
  }

  private func close() {
    files?.store.close()
    (files, client) = (nil, nil)
    (lanes, sent, sinks, mirrors, unstored) = ([:], [:], [], [], [])
    isBlocked = false
  }

  private func refuseCommands() {
    let outcome = service.ledger.duties.holds(.sinks) ? SinkCommand.Outcome.noSink : .unavailable
    for (_, completion) in service.takeCommands() { completion(outcome) }
  }

  private func turn() throws(LedgerError) {
    turnedAt = Clock.monotonicNanoseconds()
    service.thread.wakeup.clear()
    let files = try open()
    guard try takeOver(files) else {
      return cancellation.wait(milliseconds: Self.storeInterval)
    }
    try adoptConfiguration(files)
    for (command, completion) in service.takeCommands() {
      if let outcome = try perform(command, files, completion) { completion(outcome) }
    }
    try tellTime(files)
    let hasMore = try isPlaced(files) ? advance(files) : false
    wait(hasMore)
    if !hasMore { gather() }
    collect()
    store(at: Clock.now())
    publish(at: Clock.now())
  }

  private func open() throws(LedgerError) -> Files {
    if let files { return try reopened(files) }
    let ledger = service.ledger
    let durations = ledger.durations
    let reader = try reader(durations)
    let store = try SinkStore(ledger.folder, journalId: try reader.journal.journalId())
    let opened = Files(
      store: store, reader: reader, maker: try MessageMaker(reader, store), durations: durations)
    var settings = ClientSettings()
    settings.connections = Self.connections
    do throws(ClientError) { client = try HTTPClient(settings) } catch {
      throw .sql(error.description)
    }
    files = opened
    try openClock(opened)
    return opened
  }

  private func reader(_ durations: [String: Int64]) throws(LedgerError) -> LedgerReader {
    try LedgerReader(
      service.ledger, durations: durations, reusesSnapshot: true, isPassing: true)
  }

  /// Files whose reader knows the durations that are configured now.
  private func reopened(_ files: Files) throws(LedgerError) -> Files {
    let durations = service.ledger.durations
    guard durations != files.durations else { return files }
    let reader = try reader(durations)
    let opened = Files(
      store: files.store, reader: reader, maker: try MessageMaker(reader, files.store),
      durations: durations)
    self.files = opened
    return opened
  }

  // MARK: Configuration

  private func adoptConfiguration(_ files: Files) throws(LedgerError) {
    let current = service.configuration().sinks
    try adoptMirrors(files)
    guard current != sinks else { return }
    let records = try files.store.sinks()
    for sink in current {
      for id in lanes.keys where id.name == sink.name { lanes[id]?.adopt(sink) }
      guard lanes[SinkRecord.ID(sink.name)] == nil else { continue }
      let stored = records.filter { $0.id.name == sink.name }
      for record in stored.isEmpty ? [try newRecord(sink, files)] : stored {
        lanes[record.id] = try lane(sink, record, files)
      }
    }
    let names = Set(current.map(\.name))
    lanes = lanes.filter { names.contains($0.key.name) }
    sinks = current
  }

  /// A sink as it was stored; one whose place is none of this journal is lost.
  private func lane(
    _ sink: Configuration.Sink, _ stored: SinkRecord, _ files: Files
  ) throws(LedgerError) -> DeliveryLane {
    var record = stored
    if record.state != SinkMachine.Condition.lost.rawValue,
      try files.reader.journal.hash(at: record.seq) != record.hash
    {
      record.state = SinkMachine.Condition.lost.rawValue
      (record.since, record.reason) = (Clock.now(), "the journal has another history")
    }
    // It was down when it was stored; now it is tried anew.
    if record.state == SinkMachine.Condition.on.rawValue, record.reason != nil {
      (record.since, record.reason) = (Clock.now(), nil)
    }
    if record.state == SinkMachine.Condition.lost.rawValue {
      Log.write(
        .warning, "sink_lost",
        [
          ("sink", .string(sink.name)), ("reason", .optional(record.reason)),
          (
            "next",
            .string("say where it goes on: subledger sink resume \(sink.name) --from …")
          ),
        ])
    }
    return try DeliveryLane(sink, record, files.store)
  }

  // MARK: Sending

  /// Reads ahead and sends. Returns whether more can be read at once.
  private func advance(_ files: Files) throws(LedgerError) -> Bool {
    let now = Clock.now()
    guard !isBlocked else { return false }
    let head = service.ledger.foldedHead.seq
    // One snapshot of either file for everything that is sent now: its locks cost as much as what
    // is read for a message.
    try files.reader.journal.beginSnapshot()
    defer {
      files.reader.endSnapshot()
      files.reader.journal.endSnapshot()
    }
    let sweep = sweep(files, at: now)
    var hasMore = false
    for id in lanes.keys.sorted() {
      guard var lane = lanes.removeValue(forKey: id) else { continue }
      defer { lanes[id] = lane }
      if lane.isWaiting(at: now) { continue }
      let before = lane.machine.fed.seq
      do throws(LedgerError) {
        if try lane.fill(files, through: head, sweep) { hasMore = true }
      } catch .busy {
        // The rows were replaced just now.
        lane.wait(at: now)
      }
      if lane.machine.fed.seq != before { isUnpublished = true }
      // Of the same sink: replays share its connections.
      let others = lanes.values.filter { $0.id.name == id.name }
        .reduce(0) { $0 + $1.machine.underWayCount }
      while others + lane.machine.underWayCount < share, !lane.isWaiting(at: now),
        let message = lane.machine.next(at: now)
      {
        send(message, &lane, files.maker, at: now)
      }
    }
    return hasMore
  }

  /// Connections of one sink at most: a receiver that does not answer keeps no other's.
  private var share: Int { max(1, Self.connections / max(1, sinks.count)) }

  private func send(
    _ message: SinkMachine.Message, _ lane: inout DeliveryLane, _ maker: MessageMaker,
    at now: Int64
  ) {
    do throws(MessageMaker.Failure) {
      let made = try maker.message(message.place, for: lane.sink)
      do throws(ClientError) {
        let request = try DeliveryRequest(
          made, message.attempts + 1, lane.sink, lane.id.replay, self)
        sent[try start(request, lane.sink)] = .message(lane.id, message)
      } catch {
        finish(message, DeliveryRequest.outcome(.failure(error), at: now), &lane, at: now)
      }
    } catch {
      switch error {
      case .notNow:
        lane.machine.takeBack(message.ordinal)
        lane.wait(at: now)
      case .overtaken: lane.machine.leaveOut(message.ordinal)
      case .unreadable:
        finish(message, .refused(.transport("the event cannot be read")), &lane, at: now)
      }
    }
  }

  private func start(
    _ request: DeliveryRequest, _ sink: Configuration.Sink
  ) throws(ClientError) -> HTTPClient.RequestID {
    guard let client else { throw .cancelled }
    return try client.start(request.request, DeliveryRequest.settings(sink))
  }

  private func wait(_ hasMore: Bool) {
    let now = Clock.now()
    var until = now + Self.idle
    for lane in lanes.values {
      // What is due and was not sent waits for something else.
      if let at = lane.machine.wakeAt { until = min(until, max(at, now + Self.storeInterval)) }
    }
    if lanes.values.contains(where: {
      !$0.machine.changes.isEmpty || $0.machine.changes.outcomes > 0
    }) {
      until = min(until, storedAt + Self.storeInterval)
    }
    if isUnpublished { until = min(until, publishedAt + Self.publishInterval) }
    if hasMore { until = now }
    client?.wait(milliseconds: Int32(clamping: max(0, until - now)), service.thread.wakeup)
  }

  /// Lets events and answers gather for a moment, because a turn costs as much as a message:
  /// unless a message waits for an answer, and longer while nothing can be sent.
  private func gather() {
    guard !lanes.values.contains(where: { $0.machine.isBusy }) else { return }
    let isOpen = lanes.values.contains { $0.machine.condition == .on && $0.machine.outage == nil }
    let time = isOpen || !sent.isEmpty ? Self.gathering : Self.storeInterval
    let past = (Clock.monotonicNanoseconds() - turnedAt) / 1_000_000
    guard past < time else { return }
    cancellation.wait(milliseconds: time - past)
    client?.wait(milliseconds: 0, service.thread.wakeup)
  }

  /// Waits a moment for the answers to what is under way: what has none is sent again.
  private func end() {
    let end = Deadline(milliseconds: Self.endTime)
    while !sent.isEmpty, !end.hasPassed {
      service.thread.wakeup.clear()
      client?.wait(milliseconds: end.millisecondsLeft, service.thread.wakeup)
      collect()
    }
    store(at: Clock.now(), isLast: true)
    close()
  }

  private func collect() {
    guard let client else { return }
    let now = Clock.now()
    for (id, result) in client.takeAll() {
      switch sent.removeValue(forKey: id) {
      case .message(let lane, let message)?:
        guard var found = lanes.removeValue(forKey: lane) else { continue }
        if case .failure(.address) = result { found.counts.blocked += 1 }
        found.lastStatus = (try? result.get()).map { Int64($0.status) }
        finish(message, DeliveryRequest.outcome(result, at: now), &found, at: now)
        lanes[lane] = found
      case .test(let completion)?: completion(DeliveryRequest.answer(result))
      case nil: break
      }
    }
  }

  private func finish(
    _ message: SinkMachine.Message, _ outcome: SinkMachine.Outcome, _ lane: inout DeliveryLane,
    at now: Int64
  ) {
    isUnpublished = true
    let wasDown = lane.machine.outage != nil
    let deadBefore = lane.machine.changes.dead.count
    lane.machine.finish(message.ordinal, outcome, at: now)
    switch outcome {
    case .delivered:
      lane.counts.delivered += 1
      lane.lastFailure = nil
      if lane.id.replay == 0 {
        service.latencies.observe(Double(max(0, now - message.receivedAt)) / 1000)
      }
    case .endpoint(let failure, _):
      lane.counts.failed += 1
      lane.lastFailure = failure
    case .refused(let failure):
      lane.counts.refused += 1
      lane.lastFailure = failure
    case .gone: lane.lastFailure = .status(410)
    }
    lane.note(at: now)
    log(lane, wasDown: wasDown, lane.machine.changes.dead.dropFirst(deadBefore))
  }

  /// Sends a message without content.
  func test(
    _ sink: Configuration.Sink, _ files: Files,
    _ completion: @escaping @Sendable (SinkCommand.Outcome) -> Void
  ) {
    let made = files.maker.test(at: Clock.now())
    do throws(ClientError) {
      let request = try DeliveryRequest(made, 1, sink, 0, self)
      sent[try start(request, sink)] = .test(completion)
    } catch {
      completion(DeliveryRequest.answer(.failure(error)))
    }
  }
}

/// How the worker takes the duty over from another daemon of a shared journal, and what it leaves
/// to the next one.
extension DeliveryWorker {
  /// Whether the places of new sinks, and those that were taken over, are where the next holder of
  /// the duty finds them. Until then nothing is sent: after a crash a sink without a place would
  /// begin at a later event, and all before it would be lost.
  enum Placing { case wanted, offered, done }

  /// Takes over where the last holder was, once for each time that the duty is taken. The places of
  /// this folder count only if they are what was left, or newer: another daemon may have gone on,
  /// or back, or have paused a sink.
  ///
  /// - Returns: false while this copy may lack events that are done with.
  /// - Throws: what SQLite reports.
  private func takeOver(_ files: Files) throws(LedgerError) -> Bool {
    let duties = service.ledger.duties
    guard let epoch = duties.epoch(.sinks) else { return false }
    guard epoch != holding else { return true }
    let left = duties.position(.sinks).map(SinkPositions.init(parsing:)) ?? SinkPositions()
    guard try left.last <= files.reader.journal.head().seq || isWholeSinceTaken() else {
      return false
    }
    if left.file != files.store.id { try files.store.replace(left.records(since: Clock.now())) }
    (positions, holding, placing, takenAt) = (left, epoch, .wanted, nil)
    return true
  }

  /// Whether this copy had everything at some time since the duty was taken: an event that it lacks
  /// was forgotten by the shared journal, and what names it is lost.
  private func isWholeSinceTaken() -> Bool {
    guard let copy = service.ledger.copy else { return true }
    let now = Clock.monotonicNanoseconds()
    let since = takenAt ?? now
    takenAt = since
    return copy.millisecondsBehind < (now - since) / 1_000_000
  }

  private func isPlaced(_ files: Files) throws(LedgerError) -> Bool {
    if placing == .wanted {
      store(at: Clock.now(), isLast: true)
      guard !isBlocked else { return false }
      try leavePlaces(files)
      placing = .offered
    }
    guard placing == .done || service.ledger.duties.isSaved(.sinks) else { return false }
    placing = .done
    return true
  }

  /// Says in the table of duties where each sink is.
  func leavePlaces(_ files: Files) throws(LedgerError) {
    guard service.ledger.copy != nil else { return }
    try positions.update(from: files.store, files.reader.journal)
    service.ledger.duties.save(positions.bytes, of: .sinks)
  }
}

/// Mirrors, as operators see them: like sinks, though each has a thread and a cursor of its own in
/// its database. Here is only stored that the folder has one, and whether it is paused.
extension DeliveryWorker {
  private func adoptMirrors(_ files: Files) throws(LedgerError) {
    let current = service.configuration().mirrors
    guard current != mirrors else { return }
    let records = try files.store.sinks()
    let paused = records.filter { $0.state == SinkMachine.Condition.paused.rawValue }
    let unknown = files.store.lostNames.subtracting(records.map(\.id.name))
    service.mirrors.adopt(current, paused: Set(paused.map(\.id.name)), unknown: unknown)
    let known = unknown.union(records.map(\.id.name))
    for mirror in current where !known.contains(mirror.name) {
      unstored.append(SinkStore.Change(Self.record(of: mirror.name, .on)))
    }
    mirrors = current
  }

  /// What is stored of a mirror: its place is in its database.
  private static func record(
    of name: String, _ condition: SinkMachine.Condition
  ) -> SinkRecord {
    SinkRecord(
      SinkRecord.ID(name), seq: 0, hash: Head.empty.hash, clock: 0, state: condition.rawValue,
      since: Clock.now())
  }

  /// Does a command about a mirror.
  func performMirror(_ command: SinkCommand) -> SinkCommand.Outcome {
    let status = service.mirrors.statuses.first { $0.name == command.name }
    guard let status, mirrors.contains(where: { $0.name == command.name }) else { return .noSink }
    switch command.verb {
    case .pause:
      // What is stored then would be the folder's word that the mirror is its own.
      guard !Self.isLost(status) else { return .refused("its place is lost: nothing is written") }
      unstored.append(SinkStore.Change(Self.record(of: command.name, .paused)))
      _ = service.mirrors.pause(command.name)
    case .resume:
      let (start, refusal) = Self.start(command.from, status)
      if let refusal { return .refused(refusal) }
      unstored.append(SinkStore.Change(Self.record(of: command.name, .on)))
      _ = service.mirrors.resume(command.name, start)
    case .show: break
    case .skip, .retry, .replay, .test:
      return .refused("a mirror has rows and no messages; pause, resume and show are for it")
    }
    store(at: Clock.now(), isLast: true)
    let now = service.mirrors.statuses.first { $0.name == command.name } ?? status
    return .done(
      .object([
        ("sink", DeliveryStatus(now).json), ("held", .array([])), ("dead", .array([])),
        ("replays", .array([])),
      ]))
  }

  private static func isLost(_ status: MirrorStatus) -> Bool {
    status.state == "lost" || status.start == .unknown
  }

  /// Where a mirror goes on, as the operator says; or why it cannot.
  private static func start(
    _ from: String?, _ status: MirrorStatus
  ) -> (MirrorStart?, refusal: String?) {
    let cursor = Feed.cursor(status.seq, status.hash)
    switch from {
    case nil where !isLost(status): return (nil, nil)
    case _ where !isLost(status):
      return (nil, "a mirror goes on where its database is, unless its place is lost")
    case "start": return (.fill, nil)
    case cursor: return (.proven, nil)
    default:
      return (
        nil,
        "its place is lost: --from start fills its tables anew with this journal, and "
          + "--from \(cursor) goes on where they are, if this journal has that place"
      )
    }
  }
}

extension DeliveryWorker {
  /// What the worker reads and stores.
  struct Files {
    let store: SinkStore
    let reader: LedgerReader
    let maker: MessageMaker
    /// What non-renewing products last, as the reader knows it.
    let durations: [String: Int64]

    /// The first moments after a time, through another, in order: what time alone changes, and what
    /// was announced after another fold.
    ///
    /// - Throws: `LedgerError.busy` while the rows do not know them, otherwise what SQLite reports.
    func moments(
      _ filter: MessageFilter, after time: Int64, through last: Int64, _ limit: Int
    ) throws(LedgerError) -> [MessageOrder.Moment] {
      var found: [MessageOrder.Moment] = []
      if filter.wantsQuarantine {
        let arrivals = try reader.journal.quarantineArrivals(
          after: time, through: last, limit: limit)
        for (at, id) in arrivals {
          // They are of nobody, so none waits for another.
          found.append(.init(.quarantined(at: at, id: id), at: at, stream: nil))
        }
      }
      guard filter.wantsMoments else { return found }
      for item in try store.recalculations(after: time, through: last, limit: limit) {
        let key = try reader.journal.streamKey(item.stream)
        let place = SinkMachine.Place.recalculation(at: item.at, stream: item.stream)
        let isWanted = key.map { filter.passes($0, type: MessageType.recalculated) } ?? false
        found.append(.init(place, at: item.at, stream: item.stream, isWanted: isWanted))
      }
      for turn in try turns(after: time, through: last, limit) {
        let place = SinkMachine.Place.turn(at: turn.at, stream: turn.stream)
        let isWanted = filter.passes(turn.key, type: MessageType.statusChanged)
        found.append(.init(place, at: turn.at, stream: turn.stream, isWanted: isWanted))
      }
      found.sort { ($0.at, $0.stream ?? 0) < ($1.at, $1.stream ?? 0) }
      return Array(found.prefix(limit))
    }

    private func turns(
      after time: Int64, through last: Int64, _ limit: Int
    ) throws(LedgerError) -> [Turn] {
      let turns: [Turn]?
      do throws(LedgerError) {
        turns = try reader.turns(after: time, through: last, limit: limit)
      } catch {
        throw [.notReady, .ambiguous].contains(error.code) ? .busy : error
      }
      guard let turns else { throw .busy }
      return turns
    }
  }
}
