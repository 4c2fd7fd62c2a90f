import AppStoreSimulator
import Glibc
import Platform
import Store
import StrictJSON

/// Makes a journal of any size directly through the journal's writer: without proof and HTTP, and
/// otherwise as the daemon writes it.
final class MadeJournal {
  private let journal: Journal
  private let events: Int
  /// Events that are not appended yet.
  private var batch: [Submission] = []
  private var progress: Progress
  private let data: String

  /// Makes a journal in a folder that has none.
  ///
  /// - Parameters:
  ///   - events: the number of its events.
  ///   - known: notifications that are among the events, evenly distributed.
  /// - Throws: `BenchError.unmeasurable` if the journal cannot be written.
  static func make(
    _ data: String, events: Int, among known: [SimulatedNotification], header: [UInt8]
  ) throws(BenchError) {
    let maker = EventMaker(header: header, for: events)
    try maker.start()
    defer { maker.stop() }
    do throws(LedgerError) {
      let folder = DataFolder(path: data)
      try folder.create()
      let lock = try folder.lock()
      let journal = try Journal.open(folder, lock: lock, now: Input.end)
      let made = MadeJournal(journal, events, data)
      try made.fill(from: maker, known, MadeBody(header: header, seed: 1))
      try journal.close()
      withExtendedLifetime(lock) {}
    } catch {
      throw .unmeasurable("could not make the journal: \(error)")
    }
  }

  private init(_ journal: Journal, _ events: Int, _ data: String) {
    self.journal = journal
    self.events = events
    self.data = data
    progress = Progress("events made", of: events)
  }

  private func fill(
    from maker: EventMaker, _ known: [SimulatedNotification], _ body: MadeBody
  ) throws(LedgerError) {
    var body = body
    var used = 0
    while let batches = maker.batches.dequeueAll() {
      for event in batches.joined() {
        let count = Int(journal.head.seq) + batch.count
        if used < known.count, count * known.count >= used * events {
          try append(body.event(known[used], receivedAt: Input.end))
          used += 1
        }
        if isFull { return try flush() }
        try append(event)
        if isFull { return try flush() }
      }
    }
  }

  private var isFull: Bool { Int(journal.head.seq) + batch.count >= events }

  /// Appends an event with a receive time one millisecond after the previous one's.
  private func append(_ event: NewEvent) throws(LedgerError) {
    var event = event
    event.envelope.receivedAt += journal.head.seq + Int64(batch.count)
    batch.append(.event(event))
    if batch.count == Journal.batchLimit { try flush() }
  }

  /// Appends the batch, with checkpoints as the daemon's writer makes them.
  private func flush() throws(LedgerError) {
    let outcomes = try journal.append(batch)
    for case .duplicate(let seq) in outcomes {
      throw .corrupt("a made event is a duplicate of seq \(seq)")
    }
    batch.removeAll(keepingCapacity: true)
    try journal.checkpointIfNeeded()
    progress.show(
      Int(journal.head.seq), ", \(Decimal.text(Double(Folder.size(data)) / 1e9)) GB on disk")
  }
}
