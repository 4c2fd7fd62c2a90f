import AppStore
import Platform
import SignedData
import Store
import Support
import Testing

@Suite struct AppendTests {
  @Test func `appended events are read back unchanged`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let events = (1...30).map { Sample.event($0) }
    _ = try opened.journal.append(events.map { .event($0) })
    let reader = try JournalReader.open(scratch.folder)
    let stored = try reader.events(after: 0, limit: 100)
    #expect(stored.map { $0.body } == events.map { $0.body })
    #expect(stored.map { $0.notificationUUID } == events.map { $0.notificationUUID })
    #expect(stored.map { $0.signedDate } == events.map { $0.signedDate })
    #expect(stored.map { $0.seq } == Array(1...30))
    #expect(try reader.event(notificationUUID: Sample.uuid(12))?.seq == 12)
    #expect(try reader.event(seq: 31) == nil)
  }

  /// Promise 4.
  @Test func `an event is journaled once in a batch and across starts`() throws {
    let scratch = try Scratch()
    do {
      let opened = try scratch.open()
      let outcomes = try opened.journal.append([.event(Sample.event(1)), .event(Sample.event(1))])
      #expect(outcomes.last == .duplicate(seq: 1))
      try opened.journal.close()
    }
    let opened = try scratch.open()
    #expect(try opened.journal.append([.event(Sample.event(1))]) == [.duplicate(seq: 1)])
    #expect(opened.journal.head.seq == 1)
  }

  @Test func `the same signing input with another signature is a duplicate`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    _ = try opened.journal.append([.event(Sample.event(1))])
    let resigned = Sample.event(1, body: Sample.body(1, signature: 5))
    #expect(resigned.body != Sample.body(1))
    #expect(try opened.journal.append([.event(resigned)]) == [.duplicate(seq: 1)])
  }

  @Test func `other content under a known UUID is quarantined and the first stays`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let other = Sample.event(1, body: Sample.body(2))
    let outcomes = try opened.journal.append([.event(Sample.event(1)), .event(other)])
    #expect(outcomes.last == .conflict(seq: 1))
    let reader = try JournalReader.open(scratch.folder)
    #expect(try reader.event(seq: 1)?.body == Sample.body(1))
    let quarantined = try reader.quarantined(limit: 10)
    #expect(quarantined.map { $0.reason } == ["conflict"])
    #expect(quarantined.first?.body == other.body)
  }

  @Test func `a V1 notification with a newer receipt is a duplicate`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let first = Sample.event(1, body: Array(#"{"a":1}"#.utf8), source: "v1")
    let second = Sample.event(1, body: Array(#"{"a":1,"latest_receipt":"x"}"#.utf8), source: "v1")
    let outcomes = try opened.journal.append([.event(first), .event(second)])
    #expect(outcomes.last == .duplicate(seq: 1))
  }

  @Test func `receive times never decrease`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let outcomes = try opened.journal.append([
      .event(Sample.event(1, receivedAt: 100)), .event(Sample.event(2, receivedAt: 90)),
      .event(Sample.event(3, receivedAt: 99, preservesReceivedAt: true)),
      .event(Sample.event(4, receivedAt: 100, preservesReceivedAt: true)),
    ])
    #expect(
      outcomes == [
        .accepted(seq: 1), .accepted(seq: 2),
        .refused(.malformed("received_at_ms_behind_head")), .accepted(seq: 3),
      ])
    let reader = try JournalReader.open(scratch.folder)
    #expect(try (1...3).map { try reader.event(seq: $0)?.receivedAt } == [100, 100, 100])
  }

  @Test func `a failed batch writes nothing and the journal continues`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    var wrong = Sample.event(2)
    wrong.bodySHA256 = [1, 2, 3]
    #expect(throws: LedgerError.self) {
      try opened.journal.append([.event(Sample.event(1)), .event(wrong)])
    }
    #expect(opened.journal.head == .empty)
    let outcomes = try opened.journal.append([.event(Sample.event(1))])
    #expect(outcomes == [.accepted(seq: 1)])
    let reader = try JournalReader.open(scratch.folder)
    #expect(try reader.event(seq: 1)?.body == Sample.body(1))
  }

  /// Promises 4 and 5: triggers also stop other programs that write to the file.
  @Test(arguments: [
    "UPDATE event SET received_at_ms = received_at_ms + 1",
    "DELETE FROM event WHERE seq = 3", "DELETE FROM stream", "UPDATE kind SET subtype = 'x'",
    "UPDATE app SET bundle_id = 'x'", "DELETE FROM dictionary", "DELETE FROM meta",
    "UPDATE meta SET value = x'00' WHERE key = 'journal_id'",
    """
    INSERT INTO event SELECT seq + 4, zeroblob(16), source, stream_id, kind_id, dictionary_id,
      signed_date_ms, received_at_ms, body_sha256, hash, body FROM event WHERE seq = 3
    """,
    """
    INSERT INTO event SELECT seq + 1, zeroblob(16), source, stream_id, kind_id, dictionary_id,
      signed_date_ms, received_at_ms - 1, body_sha256, hash, body FROM event WHERE seq = 3
    """,
    """
    INSERT OR REPLACE INTO event SELECT 4, notification_uuid, source, stream_id, kind_id,
      dictionary_id, signed_date_ms, received_at_ms + 9999, body_sha256, hash, body
      FROM event WHERE seq = 1
    """,
  ]) func `the file refuses any change to journaled events`(_ sql: String) throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    _ = try opened.journal.append((1...3).map { .event(Sample.event($0)) })
    try opened.journal.close()
    let connection = try SQLiteConnection.open(scratch.folder.journal, .write)
    #expect(throws: LedgerError.self) { try connection.execute(sql) }
    connection.close()
    let reader = try JournalReader.open(scratch.folder)
    #expect(try reader.events(after: 0, limit: 10).map { $0.seq } == [1, 2, 3])
  }

  /// Every text is a bound parameter, so SQL in it is not run.
  @Test func `SQL and control characters in a text are stored verbatim`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    for (number, text) in ["'; DROP TABLE event;--", "\u{202E}\u{1B}[2J\r\n", ""].enumerated() {
      var event = Sample.event(number, bundleId: text, id: text)
      event.envelope.notificationType = text
      event.envelope.subtype = text
      _ = try opened.journal.append([.event(event)])
      let reader = try JournalReader.open(scratch.folder)
      let key = StreamKey(environment: "Production", bundleId: text, originalTransactionId: text)
      let stored = try reader.events(of: key)
      #expect(stored.map { $0.streamKey } == [key])
      #expect(stored.first?.subtype == text)
      #expect(try reader.streams(withOriginalTransactionId: text) == [key])
    }
  }
}
