import AppStore
import SignedData
import Store
import Testing

/// Promise 2: what is genuine and not admitted is quarantined.
@Suite struct QuarantineTests {
  @Test func `a notification is stored once per UUID or once per body`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    var withoutUUID = Sample.quarantine(2, owner: .ours)
    withoutUUID.claims.notificationUUID = nil
    let outcomes = try opened.journal.append([
      .quarantine(Sample.quarantine(1)), .quarantine(Sample.quarantine(1)),
      .quarantine(withoutUUID), .quarantine(withoutUUID),
    ])
    #expect(
      outcomes == [
        .quarantined("other_app", isNew: true), .quarantined("other_app", isNew: false),
        .quarantined("other_app", isNew: true), .quarantined("other_app", isNew: false),
      ])
    let reader = try JournalReader.open(scratch.folder)
    #expect(try reader.quarantined(id: 2)?.body == withoutUUID.body)
    #expect(try opened.journal.removeQuarantined([1, 7]) == 1)
    #expect(try opened.journal.removeQuarantined([1]) == 0)
    #expect(try reader.quarantined(limit: 10).map { $0.id } == [2])
    let again = try opened.journal.append([.quarantine(Sample.quarantine(1))])
    #expect(again == [.quarantined("other_app", isNew: true)])
  }

  @Test func `a notification that is journaled leaves the quarantine`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let event = Sample.event(1)
    var item = Sample.quarantine(1)
    item.body = event.body
    item.bodySHA256 = event.bodySHA256
    _ = try opened.journal.append([.quarantine(item), .event(event)])
    let counts = try JournalReader.open(scratch.folder).quarantineCounts()
    #expect(counts.stored == 0)
  }

  @Test func `a notification that is journaled after a restart leaves the quarantine`() throws {
    let scratch = try Scratch()
    let event = Sample.event(1)
    for owner in [NewQuarantine.Owner.ours, .foreign] {
      do {
        let opened = try scratch.open()
        var item = Sample.quarantine(1, owner: owner)
        (item.body, item.bodySHA256) = (event.body, event.bodySHA256)
        _ = try opened.journal.append([.quarantine(item)])
        try opened.journal.close()
      }
      let opened = try scratch.open()
      _ = try opened.journal.append([.event(event)])
      #expect(try JournalReader.open(scratch.folder).quarantineCounts().stored == 0)
      try opened.journal.close()
    }
  }

  /// ECDSA signatures are not unique, so a retry of Apple's may be another body.
  @Test func `a notification that is journaled with a new signature leaves the quarantine`() throws
  {
    let scratch = try Scratch()
    let opened = try scratch.open()
    var item = Sample.quarantine(1)
    item.body = Sample.body(1, signature: 1)
    item.bodySHA256 = SHA256.hash(item.body)
    _ = try opened.journal.append([.quarantine(item), .quarantine(Sample.quarantine(2))])
    let outcomes = try opened.journal.append([.event(Sample.event(1))])
    #expect(outcomes.count == 1 && opened.journal.head.seq == 1)
    let left = try JournalReader.open(scratch.folder).quarantined(limit: 10)
    #expect(left.map(\.id) == [2])
  }

  @Test func `a V1 notification that is journaled with a newer receipt leaves the quarantine`()
    throws
  {
    let scratch = try Scratch()
    let opened = try scratch.open()
    var item = Sample.quarantine(1)
    item.source = .v1
    let event = Sample.event(1, body: Array("{}".utf8), source: .v1)
    _ = try opened.journal.append([.quarantine(item), .event(event)])
    #expect(try JournalReader.open(scratch.folder).quarantineCounts().stored == 0)
  }

  @Test func `other content with a journaled UUID stays in quarantine`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    var item = Sample.quarantine(1, owner: .ours)
    item.body = Sample.body(2)
    item.bodySHA256 = SHA256.hash(item.body)
    _ = try opened.journal.append([.quarantine(item), .event(Sample.event(1))])
    // Each content is kept, once.
    for _ in 0..<2 {
      let conflicts = try opened.journal.append([
        .event(Sample.event(1, body: Sample.body(3))),
        .event(Sample.event(1, body: Sample.body(2))),
      ])
      #expect(conflicts == [.conflict(seq: 1), .conflict(seq: 1)])
    }
    let left = try JournalReader.open(scratch.folder).quarantined(limit: 10)
    #expect(left.map(\.body) == [item.body, Sample.body(3)])
  }

  @Test func `other apps' notifications are capped and then counted`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    for start in stride(from: 0, to: Journal.quarantineLimit, by: 1_000) {
      let batch = (start..<(start + 1_000)).map { Submission.quarantine(Sample.quarantine($0)) }
      _ = try opened.journal.append(batch)
    }
    let more = try opened.journal.append([
      .quarantine(Sample.quarantine(20_000)), .quarantine(Sample.quarantine(20_001)),
      .quarantine(Sample.quarantine(20_002, owner: .ours)),
      .quarantine(Sample.quarantine(5)),
    ])
    #expect(more[0] == .quarantineFull("other_app") && more[1] == more[0])
    #expect(more[2] == .quarantined("other_app", isNew: true))
    #expect(more[3] == .quarantined("other_app", isNew: false))
    #expect(try opened.journal.quarantineOverflow() == 0)
    try opened.journal.writeCounts()
    #expect(try opened.journal.quarantineOverflow() == 2)
    #expect(try opened.journal.removeQuarantined([1]) == 1)
    let last = try opened.journal.append([.quarantine(Sample.quarantine(20_000))])
    #expect(last == [.quarantined("other_app", isNew: true)])
  }
}
