import AppStore
import SignedData
import Support
import Testing

@testable import Store

/// The payloads that the fold reads are those that decoding the exact body gives.
@Suite struct PayloadTests {
  private func read(_ reader: JournalReader, through last: Int64) throws -> [JournaledPayload] {
    var found: [JournaledPayload] = []
    try reader.forEachPayload(from: 1, through: last) { _, _, payload in
      found.append(payload)
      return true
    }
    return found
  }

  /// The payload that was signed, decoded from the exact body.
  private func exact(_ body: [UInt8]) throws -> [UInt8] {
    try CompactJWS(parsing: body[...]).payload
  }

  @Test func `the payloads of a notification have numbers for nested JWS`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    _ = try opened.journal.append((0..<3).map { .event(Sample.event($0)) })
    let payloads = try read(try JournalReader.open(scratch.folder), through: 9)
    #expect(payloads.map(\.seq) == [1, 2, 3])
    let uuid = try #require(payloads[1].uuid)
    #expect(uuid == Sample.uuid(1))
    guard case .jws(let payload, let nested) = payloads[1].content else {
      Issue.record("\(payloads[1].content)")
      return
    }
    let text = String(decoding: payload, as: UTF8.self)
    #expect(text.contains(#""signedTransactionInfo":"0","signedRenewalInfo":"1","status":1}"#))
    #expect(nested.map { payload[$0.offset] } == Array("01".utf8))
    #expect(String(decoding: nested[0].payload, as: UTF8.self).contains(#""webOrderLineItemId""#))
    #expect(String(decoding: nested[1].payload, as: UTF8.self).contains(#""autoRenewStatus""#))
    #expect(try payloads[1].exactPayload == exact(Sample.body(1)))
  }

  @Test func `every form of body gives the payload that was signed`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let long = String(repeating: "a", count: 300)
    let v1 = Array(#"{"notification_type":"DID_RENEW","\#(long)":1}"#.utf8)
    let bodies =
      BodyCodecTests.odd.map { ($0, EventSource.v2, Array($0.utf8)) }
      + [("v1", .v1, v1)]
    let events = bodies.enumerated().map { Sample.event($0, body: $1.2, source: $1.1) }
    _ = try opened.journal.append(events.map { .event($0) })
    let payloads = try read(try JournalReader.open(scratch.folder), through: .max)
    #expect(payloads.count == bodies.count)
    for (payload, (text, source, body)) in zip(payloads, bodies) {
      guard source == "v2" else {
        #expect(payload.content == .json(body, of: "2000000000000002"))
        continue
      }
      #expect(payload.exactPayload == (try? exact(body)), "\(text)")
      #expect((payload.content == .unreadable) == (payload.exactPayload == nil), "\(text)")
    }
  }

  /// Neither tampered stored bytes nor what they decompress to make a reader trap, or give another
  /// payload than the decoded body has.
  @Test func `tampered bytes are unreadable or give what the decoded body gives`() throws {
    let seed = UInt64.random(in: 0...9_999)
    print("tampered payloads: seed \(seed)")
    var dice = Dice(state: seed)
    let scratch = try Scratch()
    let opened = try scratch.open()
    _ = try opened.journal.append((1...2).map { .event(Sample.event($0)) })
    let connection = try SQLiteConnection.open(scratch.folder.journal, .read)
    let codec = BodyCodec(dictionaries: DictionaryStore(connection))
    let stored = try codec.encode(Sample.body(2), trainsDictionary: false)
    #expect(stored.dictionary == 1)
    var unreadable = 0
    for round in 0..<2_000 {
      var bytes = stored.bytes
      let (from, to) = round % 2 == 0 ? (0, bytes.count) : (0, 24)
      for _ in 0...Int.random(in: 0..<3, using: &dice) {
        bytes[Int.random(in: from..<to, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
      }
      bytes.removeLast(Int.random(in: 0..<40, using: &dice) / 10)
      let (content, parts) = try codec.payload(bytes, dictionary: 1, source: "v2", of: nil)
      let payload = JournaledPayload(
        seq: 1, source: "v2", uuid: nil, content: content, parts: parts)
      let body = try codec.decode(bytes, dictionary: 1)
      #expect(payload.exactPayload == body.flatMap { try? exact($0) }, "seed \(seed), \(round)")
      if content == .unreadable { unreadable += 1 }
    }
    #expect(unreadable > 1_000)
    #expect(
      try codec.payload(stored.bytes, dictionary: 9, source: "v2", of: nil).content == .unreadable)
    #expect(try codec.payload([], dictionary: nil, source: "v2", of: nil).content == .unreadable)
    #expect(try codec.payload([9], dictionary: nil, source: "v1", of: nil).content == .unreadable)
    connection.close()
  }
}
