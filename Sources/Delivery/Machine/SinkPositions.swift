public import Platform
public import Store
import StrictJSON

/// How far each sink is, for the daemon of the shared journal that sends next: everything through
/// it is delivered, left out or dead. What is held is sent again by that daemon, so nothing is lost
/// (promise 12); what is dead can be sent again only by the daemon that gave it up.
public struct SinkPositions: Sendable {
  private struct Position {
    let seq: Int64
    /// hash[seq], which shows whether the place is one of the history that the next daemon has.
    let hash: [UInt8]
    let clock: Int64
    /// As in `SinkRecord`: a sink that was paused stays paused.
    let state: String
  }

  /// The `sinks.sqlite` that they were read from; empty if they were not.
  private(set) var file: [UInt8] = []
  private var positions: [String: Position] = [:]

  init() {}

  // MARK: What is stored

  /// Replaces the places of all sinks that a file has; those of others stay.
  ///
  /// - Throws: what SQLite reports.
  mutating func update(
    from store: SinkStore, _ journal: JournalReader
  ) throws(LedgerError) {
    file = store.id
    let starts = try store.heldStarts()
    for record in try store.sinks() where record.id.replay == 0 {
      let start = starts[record.id.name]
      let seq = min(record.seq, (start?.seq ?? .max) - 1)
      let hash = seq == record.seq ? record.hash : try journal.hash(at: seq) ?? []
      let clock = min(record.clock, (start?.clock ?? .max) - 1)
      positions[record.id.name] = Position(
        seq: seq, hash: hash, clock: clock, state: record.state)
    }
  }

  /// The places in the file of a folder that becomes a copy of a shared journal; nil if it has no
  /// file of sinks.
  ///
  /// - Throws: what SQLite reports.
  public static func bytes(of folder: DataFolder) throws(LedgerError) -> [UInt8]? {
    guard try DurableFile.size(folder.sinks) != nil else {
      return nil
    }
    let journal = try JournalReader.open(folder)
    let store = try SinkStore(folder, journalId: try journal.journalId())
    defer { store.close() }
    var positions = SinkPositions()
    try positions.update(from: store, journal)
    return positions.bytes
  }

  /// What the next holder has to store; a sink whose place it does not have is lost there.
  func records(since now: Int64) -> [SinkRecord] {
    positions.map { name, position in
      SinkRecord(
        SinkRecord.ID(name), seq: position.seq, hash: position.hash, clock: position.clock,
        state: position.state, since: now)
    }
  }

  /// The last event that a place names; 0 without any.
  var last: Int64 { positions.values.map(\.seq).max() ?? 0 }

  // MARK: In the table of duties

  var bytes: [UInt8] {
    let sinks = positions.sorted { $0.key < $1.key }.map { name, position in
      (
        name,
        JSONValue.object([
          ("seq", .integer(position.seq)), ("hash", .string(Hexadecimal.encode(position.hash))),
          ("clock", .integer(position.clock)), ("state", .string(position.state)),
        ])
      )
    }
    return JSONValue.object([
      ("file", .string(Hexadecimal.encode(file))), ("sinks", .object(sinks)),
    ]).bytes
  }

  /// Empty for what is none.
  init(parsing bytes: [UInt8]) {
    guard let root = try? JSONDocument(parsing: bytes).root else { return }
    file = root["file"]?.string.flatMap(Hexadecimal.decode) ?? []
    for member in root["sinks"]?.members ?? [] {
      guard let seq = member.value["seq"]?.integer, let clock = member.value["clock"]?.integer,
        let hash = member.value["hash"]?.string.flatMap(Hexadecimal.decode),
        let state = member.value["state"]?.string
      else { continue }
      positions[member.name] = Position(seq: seq, hash: hash, clock: clock, state: state)
    }
  }
}
