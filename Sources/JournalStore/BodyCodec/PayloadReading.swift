/// Reading for the fold: no body is put together again, and no column is read that it does not use.
extension JournalReader {
  /// A stream's payloads in the order of seq, up to Apple's time and ours, both included. What
  /// cannot be recovered is there, unreadable.
  public func payloads(
    of key: StreamKey, signedThrough: Int64 = .max, receivedThrough: Int64 = .max
  ) throws(StoreError) -> [JournaledPayload] {
    var all: [JournaledPayload] = []
    try forEachPayload(of: key, signedThrough: signedThrough, receivedThrough: receivedThrough) {
      all.append($0)
    }
    return all
  }

  /// The same one by one: a stream may have any number of events.
  public func forEachPayload(
    of key: StreamKey, through seq: Int64 = .max, signedThrough: Int64 = .max,
    receivedThrough: Int64 = .max, _ body: (JournaledPayload) throws(StoreError) -> Void
  ) throws(StoreError) {
    try connection.statement(
      """
      SELECT e.seq, e.source, e.notification_uuid, e.dictionary_id, e.body FROM event e
      WHERE e.stream_id = \(Self.streamId)
      AND e.seq <= ? AND e.signed_date_ms <= ? AND e.received_at_ms <= ? ORDER BY e.seq
      """
    ).bind(1, key.originalTransactionId).bind(2, key.environment).bind(3, key.bundleId)
      .bind(4, seq).bind(5, signedThrough).bind(6, receivedThrough).forEach {
        (row) throws(StoreError) in
        try body(try payload(row))
        return true
      }
  }

  /// Every event's payload of a range, in order, while `body` answers true; with its stream (nil:
  /// about no transaction) and hash[seq]. What cannot be recovered is there, unreadable.
  ///
  /// A read transaction lasts for one piece, with the calls of `body` for it, and `body` must not
  /// read a range of this reader itself.
  public func forEachPayload(
    from first: Int64, through last: Int64,
    _ body: (StreamKey?, _ hash: [UInt8], JournaledPayload) -> Bool
  ) throws(StoreError) {
    var apps: [Int64: StreamKey] = [:]
    var next = first
    var shouldContinue = true
    while shouldContinue, next <= last {
      let start = next
      try connection.statement(
        """
        SELECT e.seq, e.source, e.notification_uuid, e.dictionary_id, e.body, e.hash, s.app_id,
          s.original_transaction_id
        FROM event e LEFT JOIN stream s ON s.id = e.stream_id
        WHERE e.seq BETWEEN ? AND ? ORDER BY e.seq LIMIT \(Self.pieceCount)
        """
      ).bind(1, next).bind(2, last).forEach { (row) throws(StoreError) in
        var key: StreamKey?
        if let id = row.optionalText(7) { key = try self.key(row.int(6), id, &apps) }
        let payload = try payload(row)
        next = try RowOrder.next(payload.seq, from: next)
        shouldContinue = body(key, row.bytes(5), payload)
        return shouldContinue
      }
      if next == start { return }
    }
  }

  /// An app's rows are few, and asked for once.
  private func key(
    _ app: Int64, _ originalTransactionId: String, _ apps: inout [Int64: StreamKey]
  ) throws(StoreError) -> StreamKey {
    if apps[app] == nil {
      apps[app] = try connection.statement("SELECT environment, bundle_id FROM app WHERE id = ?")
        .bind(1, app).first { row in
          StreamKey(environment: row.text(0), bundleId: row.text(1), originalTransactionId: "")
        }
    }
    return StreamKey(
      environment: apps[app]?.environment ?? "", bundleId: apps[app]?.bundleId ?? "",
      originalTransactionId: originalTransactionId)
  }

  /// Every payload, up to a seq, of the streams whose ids lie in a range: stream by stream, and
  /// each stream's in the order of seq. Leaves out what is about no transaction. `streamKey(_:)`
  /// tells whose it is.
  ///
  /// One read transaction lasts for the whole call, so ranges should be short.
  public func forEachPayload(
    ofStreams ids: ClosedRange<Int64>, through seq: Int64,
    _ body: (_ stream: Int64, JournaledPayload) -> Void
  ) throws(StoreError) {
    try connection.statement(
      """
      SELECT e.seq, e.source, e.notification_uuid, e.dictionary_id, e.body, s.id
      FROM stream s CROSS JOIN event e INDEXED BY event_stream ON e.stream_id = s.id
      WHERE s.id BETWEEN ? AND ? AND s.original_transaction_id IS NOT NULL AND e.seq <= ?
      ORDER BY s.id, e.seq
      """
    ).bind(1, ids.lowerBound).bind(2, ids.upperBound).bind(3, seq).forEach {
      (row) throws(StoreError) in
      body(row.int(5), try payload(row))
      return true
    }
  }

  /// The key of a stream; nil where there is no such stream, or it is about no transaction.
  public func streamKey(_ id: Int64) throws(StoreError) -> StreamKey? {
    try connection.statement(
      """
      SELECT environment, bundle_id, original_transaction_id
      FROM stream LEFT JOIN app ON app.id = stream.app_id
      WHERE stream.id = ? AND original_transaction_id IS NOT NULL
      """
    ).bind(1, id).first { row in
      StreamKey(
        environment: row.text(0), bundleId: row.text(1), originalTransactionId: row.text(2))
    }
  }

  /// The greatest id of a stream, 0 where there is none. Ids count from 1.
  public func lastStreamId() throws(StoreError) -> Int64 {
    try connection.statement("SELECT max(id) FROM stream").first { $0.int(0) } ?? 0
  }

  /// Whether a stream has an event past a seq.
  public func hasEvents(of key: StreamKey, after seq: Int64) throws(StoreError) -> Bool {
    try connection.statement(
      "SELECT 1 FROM event WHERE stream_id = \(Self.streamId) AND seq > ? LIMIT 1"
    ).bind(1, key.originalTransactionId).bind(2, key.environment).bind(3, key.bundleId)
      .bind(4, seq).first { _ in true } ?? false
  }

  static let streamId = """
    (SELECT stream.id FROM stream JOIN app ON app.id = stream.app_id
      WHERE original_transaction_id = ? AND environment = ? AND bundle_id = ?)
    """

  /// Of a row that begins with seq, source, uuid, dictionary and body.
  private func payload(_ row: Statement) throws(StoreError) -> JournaledPayload {
    let source = row.text(1)
    let (content, unfolded) = try codec.payload(
      row.bytes(4), dictionary: row.optionalInt(3), source: source)
    return JournaledPayload(
      seq: row.int(0), source: source, uuid: NotificationUUID.halves(row.bytes(2)),
      content: content, unfolded: unfolded)
  }
}
