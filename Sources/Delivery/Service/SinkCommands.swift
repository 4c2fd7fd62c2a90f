import Clients
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// What operators ask of sinks.
extension DeliveryWorker {
  /// Does a command. Returns nil if its completion is called later.
  ///
  /// - Throws: what SQLite reports.
  func perform(
    _ command: SinkCommand, _ files: Files,
    _ completion: @escaping @Sendable (SinkCommand.Outcome) -> Void
  ) throws(LedgerError) -> SinkCommand.Outcome? {
    let id = SinkRecord.ID(command.name)
    guard let sink = lanes[id]?.sink else { return performMirror(command) }
    let now = Clock.now()
    switch command.verb {
    case .pause: set(.paused, command.name, at: now)
    case .resume:
      if let refusal = try resume(id, command, files, at: now) { return refusal }
    case .skip:
      guard let seq = command.seq, lanes[id]?.machine.skip(.event(seq: seq), at: now) == true
      else { return .refused("seq is not held and does not wait, or is under way just now") }
    case .retry: return .done(.object([("messages", .integer(try retry(id, command, files, now)))]))
    case .replay: return try replay(sink, command, files, at: now)
    case .test:
      test(sink, files, completion)
      return nil
    case .show: break
    }
    store(at: now, isLast: true)
    publishNow()
    return .done(try description(id, files, at: now))
  }

  private func resume(
    _ id: SinkRecord.ID, _ command: SinkCommand, _ files: Files, at now: Int64
  ) throws(LedgerError) -> SinkCommand.Outcome? {
    if let from = command.from {
      guard let mark = try mark(from, files, at: now) else { return Self.noPlace }
      lanes[id]?.machine.resume(at: mark, now: now)
    } else if lanes[id]?.machine.condition == .lost {
      return .refused("its place is lost: say where it goes on with --from")
    }
    set(.on, command.name, at: now)
    lanes[id]?.lastFailure = nil
    // The operator saw that the clock is right.
    clock.accept(wall: now, sinceBoot: Clock.millisecondsSinceBoot())
    return nil
  }

  /// Pauses or resumes a sink and its replays, but for those whose place is lost.
  private func set(_ condition: SinkMachine.Condition, _ name: String, at now: Int64) {
    for (id, lane) in lanes where id.name == name && lane.machine.condition != .lost {
      lanes[id]?.machine.set(condition, at: now)
    }
  }

  private static let noPlace = SinkCommand.Outcome.refused(
    "that is no place in this journal: write now, start, a cursor of GET /v1/events, or "
      + "received:T")

  /// The place before the first event to send; nil if there is none such.
  private func mark(
    _ text: String, _ files: Files, at now: Int64
  ) throws(LedgerError) -> SinkMachine.Mark? {
    var seq: Int64
    var beginning: [UInt8]?
    var clock: Int64?
    switch text {
    case "now": (seq, clock) = (try files.reader.journal.head().seq, now)
    case "start": seq = 0
    default:
      if text.hasPrefix("received:"), let time = Int64(text.dropFirst(9)) {
        (seq, clock) = (try files.reader.journal.firstSeq(receivedFrom: time) - 1, time - 1)
      } else {
        let parts = text.split(separator: "-", maxSplits: 1).map(String.init)
        guard let first = parts.first, let number = Int64(first), number >= 0 else { return nil }
        seq = number
        if parts.count == 2 {
          guard let hash = Hexadecimal.decode(parts[1]), hash.count == 4 else { return nil }
          beginning = hash
        }
      }
    }
    seq = max(0, seq)
    guard let hash = try files.reader.journal.hash(at: seq),
      beginning.map({ $0 == Array(hash.prefix(4)) }) ?? true
    else { return nil }
    let received = try self.clock(at: seq, files)
    return SinkMachine.Mark(seq: seq, hash: hash, clock: clock ?? received)
  }

  /// Messages that are taken back from the dead at once.
  private static let reviveLimit = 10_000

  private func retry(
    _ id: SinkRecord.ID, _ command: SinkCommand, _ files: Files, _ now: Int64
  ) throws(LedgerError) -> Int64 {
    guard command.dead else {
      let place = command.seq.map { SinkMachine.Place.event(seq: $0) }
      return Int64(lanes[id]?.machine.retry(place, at: now) ?? 0)
    }
    return try revive(id, command.seq.map { $0...$0 }, files, now)
  }

  /// Sends again what was given up: messages about the events of a range, or all.
  private func revive(
    _ id: SinkRecord.ID, _ range: ClosedRange<Int64>?, _ files: Files, _ now: Int64
  ) throws(LedgerError) -> Int64 {
    let dead = try files.store.dead(id, limit: Self.reviveLimit)
      .filter { record in range.map { $0.contains(record.seq ?? 0) } ?? true }
    guard let mark = lanes[id]?.machine.mark else { return 0 }
    lanes[id]?.machine.revive(
      dead.map { record in
        SinkMachine.NewMessage(
          place: record.place, stream: record.customer, receivedAt: record.receivedAt, after: mark)
      }, at: now)
    lanes[id]?.deadCount -= Int64(dead.count)
    storeRevived(dead.map(\.ordinal), of: id)
    store(at: now, isLast: true)
    publishNow()
    return Int64(dead.count)
  }

  private func replay(
    _ sink: Configuration.Sink, _ command: SinkCommand, _ files: Files, at now: Int64
  ) throws(LedgerError) -> SinkCommand.Outcome {
    guard let mark = try mark(command.from ?? "start", files, at: now) else {
      return Self.noPlace
    }
    let head = try files.reader.journal.head().seq
    let last = min(head, command.to ?? head)
    guard last > mark.seq else { return .refused("there is no event in that range") }
    if command.dead {
      let id = SinkRecord.ID(sink.name)
      return .done(
        .object([("messages", .integer(try revive(id, mark.seq + 1...last, files, now)))]))
    }
    let number = lanes.keys.filter { $0.name == sink.name }.map(\.replay).max() ?? 0
    let record = SinkRecord(
      SinkRecord.ID(sink.name, replay: number + 1), seq: mark.seq, hash: mark.hash,
      clock: mark.clock, state: "on", since: now, last: last, only: command.only)
    try add(record, sink, files)
    store(at: now, isLast: true)
    publishNow()
    return .done(
      .object([
        ("replay", .integer(number + 1)), ("after", .integer(mark.seq)), ("last", .integer(last)),
      ]))
  }

  // MARK: Showing

  /// Messages that are listed of each kind.
  private static let listed = 100

  private func description(
    _ id: SinkRecord.ID, _ files: Files, at now: Int64
  ) throws(LedgerError) -> JSONValue {
    let dead = try files.store.dead(id, limit: Self.listed)
    let held = lanes[id].map { $0.machine.held.first(Self.listed).map { HeldRecord($0) } } ?? []
    let replays = lanes.keys.sorted().filter { $0.name == id.name && $0.replay > 0 }
    return .object([
      ("sink", lanes[id]?.status(at: now).json ?? .null),
      ("held", .array(held.map(Self.json))), ("dead", .array(dead.map(Self.json))),
      ("replays", .array(replays.compactMap { lanes[$0]?.status(at: now).json })),
    ])
  }

  private static func json(_ record: HeldRecord) -> JSONValue {
    .object([
      ("seq", .optional(record.seq)), ("moment", .optional(record.turn)),
      ("received_at", .integer(record.receivedAt)), ("attempts", .integer(Int64(record.attempts))),
      // One that waits for the message before it has no time of its own.
      ("next_attempt_at", .optional(record.nextAt == 0 ? nil : record.nextAt)),
      ("failure", .optional(record.failure)),
    ])
  }
}

extension DeliveryLane {
  /// What it does now, as `GET /v1/sinks` shows it.
  func status(at now: Int64) -> DeliveryStatus {
    let outage = machine.outage
    let oldest = machine.window.oldestReceivedAt
    return DeliveryStatus(
      id: id, kind: sink.kind.rawValue,
      url: String(sink.url.text.prefix { $0 != "?" }), state: state,
      since: record.since,
      reason: outage?.failure.text ?? record.reason ?? lastFailure?.text, lastStatus: lastStatus,
      cursor: Feed.cursor(machine.mark.seq, machine.mark.hash),
      seq: machine.mark.seq, lagEvents: max(0, min(head, record.last ?? .max) - machine.mark.seq),
      lagMilliseconds: oldest.map { max(0, now - $0) } ?? 0,
      held: Int64(machine.held.count), dead: deadCount,
      nextAttemptAt: outage?.probeAt
        ?? (machine.held.isEmpty ? nil : machine.held.nextAt.map { max(now, $0) }),
      last: record.last, counts: counts)
  }
}
