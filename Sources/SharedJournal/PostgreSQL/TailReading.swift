import AppStore
import Clients
import Platform
import Store

/// Rows of the shared journal's tables as values.
enum TailReading {
  /// Events, notes and dictionaries behind a position; one more than `limit` of each, which tells
  /// whether there are more.
  static func statements(
    after place: JournalPosition, limit: Int, _ sql: JournalSQL
  ) -> [PostgresStatement] {
    let count = PostgresValue.integer(Int64(limit) + 1)
    return [
      PostgresStatement(sql.eventsAfter, [.integer(place.seq), count]),
      PostgresStatement(sql.notesAfter, [.integer(place.notes), count]),
      PostgresStatement(sql.dictionariesAfter, [.integer(place.dictionary), count]),
    ]
  }

  /// - Parameter answers: of the head's statement and of `statements`.
  /// - Throws: `.sharedDiverged` if the head is behind `place` or differs from it; `.sharedBroken`
  ///   for a row that the schema does not allow.
  static func tail(
    _ answers: ArraySlice<PostgresRows>, after place: JournalPosition, limit: Int
  ) throws(LedgerError) -> JournalTail {
    let answers = Array(answers)
    guard answers.count == 4 else { throw .sharedBroken(state: "a missing answer") }
    var head = try head(answers[0], after: place)
    let events = try rows(answers[1], event)
    let notes = try rows(answers[2], note)
    let dictionaries = try rows(answers[3], dictionary)
    if let last = dictionaries.prefix(limit).last { head.dictionary = last.id }
    return JournalTail(
      head: head, dictionaries: Array(dictionaries.prefix(limit)),
      events: Array(events.prefix(limit)), notes: Array(notes.prefix(limit)),
      isWhole: [events.count, notes.count, dictionaries.count].allSatisfy { $0 <= limit })
  }

  /// The head, with the dictionary of `place`, which it does not name.
  static func head(
    _ rows: PostgresRows, after place: JournalPosition
  ) throws(LedgerError) -> JournalPosition {
    guard rows.count == 1, let seq = rows.integer(0, 0), let hash = rows.bytes(0, 1),
      let notes = rows.integer(0, 3), let notesHash = rows.bytes(0, 4)
    else { throw .sharedBroken(state: "no head") }
    let head = JournalPosition(
      seq: seq, hash: hash, receivedAt: rows.integer(0, 2), notes: notes, notesHash: notesHash,
      dictionary: place.dictionary)
    guard seq > place.seq || seq == place.seq && hash == place.hash,
      notes > place.notes || notes == place.notes && notesHash == place.notesHash
    else { throw .sharedDiverged }
    return head
  }

  private static func rows<Value>(
    _ rows: PostgresRows, _ read: (PostgresRows, Int) -> Value?
  ) throws(LedgerError) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(rows.count)
    for row in 0..<rows.count {
      guard let value = read(rows, row) else { throw .sharedBroken(state: "an unreadable row") }
      values.append(value)
    }
    return values
  }

  private static func event(_ rows: PostgresRows, _ row: Int) -> PackedEvent? {
    let text = { (column: Int) in rows.text(row, column).map(StoredText.decode) }
    guard let seq = rows.integer(row, 0),
      let uuid = rows.bytes(row, 1).flatMap({ NotificationUUID(bytes: $0) }),
      let source = text(2), let environment = text(3), let bundleId = text(4), let type = text(5),
      let signedDate = rows.integer(row, 8), let receivedAt = rows.integer(row, 9),
      let bodySHA256 = rows.bytes(row, 10), let hash = rows.bytes(row, 11),
      let body = rows.bytes(row, 13)
    else { return nil }
    return PackedEvent(
      seq: seq,
      envelope: EventEnvelope(
        notificationUUID: uuid, source: EventSource(rawValue: source),
        environment: Environment(rawValue: environment), bundleId: bundleId, notificationType: type,
        subtype: text(6), originalTransactionId: text(7), signedDate: signedDate,
        receivedAt: receivedAt), bodySHA256: bodySHA256, hash: hash,
      dictionary: rows.integer(row, 12), body: body)
  }

  private static func note(_ rows: PostgresRows, _ row: Int) -> Note? {
    guard let version = rows.integer(row, 0), let subject = rows.text(row, 1),
      let sha256 = rows.bytes(row, 2), let body = rows.bytes(row, 3)
    else { return nil }
    return Note(
      version: version, subject: StoredText.decode(subject), sha256: sha256, body: body)
  }

  private static func dictionary(_ rows: PostgresRows, _ row: Int) -> PackedDictionary? {
    guard let id = rows.integer(row, 0), let header = rows.bytes(row, 1),
      let bytes = rows.bytes(row, 2), let sha256 = rows.bytes(row, 3)
    else { return nil }
    return PackedDictionary(id: id, headerSHA256: header, bytes: bytes, sha256: sha256)
  }
}
