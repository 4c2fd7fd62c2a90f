import AppStore
public import Platform

extension Journal {
  /// The largest number of submissions in one call of `append`.
  public static let batchLimit = 1_000

  /// Writes a batch in one SQL transaction, which is synced when this returns (promise 1). Either
  /// the whole batch is written or nothing.
  ///
  /// - Parameters:
  ///   - known: what rows say of streams.
  ///   - ship: needed in a copy of a shared journal.
  ///   - isJudging: called while held evidence is judged; after false the rest is judged in turns
  ///     (`judgeNext`).
  /// - Returns: one outcome for each submission, in the same order.
  /// - Throws: `LedgerError.full` when the disk is full: nothing was written, and the call may be
  ///   repeated. `LedgerError.sql` when a UUID or a hash has the wrong form. A fatal error
  ///   (`LedgerError.isFatal`) ends the journal: every later call throws it again. What `ship`
  ///   throws, and `.copyWithoutSharedJournal` without it in a copy: nothing was written.
  public func append(
    _ batch: [Submission], knowing known: RowStates = RowStates(),
    shipping ship: Shipper<[Outcome]>? = nil,
    judgingWhile isJudging: @escaping () -> Bool = { true }
  ) throws(LedgerError) -> [Outcome] {
    precondition(batch.count <= Self.batchLimit, "a batch has at most 1,000 submissions")
    let outcomes = try write(shipping: ship) { (connection) throws(LedgerError) in
      var outcomes: [Outcome] = []
      outcomes.reserveCapacity(batch.count)
      try appending(connection, knowing: known, judgingWhile: isJudging) {
        () throws(LedgerError) in
        for submission in batch { outcomes.append(try append(submission, connection)) }
      }
      // This SQL transaction is synced anyway, so waiting counts cost no sync of their own.
      if Self.isWriting(outcomes) { try waiting.write(connection) }
      return outcomes
    }
    if Self.isWriting(outcomes) { waiting = WaitingCounts() }
    shareDictionary()
    waiting.count(batch, outcomes)
    return outcomes
  }

  /// Runs the appends of one batch, within `write`.
  func appending(
    _ connection: SQLiteConnection, knowing known: RowStates = RowStates(),
    judgingWhile isJudging: @escaping () -> Bool = { true },
    _ appends: () throws(LedgerError) -> Void
  ) throws(LedgerError) {
    batch = Batch(
      start: head.seq, known: known.seq == head.seq ? known.state : { _ in nil },
      isJudging: isJudging)
    try appends()
    try RunningDigest.v1Apps.add(batch.unnamed, connection)
    try RunningDigest.arrivals.add(batch.arrived, connection)
  }

  /// Writes one submission. Called within `appending`.
  func append(
    _ submission: Submission, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Outcome {
    switch submission {
    case .event(let event): try append(event, connection)
    case .quarantine(let item): try quarantine(item, connection)
    case .statement(let item): try append(item, connection)
    }
  }

  private func append(
    _ event: NewEvent, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Outcome {
    guard event.bodySHA256.count == 32 else { throw .sql("an event's hash has not 32 bytes") }
    let uuid = event.notificationUUID.bytes
    if let run = event.run, run.isEnded { return .skipped }
    if let outcome = try existingEvent(of: event, uuid, connection) { return outcome }
    if event.isJudged {
      if let outcome = try hold(event, connection) {
        if case .held = outcome { try release(ComparedContent(event), connection) }
        return outcome
      }
    } else {
      if event.source.isEvidence, !event.source.namesApp, try !hasTransaction(event, connection) {
        return .refused(.noTransaction)
      }
      batch.judged = nil
    }
    let outcome = try appendNew(event, connection)
    if heldCount > 0, case .accepted = outcome { try releaseHeld(behind: event, connection) }
    return outcome
  }

  /// Appends an event whose UUID the journal does not have.
  func appendNew(
    _ event: NewEvent, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Outcome {
    var receivedAt = min(event.receivedAt, receiveLimit)
    if let last = head.receivedAt, receivedAt < last {
      if event.preservesReceivedAt {
        event.run?.end()
        return .refused(.behindHead)
      }
      receivedAt = last
    }
    let hash = ChainHash.next(
      after: head.hash, seq: head.seq + 1, receivedAt: receivedAt,
      notificationUUID: event.notificationUUID, source: event.source,
      bodySHA256: event.bodySHA256)
    let next = Head(seq: head.seq + 1, hash: hash, receivedAt: receivedAt)
    try insert(event, next, receivedAt, connection)
    try event.arrival.write(next.seq, connection)
    if event.arrival != .posted { batch.arrived.append(next.seq) }
    if !event.source.namesApp { batch.unnamed.append(next.seq) }
    if event.source.isOwners { try insertStatement(of: event, next.seq, connection) }
    try release(ComparedContent(event), connection)
    head = next
    return .accepted(seq: next.seq)
  }

  private func insert(
    _ event: NewEvent, _ next: Head, _ receivedAt: Int64,
    _ connection: SQLiteConnection
  ) throws(LedgerError) {
    // A dictionary made of evidence would suit no notification.
    let stored = try codec.encode(
      event, isJournaled: true,
      trainsDictionary: event.source.isNotification)
    var envelope = event.envelope
    envelope.receivedAt = receivedAt
    try insert(
      PackedEvent(
        seq: next.seq, envelope: envelope, bodySHA256: event.bodySHA256, hash: next.hash,
        dictionary: stored.dictionary, body: stored.bytes), connection)
  }

  /// Writes an event at the place that it has.
  func insert(_ event: PackedEvent, _ connection: SQLiteConnection) throws(LedgerError) {
    let statement = try connection.statement(
      """
      INSERT INTO event (seq, notification_uuid, source, stream_id, kind_id, dictionary_id,
        signed_date_ms, received_at_ms, body_sha256, hash, body)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    let kind = Kind(notificationType: event.notificationType, subtype: event.subtype)
    statement.bind(1, event.seq).bind(2, event.notificationUUID.bytes)
      .bind(3, event.source.rawValue)
      .bind(4, try streamId(of: event, connection)).bind(5, try kindId(kind, connection))
      .bind(6, event.dictionary).bind(7, event.signedDate).bind(8, event.receivedAt)
      .bind(9, event.bodySHA256).bind(10, event.hash).bind(11, event.body)
    try statement.run()
  }

  private func appId(_ key: AppKey, _ connection: SQLiteConnection) throws(LedgerError) -> Int64 {
    if let id = apps[key] { return id }
    let known = try connection.statement(
      "SELECT id FROM app WHERE environment = ? AND bundle_id = ?"
    ).bind(1, key.environment.rawValue).bind(2, key.bundleId).first { $0.int(0) }
    if known == nil {
      try connection.statement("INSERT INTO app (environment, bundle_id) VALUES (?, ?)")
        .bind(1, key.environment.rawValue).bind(2, key.bundleId).run()
    }
    let id = known ?? connection.lastRowId
    apps[key] = id
    return id
  }

  func streamId(of event: NewEvent, _ connection: SQLiteConnection) throws(LedgerError)
    -> Int64
  {
    try streamId(
      AppKey(environment: event.environment, bundleId: event.bundleId),
      event.originalTransactionId, connection)
  }

  func streamId(of event: PackedEvent, _ connection: SQLiteConnection) throws(LedgerError)
    -> Int64
  {
    try streamId(
      AppKey(environment: event.environment, bundleId: event.bundleId),
      event.originalTransactionId, connection)
  }

  func streamId(
    _ key: AppKey, _ originalTransactionId: String?, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Int64 {
    let app = try appId(key, connection)
    let known = try connection.statement(
      "SELECT id FROM stream WHERE original_transaction_id IS ? AND app_id = ?"
    ).bind(1, originalTransactionId).bind(2, app).first { $0.int(0) }
    if let known { return known }
    try connection.statement("INSERT INTO stream (app_id, original_transaction_id) VALUES (?, ?)")
      .bind(1, app).bind(2, originalTransactionId).run()
    return connection.lastRowId
  }

  private func kindId(_ key: Kind, _ connection: SQLiteConnection) throws(LedgerError) -> Int64 {
    if let id = kinds[key] { return id }
    let known = try connection.statement(
      "SELECT id FROM kind WHERE notification_type = ? AND subtype IS ?"
    ).bind(1, key.notificationType).bind(2, key.subtype).first { $0.int(0) }
    if known == nil {
      try connection.statement("INSERT INTO kind (notification_type, subtype) VALUES (?, ?)")
        .bind(1, key.notificationType).bind(2, key.subtype).run()
    }
    let id = known ?? connection.lastRowId
    if kinds.count < 4_096 { kinds[key] = id }
    return id
  }
}

/// An app in one environment: a row of the tables `app`, as a key of caches.
struct AppKey: Hashable {
  let environment: Environment
  let bundleId: String
}

extension AppKey {
  init(_ key: StreamKey) { self.init(environment: key.environment, bundleId: key.bundleId) }
}
