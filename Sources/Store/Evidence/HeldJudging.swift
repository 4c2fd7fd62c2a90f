public import AppStore
import Entitlements
public import Platform

/// Judges what is held by this program's fold, where another one decided it, and journals what is
/// new.
///
/// `meta` says which fold judges, through which stream it has, and in which generation of the
/// journal that was known. A program of another fold writes its own, and one that knows none of it
/// grows the generation alone: after either of them all is judged again.
///
/// Before that, and always, the streams are judged that wait because an append had no time for it.
/// They are in `meta` too, and so found again after a crash.
extension Journal {
  /// What judging the held evidence of some streams found.
  public struct Judged {
    /// How many streams were judged that another fold had judged.
    public fileprivate(set) var streams = 0
    /// Streams that had waited, and those about which something new is held.
    fileprivate var finished: [StreamJudging] = []
    /// The id of the last stream; `.max` if there is none behind it.
    fileprivate(set) var through: Int64
    /// Whether something new is held about the next stream, which is none of them.
    public fileprivate(set) var endsAtNews = false

    /// Whether something new is held about one of them.
    public var hasNews: Bool { finished.contains { $0.hasNews } }
    /// Whether they were the last.
    var isLast: Bool { through == .max }
  }

  /// Whether all that is held is judged by this program's fold: then the journal alone gives the
  /// rows that journaling every piece would have given, but for streams that wait.
  public var isJudged: Bool { judgedThrough == .max }
  /// How many streams wait because an append had no time to judge what is held about them.
  public var waitingCount: Int { waitingStreams.ids.count }

  /// Judges the held evidence of the next streams and writes nothing: of those that wait, or, if
  /// there is none, of those that another fold judged, in the order of their ids.
  ///
  /// - Parameters:
  ///   - isHalting: whether it ends before the first stream of another fold about which something
  ///     new is held.
  ///   - isGoingOn: called after each step; false ends, and the next call goes on there.
  /// - Throws: what SQLite reports.
  public func judgeNext(
    untilNews isHalting: Bool = false, while isGoingOn: () -> Bool
  ) throws(LedgerError) -> Judged {
    let connection = try connection()
    var judged = Judged(through: judgedThrough)
    for stream in waitingStreams.ids {
      guard let judging = try judge(stream, connection, while: isGoingOn) else { break }
      judged.finished.append(judging)
      guard isGoingOn() else { break }
    }
    guard waitingStreams.ids.isEmpty else { return judged }
    while !judged.isLast {
      let next = try connection.statement(
        "SELECT stream_id FROM held_evidence WHERE stream_id > ? ORDER BY stream_id LIMIT 1"
      ).bind(1, judged.through).first { $0.int(0) }
      guard let next else {
        judged.through = .max
        break
      }
      guard let judging = try judge(next, connection, while: isGoingOn) else { break }
      if judging.hasNews {
        judged.endsAtNews = isHalting
        if isHalting { break }
        judged.finished.append(judging)
      }
      judged.through = next
      judged.streams += 1
      guard isGoingOn() else { break }
    }
    return judged
  }

  /// Nil if the stream is not judged to its end yet.
  private func judge(
    _ stream: Int64, _ connection: SQLiteConnection, while isGoingOn: () -> Bool
  ) throws(LedgerError) -> StreamJudging? {
    var current = judging
    if current?.stream != stream {
      current = StreamJudging(stream, try JournalReader.streamKey(stream, connection))
      judging = current
    }
    guard let current, try advance(current, connection, while: isGoingOn) else { return nil }
    judging = nil
    return current
  }

  /// Goes on behind streams about which nothing new is held.
  ///
  /// - Parameter isStored: whether the next start goes on from there too; always behind the last,
  ///   and behind one that waited.
  /// - Throws: what SQLite reports.
  public func pass(_ judged: Judged, isStored: Bool) throws(LedgerError) {
    precondition(!judged.hasNews, "what is new would stay out of the journal")
    guard judged.through != judgedThrough || !judged.finished.isEmpty else { return }
    if isStored || judged.isLast || !judged.finished.isEmpty {
      // It is a fact of this file alone: another copy judges what it has.
      try transact { (connection) throws(LedgerError) in
        for judging in judged.finished { try endWaiting(judging, connection) }
        try Meta(connection: connection).set(.judgedThrough, judged.through)
      }
    }
    judgedThrough = judged.through
  }

  /// The largest number of pieces that one call of `journalNews` journals.
  private static let releaseLimit = 100

  /// Journals what is held about streams and is new, and goes on behind them. A stream waits about
  /// which more is new, or which is to be judged again because a copy has followed others
  /// meanwhile. `released` has what was journaled.
  ///
  /// - Parameters:
  ///   - now: when it is received as events, milliseconds since 1970 UTC.
  ///   - ship: needed in a copy of a shared journal.
  /// - Returns: how many pieces were journaled.
  /// - Throws: as `append`.
  public func journalNews(
    _ judged: Judged, at now: Int64, shipping ship: Shipper<Int>? = nil
  ) throws(LedgerError) -> Int {
    var done: [(StreamJudging, Journaled)] = []
    let count = try write(shipping: ship) { (connection) throws(LedgerError) in
      done = []
      try appending(connection) { () throws(LedgerError) in
        for judging in judged.finished {
          guard try isCurrent(judging, connection), batch.released.count < Self.releaseLimit else {
            try wait(judging.stream, connection)
            continue
          }
          let journaled = try journalReleased(judging, at: now, connection) {
            batch.released.count < Self.releaseLimit
          }
          done.append((judging, journaled))
          if journaled.isAll(of: judging) {
            try endWaiting(judging, connection)
          } else {
            try wait(judging.stream, connection)
          }
        }
      }
      try Meta(connection: connection).set(.judgedThrough, judged.through)
      return batch.released.count
    }
    for (judging, journaled) in done {
      keep(journaled, of: judging)
      if judging.hasNews { self.judging = judging }
    }
    judgedThrough = judged.through
    return count
  }

  /// Decides at the start, within `markOpen`, from which stream on what is held is to be judged.
  func beginJudging(_ connection: SQLiteConnection) throws(LedgerError) -> Int64 {
    let meta = Meta(connection: connection)
    if let through = try meta.judgedThrough(by: fold) { return through }
    // What a copy has not followed yet may be held by another fold.
    let through: Int64 = heldCount == 0 && !isCopy ? .max : 0
    try meta.set(.judgedBy, fold.version)
    try meta.set(.judgedThrough, through)
    return through
  }
}

extension Meta {
  /// The stream through which a fold has judged what is held; nil if it has not, or if another
  /// program wrote the journal since.
  func judgedThrough(by fold: Fold) throws(LedgerError) -> Int64? {
    guard try int(.judgedBy) == fold.version,
      try int(.judgedGeneration) == int(.generation) ?? 0
    else { return nil }
    return try int(.judgedThrough)
  }
}

extension JournalReader {
  /// Whether all that is held is judged by this program's fold.
  ///
  /// - Throws: what SQLite reports.
  public func isJudged() throws(LedgerError) -> Bool {
    guard try hasEvidence() else { return true }
    if try Meta(connection: connection).judgedThrough(by: fold) == .max { return true }
    let held = try connection.statement("SELECT 1 FROM held_evidence LIMIT 1").first { _ in true }
    return held == nil
  }

  /// How many pieces of evidence are held and not yet judged by this program's fold. Reads an entry
  /// of an index for each.
  ///
  /// - Throws: what SQLite reports.
  public func unjudgedCount() throws(LedgerError) -> Int64 {
    guard try hasEvidence() else { return 0 }
    return try connection.statement("SELECT count(*) FROM held_evidence WHERE stream_id > ?")
      .bind(1, try Meta(connection: connection).judgedThrough(by: fold) ?? 0).first { $0.int(0) }
      ?? 0
  }

  /// What is held about a stream, as far as Apple had signed it and we had received it by two
  /// times, milliseconds since 1970 UTC.
  ///
  /// - Throws: what SQLite reports.
  public func heldPayloads(
    of key: StreamKey, signedThrough: Int64 = .max, receivedThrough: Int64 = .max
  ) throws(LedgerError) -> [JournaledPayload] {
    guard try hasEvidence() else { return [] }
    return try connection.statement(
      """
      SELECT \(HeldEvidence.columns) FROM held_evidence h WHERE h.stream_id = \(Self.streamId)
        AND h.signed_date_ms <= ? AND h.received_at_ms <= ?
      """
    ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
      .bind(4, signedThrough).bind(5, receivedThrough).all { (row) throws(LedgerError) in
        try HeldEvidence(row, of: key, codec).payload
      }
  }
}
