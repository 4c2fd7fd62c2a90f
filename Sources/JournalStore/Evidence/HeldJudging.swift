public import AppStore
import Entitlements

/// Judges what is held by this program's fold, where another one decided it.
///
/// `meta` says which fold judges, through which stream it has, and in which generation of the
/// journal that was known. A program of another fold writes its own, and one that knows none of it
/// grows the generation alone: after either of them all is judged again.
extension Journal {
  /// What judging the held evidence of some streams found.
  public struct Judged: Sendable {
    /// How many streams were judged.
    public fileprivate(set) var streams = 0
    /// What is held and new about some of them.
    fileprivate var news: [News] = []
    /// What was judged.
    fileprivate let position: JournalPosition
    /// The id of the last stream; `.max` if there is none behind it.
    fileprivate(set) var through: Int64
    /// Whether something new is held about the next stream, which is none of them.
    public fileprivate(set) var endsAtNews = false

    /// Whether something new is held about one of them.
    public var hasNews: Bool { !news.isEmpty }
    /// Whether they were the last.
    var isLast: Bool { through == .max }
  }

  fileprivate struct News {
    let stream: Int64
    let key: StreamKey
    let pieces: [(held: HeldEvidence, event: FoldEvent)]
  }

  /// Whether all that is held is judged by this program's fold: then the journal alone gives the
  /// rows that journaling every piece would have given.
  public var isJudged: Bool { judgedThrough == .max }

  /// Judges the held evidence of the next streams, in the order of their ids, and writes nothing.
  ///
  /// - Parameters:
  ///   - isHalting: whether it ends before the first stream about which something new is held.
  ///   - isGoingOn: called after each stream; false ends.
  /// - Throws: what SQLite reports.
  public func judgeNext(
    untilNews isHalting: Bool = false, while isGoingOn: () -> Bool
  ) throws(StoreError) -> Judged {
    let connection = try connection()
    var judged = Judged(position: position, through: judgedThrough)
    repeat {
      let next = try connection.statement(
        "SELECT stream_id FROM held_evidence WHERE stream_id > ? ORDER BY stream_id LIMIT 1"
      ).bind(1, judged.through).first { $0.int(0) }
      guard let next else {
        judged.through = .max
        break
      }
      if let news = try news(inHeldOf: next, connection) {
        judged.endsAtNews = isHalting
        if isHalting { break }
        judged.news.append(news)
      }
      judged.through = next
      judged.streams += 1
    } while isGoingOn()
    return judged
  }

  /// Goes on behind streams about which nothing new is held.
  ///
  /// - Parameter isStored: whether the next start goes on from there too; always behind the last.
  /// - Throws: what SQLite reports.
  public func pass(_ judged: Judged, isStored: Bool) throws(StoreError) {
    precondition(!judged.hasNews, "what is new would stay out of the journal")
    if isStored || judged.isLast {
      // It is a fact of this file alone: another copy judges what it has.
      try transact { (connection) throws(StoreError) in
        try Meta(connection: connection).set(.judgedThrough, judged.through)
      }
    }
    judgedThrough = judged.through
  }

  /// Journals what is held about streams and is new, and goes on behind them. It is judged again if
  /// a copy has followed others meanwhile; `released` has what was journaled.
  ///
  /// - Parameters:
  ///   - now: when it is received as events, milliseconds since 1970 UTC.
  ///   - ship: needed in a copy of a shared journal.
  /// - Returns: how many pieces were journaled.
  /// - Throws: as `append`.
  public func journalNews(
    _ judged: Judged, at now: Int64, shipping ship: Shipper<Int>? = nil
  ) throws(StoreError) -> Int {
    let count = try write(shipping: ship) { (connection) throws(StoreError) in
      try appending(connection) { () throws(StoreError) in
        let isCurrent = position == judged.position
        for known in judged.news {
          let news = isCurrent ? known : try news(inHeldOf: known.stream, connection)
          if let news { try release(news.pieces, of: news.key, at: now, connection) }
        }
      }
      try Meta(connection: connection).set(.judgedThrough, judged.through)
      return batch.released.count
    }
    judgedThrough = judged.through
    return count
  }

  /// Nil if there is none.
  private func news(
    inHeldOf stream: Int64, _ connection: SQLiteConnection
  ) throws(StoreError) -> News? {
    // Without its row, which `verify` finds missing, nobody knows what it is about.
    guard let key = try JournalReader.streamKey(stream, connection) else { return nil }
    let pieces = try news(inHeldOf: stream, key, connection)
    return pieces.isEmpty ? nil : News(stream: stream, key: key, pieces: pieces)
  }

  /// Decides at the start, within `markOpen`, from which stream on what is held is to be judged.
  func beginJudging(_ connection: SQLiteConnection) throws(StoreError) -> Int64 {
    let meta = Meta(connection: connection)
    if let through = try meta.judgedThrough() { return through }
    // What a copy has not followed yet may be held by another fold.
    let through: Int64 = heldCount == 0 && !isCopy ? .max : 0
    try meta.set(.judgedBy, Fold.version)
    try meta.set(.judgedThrough, through)
    return through
  }
}

extension Meta {
  /// The stream through which this program's fold has judged what is held; nil if it has not, or if
  /// another program wrote the journal since.
  func judgedThrough() throws(StoreError) -> Int64? {
    guard try int(.judgedBy) == Fold.version,
      try int(.judgedGeneration) == int(.generation) ?? 0
    else { return nil }
    return try int(.judgedThrough)
  }
}

extension JournalReader {
  /// Whether all that is held is judged by this program's fold.
  ///
  /// - Throws: what SQLite reports.
  public func isJudged() throws(StoreError) -> Bool {
    guard try hasEvidence() else { return true }
    if try Meta(connection: connection).judgedThrough() == .max { return true }
    let held = try connection.statement("SELECT 1 FROM held_evidence LIMIT 1").first { _ in true }
    return held == nil
  }

  /// How many pieces of evidence are held and not yet judged by this program's fold. Reads an entry
  /// of an index for each.
  ///
  /// - Throws: what SQLite reports.
  public func unjudgedCount() throws(StoreError) -> Int64 {
    guard try hasEvidence() else { return 0 }
    return try connection.statement("SELECT count(*) FROM held_evidence WHERE stream_id > ?")
      .bind(1, try Meta(connection: connection).judgedThrough() ?? 0).first { $0.int(0) } ?? 0
  }

  /// What is held about a stream, as far as Apple had signed it and we had received it by two
  /// times, milliseconds since 1970 UTC.
  ///
  /// - Throws: what SQLite reports.
  public func heldPayloads(
    of key: StreamKey, signedThrough: Int64 = .max, receivedThrough: Int64 = .max
  ) throws(StoreError) -> [JournaledPayload] {
    guard try hasEvidence() else { return [] }
    return try connection.statement(
      """
      SELECT \(HeldEvidence.columns) FROM held_evidence h WHERE h.stream_id = \(Self.streamId)
        AND h.signed_date_ms <= ? AND h.received_at_ms <= ?
      """
    ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
      .bind(4, signedThrough).bind(5, receivedThrough).all { (row) throws(StoreError) in
        try HeldEvidence(row, of: key, codec).payload
      }
  }
}
