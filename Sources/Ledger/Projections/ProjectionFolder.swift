public import AppStore
import Entitlements
public import Platform
public import Store

/// Folds journaled events into a projection, in batches of one SQL transaction each.
///
/// Keeps promises 7 (the rows follow from the journal alone) and 9 (an event that cannot be folded
/// marks its own row and stops no other). Used on the thread that owns the projection.
public final class ProjectionFolder {
  let projection: Projection

  /// Cache of the streams that were folded last: a customer's notifications come in bursts.
  private var cache: [StreamKey: Entry] = [:]
  /// The keys of the last folds, oldest replaced first: a circular buffer.
  private var foldedKeys: [StreamKey] = []
  /// The index in `foldedKeys` of the next fold.
  private var nextFold = 0
  private let cacheCapacity: Int

  /// A class, because it is moved far more often than it changes.
  private final class Entry {
    var state: StreamState
    var broken: String?
    /// Nil if there is no row yet.
    var reference: Projection.RowReference?
    /// Whether Apple asked about a refund.
    var hasRequests: Bool
    /// The requests, as long as nothing new was said of them: they are folded from all events of
    /// the stream, which may be thousands.
    var requests: [RefundRequest]?
    /// The index in `foldedKeys` of its last fold.
    var foldIndex = 0

    init(
      _ state: StreamState, broken: String? = nil, _ reference: Projection.RowReference? = nil
    ) {
      self.state = state
      self.broken = broken
      self.reference = reference
      hasRequests = reference?.hasRequests == true
    }
  }

  /// - Parameter cacheCapacity: the number of streams that are cached. A state is about 7 KB, so
  ///   1,000 take 7 MB: the daemon's memory under full load should stay under 120 MB. Other
  ///   streams are read from the projection.
  public init(_ projection: Projection, cacheCapacity: Int = 1_000) {
    self.projection = projection
    self.cacheCapacity = cacheCapacity
  }

  /// One event of a batch.
  struct Step {
    let stream: StreamKey
    let seq: Int64
    /// Nil if its body cannot be read, and of a statement.
    let event: FoldEvent?
    /// Whether it is what the owner said of a request for a refund, on which no row depends.
    var isStatement = false
  }

  /// Folds a batch that begins right after `projection.foldedThrough`.
  ///
  /// - Parameters:
  ///   - seq: the last seq of the batch.
  ///   - hash: the journal's hash at `seq`.
  /// - Returns: the number of events that were signed before an event of their stream that was
  ///   already folded.
  /// - Throws: `LedgerError.corrupt` when a row is damaged or missing, otherwise what SQLite
  ///   reports.
  @discardableResult
  func fold(
    _ steps: [Step], through seq: Int64, hash: [UInt8], journal: JournalReader
  ) throws(LedgerError) -> Int64 {
    var late: Int64 = 0
    var changed: [StreamKey: Entry] = [:]
    try projection.commit(foldedThrough: seq, hash: hash) { () throws(LedgerError) in
      try projection.add(journal.hourCounts(from: projection.foldedThrough + 1, through: seq))
      for step in steps {
        let entry: Entry
        if let known = changed[step.stream] {
          entry = known
        } else {
          entry = try load(step.stream, journal)
          changed[step.stream] = entry
        }
        if step.isStatement {
          (entry.hasRequests, entry.requests) = (true, nil)
        } else if let event = step.event {
          if let last = entry.state.lastEvent, event.signedDate < last.signedDate { late += 1 }
          entry.state.evolve(event)
          entry.hasRequests = entry.hasRequests || event.isRefundRequest
          if entry.requests != nil, event.isAboutRefunds { entry.requests = nil }
        } else {
          entry.broken = entry.broken ?? Self.unreadable(step.seq)
        }
      }
      let now = projection.clock()
      for (key, entry) in changed {
        if entry.hasRequests, entry.requests == nil {
          entry.requests = try journal.refundRequests(of: key, through: seq)
        }
        let stream = FoldedStream(
          key, entry.state, entry.requests ?? [], by: journal.fold, broken: entry.broken)
        let packed = projection.packer.pack(stream)
        entry.reference = try projection.write(packed, over: entry.reference, at: now)
      }
    }
    for (key, entry) in changed { updateCache(entry, key) }
    return late
  }

  /// Caches a stream. A full cache drops one stream for each new one: to drop many at once would be
  /// a pause.
  private func updateCache(_ entry: Entry, _ key: StreamKey) {
    if foldedKeys.count < cacheCapacity {
      foldedKeys.append(key)
    } else {
      // A stream that was folded again since has another index.
      let oldest = foldedKeys[nextFold]
      if cache[oldest]?.foldIndex == nextFold { cache[oldest] = nil }
      foldedKeys[nextFold] = key
    }
    entry.foldIndex = nextFold
    cache[key] = entry
    nextFold = (nextFold + 1) % cacheCapacity
  }

  /// Folds the events between the projection and the journal's head as of the call.
  ///
  /// - Parameters:
  ///   - end: folds no event after this seq.
  ///   - progress: called after every batch with the last seq folded and the head; false stops, and
  ///     what was folded stays.
  /// - Throws: what SQLite reports.
  public func catchUp(
    _ journal: JournalReader, through end: Int64 = .max,
    progress: (Int64, Int64) -> Bool = { _, _ in true }
  ) throws(LedgerError) {
    try catchUp(journal, through: end, observing: { _ in }, progress: progress)
  }

  /// - Parameter observe: called with each event before it is folded.
  func catchUp(
    _ journal: JournalReader, through end: Int64, observing observe: (Step) -> Void,
    progress: (Int64, Int64) -> Bool = { _, _ in true }
  ) throws(LedgerError) {
    let head = min(end, try journal.head().seq)
    var steps: [Step] = []
    var shouldContinue = true
    while shouldContinue, projection.foldedThrough < head {
      steps.removeAll(keepingCapacity: true)
      var last: (seq: Int64, hash: [UInt8])?
      let first = projection.foldedThrough + 1
      let batchEnd = min(head, first + Self.batchSize - 1)
      try journal.forEachPayload(from: first, through: batchEnd) { stream, hash, payload in
        last = (payload.seq, hash)
        if let stream {
          let event = try? JournaledNotification.foldEvent(payload)
          steps.append(
            Step(
              stream: stream, seq: payload.seq, event: event,
              isStatement: payload.source.isOwners))
          observe(steps[steps.count - 1])
        }
        return true
      }
      guard let last else { return }
      try fold(steps, through: last.seq, hash: last.hash, journal: journal)
      try projection.checkpointIfNeeded()
      shouldContinue = progress(last.seq, head)
    }
  }

  /// Events in a batch of `catchUp`.
  private static let batchSize: Int64 = 5000

  private func load(_ key: StreamKey, _ journal: JournalReader) throws(LedgerError) -> Entry {
    if let entry = cache.removeValue(forKey: key) { return entry }
    if let entry = try stored(key, journal) { return entry }
    // A stream that has folded events has a row.
    guard try !journal.hasEvents(of: key, through: projection.foldedThrough) else {
      throw .corrupt("the row of a stream is missing")
    }
    return Entry(StreamState())
  }

  private func stored(
    _ key: StreamKey, _ journal: JournalReader
  ) throws(LedgerError) -> Entry? {
    guard let stream = try projection.stream(key) else { return nil }
    var state = stream.state
    // Of a purchase with several transaction ids not each one's is stored.
    if state.seqs.count < state.transactions.count {
      state = try Self.folding(key, through: projection.foldedThrough, journal).state
    }
    return Entry(state, broken: stream.broken, stream.reference)
  }

  /// The state of a stream by its row, which is cached for the next fold; nil if it has none.
  ///
  /// - Throws: `LedgerError.corrupt` when the row is damaged, otherwise what SQLite reports.
  func state(
    of key: StreamKey, _ journal: JournalReader
  ) throws(LedgerError) -> StreamState? {
    if let entry = cache[key] { return entry.state }
    guard let entry = try stored(key, journal) else { return nil }
    updateCache(entry, key)
    return entry.state
  }

  /// Why a row is broken: the first event of its stream, by seq, that could not be read.
  static func unreadable(_ seq: Int64) -> String { "the body of seq \(seq) cannot be read" }

  /// Folds one stream from the journal alone.
  ///
  /// - Throws: what SQLite reports.
  public static func refolded(
    _ key: StreamKey, through seq: Int64, _ journal: JournalReader
  ) throws(LedgerError) -> FoldedStream {
    try folding(key, through: seq, journal).folded(key, through: seq, journal)
  }

  private static func folding(
    _ key: StreamKey, through seq: Int64, _ journal: JournalReader
  ) throws(LedgerError) -> StreamFolding {
    var stream = StreamFolding()
    try journal.forEachPayload(of: key, through: seq) { stream.fold($0) }
    return stream
  }

  /// Folds the streams of one original transaction id again, through `projection.foldedThrough`.
  ///
  /// - Returns: the number of streams, and of rows that changed.
  /// - Throws: `LedgerError.corrupt` when a row is damaged, otherwise what SQLite reports.
  func refold(
    only originalTransactionId: String, _ journal: JournalReader
  ) throws(LedgerError) -> (streams: Int, changed: Int) {
    let keys = try journal.streams(withOriginalTransactionId: originalTransactionId)
    var changed = 0
    for key in keys where try refold(key, journal) { changed += 1 }
    return (keys.count, changed)
  }

  private func refold(_ key: StreamKey, _ journal: JournalReader) throws(LedgerError) -> Bool {
    cache[key] = nil
    let stream = try Self.refolded(key, through: projection.foldedThrough, journal)
    let before = try projection.stream(key)
    let packed = projection.packer.pack(stream)
    try projection.replace(packed, over: before?.reference)
    return before?.reference.share != packed.share || before?.broken != stream.broken
  }
}
