public import AppStore
public import Platform

/// Reads events for the fold: only the columns that it uses, and without reassembling bodies.
extension JournalReader {
  /// Statements of the owner are left out: the fold reads what Apple said (promise 3).
  static let isApples = "e.source NOT IN (\(EventSource.ownersInSQL))"

  /// A stream's payloads in order of seq. One that cannot be recovered has the content
  /// `unreadable`.
  ///
  /// - Parameters:
  ///   - signedThrough: the latest signed date (Apple's time), in milliseconds since 1970 UTC.
  ///   - receivedThrough: the latest receive time (our time), in milliseconds since 1970 UTC.
  /// - Throws: what SQLite reports.
  public func payloads(
    of key: StreamKey, signedThrough: Int64 = .max, receivedThrough: Int64 = .max
  ) throws(LedgerError) -> [JournaledPayload] {
    var all: [JournaledPayload] = []
    try forEachPayload(of: key, signedThrough: signedThrough, receivedThrough: receivedThrough) {
      all.append($0)
    }
    return all
  }

  /// The same payloads, one by one, because a stream may have any number of events.
  ///
  /// - Throws: what SQLite reports, and what `body` throws.
  public func forEachPayload(
    of key: StreamKey, after first: Int64 = 0, through seq: Int64 = .max,
    signedThrough: Int64 = .max, receivedThrough: Int64 = .max,
    _ body: (JournaledPayload) throws(LedgerError) -> Void
  ) throws(LedgerError) {
    try connection.statement(
      """
      SELECT e.seq, e.source, e.notification_uuid, e.dictionary_id, \(CopyFaults.body)
      FROM event e
      WHERE e.stream_id = \(Self.streamId)
      AND e.seq > ? AND e.seq <= ? AND e.signed_date_ms <= ? AND e.received_at_ms <= ?
      AND \(Self.isApples) AND \(CopyFaults.isProven) ORDER BY e.seq
      """
    ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
      .bind(4, first).bind(5, seq).bind(6, signedThrough).bind(7, receivedThrough).forEach {
        (row) throws(LedgerError) in
        try body(try codec.payload(row, of: key.originalTransactionId))
        return true
      }
  }

  /// Calls `body` with the payload of each event of a range in order of seq, until it returns
  /// false, together with the event's stream and hash[seq]. The stream is nil without a
  /// transaction, of a statement of the owner about no refund, and of an event that is not proven.
  /// A payload that cannot be recovered has the content `unreadable`.
  ///
  /// A read transaction lasts for one batch and its calls of `body`. `body` must not call this
  /// function of the same reader.
  ///
  /// - Throws: `LedgerError.corrupt` when the file returns rows out of order, otherwise what SQLite
  ///   reports.
  public func forEachPayload(
    from first: Int64, through last: Int64,
    _ body: (StreamKey?, _ hash: [UInt8], JournaledPayload) -> Bool
  ) throws(LedgerError) {
    var apps: [Int64: StreamKey] = [:]
    var next = first
    var shouldContinue = true
    while shouldContinue, next <= last {
      let start = next
      try connection.statement(
        """
        SELECT e.seq, e.source, e.notification_uuid, e.dictionary_id, \(CopyFaults.body),
          e.hash, s.app_id, CASE WHEN \(CopyFaults.isProven) THEN s.original_transaction_id END
        FROM event e LEFT JOIN stream s ON s.id = e.stream_id
        WHERE e.seq BETWEEN ? AND ? ORDER BY e.seq LIMIT \(Self.batchSize)
        """
      ).bind(1, next).bind(2, last).forEach { (row) throws(LedgerError) in
        var key: StreamKey?
        let id = row.optionalText(7)
        let payload = try codec.payload(row, of: id)
        if let id, !payload.source.isOwners || payload.source == .refund {
          key = try self.key(row.int(6), id, &apps)
        }
        next = try RowOrder.successor(of: payload.seq, atLeast: next)
        shouldContinue = body(key, row.bytes(5), payload)
        return shouldContinue
      }
      if next == start { return }
    }
  }

  /// The key of a stream. `apps` caches the few apps by id.
  private func key(
    _ app: Int64, _ originalTransactionId: String, _ apps: inout [Int64: StreamKey]
  ) throws(LedgerError) -> StreamKey {
    if apps[app] == nil {
      apps[app] = try connection.statement("SELECT environment, bundle_id FROM app WHERE id = ?")
        .bind(1, app).first { row in
          StreamKey(
            environment: Environment(rawValue: row.text(0)), bundleId: row.text(1),
            originalTransactionId: "")
        }
    }
    return StreamKey(
      environment: apps[app]?.environment ?? Environment(rawValue: ""),
      bundleId: apps[app]?.bundleId ?? "",
      originalTransactionId: originalTransactionId)
  }

  /// Calls `body` with the payloads, up to a seq, of all streams whose ids lie in a range: stream
  /// by stream, and within a stream in order of seq. Left out are events without a transaction,
  /// statements of the owner, and events that are not proven.
  ///
  /// One read transaction lasts for the whole call, so ranges should be short.
  ///
  /// - Returns: the counts of all events of these streams up to that seq.
  /// - Throws: what SQLite reports, and what `body` throws.
  public func forEachPayload(
    ofStreams ids: ClosedRange<Int64>, through seq: Int64,
    _ body: (StreamKey, JournaledPayload) throws(LedgerError) -> Void
  ) throws(LedgerError) -> [HourCount] {
    var apps: [Int64: StreamKey] = [:]
    var last: (stream: Int64, key: StreamKey)?
    var counter = try HourCounter(self, through: seq)
    try connection.statement(
      """
      SELECT e.seq, e.source, e.notification_uuid, e.dictionary_id, \(CopyFaults.body),
        s.id, s.app_id, CASE WHEN \(Self.isApples) AND \(CopyFaults.isProven)
          THEN s.original_transaction_id END, \(counter.columns)
      FROM stream s CROSS JOIN event e INDEXED BY event_stream ON e.stream_id = s.id
      WHERE s.id BETWEEN ? AND ? AND e.seq <= ?
      ORDER BY s.id, e.seq
      """
    ).bind(1, ids.lowerBound).bind(2, ids.upperBound).bind(3, seq).forEach {
      (row) throws(LedgerError) in
      counter.add(row, at: 8)
      guard !row.isNull(7) else { return true }
      let stream = row.int(5)
      if last?.stream != stream { last = (stream, try key(row.int(6), row.text(7), &apps)) }
      if let last {
        try body(last.key, try codec.payload(row, of: last.key.originalTransactionId))
      }
      return true
    }
    return try counter.found(connection)
  }
}
