import AppStore
import Platform
import Store
import Support
import Testing

/// How an event arrived is kept outside the chain, and only where it was not posted.
@Suite struct ArrivalTests {
  private func event(_ number: Int, _ arrival: EventArrival) -> Submission {
    var event = Sample.event(number)
    event.arrival = arrival
    return .event(event)
  }

  @Test func `each way of arriving is kept, and of a duplicate the first`() throws {
    let (scratch, other) = (try Scratch(), try Scratch())
    let opened = try scratch.open()
    let all = EventArrival.allCases.enumerated()
    _ = try opened.journal.append(all.map { event($0.offset + 1, $0.element) })
    _ = try opened.journal.append([event(1, .history), event(2, .posted)])
    // Only the second was delivered again: the first came from a history.
    #expect(opened.journal.waitingCounts == 1)
    let reader = try JournalReader.open(scratch.folder)
    let expected: [Int64: EventArrival] = [2: .history, 3: .import, 4: .asked, 5: .submitted]
    #expect(try reader.arrivals(in: 1...9) == expected)
    #expect(try reader.arrivals(in: 3...4) == expected.filter { (3...4).contains($0.key) })
    let key = StreamKey(
      environment: "Production", bundleId: "com.example.app",
      originalTransactionId: "2000000000000000")
    let seqs = Set(try reader.seqs(of: key))
    #expect(try reader.arrivals(of: key) == expected.filter { seqs.contains($0.key) })
    #expect(try reader.rowFaults() == [] && reader.schemaFaults() == [])
    // The chain is the same without it.
    let plain = try other.open()
    _ = try plain.journal.append(all.map { event($0.offset + 1, .posted) })
    #expect(plain.journal.head == opened.journal.head)
    #expect(try JournalReader.open(other.folder).arrivals(in: 1...9).isEmpty)
  }

  @Test func `the import that made a customer known is told, and only that`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let key = StreamKey(
      environment: "Production", bundleId: "com.example.app",
      originalTransactionId: "2000000000000000")
    let events = [EventArrival.import, .posted].enumerated().map { index, arrival in
      var event = Sample.event(index + 1)
      (event.arrival, event.envelope.originalTransactionId) = (arrival, key.originalTransactionId)
      return event
    }
    _ = try opened.journal.append([.event(events[0]), .event(events[1])])
    let reader = try JournalReader.open(scratch.folder)
    #expect(try reader.importedAt(key) == events[0].receivedAt)
    let other = try Scratch()
    _ = try other.open().journal.append([.event(events[1]), .event(events[0])])
    #expect(try JournalReader.open(other.folder).importedAt(key) == nil)
  }

  @Test func `the view has it, also in a journal of an older schema`() throws {
    let scratch = try Scratch()
    do {
      let opened = try scratch.open()
      _ = try opened.journal.append([event(1, .posted)])
      try opened.journal.close()
    }
    try OlderSchema.restore(scratch.folder)
    #expect(try JournalReader.open(scratch.folder).arrivals(in: 1...9).isEmpty)
    let opened = try scratch.open()
    _ = try opened.journal.append([event(2, .history)])
    let connection = try SQLiteConnection.open(scratch.folder.journal, .read)
    let found = try connection.statement("SELECT seq, arrival FROM journal_v1 ORDER BY seq")
      .all { "\($0.int(0)) \($0.text(1))" }
    #expect(found == ["1 posted", "2 history"])
    #expect(throws: LedgerError.self) {
      try SQLiteConnection.open(scratch.folder.journal, .write)
        .execute("UPDATE arrival SET how = 'asked'")
    }
  }

  /// A journal with two events that were not posted, after a change in SQL.
  private static func changed(_ sql: String) throws -> Scratch {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let events = [EventArrival.history, .import].enumerated().map { index, arrival in
      var event = Sample.event(index + 1)
      event.arrival = arrival
      return Submission.event(event)
    }
    _ = try opened.journal.append(events)
    try opened.journal.close()
    try SQLiteConnection.open(scratch.folder.journal, .write).execute(
      """
      DROP TRIGGER arrival_update; DROP TRIGGER arrival_delete; \(sql);
      CREATE TRIGGER arrival_update BEFORE UPDATE ON arrival
      BEGIN SELECT raise(ABORT, 'how an event arrived never changes'); END;
      CREATE TRIGGER arrival_delete BEFORE DELETE ON arrival
      BEGIN SELECT raise(ABORT, 'how an event arrived never changes'); END;
      """)
    return scratch
  }

  @Test(arguments: [
    ("UPDATE arrival SET how = 'asked' WHERE seq = 1", "a row was changed or replaced"),
    ("DELETE FROM arrival WHERE seq = 1", "1 rows, the journal's writer counted 2"),
    (
      "UPDATE arrival SET how = CASE how WHEN 'import' THEN 'history' ELSE 'import' END",
      "a row was changed or replaced"
    ),
  ]) func `a changed, moved or removed arrival is found`(sql: String, fault: String) throws {
    let scratch = try Self.changed(sql)
    let faults = try JournalReader.open(scratch.folder).rowFaults()
    #expect(faults == ["arrivals: \(fault)"])
  }

  @Test func `what a program without these digests wrote is no fault after a start`() throws {
    let scratch = try Self.changed(
      """
      UPDATE meta SET value = value + 1 WHERE key = 'generation';
      DELETE FROM arrival WHERE seq = 1
      """)
    _ = try scratch.open()
    #expect(try JournalReader.open(scratch.folder).rowFaults() == [])
  }
}
