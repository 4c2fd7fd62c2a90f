import Platform
import SignedData
import Testing

@testable import Store

/// A note that cannot be applied is kept and skipped: it stops neither its copy nor others.
@Suite struct SkippedNoteTests {
  private typealias Copy = FollowTests.Copy

  /// A tail with notes of these subjects and bodies.
  private func tail(
    after place: JournalPosition, _ notes: [(subject: String, body: String)]
  ) -> JournalTail {
    var tail = JournalTail(head: place)
    for note in notes {
      let body = Array(note.body.utf8)
      let next = Note(
        version: tail.head.notes + 1, subject: note.subject, sha256: SHA256.hash(body), body: body)
      tail.head.notesHash = next.chain(after: tail.head.notesHash)
      tail.head.notes += 1
      tail.notes.append(next)
    }
    return tail
  }

  private static let account = """
    {"columns":{"kind":"account","name":"Ann Example","key":{"base64":"\(zeros)"},\
    "mac":{"base64":"\(zeros)"}}}
    """
  private static let held = """
    {"columns":{"notification_uuid":{"base64":"AAAAAAAAAAAAAAAAAAAAAA=="},\
    "source":"transaction","transaction_id":"1","signed_date_ms":1,"received_at_ms":1,\
    "body_sha256":{"base64":"\(zeros)"},"arrival":"asked","body":{"base64":"AA=="}},\
    "stream":{"environment":"Sandbox","bundle_id":"com.example","original_transaction_id":"1"}}
    """
  private static let zeros = String(repeating: "A", count: 43) + "="

  @Test(arguments: [
    ("quarantine/2", "no JSON"), ("quarantine/2", "{}"), ("quarantine/x", #"{"removed":true}"#),
    ("", #"{"value":1}"#), ("quarantine/2", #"{"value":1}"#), ("later/1", #"{"columns":{}}"#),
    ("meta/later", #"{"value":1}"#), ("meta/foreign_overflow", #"{"value":-1}"#),
    ("meta/journal_id", #"{"value":1}"#),
    ("quarantine/2", #"{"columns":{"later":1}}"#),
    ("quarantine/2", #"{"columns":{"reason":"other_app"}}"#),
    ("quarantine/2", #"{"columns":{"reason":1,"is_foreign":7,"source":"v2"}}"#),
    ("arrival/1", #"{"columns":{"how":"by pigeon"}}"#),
    ("redelivery/2", #"{"columns":{"count":0,"first_at_ms":1,"last_at_ms":1}}"#),
    ("account/1", #"{"columns":{"kind":"account","name":""}}"#),
    ("held_evidence/1", #"{"columns":{"source":"transaction"},"stream":{"environment":"X"}}"#),
    ("quarantine/9223372036854775807", #"{"removed":true}"#),
    ("account/-3", #"{"removed":true}"#),
  ])
  func `a note that cannot be applied is skipped, and all goes on`(
    subject: String, body: String
  ) throws {
    let copy = try Copy()
    _ = try copy.append([.event(Sample.event(1)), .quarantine(Sample.quarantine(1))])
    let place = copy.journal.position
    let good = #"{"columns":{"count":2,"first_at_ms":1,"last_at_ms":1}}"#
    let bad = tail(after: place, [(subject, body), ("redelivery/1", good)])
    try copy.journal.follow(bad)
    #expect(copy.journal.position.notesHash == bad.head.notesHash)
    #expect(copy.journal.faults == CopyFaults(skippedNotes: 1))
    let reader = try JournalReader.open(copy.scratch.folder)
    #expect(try reader.quarantineCounts().stored == 1)
    // It appends, with the ids that no copy used.
    let outcomes = try copy.append([
      .event(Sample.event(2)), .quarantine(Sample.quarantine(3)),
    ])
    #expect(outcomes == [.accepted(seq: 2), .quarantined("other_app", isNew: true)])
    #expect(
      try reader.quarantined(limit: 10).map(\.id).max() == (subject == "quarantine/2" ? 3 : 2))
    #expect(try reader.rowFaults() == [])
    // It starts again.
    let again = try Copy(copy.scratch.crashed())
    #expect(again.journal.faults == CopyFaults(skippedNotes: 1))
  }

  @Test func `a stream waits to be judged although the note behind that is skipped`() throws {
    let copy = try Copy()
    // Told again, it says that its stream waits.
    try copy.journal.follow(
      tail(
        after: .origin,
        [
          ("held_evidence/1", Self.held), ("held_evidence/1", Self.held),
          ("quarantine/2", #"{"columns":{"reason":"other_app"}}"#),
        ]))
    #expect(copy.journal.faults == CopyFaults(skippedNotes: 1))
    #expect(copy.journal.waitingCount == 1)
    let again = try Copy(copy.scratch.crashed())
    #expect(again.journal.waitingCount == 1)
  }

  @Test func `a note whose body is not what its hash says is skipped`() throws {
    let copy = try Copy()
    var changed = tail(after: .origin, [("meta/foreign_overflow", #"{"value":4}"#)])
    changed.notes[0] = Note(
      version: 1, subject: changed.notes[0].subject, sha256: changed.notes[0].sha256,
      body: Array(#"{"value":5}"#.utf8))
    try copy.journal.follow(changed)
    #expect(copy.journal.faults == CopyFaults(skippedNotes: 1))
    #expect(try copy.journal.quarantineOverflow() == 0)
  }

  @Test func `a later note about the same row replaces one that was skipped`() throws {
    let copy = try Copy()
    let wrong = Self.account.replacing(#""kind":"account""#, with: #""kind":"pet""#)
    try copy.journal.follow(tail(after: .origin, [("account/1", wrong)]))
    #expect(copy.journal.faults.skippedNotes == 1)
    try copy.journal.follow(
      tail(after: copy.journal.position, [("account/1/removed", #"{"removed":true}"#)]))
    #expect(copy.journal.faults == .none)
    // What it said may be personal.
    #expect(copy.journal.hasErased)
    try copy.journal.emptyWAL()
    for (name, bytes) in try copy.scratch.files() {
      #expect(bytes.firstRange(of: Array("Ann Example".utf8)) == nil, "\(name)")
    }
  }

  @Test func `a program that knows more applies what an older one skipped`() throws {
    let copy = try Copy()
    try copy.journal.follow(
      tail(after: .origin, [("later/1", #"{"columns":{}}"#), ("account/1", Self.account)]))
    #expect(copy.journal.faults.skippedNotes == 1)
    // As if an older program had not known the table.
    let connection = try SQLiteConnection.open(copy.scratch.folder.journal, .write)
    try connection.execute(
      """
      UPDATE skipped_note SET subject = 'meta/foreign_overflow', body = CAST('{"value":5}' AS BLOB)
      """)
    try connection.statement("UPDATE skipped_note SET sha256 = ?")
      .bind(1, SHA256.hash(Array(#"{"value":5}"#.utf8))).run()
    let again = try Copy(copy.scratch.crashed())
    #expect(again.journal.faults == .none)
    #expect(try again.journal.quarantineOverflow() == 5)
  }

  @Test func `a stream waits to be judged because of a note that was skipped first`() throws {
    let copy = try Copy()
    let later = Self.held.replacing(#""arrival""#, with: #""later":1,"arrival""#)
    try copy.journal.follow(
      tail(after: .origin, [("held_evidence/1", Self.held), ("held_evidence/1", later)]))
    #expect(copy.journal.faults.skippedNotes == 1)
    // As if an older program had not known a column.
    let connection = try SQLiteConnection.open(copy.scratch.folder.journal, .write)
    try connection.statement("UPDATE skipped_note SET sha256 = ?, body = ?")
      .bind(1, SHA256.hash(Array(Self.held.utf8))).bind(2, Array(Self.held.utf8)).run()
    let again = try Copy(copy.scratch.crashed())
    #expect(again.journal.waitingCount == 1)
    let afterCrash = try Copy(again.scratch.crashed())
    #expect(afterCrash.journal.waitingCount == 1)
  }
}
