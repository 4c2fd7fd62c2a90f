import Platform
import SignedData
import Testing

@testable import Store

@Suite struct BodyCodecTests {
  /// Calls `test` with a codec on a connection to a new journal.
  private func withCodec(_ test: (BodyCodec) throws -> Void) throws {
    let scratch = try Scratch()
    try scratch.open().journal.close()
    let connection = try SQLiteConnection.open(scratch.folder.journal, .write)
    try test(BodyCodec(dictionaries: DictionaryStore(connection)))
    connection.close()
  }

  @Test func `a notification is stored in under 700 bytes`() throws {
    try withCodec { codec in
      _ = try codec.encode(Sample.body(1), trainsDictionary: true)
      let body = Sample.body(77)
      let stored = try codec.encode(body, trainsDictionary: true)
      #expect(body.count > 12_000)
      #expect(stored.dictionary == 1)
      #expect(stored.bytes.count < 700)
      #expect(try codec.decode(stored.bytes, dictionary: 1) == body)
    }
  }

  /// Bodies are smaller with the trained dictionary. A new reader decodes those of both
  /// dictionaries.
  @Test func `a thousand notifications train a better dictionary`() throws {
    let scratch = try Scratch()
    try scratch.open().journal.close()
    let connection = try SQLiteConnection.open(scratch.folder.journal, .write)
    let codec = BodyCodec(dictionaries: DictionaryStore(connection))
    var all: [(body: [UInt8], stored: BodyCodec.Stored)] = []
    for number in 0..<1_100 {
      let body = Sample.body(number)
      all.append((body, try codec.encode(body, trainsDictionary: true)))
    }
    let late = try BodyCodec(dictionaries: DictionaryStore(connection))
      .encode(Sample.body(1_200), trainsDictionary: false)
    #expect(all[1].stored.dictionary == 1 && all[1_099].stored.dictionary == 2)
    #expect(late.dictionary == 2)
    #expect(all[1_099].stored.bytes.count < all[1].stored.bytes.count)
    let reading = BodyCodec(dictionaries: DictionaryStore(connection))
    for (body, stored) in all {
      #expect(try reading.decode(stored.bytes, dictionary: stored.dictionary) == body)
    }
    connection.close()
  }

  /// As for bodies that go to quarantine.
  @Test func `encoding without training neither trains nor discards samples`() throws {
    let scratch = try Scratch()
    try scratch.open().journal.close()
    let connection = try SQLiteConnection.open(scratch.folder.journal, .write)
    _ = try BodyCodec(dictionaries: DictionaryStore(connection)).encode(
      Sample.body(0), trainsDictionary: true)
    // As after a restart.
    let codec = BodyCodec(dictionaries: DictionaryStore(connection))
    #expect(try codec.encode(Sample.body(1), trainsDictionary: false).dictionary == 1)
    for number in 2..<1_002 { _ = try codec.encode(Sample.body(number), trainsDictionary: true) }
    #expect(codec.trainedEntry?.id == 2)
    let header = Base64URL.encode(Array(#"{"alg":"ES256"}"#.utf8))
    let other = header + Array(".eyJhIjoiYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhIn0.QUJD".utf8)
    _ = try codec.encode(other, trainsDictionary: false)
    #expect(codec.trainedEntry?.id == 2)
    connection.close()
  }

  /// The format of earlier versions: the text contains its headers, and the dictionary is such a
  /// text.
  @Test func `bodies in the older format are decoded`() throws {
    let scratch = try Scratch()
    try scratch.open().journal.close()
    let connection = try SQLiteConnection.open(scratch.folder.journal, .write)
    let text = try olderText(Sample.body(1)).text
    try connection.statement(
      "INSERT INTO dictionary (header_sha256, bytes, sha256) VALUES (?, ?, ?)"
    ).bind(1, SHA256.hash([1])).bind(2, text).bind(3, SHA256.hash(text)).run()
    let codec = BodyCodec(dictionaries: DictionaryStore(connection))
    for number in 2...5 {
      let body = Sample.body(number)
      let older = try olderText(body)
      let frame = try #require(Zstd().compress(older.text, with: ZstdDictionary(text)))
      #expect(try codec.decode([2] + older.frame + frame, dictionary: 1) == body)
      #expect(frame.count < 600)
    }
    connection.close()
  }

  private func olderText(_ body: [UInt8]) throws -> (frame: [UInt8], text: [UInt8]) {
    let jws = JWSParts(try CompactJWS(parsing: body[...]))
    var older = jws
    older.text = []
    var at = 0
    for (index, part) in jws.nested.enumerated() {
      let start = at + part.gapCount
      older.text += jws.text[at..<start]
      older.text += jws.headerOf(part, at: start)
      at = start + part.headerCount + part.payloadCount
      older.text += jws.text[start + part.headerCount..<at]
      older.nested[index].headerCount = jws.headerOf(part, at: start).count
    }
    older.text += jws.text[at...]
    var frame: [UInt8] = []
    older.appendFrame(to: &frame, headerCount: jws.header.count)
    return (frame, jws.header + older.text)
  }

  static let odd: [String] = {
    var dice = Dice(state: 4)
    let jws = Sample.jws(#"{"a":1}"#, &dice)
    return [
      "", "x", "a.b.c", "..", "...", "a.b.c.d", #"{"a":[1,2,3]}"#, jws + "=", jws + ".", "." + jws,
      jws.replacing(".", with: ".."), jws + "\n", "AA.AB.AA", "AA.QQ.QR", "AA.Q.QQ", "AA.QUJ+.QQ",
      String(repeating: "a", count: 70_000), Sample.jws("", &dice),
      Sample.jws(#"{"n":"eyJ","m":"eyJ.."}"#, &dice), Sample.jws(#"{"n":"eyJ.QR.QQ","#, &dice),
      Sample.jws(#"{"n":"eyJ.QQ.QR"}"#, &dice), Sample.jws(#""eyJ.QQ.QQ"#, &dice),
      Sample.jws(#"["eyJ.QQ.QQ","eyJ.QQ.QQ"]"#, &dice),
      Sample.jws(#"{"n":"eyJ.\u0041.QQ"}"#, &dice),
      Sample.jws(#"{"\"eyJ.QQ.QQ":"eyJ.QQ.QQ.QQ"}"#, &dice),
      Sample.jws("{\"n\":\"\(Sample.jws("{\"m\":\"\(jws)\"}", &dice))\"}", &dice),
      Sample.jws("[" + String(repeating: "\"eyJ.QQ.QQ\",", count: 40) + "]", &dice),
    ]
  }()

  @Test(arguments: odd) func `any text is decoded to the same bytes`(_ text: String) throws {
    try withCodec { codec in
      let body = Array(text.utf8)
      for trainsDictionary in [false, true, true] {
        let stored = try codec.encode(body, trainsDictionary: trainsDictionary)
        #expect(try codec.decode(stored.bytes, dictionary: stored.dictionary) == body)
        #expect(stored.bytes.count <= body.count + 1)
      }
    }
  }

  @Test func `any bytes are decoded to the same bytes`() throws {
    try withCodec { codec in
      var dice = Dice(state: 1)
      for size in [1, 2, 31, 4_095, 300_000] {
        let body = dice.bytes(size)
        let stored = try codec.encode(body, trainsDictionary: true)
        #expect(try codec.decode(stored.bytes, dictionary: stored.dictionary) == body)
      }
    }
  }

  /// A tampered row gives other bytes or nil, with a bounded amount of work.
  @Test func `tampered bytes are decoded in bounded time without a trap`() throws {
    try withCodec { codec in
      let body = Sample.body(1)
      let stored = try codec.encode(body, trainsDictionary: true)
      var dice = Dice(state: 2)
      for _ in 0..<2_000 {
        var bytes = stored.bytes
        for _ in 0...Int.random(in: 0..<3, using: &dice) {
          bytes[Int.random(in: bytes.indices, using: &dice)] = UInt8.random(
            in: 0...255, using: &dice)
        }
        bytes.removeLast(Int.random(in: 0..<40, using: &dice) / 10)
        _ = try codec.decode(bytes, dictionary: stored.dictionary)
        _ = try codec.decode(bytes, dictionary: nil)
      }
      #expect(try codec.decode(stored.bytes, dictionary: 9) == nil)
      #expect(try codec.decode([], dictionary: nil) == nil)
      #expect(try codec.decode([9, 1], dictionary: nil) == nil)
      #expect(try codec.decode([1, 0xFF, 0xFF, 0xFF, 0x7F], dictionary: nil) == nil)
    }
  }

  @Test func `the number of dictionaries is bounded`() throws {
    try withCodec { codec in
      var last: BodyCodec.Stored?
      for number in 0..<300 {
        let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"\#(number)"}"#.utf8))
        let text =
          String(decoding: header, as: UTF8.self)
          + ".eyJhIjoiYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhIn0.QUJD"
        last = try codec.encode(Array(text.utf8), trainsDictionary: true)
      }
      #expect(last?.dictionary == nil)
    }
  }

  @Test(arguments: ["A", "AB", "AAB", "AA=", "AA==", "A A", "AA+A", "AA/A", "AAAAA", "AA\n", "é"])
  func `base64url that is not strict is refused`(_ text: String) {
    #expect(Base64URL.decode(Array(text.utf8)) == nil)
  }

  @Test func `base64url decodes what it encodes`() {
    var dice = Dice(state: 3)
    for size in 0..<200 {
      let bytes = dice.bytes(size)
      let text = Base64URL.encode(bytes)
      #expect(Base64URL.decode(text) == bytes)
    }
    #expect(String(decoding: Base64URL.encode([0xFB, 0xFF]), as: UTF8.self) == "-_8")
  }
}
