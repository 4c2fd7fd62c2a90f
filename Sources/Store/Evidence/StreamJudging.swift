import AppStore
import Entitlements
import Platform

/// Judging what is held about one stream. It may take several turns, of which each goes on where
/// the last one ended; after a crash it begins again. Its errors are those of the journal, which
/// forgets it then.
final class StreamJudging {
  let stream: Int64
  /// Nil if the row of the stream is missing, which `verify` finds: nobody knows what it is about.
  let key: StreamKey?
  fileprivate var events: [FoldEvent] = []
  fileprivate var pieces: [(id: Int64, event: FoldEvent)] = []
  /// The newest event of the stream that was read.
  fileprivate var lastSeq: Int64 = 0
  /// The held piece that was read last, in the order of the index.
  fileprivate var lastPiece: (signedDate: Int64, id: Int64) = (.min, .min)
  /// Set once all pieces are read.
  fileprivate var pass: EvidencePass?
  /// How many of the released pieces are journaled.
  fileprivate var journaled = 0
  /// The newest piece that was held when judging began.
  fileprivate var newestPiece: Int64?

  init(_ stream: Int64, _ key: StreamKey?) { (self.stream, self.key) = (stream, key) }

  /// Whether pieces are to be journaled. Asked once all is judged.
  var hasNews: Bool { journaled < pass?.released.count ?? 0 }

  fileprivate func begin(by fold: Fold) {
    pass = EvidencePass(events: events, pieces: pieces.map(\.event), by: fold)
    events = []
  }
}

extension Journal {
  /// Judges on.
  ///
  /// - Parameter isGoingOn: called after each event, piece and date; false ends.
  /// - Returns: whether all is judged.
  func advance(
    _ judging: StreamJudging, _ connection: SQLiteConnection, while isGoingOn: () -> Bool
  ) throws(LedgerError) -> Bool {
    guard let key = judging.key else { return true }
    if judging.newestPiece == nil {
      judging.newestPiece = try newestHeld(judging.stream, connection)
    }
    guard try readEvents(judging, key, connection, while: isGoingOn) else { return false }
    if judging.pass == nil {
      guard try readPieces(judging, key, connection, while: isGoingOn) else { return false }
      judging.begin(by: fold)
    }
    return judging.pass?.advance(while: isGoingOn) ?? true
  }

  /// Reads events that were not read; one whose body cannot be read is left out, as in its row.
  ///
  /// - Returns: whether there are no more.
  private func readEvents(
    _ judging: StreamJudging, _ key: StreamKey, _ connection: SQLiteConnection,
    while isGoingOn: () -> Bool
  ) throws(LedgerError) -> Bool {
    try forEachEvent(of: judging.stream, key, after: judging.lastSeq, connection) { seq, event in
      judging.lastSeq = seq
      if let event {
        if judging.pass == nil { judging.events.append(event) } else { judging.pass?.add(event) }
      }
      return isGoingOn()
    }
  }

  /// Calls `body` with the events of a stream, in order of seq; nil for one that cannot be read.
  ///
  /// - Returns: whether `body` never returned false.
  func forEachEvent(
    of stream: Int64, _ key: StreamKey, after seq: Int64 = 0, _ connection: SQLiteConnection,
    _ body: (Int64, FoldEvent?) -> Bool
  ) throws(LedgerError) -> Bool {
    var isGoingOn = true
    try connection.statement(
      """
      SELECT e.seq, e.source, e.notification_uuid, e.dictionary_id, \(CopyFaults.body)
      FROM event e WHERE e.stream_id = ? AND e.seq > ? AND \(CopyFaults.isProven) ORDER BY e.seq
      """
    ).bind(1, stream).bind(2, seq).forEach { (row) throws(LedgerError) in
      let payload = try codec.payload(row, of: key.originalTransactionId)
      isGoingOn = body(row.int(0), decodeForFold(payload))
      return isGoingOn
    }
    return isGoingOn
  }

  /// Reads held pieces. What cannot be decoded stays for `verify` to find.
  private func readPieces(
    _ judging: StreamJudging, _ key: StreamKey, _ connection: SQLiteConnection,
    while isGoingOn: () -> Bool
  ) throws(LedgerError) -> Bool {
    var isWhole = true
    let last = judging.lastPiece
    try connection.statement(
      """
      SELECT \(HeldEvidence.columns) FROM held_evidence h
      WHERE h.stream_id = ? AND (h.signed_date_ms, h.id) > (?, ?) ORDER BY h.signed_date_ms, h.id
      """
    ).bind(1, judging.stream).bind(2, last.signedDate).bind(3, last.id).forEach {
      (row) throws(LedgerError) in
      let held = try HeldEvidence(row, of: key, codec)
      judging.lastPiece = (held.signedDate, held.id)
      if let event = decodeForFold(held.payload) { judging.pieces.append((held.id, event)) }
      isWhole = isGoingOn()
      return isWhole
    }
    return isWhole
  }

  /// Whether all events of the stream were judged.
  func isCurrent(
    _ judging: StreamJudging, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Bool {
    let last = try connection.statement("SELECT max(seq) FROM event WHERE stream_id = ?")
      .bind(1, judging.stream).first { $0.optionalInt(0) }
    return last ?? 0 == judging.lastSeq
  }

  /// How far the released pieces of a stream are journaled.
  struct Journaled {
    fileprivate let count: Int
    fileprivate let lastSeq: Int64

    func isAll(of judging: StreamJudging) -> Bool { count == judging.pass?.released.count ?? 0 }
  }

  /// Journals released pieces. To be followed by `keep` once that is committed.
  ///
  /// - Parameters:
  ///   - time: when they are received as events, milliseconds since 1970 UTC.
  ///   - isGoingOn: called after each; false ends.
  func journalReleased(
    _ judging: StreamJudging, at time: Int64, _ connection: SQLiteConnection,
    while isGoingOn: () -> Bool
  ) throws(LedgerError) -> Journaled {
    guard let key = judging.key, let released = judging.pass?.released, judging.hasNews else {
      return Journaled(count: judging.journaled, lastSeq: judging.lastSeq)
    }
    batch.judged = nil
    var count = judging.journaled
    repeat {
      let (id, event) = judging.pieces[released[count]]
      count += 1
      try release(id, event, of: key, at: time, connection)
    } while count < released.count && isGoingOn()
    return Journaled(count: count, lastSeq: head.seq)
  }

  private func release(
    _ id: Int64, _ event: FoldEvent, of key: StreamKey, at time: Int64,
    _ connection: SQLiteConnection
  ) throws(LedgerError) {
    let held = try connection.statement(
      "SELECT \(HeldEvidence.columns) FROM held_evidence h WHERE h.id = ?"
    ).bind(1, id).first { (row) throws(LedgerError) in try HeldEvidence(row, of: key, codec) }
    guard let held else { return }
    try removeHeld(id, connection)
    let outcome = try appendNew(NewEvent(held, event, of: key, at: time), connection)
    guard case .accepted(let seq) = outcome else { return }
    var folded = event
    folded.seq = seq
    batch.released.append(ReleasedEvidence(stream: key, event: folded))
  }

  /// - Returns: whether all that was released is journaled.
  @discardableResult
  func keep(_ journaled: Journaled, of judging: StreamJudging) -> Bool {
    (judging.journaled, judging.lastSeq) = (journaled.count, journaled.lastSeq)
    return !judging.hasNews
  }

  // MARK: Streams that wait

  /// Makes a stream wait to be judged in turns. Its row says what is journaled until then.
  ///
  /// On a shared journal one held piece of it is told again, which says so to the other copies: any
  /// of them judges it, should this one never be started again.
  func wait(_ stream: Int64, _ connection: SQLiteConnection) throws(LedgerError) {
    guard !waitingStreams.contains(stream) else { return }
    waitingStreams.add(stream)
    guard isCopy else { return }
    try connection.statement(
      """
      UPDATE held_evidence SET arrival = arrival
      WHERE id = (SELECT id FROM held_evidence WHERE stream_id = ? LIMIT 1)
      """
    ).bind(1, stream).run()
  }

  /// Ends the waiting of a stream that is judged. If a piece was held since that began, all is
  /// judged again: the piece was not compared with those that were released.
  func endWaiting(_ judging: StreamJudging, _ connection: SQLiteConnection) throws(LedgerError) {
    if try newestHeld(judging.stream, connection) > judging.newestPiece ?? .max {
      waitingStreams.add(judging.stream)
      return
    }
    waitingStreams.remove(judging.stream)
  }

  /// The newest held piece about a stream. Ids are never used again.
  private func newestHeld(
    _ stream: Int64, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Int64 {
    try connection.statement("SELECT max(id) FROM held_evidence WHERE stream_id = ?")
      .bind(1, stream).first { $0.optionalInt(0) ?? 0 } ?? 0
  }
}
