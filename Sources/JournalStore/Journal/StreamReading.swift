/// Reading one customer's history: the stream's events, and what is noted beside them.
extension JournalReader {
  /// Whether the journal has what history reads beside the events. One that no writer of this
  /// program has opened yet has not, and is read all the same.
  private func hasHistory() throws(StoreError) -> Bool {
    try connection.statement("PRAGMA user_version").first { $0.int(0) >= 2 } ?? false
  }

  /// A stream's events in the order of seq, one by one, up to Apple's time and ours, both included.
  /// Each comes without its body, and with what the fold reads of it instead; what cannot be
  /// recovered is there, unreadable.
  public func forEachEvent(
    of key: StreamKey, signedThrough: Int64 = .max, receivedThrough: Int64 = .max,
    _ body: (StoredEvent, JournaledPayload) throws(StoreError) -> Void
  ) throws(StoreError) {
    try connection.statement(
      EventRow.select + """
        WHERE e.stream_id = \(Self.streamId)
        AND e.signed_date_ms <= ? AND e.received_at_ms <= ? ORDER BY e.seq
        """
    ).bind(1, key.originalTransactionId).bind(2, key.environment).bind(3, key.bundleId)
      .bind(4, signedThrough).bind(5, receivedThrough).forEach { (row) throws(StoreError) in
        let event = EventRow.event(row, body: [])
        let (content, unfolded) = try codec.payload(
          row.bytes(12), dictionary: row.optionalInt(13), source: event.source)
        let uuid = NotificationUUID.bytes(event.notificationUUID).flatMap(NotificationUUID.halves)
        try body(
          event,
          JournaledPayload(
            seq: event.seq, source: event.source, uuid: uuid, content: content,
            unfolded: unfolded))
        return true
      }
  }

  /// The places of a stream's events, in order.
  public func seqs(of key: StreamKey) throws(StoreError) -> [Int64] {
    try connection.statement(
      "SELECT seq FROM event WHERE stream_id = \(Self.streamId) ORDER BY seq"
    )
    .bind(1, key.originalTransactionId).bind(2, key.environment).bind(3, key.bundleId)
    .all { $0.int(0) }
  }

  /// What of a stream came again, by seq, as far as it is written.
  public func redeliveries(of key: StreamKey) throws(StoreError) -> [Int64: Redeliveries] {
    guard try hasHistory() else { return [:] }
    let found = try connection.statement(
      """
      SELECT r.seq, r.count, r.first_at_ms, r.last_at_ms
      FROM event e INDEXED BY event_stream CROSS JOIN redelivery r ON r.seq = e.seq
      WHERE e.stream_id = \(Self.streamId)
      """
    ).bind(1, key.originalTransactionId).bind(2, key.environment).bind(3, key.bundleId)
      .all { row in
        (
          row.int(0), Redeliveries(count: row.int(1), firstAt: row.int(2), lastAt: row.int(3))
        )
      }
    return Dictionary(found, uniquingKeysWith: { $1 })
  }

  /// Up to `limit` in quarantine that name an original transaction id, our apps' first.
  ///
  /// - Parameters:
  ///   - environment: leaves out what is certainly of the other one; nil takes all.
  ///   - bodies: whether to read them; else they are empty.
  public func quarantined(
    about id: String, environment: String?, bodies: Bool, limit: Int
  ) throws(StoreError) -> [StoredQuarantine] {
    guard try hasHistory() else { return [] }
    return try connection.statement(
      """
      SELECT id, reason, is_foreign, source, notification_uuid, environment, bundle_id,
        notification_type, signed_date_ms, received_at_ms, body_sha256,
        CASE WHEN ?3 THEN body END, dictionary_id
      FROM quarantine WHERE original_transaction_id = ?1
        AND (?2 IS NULL OR environment IS ?2
          OR coalesce(environment, '') NOT IN ('Production', 'Sandbox'))
      ORDER BY is_foreign, id LIMIT ?4
      """
    ).bind(1, id).bind(2, environment).bind(3, bodies ? 1 : 0).bind(4, Int64(limit))
      .all(quarantineRow)
  }

  /// Up to `limit` in quarantine, from this id downwards.
  ///
  /// - Parameter bodies: whether to read them; else they are empty.
  public func quarantined(
    through id: Int64, limit: Int, bodies: Bool = true
  ) throws(StoreError) -> [StoredQuarantine] {
    try connection.statement(
      """
      SELECT id, reason, is_foreign, source, notification_uuid, environment, bundle_id,
        notification_type, signed_date_ms, received_at_ms, body_sha256,
        CASE WHEN ?3 THEN body END, dictionary_id
      FROM quarantine WHERE id <= ?1 ORDER BY id DESC LIMIT ?2
      """
    ).bind(1, id).bind(2, Int64(limit)).bind(3, bodies ? 1 : 0).all(quarantineRow)
  }
}

extension Journal {
  /// Up to this id it is not noted whom quarantined notifications are about: they are older than
  /// the column. 0 where all is noted.
  public func unnamedThrough() throws(StoreError) -> Int64 {
    try Meta(connection: connection()).int(.unnamedThrough) ?? 0
  }

  /// Notes whom some of them are about, and how far that has come, downwards.
  public func name(
    _ found: [(id: Int64, originalTransactionId: String)], unnamedThrough: Int64
  ) throws(StoreError) {
    try write { (connection) throws(StoreError) in
      for item in found {
        try connection.statement("UPDATE quarantine SET original_transaction_id = ? WHERE id = ?")
          .bind(1, item.originalTransactionId).bind(2, item.id).run()
      }
      try Meta(connection: connection).set(.unnamedThrough, unnamedThrough)
    }
  }
}
