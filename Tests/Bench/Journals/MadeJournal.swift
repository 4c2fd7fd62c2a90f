import Glibc
import JournalStore
import Platform
import Simulator
import StrictJSON

/// A journal of any size, made straight through the journal's writer: no proof, no HTTP, and else
/// what the daemon would have written.
final class MadeJournal {
  private let journal: Journal
  private let events: Int
  private var waiting: [Submission] = []
  private var progress: Progress
  private let data: String

  /// Makes one in a folder that has none.
  ///
  /// - Parameters:
  ///   - events: how many it shall have.
  ///   - known: among them those of customers who are sent more later, spread over the whole.
  static func make(
    _ data: String, events: Int, among known: [SimulatedNotification], header: [UInt8]
  ) throws(BenchError) {
    let maker = EventMaker(header: header, for: events)
    try maker.start()
    defer { maker.stop() }
    do throws(StoreError) {
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
  ) throws(StoreError) {
    var body = body
    var taken = 0
    while let batches = maker.batches.takeAll() {
      for event in batches.joined() {
        let place = Int(journal.head.seq) + waiting.count
        if taken < known.count, place * known.count >= taken * events {
          try append(body.event(known[taken], receivedAt: Input.end))
          taken += 1
        }
        if isFull { return try flush() }
        try append(event)
        if isFull { return try flush() }
      }
    }
  }

  private var isFull: Bool { Int(journal.head.seq) + waiting.count >= events }

  /// Received a millisecond after the one before it.
  private func append(_ event: NewEvent) throws(StoreError) {
    var event = event
    event.receivedAt += journal.head.seq + Int64(waiting.count)
    waiting.append(.event(event))
    if waiting.count == Journal.batchLimit { try flush() }
  }

  /// Batches and checkpoints as the daemon's writer makes them.
  private func flush() throws(StoreError) {
    let outcomes = try journal.append(waiting)
    for case .duplicate(let seq) in outcomes {
      throw .corrupt("a made event came twice, first as seq \(seq)")
    }
    waiting.removeAll(keepingCapacity: true)
    try journal.checkpointIfNeeded()
    progress.show(
      Int(journal.head.seq), ", \(Decimal.text(Double(Folder.size(data)) / 1e9)) GB on disk")
  }
}
