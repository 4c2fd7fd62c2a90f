import Ledger
public import Platform
import Queries
public import Store
import StrictJSON

/// The duty to send, which one of the daemons of a shared journal has: taken over from its last
/// holder, and left to the next one. A daemon without a shared journal has it always.
final class SinkDuty {
  /// Whether the places of new sinks, and those that were taken over, are where the next holder of
  /// the duty finds them. Until then nothing is sent: after a crash a sink without a place would
  /// begin at a later event, and all before it would be lost.
  private enum Placing { case wanted, offered, done }

  private let ledger: Ledger
  private var placing = Placing.done
  /// What the holders of the duty left, with the places of this one.
  private var positions = SinkPositions()
  /// Which holding of the duty it is; nil while it is not taken over.
  private var holding: Int64?
  /// Since when events that the last holder names are waited for, monotonic nanoseconds.
  private var waitsSince: Int64?

  /// Milliseconds by which the clocks of two daemons may differ.
  private static let skew: Int64 = 10_000

  init(_ ledger: Ledger) { self.ledger = ledger }

  /// Whether it may be acted for now.
  var isLeased: Bool { ledger.duties.leases(.sinks) }

  /// Whether it was lost since it was taken over, and perhaps taken again.
  func noticesLoss() -> Bool {
    guard let holding, ledger.duties.epoch(.sinks) != holding else { return false }
    (self.holding, waitsSince) = (nil, nil)
    return true
  }

  /// Takes over where the last holder was, once for each time that the duty is taken. The places of
  /// this folder count only if they are what was left, or newer: another daemon may have gone on,
  /// or back, or have paused a sink.
  ///
  /// - Returns: false while this copy may lack events that are done with.
  /// - Throws: what SQLite reports.
  func takeOver(_ files: DeliveryFiles) throws(LedgerError) -> Bool {
    guard let epoch = ledger.duties.epoch(.sinks) else { return false }
    guard epoch != holding else { return true }
    let left = ledger.duties.position(.sinks).map(SinkPositions.init(parsing:)) ?? SinkPositions()
    guard try left.last <= files.reader.journal.head().seq || isWholeSinceTaken() else {
      return false
    }
    if left.file != files.store.id {
      let behind = files.customers.reserve()
      try files.store.replace(left.records(since: Clock.now(), customerClock: behind))
      if !left.isEmpty { files.customers.redeliver(after: (left.customerClock ?? 0) - Self.skew) }
    }
    (positions, holding, placing, waitsSince) = (left, epoch, .wanted, nil)
    return true
  }

  /// Whether this copy had everything at some time since the duty was taken: an event that it lacks
  /// was forgotten by the shared journal, and what names it is lost.
  private func isWholeSinceTaken() -> Bool {
    guard let copy = ledger.copy else { return true }
    let now = Clock.monotonicNanoseconds()
    let since = waitsSince ?? now
    waitsSince = since
    return copy.millisecondsBehind < (now - since) / 1_000_000
  }

  /// Notes that a sink is new: nothing is sent before its place is left.
  func addPlace() { placing = .wanted }

  /// Leaves the places of new sinks to the next holder.
  ///
  /// - Parameter store: stores them in this folder first; returns whether it could.
  /// - Returns: whether they are left, so that something may be sent.
  /// - Throws: what SQLite reports.
  func arePlacesLeft(
    _ files: DeliveryFiles, after store: () -> Bool
  ) throws(LedgerError) -> Bool {
    if placing == .wanted {
      guard store() else { return false }
      try leave(files)
      placing = .offered
    }
    guard placing == .done || ledger.duties.isSaved(.sinks) else { return false }
    placing = .done
    return true
  }

  /// Says in the table of duties where each sink is.
  func leave(_ files: DeliveryFiles) throws(LedgerError) {
    guard ledger.copy != nil else { return }
    try positions.update(from: files.store, files.reader.journal)
    positions.customerClock = try files.customers.done()
    ledger.duties.save(positions.bytes, of: .sinks)
  }
}

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
  /// What customers have by name was told to every sink, as far as it happened until this time;
  /// nil if that is not known. Milliseconds since 1970.
  var customerClock: Int64?

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
  ///
  /// - Parameter customerClock: as in `SinkRecord`, of the next holder.
  func records(since now: Int64, customerClock: Int64) -> [SinkRecord] {
    positions.map { name, position in
      SinkRecord(
        SinkRecord.ID(name), seq: position.seq, hash: position.hash, clock: position.clock,
        customerClock: customerClock, state: position.state, since: now)
    }
  }

  var isEmpty: Bool { positions.isEmpty }

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
      ("told", .optional(customerClock)),
    ]).bytes
  }

  /// Empty for what is none.
  init(parsing bytes: [UInt8]) {
    guard let root = try? JSONDocument(parsing: bytes).root else { return }
    file = root["file"]?.string.flatMap(Hexadecimal.decode) ?? []
    customerClock = root["told"]?.integer
    for member in root["sinks"]?.members ?? [] {
      guard let seq = member.value["seq"]?.integer, let clock = member.value["clock"]?.integer,
        let hash = member.value["hash"]?.string.flatMap(Hexadecimal.decode),
        let state = member.value["state"]?.string
      else { continue }
      positions[member.name] = Position(seq: seq, hash: hash, clock: clock, state: state)
    }
  }
}
