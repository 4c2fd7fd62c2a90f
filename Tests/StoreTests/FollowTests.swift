import AppStore
import Platform
import Testing

@testable import Store

/// A copy writes nothing that its shared journal does not have, and takes nothing that does not
/// continue it (T2 to T4 of `SharedJournal`).
@Suite struct FollowTests {
  /// An open copy, which ships to `shipments`.
  final class Copy {
    let scratch: Scratch
    private let lock: FolderLock
    let journal: Journal
    private(set) var shipments: [Shipment] = []

    init(_ scratch: Scratch? = nil) throws {
      let scratch = try scratch ?? Scratch()
      self.scratch = scratch
      lock = try scratch.folder.lock()
      journal = try Journal.open(
        scratch.folder, lock: lock, now: 1, sharedId: { _ in [UInt8](repeating: 7, count: 16) })
    }

    func append(_ batch: [Submission]) throws -> [Outcome] {
      try journal.append(batch) { (shipment, _) throws(LedgerError) in
        self.shipments.append(shipment)
      }
    }

    func erase(account: String) throws -> Bool {
      try journal.erase(account: account) { (shipment, _) throws(LedgerError) in
        self.shipments.append(shipment)
      }
    }

    /// What another copy gets of the last write.
    var tail: JournalTail {
      guard let last = shipments.last else { return JournalTail(head: .origin) }
      return JournalTail(
        head: last.head, dictionaries: last.dictionaries, events: last.events, notes: last.notes)
    }
  }

  @Test func `every column of a table whose rows travel as notes is in the notes`() throws {
    let copy = try Copy()
    let connection = try SQLiteConnection.open(copy.scratch.folder.journal, .read)
    for table in NotedTable.all {
      let found = try connection.statement("SELECT name FROM pragma_table_info(?) ORDER BY cid")
        .bind(1, table.name).all { $0.text(0) }
      #expect([table.key] + table.columns == found, "\(table.name)")
    }
  }

  @Test func `every table is local, derived, or travels`() throws {
    let copy = try Copy()
    let connection = try SQLiteConnection.open(copy.scratch.folder.journal, .read)
    let tables = try connection.statement(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).all { $0.text(0) }
    let known = NotedTable.derived.union(NotedTable.local).union(NotedTable.all.map(\.name))
      .union(["meta", "migration"])
    #expect(Set(tables) == known)
  }

  @Test func `what one copy wrote gives another one the same position and tables`() throws {
    let (first, second) = (try Copy(), try Copy())
    for batch in [
      [Submission.event(Sample.event(1)), .event(Sample.event(2))],
      [.quarantine(Sample.quarantine(3)), .event(Sample.event(4))],
      [.event(Sample.event(1, body: Sample.body(9)))], [.event(Sample.event(3))],
    ] {
      _ = try first.append(batch)
      try second.journal.follow(first.tail)
      #expect(second.journal.position == first.journal.position)
    }
    let notes = try [first, second].map { try JournalReader.open($0.scratch.folder).allNotes() }
    #expect(notes[0] == notes[1])
    // Either may append next.
    _ = try second.append([.event(Sample.event(5))])
    try first.journal.follow(second.tail)
    #expect(first.journal.position == second.journal.position)
  }

  @Test func `a copy takes no event that does not continue its chain`() throws {
    let first = try Copy()
    _ = try first.append([.event(Sample.event(1)), .event(Sample.event(2))])
    let tail = first.tail
    func refusal(_ change: (inout JournalTail) -> Void) throws -> LedgerError? {
      let copy = try Copy()
      var changed = tail
      change(&changed)
      do {
        try copy.journal.follow(changed)
        return nil
      } catch {
        #expect(copy.journal.head == .empty)
        return error
      }
    }
    #expect(try refusal { _ in } == nil)
    #expect(try refusal { $0.events.removeFirst() } == .sharedDiverged)
    #expect(try refusal { $0.events.removeLast() } == .sharedDiverged)
    #expect(try refusal { $0.head.hash[0] ^= 1 } == .sharedDiverged)
    #expect(try refusal { $0.events[1] = $0.events[1].with(hash: [9]) } == .sharedDiverged)
  }

  @Test(arguments: [nil, [], [9], [1, 0xFF, 0xFF], [0, 0x41]] as [[UInt8]?])
  func `an event whose body is not what its hash says is followed and marked as broken`(
    body: [UInt8]?
  ) throws {
    let first = try Copy()
    _ = try first.append([.event(Sample.event(1)), .event(Sample.event(2))])
    var tail = first.tail
    tail.events[1] = tail.events[1].with(body: body ?? tail.events[0].body)
    let copy = try Copy()
    try copy.journal.follow(tail)
    #expect(copy.journal.position == first.journal.position)
    #expect(copy.journal.faults == CopyFaults(brokenEvents: 1))
    let reader = try JournalReader.open(copy.scratch.folder)
    #expect(try reader.faultySeqs(in: 1...2).broken == [2])
    #expect(try reader.events(after: 0, limit: 9).map(\.seq) == [1])
    var isReadable: [Bool] = []
    try reader.forEachPayload(from: 1, through: 2) { _, _, payload in
      if case .unreadable = payload.content {
        isReadable.append(false)
      } else {
        isReadable.append(true)
      }
      return true
    }
    #expect(isReadable == [true, false])
    try StartUp.checkTail(reader)
    // It goes on.
    _ = try first.append([.event(Sample.event(3))])
    try copy.journal.follow(first.tail)
    #expect(copy.journal.position == first.journal.position)
    #expect(copy.journal.faults == CopyFaults(brokenEvents: 1))
  }

  /// What another daemon says of products, with the place and hash that continue a copy.
  private static func mapping(
    _ products: [String], _ leeway: Int64, named name: String, after head: Head
  ) -> PackedEvent {
    let statement = OwnerStatement(
      .catalog(ProductMapping([name: NamedEntitlement(products: products, accessLeeway: leeway)])),
      mac: OwnerStatement.nobody, environment: .production, bundleId: "com.example.app", at: 1,
      id: "\(head.seq)", token: "configuration")
    let event = NewEvent(statement)
    let hash = ChainHash.next(
      after: head.hash, seq: head.seq + 1, receivedAt: 1, notificationUUID: event.notificationUUID,
      source: .catalog, bodySHA256: event.bodySHA256)
    return PackedEvent(
      seq: head.seq + 1, envelope: event.envelope, bodySHA256: event.bodySHA256, hash: hash,
      dictionary: nil, body: [0] + statement.body)
  }

  @Test func `a mapping that could not be configured is followed, broken, and not in force`() throws
  {
    let copy = try Copy()
    for (products, leeway, name, isGood) in [
      (["pro.*"], 0, "pro", true), (["*"], 0, "pro", false), (["pro"], 1 << 62, "pro", false),
      ([], 0, "pro", false), (["pro"], 0, String(repeating: "a", count: 65), false),
      (["pro"], 7 * 86_400_000, "pro", true),
    ] as [([String], Int64, String, Bool)] {
      let (faults, inForce) = (copy.journal.faults.brokenEvents, copy.journal.lastMapping)
      let event = Self.mapping(products, leeway, named: name, after: copy.journal.head)
      var tail = JournalTail(head: .origin)
      tail.events = [event]
      tail.head.seq = event.seq
      tail.head.hash = event.hash
      tail.head.receivedAt = 1
      try copy.journal.follow(tail)
      #expect(copy.journal.head.seq == event.seq && copy.journal.head.hash == event.hash)
      #expect(copy.journal.faults.brokenEvents == faults + (isGood ? 0 : 1), "\(products) \(name)")
      #expect(copy.journal.lastMapping == (isGood ? event.seq : inForce), "\(products) \(name)")
    }
    let reader = try JournalReader.open(copy.scratch.folder)
    #expect(try reader.mappings().map(\.seq) == [1, 6])
  }

  @Test
  func `a mapping that an older program did not understand is in force once a newer one runs`()
    throws
  {
    let scratch = try Scratch()
    do {
      let copy = try Copy(scratch)
      for name in ["pro", "plus"] {
        let event = Self.mapping(["pro.*"], 0, named: name, after: copy.journal.head)
        var tail = JournalTail(head: .origin)
        tail.events = [event]
        (tail.head.seq, tail.head.hash, tail.head.receivedAt) = (event.seq, event.hash, 1)
        try copy.journal.follow(tail)
      }
      try copy.journal.close()
    }
    // As the older one left it.
    let file = try SQLiteConnection.open(scratch.folder.journal, .write)
    try file.execute(
      """
      DROP TRIGGER statement_delete; DELETE FROM statement WHERE seq = 1;
      INSERT INTO broken_event VALUES (1)
      """)
    file.close()
    let copy = try Copy(scratch)
    let reader = try JournalReader.open(scratch.folder)
    #expect(try reader.faults().brokenEvents == 1)
    #expect(try reader.mappings().map(\.seq) == [2])
    try copy.journal.readAgain()
    #expect(copy.journal.faults == .none && copy.journal.lastMapping == 2)
    #expect(try reader.mappings().map(\.seq) == [1, 2])
  }

  /// A version 1 event that names no stream at the top, of the purchases 1 and then 2.
  private static func v1(_ number: Int, under id: String) -> NewEvent {
    let text = """
      {"environment":"PROD","latest_receipt_info":{"original_transaction_id":"1",\
      "purchase_date_ms":"1","transaction_id":"1"},"notification_type":"CANCEL",\
      "unified_receipt":{"latest_receipt_info":[{"original_transaction_id":"2",\
      "purchase_date_ms":"2","transaction_id":"2"}]}}
      """
    var event = Sample.event(number, body: Array(text.utf8), source: .v1, id: id)
    event.envelope.notificationType = "CANCEL"
    return event
  }

  private func filedFrom(_ copy: Copy) throws -> Int64 {
    try JournalReader.open(copy.scratch.folder).v1FiledFrom()
  }

  @Test func `what a former build files at the same shared journal is accepted`() throws {
    let (first, second) = (try Copy(), try Copy())
    #expect(try filedFrom(second) == 1)
    for (number, id, from) in [(1, "1", 1), (2, "2", 3), (3, "1", 3), (4, "3", 3)]
      as [(Int, String, Int64)]
    {
      _ = try first.append([.event(Self.v1(number, under: id))])
      try second.journal.follow(first.tail)
      #expect(try filedFrom(second) == from)
    }
    // It is not this copy that appended as a former build.
    #expect(try filedFrom(first) == 1)
    let count = try JournalReader.open(second.scratch.folder).formerlyFiledCount()
    #expect(count == 1)
  }

  @Test func `an event that is put back keeps its stream, and that is accepted`() throws {
    let copy = try Copy()
    _ = try copy.journal.putBack([.event(Self.v1(1, under: "2"))]) { (_, _) throws(LedgerError) in }
    #expect(try filedFrom(copy) == 2)
  }

  @Test func `a copy takes no note with another subject or version`() throws {
    let first = try Copy()
    _ = try first.append([.quarantine(Sample.quarantine(3))])
    var changed = first.tail
    let note = try #require(changed.notes.first)
    changed.notes[0] = Note(
      version: 1, subject: "quarantine/2", sha256: note.sha256, body: note.body)
    #expect(throws: LedgerError.sharedDiverged) { try Copy().journal.follow(changed) }
    changed.notes[0] = Note(
      version: 2, subject: note.subject, sha256: note.sha256, body: note.body)
    #expect(throws: LedgerError.sharedDiverged) { try Copy().journal.follow(changed) }
  }

  @Test func `nothing is written in a copy that is not shipped`() throws {
    let copy = try Copy()
    #expect(throws: LedgerError.copyWithoutSharedJournal) {
      _ = try copy.journal.append([.event(Sample.event(1))])
    }
    #expect(throws: LedgerError.copyWithoutSharedJournal) {
      _ = try copy.journal.removeQuarantined([1])
    }
    #expect(throws: LedgerError.busy) {
      _ = try copy.journal.append([.event(Sample.event(1))]) { (_, _) throws(LedgerError) in
        throw .busy
      }
    }
    #expect(copy.journal.position == .origin)
    #expect(try copy.append([.event(Sample.event(1))]).count == 1)
  }

  @Test func `the id of a notification that came and went unseen is not used again`() throws {
    let (first, second) = (try Copy(), try Copy())
    _ = try first.append([.quarantine(Sample.quarantine(3))])
    var tail = first.tail
    _ = try first.journal.removeQuarantined([1]) { (shipment, _) throws(LedgerError) in
      #expect(shipment.cleared == ["quarantine/1"])
      tail.notes = tail.notes.map {
        Note(version: $0.version, subject: $0.subject, sha256: $0.sha256, body: [])
      }
      tail.notes += shipment.notes
      tail.head = shipment.head
    }
    try second.journal.follow(tail)
    #expect(
      try second.append([.quarantine(Sample.quarantine(4))]) == [
        .quarantined("other_app", isNew: true)
      ])
  }
}

extension PackedEvent {
  fileprivate func with(hash: [UInt8]? = nil, body: [UInt8]? = nil) -> PackedEvent {
    PackedEvent(
      seq: seq, envelope: envelope, bodySHA256: bodySHA256, hash: hash ?? self.hash,
      dictionary: dictionary, body: body ?? self.body)
  }
}
