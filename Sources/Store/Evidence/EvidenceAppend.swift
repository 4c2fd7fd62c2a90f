import AppStore
import Entitlements
import Platform

/// Decides, within the SQL transaction of `append`, which evidence is journaled and which is held.
extension Journal {
  /// Holds evidence that says nothing new.
  ///
  /// - Returns: nil if it is to be journaled.
  /// - Throws: `LedgerError.sql` if it cannot be decoded: a receiver has decoded it.
  func hold(
    _ evidence: NewEvent, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Outcome? {
    if heldCount > 0 {
      let isHeld = try connection.statement(
        "SELECT 1 FROM held_evidence WHERE notification_uuid = ?"
      ).bind(1, evidence.notificationUUID.bytes).first { _ in true }
      if isHeld != nil { return .held(isNew: false) }
    }
    guard let event = evidence.makeFoldEvent?() ?? decodeForFold(evidence.payload) else {
      throw .sql("evidence that cannot be decoded was submitted")
    }
    if try isNews(event, evidence, connection) { return nil }
    // Its app follows from the transaction alone: renewal information does not name it.
    if !evidence.source.namesApp {
      guard let key = evidence.streamKey, try isKnown(key, connection) else {
        return .refused(.noTransaction)
      }
    }
    let stream = try streamId(of: evidence, connection)
    var judge = EvidenceJudge(by: fold)
    let isRead = try read(evidence, stream, into: &judge, connection)
    if !evidence.source.namesApp, !judge.hasTransaction { return .refused(.noTransaction) }
    let isNew = isRead ? judge.saysNew(event, while: batch.isJudging) : nil
    if isNew == true {
      judge.add(event)
      batch.judged = evidence.streamKey.map { ($0, judge.state) }
      return nil
    }
    let isReceipt = evidence.source.form == .receipt
    if isReceipt, try hasSameReceipt(evidence, event, judge, connection) {
      return .held(isNew: false)
    }
    if isNew == nil, try !isHeldInDoubt(of: stream, connection) { return nil }
    try insertHeld(
      evidence, transactionId: isReceipt ? nil : event.transactions.first?.transactionId,
      connection)
    return .held(isNew: true)
  }

  /// Whether the journal has a transaction of the customer whom renewal information is about: its
  /// app follows from that alone (promise 3).
  func hasTransaction(
    _ evidence: NewEvent, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Bool {
    guard let key = evidence.streamKey, try isKnown(key, connection) else { return false }
    var judge = EvidenceJudge(by: fold)
    let stream = try streamId(of: evidence, connection)
    _ = try forEachEvent(of: stream, key, connection) { _, event in
      if let event { judge.add(event) }
      return !judge.hasTransaction
    }
    return judge.hasTransaction
  }

  /// Makes a stream wait about which a piece was not judged in time. Judged with all others then,
  /// the piece may still be journaled.
  ///
  /// - Returns: false if it is to be journaled, which is always right: on a shared journal, where
  ///   nothing else is held that would tell the other copies of it.
  private func isHeldInDoubt(
    of stream: Int64, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Bool {
    if isCopy, try !isHeld(about: stream, connection) { return false }
    try wait(stream, connection)
    return true
  }

  /// Whether anything is held about a stream.
  private func isHeld(
    about stream: Int64, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Bool {
    guard heldCount > 0 else { return false }
    return try connection.statement("SELECT 1 FROM held_evidence WHERE stream_id = ? LIMIT 1")
      .bind(1, stream).first { _ in true } ?? false
  }

  /// Reads the events of the stream that evidence is about. One whose body cannot be read is left
  /// out, as in its row.
  ///
  /// - Returns: false if not all were read in the time that the batch has. Renewal information is
  ///   refused without a transaction, so one is looked for in any case.
  private func read(
    _ evidence: NewEvent, _ stream: Int64, into judge: inout EvidenceJudge,
    _ connection: SQLiteConnection
  ) throws(LedgerError) -> Bool {
    guard let key = evidence.streamKey else { return true }
    let isWaiting = waitingStreams.contains(stream)
    let needsTransaction = !evidence.source.namesApp
    return try forEachEvent(of: stream, key, connection) { _, event in
      if let event { judge.add(event) }
      return (!isWaiting && batch.isJudging()) || (needsTransaction && !judge.hasTransaction)
    }
  }

  /// Whether a state that is at hand shows that evidence says something new. Only the events of its
  /// stream show that it says nothing new, and that renewal information belongs to a proven
  /// transaction: a row is disposable, and a wrong one must not keep evidence out of the journal,
  /// nor let any in.
  private func isNews(
    _ event: FoldEvent, _ evidence: NewEvent, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Bool {
    guard let stream = evidence.streamKey else { return false }
    let known: StreamState?
    if let judged = batch.judged, judged.stream == stream {
      known = judged.state
    } else if evidence.source.namesApp, try !isInBatch(stream, connection) {
      known = batch.known(stream)
    } else {
      known = nil
    }
    guard let state = known.flatMap({ EvidenceJudge.state(of: $0, changedBy: event, fold) }) else {
      return false
    }
    batch.judged = (stream, state)
    return true
  }

  /// Whether this batch has added an event to a stream.
  private func isInBatch(
    _ stream: StreamKey, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Bool {
    guard head.seq > batch.start else { return false }
    return try JournalReader.hasEvents(of: stream, after: batch.start, connection)
  }

  /// Whether a receipt of the same date that says the same of the stream is journaled or held.
  /// Parts of the message around a receipt are not signed, so that anyone can make as many texts of
  /// one receipt as they like.
  private func hasSameReceipt(
    _ evidence: NewEvent, _ event: FoldEvent, _ judge: EvidenceJudge,
    _ connection: SQLiteConnection
  ) throws(LedgerError) -> Bool {
    if judge.hasSame(event) { return true }
    guard let key = evidence.streamKey else { return false }
    return try connection.statement(
      """
      SELECT \(HeldEvidence.columns) FROM held_evidence h
      WHERE h.stream_id = ? AND h.signed_date_ms = ? AND h.source = 'receipt'
      """
    ).bind(1, try streamId(of: evidence, connection)).bind(2, evidence.signedDate).all {
      (row) throws(LedgerError) in
      decodeForFold(try HeldEvidence(row, of: key, codec).payload)?.transactions
    }.contains(event.transactions)
  }

  /// Journals that evidence of a stream which, because of an event just appended, says something
  /// new. What is not judged in the time that the batch has is judged in turns.
  func releaseHeld(
    behind event: NewEvent, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    guard let key = event.streamKey else { return }
    let stream = try streamId(of: event, connection)
    guard try isHeld(about: stream, connection), !waitingStreams.contains(stream) else { return }
    let judging = StreamJudging(stream, key)
    var isDone = false
    if try advance(judging, connection, while: batch.isJudging) {
      let journaled = try journalReleased(
        judging, at: event.receivedAt, connection, while: batch.isJudging)
      isDone = keep(journaled, of: judging)
    }
    guard !isDone else { return }
    if self.judging == nil { self.judging = judging }
    try wait(stream, connection)
  }

  /// Held evidence of another file of this journal, to be judged again; nil if it cannot be read.
  func newEvent(_ held: HeldEvidence) -> NewEvent? {
    guard let key = held.stream, let event = decodeForFold(held.payload) else { return nil }
    return NewEvent(held, event, of: key, at: held.receivedAt)
  }

  // MARK: The table

  func insertHeld(
    _ evidence: NewEvent, transactionId: String?, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    let stored = try codec.encode(evidence, isJournaled: false, trainsDictionary: false)
    let stream = try streamId(of: evidence, connection)
    try connection.statement(
      """
      INSERT INTO held_evidence (notification_uuid, source, stream_id, transaction_id,
        signed_date_ms, received_at_ms, body_sha256, arrival, dictionary_id, body)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    ).bind(1, evidence.notificationUUID.bytes).bind(2, evidence.source.rawValue).bind(3, stream)
      .bind(4, transactionId).bind(5, evidence.signedDate).bind(6, evidence.receivedAt)
      .bind(7, evidence.bodySHA256).bind(8, evidence.arrival.rawValue)
      .bind(9, stored.dictionary).bind(10, stored.bytes).run()
    heldCount += 1
    try RunningDigest.held.add([connection.lastRowId], connection)
    try thinHeld(stream, before: evidence.receivedAt - Self.heldWhole, connection)
  }

  /// All held evidence of this time is kept, in milliseconds: an answer about the past may need any
  /// of it.
  private static let heldWhole: Int64 = 90 * 86_400_000
  private static let week: Int64 = 7 * 86_400_000

  /// Keeps of older evidence the newest of each week about each transaction and the renewal.
  private func thinHeld(
    _ stream: Int64, before time: Int64, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    // Some of it may say something new.
    guard !waitingStreams.contains(stream) else { return }
    let surplus = try connection.statement(
      """
      SELECT id FROM (
        SELECT id, row_number() OVER (
          PARTITION BY source, transaction_id, signed_date_ms / \(Self.week)
          ORDER BY signed_date_ms DESC, notification_uuid DESC) AS place
        FROM held_evidence WHERE stream_id = ? AND signed_date_ms < ?)
      WHERE place > 1
      """
    ).bind(1, stream).bind(2, time).all { $0.int(0) }
    for id in surplus { try removeHeld(id, connection) }
  }

  func removeHeld(_ id: Int64, _ connection: SQLiteConnection) throws(LedgerError) {
    try RunningDigest.held.remove([id], connection)
    let receipt = try connection.statement(
      "DELETE FROM held_evidence WHERE id = ? RETURNING iif(source = 'receipt', body_sha256, x'')"
    ).bind(1, id).first { $0.bytes(0) }
    heldCount -= 1
    if let receipt, !receipt.isEmpty { try codec.removeUnusedReceipt(receipt) }
  }

  static func countHeld(_ connection: SQLiteConnection) throws(LedgerError) -> Int64 {
    try connection.statement("SELECT count(*) FROM held_evidence").first { $0.int(0) } ?? 0
  }
}

extension NewEvent {
  /// What the fold reads of it; `seq` is 0.
  fileprivate var payload: JournaledPayload {
    let receipt = content.receipt.map {
      JournaledPayload.Content.receipt($0, of: originalTransactionId ?? "")
    }
    return JournaledPayload(
      seq: 0, source: source, uuid: notificationUUID,
      content: receipt
        ?? .init(body: body, source: source, originalTransactionId: originalTransactionId),
      parts: nil)
  }

  /// Held evidence that is to be journaled.
  ///
  /// - Parameter receivedAt: the receive time of the event that it follows.
  init(
    _ held: HeldEvidence, _ event: FoldEvent, of stream: StreamKey, at receivedAt: Int64
  ) {
    self.init(
      envelope: EventEnvelope(
        notificationUUID: held.notificationUUID, source: held.source,
        environment: stream.environment, bundleId: stream.bundleId,
        notificationType: event.notificationType, subtype: nil,
        originalTransactionId: stream.originalTransactionId, signedDate: held.signedDate,
        receivedAt: receivedAt), body: held.receipt.map { .receipt($0) } ?? .bytes(held.body),
      bodySHA256: held.bodySHA256)
    arrival = held.arrival
  }
}
