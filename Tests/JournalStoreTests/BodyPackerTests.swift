import Encoding
import SignedData
import Testing

@testable import JournalStore

/// What is packed ahead of the writer is what the writer would have stored (promise 5).
@Suite struct BodyPackerTests {
  private let scratch: Scratch
  private let opened: Opened
  private let packer: BodyPacker
  private var journal: Journal { opened.journal }

  init() throws {
    let dictionary = SharedDictionary()
    scratch = try Scratch()
    opened = try Opened(scratch.folder, sharing: dictionary)
    packer = BodyPacker(dictionary)
  }

  private func packed(_ text: [UInt8]) throws -> NewEvent.Body {
    packer.body(try CompactJWS(parsing: text[...]))
  }

  private func append(_ numbers: Range<Int>) throws {
    _ = try journal.append(numbers.map { .event(Sample.event($0)) })
  }

  /// The shelf learns from the texts of the first thousand, so they are left to the writer.
  @Test func nothingBeforeTheWriterHasLearned() throws {
    #expect(try packed(Sample.body(5_000)).packed == nil)
    try append(0..<999)
    #expect(try packed(Sample.body(5_000)).packed == nil)
    try append(999..<1_000)
    #expect(try packed(Sample.body(5_000)).packed != nil)
  }

  @Test func asTheWriterWould() throws {
    try append(0..<1_000)
    let reading = try SQLiteConnection.open(scratch.folder.journal, .read)
    let codec = BodyCodec(shelf: DictionaryStore(reading))
    for number in 5_000..<5_050 {
      let text = Sample.body(number)
      let body = try packed(text)
      #expect(try body.packed == codec.encode(text, mayLearn: false))
      var event = Sample.event(number, body: text)
      event.content = body
      let outcomes = try journal.append([.event(event)])
      #expect(
        outcomes == [.journaled(seq: Int64(number - 3_999), receivedAt: event.receivedAt)])
    }
    let reader = try JournalReader.open(scratch.folder)
    for number in 5_000..<5_050 {
      #expect(try reader.event(seq: Int64(number - 3_999))?.body == Sample.body(number))
    }
    reading.close()
  }

  /// Promise 4, also for what was packed.
  @Test func anotherUnderAKnownUUIDGoesToQuarantineAsItIs() throws {
    try append(0..<1_000)
    var event = Sample.event(7, body: Sample.body(5_000))
    event.content = try packed(Sample.body(5_000))
    #expect(event.content.packed != nil)
    #expect(try journal.append([.event(event)]) == [.conflict(seq: 8)])
    let reader = try JournalReader.open(scratch.folder)
    #expect(try reader.event(seq: 8)?.body == Sample.body(7))
    #expect(
      try reader.quarantined(limit: 10).map(\.body) == [Sample.body(5_000)])
  }

  /// Apple's next certificate: the writer has to see it first.
  @Test func anotherHeaderIsTheWriters() throws {
    try append(0..<1_000)
    let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"next"}"#.utf8))
    let body = Sample.body(5_000)
    let dot = try #require(body.firstIndex(of: UInt8(ascii: ".")))
    let other = header + body[dot...]
    #expect(try packed(other).packed == nil)
    var event = Sample.event(5_000, body: other)
    event.content = try packed(other)
    _ = try journal.append([.event(event)])
    #expect(try packed(other).packed == nil, "of the first one alone")
    #expect(try packed(body).packed == nil, "no longer the latest")
  }

  /// A dictionary that was made in a transaction that failed is not on the disk.
  @Test func whatWasUndoneIsNotShared() throws {
    try append(0..<999)
    var bad = Sample.event(2_000)
    bad.notificationUUID = "no uuid"
    #expect(throws: StoreError.self) {
      try journal.append([.event(Sample.event(999)), .event(bad)])
    }
    #expect(try packed(Sample.body(5_000)).packed == nil)
  }
}
