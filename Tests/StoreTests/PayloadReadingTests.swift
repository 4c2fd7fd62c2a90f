import AppStore
import Store
import Support
import Testing

/// Reads payloads by seq, by stream, and of one stream.
@Suite struct PayloadReadingTests {
  /// Forty events of four streams in rotation. Every tenth has no transaction, and one stream
  /// belongs to another app.
  private func journal() throws -> (Scratch, Opened, [NewEvent]) {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let events = (0..<40).map { number in
      var event = Sample.event(
        number, bundleId: number % 4 == 3 ? "com.example.two" : "com.example.app",
        id: "id \(number % 4)")
      if number % 10 == 5 { event.envelope.originalTransactionId = nil }
      return event
    }
    _ = try opened.journal.append(events.map { .event($0) })
    return (scratch, opened, events)
  }

  @Test func `a range is read in order of seq until the caller stops`() throws {
    let (scratch, _, events) = try journal()
    let reader = try JournalReader.open(scratch.folder)
    var seqs: [Int64] = []
    try reader.forEachPayload(from: 3, through: 38) { key, hash, payload in
      seqs.append(payload.seq)
      let event = events[Int(payload.seq) - 1]
      #expect(key?.originalTransactionId == event.originalTransactionId)
      #expect(key == nil || key?.bundleId == event.bundleId && key?.environment == .production)
      #expect((try? reader.hash(at: payload.seq)) == hash)
      return payload.seq < 30
    }
    #expect(seqs == Array(3...30))
    try reader.forEachPayload(from: 41, through: .max) { _, _, _ in
      Issue.record("there is no event")
      return true
    }
  }

  @Test func `a range longer than a batch is read completely`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    for first in [0, 600] {
      _ = try opened.journal.append(
        (first..<first + 600).map { .event(Sample.event($0, body: Array("\($0)".utf8))) })
    }
    let reader = try JournalReader.open(scratch.folder)
    var seqs: [Int64] = []
    try reader.forEachPayload(from: 1, through: .max) { _, _, payload in
      seqs.append(payload.seq)
      return true
    }
    #expect(seqs == Array(1...1200))
  }

  @Test func `streams are read one after the other`() throws {
    let (scratch, _, events) = try journal()
    let reader = try JournalReader.open(scratch.folder)
    let last = try reader.lastStreamId()
    var found: [(key: StreamKey, seq: Int64)] = []
    _ = try reader.forEachPayload(ofStreams: 1...last, through: 35) { key, payload in
      found.append((key, payload.seq))
    }
    let streams = try (1...last).compactMap { try reader.streamKey($0) }
    let places = try found.map { (try #require(streams.firstIndex(of: $0.key)), $0.seq) }
    #expect(zip(places, places.dropFirst()).allSatisfy { $0 < $1 })
    for (key, seq) in found {
      let event = events[Int(seq) - 1]
      #expect(key.originalTransactionId == event.originalTransactionId)
      #expect(key.bundleId == event.bundleId && key.environment == event.environment)
    }
    let wanted = events.indices.filter { $0 < 35 && events[$0].originalTransactionId != nil }
    #expect(found.map(\.seq).sorted() == wanted.map { Int64($0) + 1 })
    // Single ranges together give the same as the whole range.
    var again: [Int64] = []
    for id in 1...last {
      _ = try reader.forEachPayload(ofStreams: id...id, through: 35) { again.append($1.seq) }
    }
    #expect(again == found.map(\.seq))
    #expect(try reader.streamKey(last + 1) == nil)
  }

  @Test func `one stream is read up to a signed date and up to a receive time`() throws {
    let (scratch, _, events) = try journal()
    let reader = try JournalReader.open(scratch.folder)
    let key = StreamKey(
      environment: "Production", bundleId: "com.example.app", originalTransactionId: "id 2")
    let seqs = try reader.events(of: key).map(\.seq)
    #expect(try reader.payloads(of: key).map(\.seq) == seqs && seqs.count == 10)
    let middle = events[Int(seqs[4]) - 1]
    #expect(
      try reader.payloads(of: key, signedThrough: middle.signedDate).map(\.seq)
        == Array(seqs[0...4]))
    #expect(
      try reader.payloads(of: key, receivedThrough: middle.receivedAt - 1).map(\.seq)
        == Array(seqs[0...3]))
    #expect(try reader.hasEvents(of: key, after: 0))
    #expect(try reader.hasEvents(of: key, after: seqs[9] - 1))
    #expect(try !reader.hasEvents(of: key, after: seqs[9]))
    let other = StreamKey(
      environment: "Sandbox", bundleId: "com.example.app", originalTransactionId: "id 2")
    #expect(try !reader.hasEvents(of: other, after: 0) && reader.payloads(of: other).isEmpty)
  }

  @Test func `an empty journal has no streams`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let reader = try JournalReader.open(scratch.folder)
    #expect(try reader.lastStreamId() == 0 && reader.streamKey(1) == nil)
    withExtendedLifetime(opened) {}
  }
}
