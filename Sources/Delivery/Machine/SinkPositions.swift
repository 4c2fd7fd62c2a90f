import JournalStore
import LedgerEngine
import LedgerQueries
import StrictJSON

/// How far each sink is, for the daemon of the shared journal that sends next: everything through
/// it is delivered, left out or dead. What is held is sent again by that daemon, so nothing is lost
/// (promise 12); what is dead can be sent again only by the daemon that gave it up.
struct SinkPositions {
  private struct Position {
    let seq: Int64
    let clock: Int64
    /// As in `SinkRecord`: a sink that was paused stays paused.
    let state: String
  }

  private var positions: [String: Position] = [:]

  init(_ lanes: some Sequence<DeliveryLane>) {
    for lane in lanes where lane.id.replay == 0 {
      var (seq, clock) = (lane.machine.mark.seq, lane.machine.mark.clock)
      for held in lane.machine.held.all {
        switch held.message.place {
        case .event(let at): seq = min(seq, at - 1)
        case .turn(let at, _), .recalculation(let at, _), .quarantined(let at, _):
          clock = min(clock, at - 1)
        }
      }
      positions[lane.id.name] = Position(
        seq: seq, clock: clock, state: lane.machine.condition.rawValue)
    }
  }

  var bytes: [UInt8] {
    JSONValue.object(
      positions.keys.sorted().map { name in
        (
          name,
          .object([
            ("seq", .optional(positions[name]?.seq)), ("clock", .optional(positions[name]?.clock)),
            ("state", .optional(positions[name]?.state)),
          ])
        )
      }
    ).bytes
  }

  /// Empty for what is none.
  private init(parsing bytes: [UInt8]) {
    for member in (try? JSONDocument(parsing: bytes).root)?.members ?? [] {
      guard let seq = member.value["seq"]?.integer, let clock = member.value["clock"]?.integer,
        let state = member.value["state"]?.string
      else { continue }
      positions[member.name] = Position(seq: seq, clock: clock, state: state)
    }
  }

  /// What is stored of every sink, after the places that the last holder of the duty left were
  /// taken over. A place of this folder that is not before them is kept, with what it holds.
  ///
  /// - Throws: what SQLite reports.
  static func records(
    _ duties: Duties, _ files: DeliveryWorker.Files, at now: Int64
  ) throws(StoreError) -> [SinkRecord] {
    let own = try files.store.sinks()
    guard let bytes = duties.position(.sinks) else { return own }
    let head = try files.reader.journal.head().seq
    for (name, position) in SinkPositions(parsing: bytes).positions {
      let id = SinkRecord.ID(name)
      let known = own.first { $0.id == id }
      // This copy may not have it yet: then some messages are repeated.
      let seq = min(position.seq, head)
      guard known.map({ $0.seq < seq }) ?? true,
        let hash = try files.reader.journal.hash(at: seq)
      else { continue }
      let record = SinkRecord(
        id, seq: seq, hash: hash, clock: position.clock, state: position.state, since: now)
      try files.store.commit([], removing: [id])
      try files.store.commit([SinkStore.Change(record)])
    }
    return try files.store.sinks()
  }
}
