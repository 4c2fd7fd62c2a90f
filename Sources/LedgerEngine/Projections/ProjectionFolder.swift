public import Entitlements
public import JournalStore

/// Folds journaled events into a projection, in pieces, each piece one SQL transaction.
///
/// Keeps promises 7 (the rows follow from the journal alone) and 9 (a fold that fails marks its own
/// row and stops nothing else). Lives on the thread that owns the projection.
public final class ProjectionFolder {
  let projection: Projection

  /// Streams that were folded lately; a customer's notifications come in bursts.
  private var recent: [StreamKey: Entry] = [:]
  /// Their keys, each at the turn at which it was folded last, in a ring.
  private var turns: [StreamKey] = []
  private var turn = 0
  private let maximumRecent: Int

  private struct Entry {
    var state: StreamState
    var broken: String?
    /// Nil where there is no row yet.
    var place: Projection.Place?
    var turn = 0
  }

  /// - Parameter maximumRecent: how many are kept in memory. A customer's state is about 7 KB, so
  ///   all of them 35 MB: the daemon's memory under full load is to stay under 120 MB. Who is not
  ///   among them is read from the projection.
  public init(_ projection: Projection, keeping maximumRecent: Int = 5_000) {
    self.projection = projection
    self.maximumRecent = maximumRecent
  }

  /// One event's part in a piece: nil where its body could not be read.
  struct Step {
    let stream: StreamKey
    let seq: Int64
    let event: FoldEvent?
  }

  /// Folds a piece that begins right after `projection.foldedThrough`.
  ///
  /// - Parameters:
  ///   - through: the last seq of the piece, and its hash.
  ///   - journal: where a stream whose stored state is damaged is folded from again.
  /// - Returns: how many events were signed before one of their stream that was folded already.
  @discardableResult
  func fold(
    _ steps: [Step], through seq: Int64, hash: [UInt8], journal: JournalReader
  ) throws(StoreError) -> Int64 {
    var late: Int64 = 0
    var changed: [StreamKey: Entry] = [:]
    var written: [(StreamKey, Entry)] = []
    try projection.commit(foldedThrough: seq, hash: hash) { () throws(StoreError) in
      for step in steps {
        var entry: Entry
        // Taken out, not copied: a state that two tables hold is copied whole when it evolves.
        if let known = changed.removeValue(forKey: step.stream) {
          entry = known
        } else {
          entry = try load(step.stream, journal)
        }
        if let event = step.event {
          if let last = entry.state.lastEvent, event.signedDate < last.signedDate { late += 1 }
          entry.state.evolve(event)
        } else {
          entry.broken = entry.broken ?? Self.unreadable(step.seq)
        }
        changed[step.stream] = entry
      }
      written.reserveCapacity(changed.count)
      for (key, var entry) in changed {
        let row = Self.row(key, entry.state, entry.broken)
        entry.place = try projection.write(row, over: entry.place)
        written.append((key, entry))
      }
    }
    for (key, entry) in written { keep(entry, key) }
    return late
  }

  /// Lets go of one for each that comes when there are enough: all at once would be a pause.
  private func keep(_ entry: Entry, _ key: StreamKey) {
    if turns.count < maximumRecent {
      turns.append(key)
    } else {
      // One that was folded again since has a later turn.
      if recent[turns[turn]]?.turn == turn { recent[turns[turn]] = nil }
      turns[turn] = key
    }
    var entry = entry
    entry.turn = turn
    recent[key] = entry
    turn = (turn + 1) % maximumRecent
  }

  /// Folds everything between the projection and the journal's head, as it is now.
  ///
  /// - Parameter end: goes no further than this seq.
  /// - Parameter progress: called after every piece with the last seq folded and the head; false
  ///   stops, and what was folded stays.
  public func catchUp(
    _ journal: JournalReader, through end: Int64 = .max,
    progress: (Int64, Int64) -> Bool = { _, _ in true }
  ) throws(StoreError) {
    let head = min(end, try journal.head().seq)
    var steps: [Step] = []
    var shouldContinue = true
    while shouldContinue, projection.foldedThrough < head {
      steps.removeAll(keepingCapacity: true)
      var last: (seq: Int64, hash: [UInt8])?
      let first = projection.foldedThrough + 1
      let pieceEnd = min(head, first + Self.piece - 1)
      try journal.forEachPayload(from: first, through: pieceEnd) { stream, hash, payload in
        last = (payload.seq, hash)
        if let stream {
          let event = try? JournaledNotification.foldEvent(payload)
          steps.append(Step(stream: stream, seq: payload.seq, event: event))
        }
        return true
      }
      guard let last else { return }
      try fold(steps, through: last.seq, hash: last.hash, journal: journal)
      try projection.checkpointIfNeeded()
      shouldContinue = progress(last.seq, head)
    }
  }

  private static let piece: Int64 = 5000

  private func load(_ key: StreamKey, _ journal: JournalReader) throws(StoreError) -> Entry {
    if let entry = recent.removeValue(forKey: key) { return entry }
    guard let row = try projection.row(of: key) else { return Entry(state: StreamState()) }
    if let state = StreamState(decoding: row.state, lastSeq: row.lastSeq) {
      return Entry(state: state, broken: row.broken, place: row.place)
    }
    let refolded = try Self.refold(key, through: projection.foldedThrough, journal)
    return Entry(state: refolded.state, broken: refolded.broken, place: row.place)
  }

  /// Why a row is broken: the first event of its stream, by seq, that could not be read.
  static func unreadable(_ seq: Int64) -> String { "the body of seq \(seq) cannot be read" }

  /// One stream from the journal alone.
  public static func refold(
    _ key: StreamKey, through seq: Int64, _ journal: JournalReader
  ) throws(StoreError) -> (state: StreamState, broken: String?) {
    var state = StreamState()
    var broken: String?
    try journal.forEachPayload(of: key, through: seq) { payload in
      if let event = try? JournaledNotification.foldEvent(payload) {
        state.evolve(event)
      } else {
        broken = broken ?? unreadable(payload.seq)
      }
    }
    return (state, broken)
  }

  /// Folds the streams of one original transaction id anew, as far as all rows are folded.
  ///
  /// - Returns: how many there are, and how many rows were other ones.
  func refold(
    only originalTransactionId: String, _ journal: JournalReader
  ) throws(StoreError) -> (streams: Int, changed: Int) {
    let keys = try journal.streams(withOriginalTransactionId: originalTransactionId)
    var changed = 0
    for key in keys where try refold(key, journal) { changed += 1 }
    return (keys.count, changed)
  }

  private func refold(_ key: StreamKey, _ journal: JournalReader) throws(StoreError) -> Bool {
    recent[key] = nil
    let refolded = try Self.refold(key, through: projection.foldedThrough, journal)
    let row = Self.row(key, refolded.state, refolded.broken)
    let before = try projection.row(of: key)
    try projection.replace(row)
    return before?.state != row.state || before?.broken != row.broken
      || before?.lastSeq != row.lastSeq
  }

  public static func row(_ key: StreamKey, _ state: StreamState, _ broken: String?) -> ProjectedRow
  {
    ProjectedRow(
      key: key, state: state.encoded(), lastSeq: state.lastEvent?.seq,
      appAccountTokens: state.accountTokens,
      appTransactionIds: state.appTransactionIds,
      previousOriginalTransactionIds: state.previousOriginalTransactionIds, broken: broken)
  }
}
