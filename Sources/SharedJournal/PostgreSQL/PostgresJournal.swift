import AppStore
import Clients
import Migrations
public import Platform
import SignedData
public import Store

/// The shared journal on PostgreSQL: `migrations/postgres` has its tables.
///
/// An append takes two round trips. The first locks the row of `head` and reads what is behind the
/// copy; the second inserts, moves the head and commits. Places are given under that lock, so the
/// order of places is the order of commits, without sequences, advisory locks or LISTEN.
///
/// Nobody holds the head for long (T6):
///
/// - who stops between the two round trips is ended by the server after 5 s;
/// - who stops inside the second one is ended by the next one who waits, after 10 s;
/// - who is cut off is noticed by TCP's keepalive, on the side of the server as on ours.
public final class PostgresJournal: SharedJournal {
  private let link: ServerLink
  private let sql: JournalSQL
  /// The head while it is held.
  private var held: JournalPosition?
  public private(set) var clock: Int64?

  /// How long a ROLLBACK may take, milliseconds; past it the connection is closed, which does the
  /// same.
  private static let rollbackLimit: Int64 = 1_000

  public init(_ settings: PostgresJournalSettings) {
    link = ServerLink(settings)
    sql = JournalSQL(settings.schema)
  }

  public func disconnect() {
    held = nil
    link.disconnect()
  }

  // MARK: Identity

  /// The id of the journal; `proposed`, if it has none yet.
  ///
  /// - Throws: `.sharedNewer` if its schema is, `.sharedRefused` if there is none or another
  ///   program made it, `.sharedNotNow` if no server answers.
  public func identify(
    _ proposed: [UInt8], by deadline: Deadline
  ) throws(LedgerError) -> [UInt8] {
    try requireKnownSchema(by: deadline)
    if let id = try storedId(by: deadline) { return id }
    _ = try link.execute(sql.insertJournalId, [.bytes(proposed)], by: deadline)
    // Of two daemons that propose at once, one proposes in vain.
    guard let id = try storedId(by: deadline) else { throw .sharedBroken(state: "no journal id") }
    return id
  }

  private func storedId(by deadline: Deadline) throws(LedgerError) -> [UInt8]? {
    try link.execute(sql.journalId, by: deadline).bytes(0, 0)
  }

  private func requireKnownSchema(by deadline: Deadline) throws(LedgerError) {
    let rows = try link.execute(sql.migrations, by: deadline)
    let known = Migrations.sharedJournal
    let newest = rows.integer(max(0, rows.count - 1), 0).map { Int($0) } ?? 0
    if newest > known.count { throw .sharedNewer(found: newest, known: known.count) }
    // After the migration a program of before, which has other rules, does not start any more.
    guard newest == known.count else {
      throw .sharedRefused(
        state: "schema \(newest) of \(known.count): run `subledger shared-journal migrate`")
    }
    for (row, migration) in known.prefix(newest).enumerated()
    where rows.bytes(row, 1) != SHA256.hash(migration.sql) {
      throw .sharedRefused(state: "migration \(migration.number) is of another program")
    }
  }

  /// - Throws: as `SharedJournal` says; `FailurePolicy` has the table.
  public func trustRoots(by deadline: Deadline) throws(LedgerError) -> Set<[UInt8]> {
    try TrustRootTable.read(link, sql, by: deadline)
  }

  // MARK: Appending

  /// - Throws: as `SharedJournal` says; `FailurePolicy` has the table.
  public func begin(
    after place: JournalPosition, by deadline: Deadline
  ) throws(LedgerError) -> JournalTail {
    abandon()
    let limit = JournalTail.limit
    let connection = try link.usable(by: deadline)
    let statements =
      [JournalSQL.begin, JournalSQL.limits, sql.lockedHead].map { PostgresStatement($0) }
      + TailReading.statements(after: place, limit: limit, sql)
    let answers: [PostgresRows]
    do throws(PipelineError) {
      answers = try connection.pipeline(statements, by: deadline)
    } catch {
      rollBack()
      if error.error.state == Self.lockNotAvailable { endHolders() }
      throw FailurePolicy.beforeCommit(error.error)
    }
    return try hold(answers.dropFirst(2), after: place, limit)
  }

  private static let lockNotAvailable = SQLState("55P03")

  private func hold(
    _ answers: ArraySlice<PostgresRows>, after place: JournalPosition, _ limit: Int
  ) throws(LedgerError) -> JournalTail {
    do throws(LedgerError) {
      let tail = try TailReading.tail(answers, after: place, limit: limit)
      clock = answers.first?.integer(0, 5)
      if tail.isWhole { held = tail.head } else { rollBack() }
      return tail
    } catch {
      rollBack()
      throw error
    }
  }

  /// - Throws: as `SharedJournal` says; `FailurePolicy` has the table.
  public func commit(
    _ shipment: Shipment, by deadline: Deadline
  ) throws(LedgerError) {
    guard let held else { throw .sharedNotNow(state: "the head is not held") }
    guard held.isSamePlace(as: shipment.after) else {
      abandon()
      throw .sharedDiverged
    }
    // Once the statements are sent, it would not be known what became of them.
    guard !deadline.hasPassed else {
      abandon()
      throw .sharedNotNow(state: "timeout")
    }
    self.held = nil
    let connection = try link.usable(by: deadline)
    _ = connection.takeNotices()
    let statements = ShipmentStatements(sql).statements(shipment)
    let answers: [PostgresRows]
    do throws(PipelineError) {
      answers = try connection.pipeline(statements, by: deadline)
    } catch {
      let failure = FailurePolicy.afterCommit(error.error)
      if failure.code == .sharedUnknown { link.disconnect() } else { rollBack() }
      throw failure
    }
    // A failed SQL transaction is ended by COMMIT too, and the server then says ROLLBACK.
    guard answers.last?.command == "COMMIT" else {
      throw .sharedNotNow(state: "the server rolled back")
    }
    // It is committed here, and perhaps on no standby: the wait for it was cancelled (01000).
    if let warning = connection.takeNotices().first(where: \.isWarning) {
      link.disconnect()
      throw .sharedUnknown(state: "WARNING \(warning.state?.code ?? "")")
    }
  }

  public func abandon() {
    guard held != nil else { return }
    rollBack()
  }

  /// Lets the head go.
  private func rollBack() {
    held = nil
    guard let connection = link.current else { return }
    let limit = Deadline(milliseconds: Self.rollbackLimit)
    if connection.isInTransaction {
      _ = try? connection.execute("ROLLBACK", by: limit)
    }
    if !connection.isUsable || connection.isInTransaction { link.disconnect() }
  }

  /// Ends who has held the head for too long. A failure is no other error than that the head could
  /// not be taken.
  private func endHolders() {
    let limit = Deadline(milliseconds: Self.rollbackLimit)
    guard let rows = try? link.execute(sql.endHolders, by: limit),
      let count = rows.integer(0, 0), count > 0
    else { return }
    link.settings.onUnblocked(Int(count))
  }

  // MARK: Reading

  /// - Throws: as `SharedJournal` says; `FailurePolicy` has the table.
  public func tail(
    after place: JournalPosition, limit: Int, by deadline: Deadline
  ) throws(LedgerError) -> JournalTail {
    let rows = try link.execute(sql.head, by: deadline)
    clock = rows.integer(0, 5)
    let head = try TailReading.head(rows, after: place)
    if head.isSamePlace(as: place) { return JournalTail(head: head) }
    let connection = try link.usable(by: deadline)
    let statements =
      [PostgresStatement(JournalSQL.beginReading), PostgresStatement(sql.head)]
      + TailReading.statements(after: place, limit: limit, sql) + [PostgresStatement("COMMIT")]
    let answers: [PostgresRows]
    do throws(PipelineError) {
      answers = try connection.pipeline(statements, by: deadline)
    } catch {
      rollBack()
      throw FailurePolicy.beforeCommit(error.error)
    }
    return try TailReading.tail(answers.dropFirst().dropLast(), after: place, limit: limit)
  }

  /// - Throws: as `SharedJournal` says; `FailurePolicy` has the table.
  public func hash(at seq: Int64, by deadline: Deadline) throws(LedgerError) -> [UInt8]? {
    if seq == 0 { return ChainHash.origin }
    return try link.execute(sql.hashAt, [.integer(seq)], by: deadline).bytes(0, 0)
  }

  /// - Throws: as `SharedJournal` says; `FailurePolicy` has the table.
  public func notesHash(
    at version: Int64, by deadline: Deadline
  ) throws(LedgerError) -> [UInt8]? {
    if version == 0 { return ChainHash.origin }
    return try link.execute(sql.notesHashAt, [.integer(version)], by: deadline).bytes(0, 0)
  }

  /// - Throws: as `SharedJournal` says; `FailurePolicy` has the table.
  public func dictionaryHash(
    at id: Int64, by deadline: Deadline
  ) throws(LedgerError) -> [UInt8]? {
    try link.execute(sql.dictionaryHashAt, [.integer(id)], by: deadline).bytes(0, 0)
  }

  // MARK: Trying

  /// Writes one event as an append does, reads it, and rolls back.
  ///
  /// - Parameter now: milliseconds since 1970 UTC.
  /// - Throws: as `identify` and `begin`; `.sharedBroken` if the event is not read as it was
  ///   written.
  public func tryAppend(now: Int64, by deadline: Deadline) throws(LedgerError) {
    try requireKnownSchema(by: deadline)
    let found = try TailReading.head(try link.execute(sql.head, by: deadline), after: .origin)
    let head = try begin(after: found, by: deadline).head
    defer { rollBack() }
    // On another connection than the one that began, the event would be committed.
    guard held != nil, let connection = link.current, connection.isInTransaction else {
      throw .sharedNotNow(state: "the head is not held")
    }
    let shipment = Self.oneEvent(after: head, at: max(now, head.receivedAt ?? now))
    let statements =
      ShipmentStatements(sql).statements(shipment).dropLast() + [PostgresStatement(sql.head)]
      + TailReading.statements(after: head, limit: 1, sql)
    let answers = try mapError(
      { (error: PipelineError) in FailurePolicy.beforeCommit(error.error) },
      try connection.pipeline(Array(statements), by: deadline))
    let read = try TailReading.tail(answers.suffix(4), after: head, limit: 1)
    guard read.events == shipment.events, read.head.isSamePlace(as: shipment.head) else {
      throw .sharedBroken(state: "an event is not read as it was written")
    }
  }

  private static func oneEvent(after head: JournalPosition, at time: Int64) -> Shipment {
    let body = Array("tried \(UInt64.random(in: 0...UInt64.max))".utf8)
    let digest = SHA256.hash(body)
    let envelope = EventEnvelope(
      notificationUUID: NotificationUUID(digest: digest), source: .v2, environment: .sandbox,
      bundleId: "", notificationType: "TEST", subtype: nil, originalTransactionId: nil,
      signedDate: time, receivedAt: time)
    let link = ChainLink(
      seq: head.seq + 1, notificationUUID: envelope.notificationUUID, source: envelope.source,
      receivedAt: time, bodySHA256: digest)
    var next = head
    (next.seq, next.hash, next.receivedAt) = (link.seq, link.hash(after: head.hash), time)
    let event = PackedEvent(
      seq: next.seq, envelope: envelope, bodySHA256: digest, hash: next.hash, dictionary: nil,
      body: body)
    return Shipment(after: head, events: [event], head: next)
  }
}

extension JournalPosition {
  /// Whether both are at the same event and the same note. A head does not name its dictionary.
  fileprivate func isSamePlace(as other: JournalPosition) -> Bool {
    seq == other.seq && hash == other.hash && notes == other.notes && notesHash == other.notesHash
  }
}
