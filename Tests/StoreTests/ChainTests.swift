import AppStore
import SignedData
import Store
import Support
import Testing

/// Promise 5. The constants were computed by a program in another language from the formula:
/// SHA-256("subledger.journal.v1" 00, previous, be64 seq, be64 received, lp uuid, lp source,
/// SHA-256 of the body).
@Suite struct ChainTests {
  static let first = "68e09da76eb6f24cc02a2550a8927b072649656525049f41053f753ed3b3a9bc"
  static let second = "374fcd1423e163faf93716119fffc8e84eddc296745e6de6d11267b61a799a88"

  @Test func `the hash follows the formula`() throws {
    let one = ChainHash.next(
      after: ChainHash.origin, seq: 1, receivedAt: 1_767_225_600_000,
      notificationUUID: try #require(NotificationUUID("00112233-4455-6677-8899-aabbccddeeff")),
      source: "v2",
      bodySHA256: SHA256.hash(Array("a.b.c".utf8)))
    #expect(hex(one) == Self.first)
    let two = ChainHash.next(
      after: one, seq: 2, receivedAt: 1_767_225_600_000,
      notificationUUID: try #require(NotificationUUID("11111111-2222-4333-8444-555555555555")),
      source: "v1",
      bodySHA256: SHA256.hash(Array(#"{"a":1}"#.utf8)))
    #expect(hex(two) == Self.second)
  }

  @Test func `the hash of a body does not depend on the bodies before it`() {
    let hash = BodyHash()
    let texts = [
      "aaaa.b.c", "aaaa.b.d", "aaaa.", "aaaa", "aaa.b.c", "", "{\"a\":1.5}", "{\"a\":1.6}",
      "aaaa.b.c", "aaab.b.c", ".x", ".y", "aaaa.b.d",
    ]
    for text in texts {
      #expect(hash.hash(Array(text.utf8)) == SHA256.hash(Array(text.utf8)), "\(text)")
    }
  }

  @Test func `the journal chains as the formula says`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    var one = Sample.event(1, body: Array("a.b.c".utf8), receivedAt: 1_767_225_600_000)
    one.envelope.notificationUUID = try #require(
      NotificationUUID("00112233-4455-6677-8899-aabbccddeeff"))
    var two = Sample.event(
      2, body: Array(#"{"a":1}"#.utf8), receivedAt: 1_767_225_000_000, source: "v1")
    two.envelope.notificationUUID = try #require(
      NotificationUUID("11111111-2222-4333-8444-555555555555"))
    let outcomes = try opened.journal.append([.event(one), .event(two)])
    #expect(outcomes.last == .accepted(seq: 2))
    #expect(hex(opened.journal.head.hash) == Self.second)
    let reader = try JournalReader.open(scratch.folder)
    #expect(try reader.hash(at: 1).map(hex) == Self.first)
    #expect(try reader.head() == opened.journal.head)
  }

  @Test func `SHA-256 of known texts`() {
    #expect(
      hex(SHA256.hash([]))
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    var hash = SHA256()
    hash.update(Array("a".utf8))
    hash.update(Array("xbc".utf8)[2...])
    hash.update("".utf8)
    hash.update("b".utf8.reversed().prefix(0))
    #expect(hex(hash.finish()) == hex(SHA256.hash(Array("ac".utf8))))
    #expect(hash.finish() == SHA256.hash([]))
  }
}
