import AppStore
import Platform
import Store
import Support
import Testing

@Suite struct ReaderTests {
  @Test func `a statement ends when its limit does, and that is no damage`() throws {
    let scratch = try Scratch()
    _ = try scratch.open()
    let connection = try SQLiteConnection.open(scratch.folder.journal, .read)
    let limit = WorkLimit(until: Cancellation())
    connection.ask(limit)
    func count(through last: String) throws -> Int64? {
      try connection.statement(
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE \(last))"
          + " SELECT count(*) FROM n"
      ).first { $0.int(0) }
    }
    limit.begin(milliseconds: 20)
    let error = #expect(throws: LedgerError.self) { try count(through: "TRUE") }
    #expect(error == .stopped && error?.isDamage == false && error?.isFatal == false)
    #expect(limit.reason == .tooLong)
    limit.begin(milliseconds: 60_000)
    #expect(try count(through: "i < 10000") == 10_000)
  }

  @Test func `events are listed by filter`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    var events = (0..<40).map { Sample.event($0, body: Array("{}\($0)".utf8)) }
    events[7].envelope.notificationType = "REFUND"
    events[8].envelope.environment = "Sandbox"
    events[9].envelope.originalTransactionId = nil
    _ = try opened.journal.append(events.map { .event($0) })
    let reader = try JournalReader.open(scratch.folder)
    func seqs(_ set: (inout EventFilter) -> Void) throws -> [Int64] {
      var filter = EventFilter()
      set(&filter)
      return try reader.events(matching: filter, after: 0, limit: 100).map { $0.seq }
    }
    #expect(try seqs { $0.notificationTypes = ["REFUND"] } == [8])
    let types = ["REFUND", events[0].notificationType]
    #expect(try seqs { $0.notificationTypes = types } == Array(1...40))
    #expect(try seqs { $0.notificationTypes = ["REFUN", "EFUND"] } == [])
    #expect(try seqs { $0.environment = "Sandbox" } == [9])
    #expect(try seqs { $0.bundleId = "none" } == [])
    let id = events[20].originalTransactionId
    #expect(try seqs { $0.originalTransactionId = id } == Array(21...30))
    let received = events[10].receivedAt...events[12].receivedAt
    #expect(try seqs { $0.received = received } == [11, 12, 13])
    let signed = events[30].signedDate...events[31].signedDate
    #expect(
      try seqs {
        $0.signed = signed; $0.sources = ["v1", "v2"]
      } == [31, 32])
    #expect(try reader.events(matching: EventFilter(), after: 38, limit: 1).map { $0.seq } == [39])
    let newest = try reader.events(
      matching: EventFilter(), after: 5, through: 38, limit: 2, newestFirst: true)
    #expect(newest.map { $0.seq } == [38, 37])
    #expect(try reader.firstSeq(receivedFrom: .max) == 41)
    #expect(try reader.firstSeq(receivedFrom: 0) == 1)
  }

  @Test func `a stream is read up to a signed date and up to a receive time`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let events = (0..<20).map { Sample.event($0) }
    _ = try opened.journal.append(events.map { .event($0) })
    let reader = try JournalReader.open(scratch.folder)
    let key = StreamKey(
      environment: "Production", bundleId: "com.example.app",
      originalTransactionId: "2000000000000000")
    #expect(try reader.events(of: key).map { $0.seq } == Array(1...10))
    #expect(
      try reader.events(of: key, signedThrough: events[3].signedDate).map { $0.seq } == [
        1, 2, 3, 4,
      ])
    #expect(
      try reader.events(of: key, receivedThrough: events[1].receivedAt).map { $0.seq } == [1, 2])
    var seen: [Int64] = []
    try reader.forEach(from: 3, through: 7) { event in
      seen.append(event.seq)
      return event.seq < 6
    }
    #expect(seen == [3, 4, 5, 6])
  }

  /// The frozen contract for programs that read the file with SQLite.
  @Test func `the views have the columns of the contract`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let event = Sample.event(1)
    _ = try opened.journal.append([.event(event), .quarantine(Sample.quarantine(2))])
    let connection = try SQLiteConnection.open(scratch.folder.journal, .read)
    let row = try connection.statement(
      """
      SELECT seq || notification_uuid || source || environment || bundle_id || notification_type
        || ifnull(subtype, '-') || original_transaction_id || signed_date_ms || received_at_ms
        || length(body_sha256) || length(hash) FROM journal_v1
      """
    ).first { $0.text(0) }
    #expect(
      row == "1\(event.notificationUUID)v2Productioncom.example.appDID_RENEW-2000000000000000"
        + "\(event.signedDate)\(event.receivedAt)3232")
    let names = "SELECT group_concat(name, ' ') FROM pragma_table_info(?)"
    #expect(
      try connection.statement(names).bind(1, "journal_v1").first { $0.text(0) }
        == "seq notification_uuid source environment bundle_id notification_type subtype "
        + "original_transaction_id signed_date_ms received_at_ms body_sha256 hash arrival")
    #expect(
      try connection.statement(names).bind(1, "quarantine_v1").first { $0.text(0) }
        == "id reason source notification_uuid environment bundle_id notification_type "
        + "signed_date_ms received_at_ms body_sha256")
  }

  @Test func `an unreadable body does not stop a raw reading`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    _ = try opened.journal.append((1...5).map { .event(Sample.event($0)) })
    try opened.journal.close()
    let connection = try SQLiteConnection.open(scratch.folder.journal, .write)
    try connection.execute(
      "DROP TRIGGER event_update; UPDATE event SET body = x'0909' WHERE seq = 2")
    connection.close()
    let reader = try JournalReader.open(scratch.folder)
    var previous = ChainHash.origin
    var findings: [Int64] = []
    try reader.forEachRaw(from: 1, through: 5) { raw in
      if !raw.isIntact(after: previous) { findings.append(raw.event.seq) }
      #expect(raw.isChained(after: previous))
      previous = raw.event.hash
      return true
    }
    #expect(findings == [2])
    #expect(throws: LedgerError.corrupt("the body of seq 2")) { try reader.event(seq: 2) }
  }
}
