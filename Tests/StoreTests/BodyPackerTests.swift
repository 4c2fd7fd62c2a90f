import Platform
import SignedData
import Testing

@testable import Store

/// A body packed before the writer is stored as the writer would have stored it (promise 5).
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

  /// The first thousand notifications are training samples, so the writer must pack them.
  @Test func `nothing is packed before the dictionary is trained`() throws {
    #expect(try packed(Sample.body(5_000)).packed == nil)
    try append(0..<999)
    #expect(try packed(Sample.body(5_000)).packed == nil)
    try append(999..<1_000)
    #expect(try packed(Sample.body(5_000)).packed != nil)
  }

  @Test func `a packed body has the same bytes as the writer would store`() throws {
    try append(0..<1_000)
    let reading = try SQLiteConnection.open(scratch.folder.journal, .read)
    let codec = BodyCodec(dictionaries: DictionaryStore(reading))
    for number in 5_000..<5_050 {
      let text = Sample.body(number)
      let body = try packed(text)
      #expect(try body.packed == codec.encode(text, trainsDictionary: false))
      var event = Sample.event(number, body: text)
      event.content = body
      let outcomes = try journal.append([.event(event)])
      #expect(
        outcomes == [.accepted(seq: Int64(number - 3_999))])
    }
    let reader = try JournalReader.open(scratch.folder)
    for number in 5_000..<5_050 {
      #expect(try reader.event(seq: Int64(number - 3_999))?.body == Sample.body(number))
    }
    reading.close()
  }

  /// Promise 4, for a packed body.
  @Test func `a packed body under a known UUID is quarantined unchanged`() throws {
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

  /// As with Apple's next certificate: the writer must see the first notifications with it.
  @Test func `a body with a new header is left to the writer`() throws {
    try append(0..<1_000)
    let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"next"}"#.utf8))
    let body = Sample.body(5_000)
    let dot = try #require(body.firstIndex(of: UInt8(ascii: ".")))
    let other = header + body[dot...]
    #expect(try packed(other).packed == nil)
    var event = Sample.event(5_000, body: other)
    event.content = try packed(other)
    _ = try journal.append([.event(event)])
    #expect(try packed(other).packed == nil, "made from one notification")
    #expect(try packed(body).packed == nil, "no longer the latest")
  }

  /// A dictionary that was made in an SQL transaction that was rolled back is not on the disk.
  @Test func `a dictionary of a failed batch is not shared`() throws {
    try append(0..<999)
    var bad = Sample.event(2_000)
    bad.bodySHA256 = [1, 2, 3]
    #expect(throws: LedgerError.self) {
      try journal.append([.event(Sample.event(999)), .event(bad)])
    }
    #expect(try packed(Sample.body(5_000)).packed == nil)
  }
}
