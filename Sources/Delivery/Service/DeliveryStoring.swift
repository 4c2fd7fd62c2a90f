import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// What becomes known of what was sent: stored, shown and logged.
extension DeliveryWorker {
  // MARK: Storing

  /// Stores what changed, if enough has or enough time has passed.
  func store(at now: Int64, isLast: Bool = false) {
    guard let files else { return }
    let outcomes = lanes.values.reduce(0) { $0 + $1.machine.changes.outcomes }
    guard
      isLast || outcomes >= Self.storeOutcomes || now - storedAt >= Self.storeInterval
        || now < storedAt
    else { return }
    var removed: [SinkRecord.ID] = []
    for id in lanes.keys.sorted() {
      if let change = lanes[id]?.takeChange(at: now) { unstored.append(change) }
      if lanes[id]?.isFinished == true { removed.append(id) }
    }
    storedAt = now
    guard !unstored.isEmpty || !removed.isEmpty else { return }
    do throws(LedgerError) {
      try files.store.commit(unstored, removing: removed)
      unstored = []
      for id in removed { lanes[id] = nil }
      // What the table of duties lacks for now, the next holder repeats.
      try? leavePlaces(files)
      if isBlocked { Log.write(.info, "sinks_stored") }
      isBlocked = false
    } catch {
      StoreErrors.record(
        .sinks, "sinks_not_stored",
        [
          ("error", .string(error.description)),
          ("hint", .string("nothing is sent until the places of sinks can be stored")),
        ])
      isBlocked = true
    }
  }

  func publish(at now: Int64) {
    guard now - publishedAt >= Self.publishInterval || now < publishedAt else { return }
    (publishedAt, isUnpublished) = (now, false)
    service.publish(lanes.keys.sorted().compactMap { lanes[$0]?.status(at: now) })
  }

  /// Makes the statuses current at once, as after a command.
  func publishNow() {
    publishedAt = 0
    publish(at: Clock.now())
  }

  /// The record of a sink that is new in the configuration: it begins where that says.
  func newRecord(
    _ sink: Configuration.Sink, _ files: Files
  ) throws(LedgerError) -> SinkRecord {
    let (now, head) = (Clock.now(), try files.reader.journal.head())
    var record = SinkRecord(
      SinkRecord.ID(sink.name), seq: head.seq, hash: head.hash, clock: now, state: "on",
      since: now)
    if files.store.lostNames.contains(sink.name) {
      record.state = SinkMachine.Condition.lost.rawValue
      record.reason = "its place in the journal was lost with sinks.sqlite"
    } else {
      switch sink.from {
      case .now: break
      case .start: (record.seq, record.hash, record.clock) = (0, Head.empty.hash, 0)
      case .after(let seq, let hash):
        if let found = try files.reader.journal.hash(at: seq), Array(found.prefix(4)) == hash {
          (record.seq, record.hash) = (seq, found)
          record.clock = try clock(at: seq, files)
        } else {
          record.state = SinkMachine.Condition.lost.rawValue
          record.reason = "its `from` is no place in this journal"
        }
      }
    }
    unstored.append(SinkStore.Change(record))
    placing = .wanted
    return record
  }

  /// Adds a sink or a replay that was just recorded.
  func add(_ record: SinkRecord, _ sink: Configuration.Sink, _ files: Files) throws(LedgerError) {
    unstored.append(SinkStore.Change(record))
    lanes[record.id] = try DeliveryLane(sink, record, files.store)
  }

  func storeRevived(_ ordinals: [Int64], of id: SinkRecord.ID) {
    guard let record = lanes[id]?.record else { return }
    var change = SinkStore.Change(record)
    change.revived = ordinals
    unstored.append(change)
  }

  // MARK: Logging

  func log(
    _ lane: DeliveryLane, wasDown: Bool, _ dead: ArraySlice<SinkMachine.DeadMessage>
  ) {
    let fields: [(String, JSONValue)] = [("sink", .string(lane.id.name))]
    if lane.machine.condition == .gone, case .status(410)? = lane.lastFailure {
      Log.write(
        .warning, "sink_gone",
        fields + [
          ("reason", .string("the receiver answered 410")),
          ("next", .string("subledger sink resume \(lane.id.name)")),
        ])
    } else if let outage = lane.machine.outage, !wasDown {
      Log.write(.warning, "sink_down", fields + [("reason", .string(outage.failure.text))])
    } else if wasDown, lane.machine.outage == nil {
      Log.write(.info, "sink_up", fields)
    }
    for dead in dead {
      Log.write(
        .warning, "message_dead",
        fields + [
          ("reason", .optional(dead.message.failure?.text)),
          ("next", .string("subledger sink show \(lane.id.name)")),
        ])
    }
  }
}
