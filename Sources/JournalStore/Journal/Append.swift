extension Journal {
  /// The most submissions one call takes.
  public static let batchLimit = 1_000

  /// Keeps a batch in one SQL transaction, synced when this returns (promise 1): all or nothing.
  ///
  /// - Returns: an outcome for each submission, in order.
  /// - Throws: `full` (nothing was written, may be tried again); a fatal error ends the journal and
  ///   every later call throws it again.
  public func append(_ batch: [Submission]) throws(StoreError) -> [AppendOutcome] {
    precondition(batch.count <= Self.batchLimit, "a batch has at most 1,000 submissions")
    let outcomes = try write { (connection) throws(StoreError) in
      var outcomes: [AppendOutcome] = []
      outcomes.reserveCapacity(batch.count)
      for submission in batch {
        switch submission {
        case .event(let event): outcomes.append(try append(event, connection))
        case .quarantine(let item): outcomes.append(try quarantine(item, connection))
        }
      }
      // Counts that wait go along with what is synced anyway.
      if Self.isWriting(outcomes) { try write(redeliveries, connection) }
      return outcomes
    }
    if Self.isWriting(outcomes) { redeliveries.removeAll() }
    shareDictionary()
    count(batch, outcomes)
    return outcomes
  }

  private func append(
    _ event: NewEvent, _ connection: SQLiteConnection
  ) throws(StoreError) -> AppendOutcome {
    guard let uuid = NotificationUUID.bytes(event.notificationUUID),
      event.bodySHA256.count == 32
    else { throw .sql("an event's uuid or hash is not in its one form") }
    if let run = event.run, run.isEnded { return .skipped }
    if let twin = try twin(of: event, uuid, connection) { return twin }
    var receivedAt = event.receivedAt
    if let last = head.receivedAt, receivedAt < last {
      if event.preservesReceivedAt {
        event.run?.end()
        return .receiveTimeBehind(head: last)
      }
      receivedAt = last
    }
    let hash = ChainHash.next(
      after: head.hash, seq: head.seq + 1, receivedAt: receivedAt,
      notificationUUID: event.notificationUUID, source: event.source,
      bodySHA256: event.bodySHA256)
    let next = Head(seq: head.seq + 1, hash: hash, receivedAt: receivedAt)
    try insert(event, uuid, next, receivedAt, connection)
    try release(event, connection)
    head = next
    return .journaled(seq: next.seq, receivedAt: receivedAt)
  }

  private func insert(
    _ event: NewEvent, _ uuid: [UInt8], _ place: Head, _ receivedAt: Int64,
    _ connection: SQLiteConnection
  ) throws(StoreError) {
    let stored = try codec.encode(event.content, mayLearn: true)
    let statement = try connection.statement(
      """
      INSERT INTO event (seq, notification_uuid, source, stream_id, kind_id, dictionary_id,
        signed_date_ms, received_at_ms, body_sha256, hash, body)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    statement.bind(1, place.seq).bind(2, uuid).bind(3, event.source)
      .bind(4, try streamId(of: event, connection)).bind(5, try kindId(of: event, connection))
      .bind(6, stored.dictionary).bind(7, event.signedDate).bind(8, receivedAt)
      .bind(9, event.bodySHA256).bind(10, place.hash).bind(11, stored.bytes)
    try statement.run()
  }

  /// Promise 4. What the journal already has under this uuid: the same notification, or another,
  /// which then goes to quarantine. The first one stays whatever comes.
  private func twin(
    of event: NewEvent, _ uuid: [UInt8], _ connection: SQLiteConnection
  ) throws(StoreError) -> AppendOutcome? {
    let found = try connection.statement(
      "SELECT seq, body_sha256, source, body, dictionary_id FROM event WHERE notification_uuid = ?"
    ).bind(1, uuid).first { row in
      (
        seq: row.int(0), isSame: row.bytes(1) == event.bodySHA256, source: row.text(2),
        body: row.bytes(3), dictionary: row.optionalInt(4)
      )
    }
    guard let found else { return nil }
    if found.isSame { return .duplicate(seq: found.seq) }
    if found.source == event.source {
      // A V1 uuid is made from the content, so the rest (a newer receipt) is no other content.
      if event.source == "v1" { return .duplicate(seq: found.seq) }
      // ECDSA has two signatures for everything signed: the same input signed again is a duplicate.
      if let body = try codec.decode(found.body, dictionary: found.dictionary),
        Self.signingInput(body) == Self.signingInput(event.body)
      {
        return .duplicate(seq: found.seq)
      }
    }
    _ = try quarantine(NewQuarantine(conflict: event), connection)
    return .conflict(seq: found.seq)
  }

  private static func signingInput(_ body: [UInt8]) -> ArraySlice<UInt8> {
    body[..<(body.lastIndex(of: UInt8(ascii: ".")) ?? body.count)]
  }

  private func appId(of event: NewEvent, _ connection: SQLiteConnection) throws(StoreError) -> Int64
  {
    let key = [event.environment, event.bundleId]
    if let id = apps[key] { return id }
    let known = try connection.statement(
      "SELECT id FROM app WHERE environment = ? AND bundle_id = ?"
    ).bind(1, event.environment).bind(2, event.bundleId).first { $0.int(0) }
    if known == nil {
      try connection.statement("INSERT INTO app (environment, bundle_id) VALUES (?, ?)")
        .bind(1, event.environment).bind(2, event.bundleId).run()
    }
    let id = known ?? connection.lastRowId
    apps[key] = id
    return id
  }

  private func streamId(of event: NewEvent, _ connection: SQLiteConnection) throws(StoreError)
    -> Int64
  {
    let app = try appId(of: event, connection)
    let known = try connection.statement(
      "SELECT id FROM stream WHERE original_transaction_id IS ? AND app_id = ?"
    ).bind(1, event.originalTransactionId).bind(2, app).first { $0.int(0) }
    if let known { return known }
    try connection.statement("INSERT INTO stream (app_id, original_transaction_id) VALUES (?, ?)")
      .bind(1, app).bind(2, event.originalTransactionId).run()
    return connection.lastRowId
  }

  private func kindId(of event: NewEvent, _ connection: SQLiteConnection) throws(StoreError)
    -> Int64
  {
    let key = [event.notificationType, event.subtype]
    if let id = kinds[key] { return id }
    let known = try connection.statement(
      "SELECT id FROM kind WHERE notification_type = ? AND subtype IS ?"
    ).bind(1, event.notificationType).bind(2, event.subtype).first { $0.int(0) }
    if known == nil {
      try connection.statement("INSERT INTO kind (notification_type, subtype) VALUES (?, ?)")
        .bind(1, event.notificationType).bind(2, event.subtype).run()
    }
    let id = known ?? connection.lastRowId
    if kinds.count < 4_096 { kinds[key] = id }
    return id
  }
}
