import AppStore
import Foundation
import Ledger
import Store
import Support
import Testing

/// The canonical form that is hashed, and the uuid that deduplicates. Another program computed the
/// constants.
@Suite struct CanonicalTests {
  @Test(arguments: [
    (
      "modern", "8811b3b4777fa4160ad54c578c1e767a84cda2b8d37038fda7464150de961455",
      "5fc3767f-e259-818a-a9e2-f75a8b3a49a8"
    ),
    (
      "older-renewal", "881fdb7bde7980528fa1a2530a0c5819e773e62ce94683e17d6d79a88a980c65",
      "38ff14c4-135a-8b1d-926d-7850982da4cc"
    ),
    (
      "older-expired", "8005df4f7da41dabe9770bdd81118081bc1939fa4aa408c8cc04bb3096b1bcd6",
      "a516659b-8583-8454-a385-d7053f962e3c"
    ),
    (
      "older-cancel", "8562f79facbb1952e8c17c6467384035e81e3e60fc3b35e808bb7a1c77aa9b29",
      "0f0c61d8-3c62-8276-97c0-ba3b7d7b7595"
    ),
    (
      "canonical", "88b6589b3fba4530322cf737cc93b1d6f9a864bb25bdf05dedb94d80c9979a60",
      "533caeb8-fd4d-811a-8ad5-3b756fb2e749"
    ),
  ]) func `the digest and the uuid are those that another program computed`(
    _ name: String, _ digest: String, _ uuid: String
  ) throws {
    let ledger = try V1Fixtures.ledger()
    #expect(try ledger.ingest(try V1Fixtures.fixture(name + ".json"), at: 1) == .accepted(1))
    let event = try #require(try ledger.events().first)
    #expect(event.bodySHA256.map { String(format: "%02x", $0) }.joined() == digest)
    #expect(event.notificationUUID.description == uuid)
    #expect(event.source == .v1 && event.subtype == nil)
  }

  /// Numbers as received, names sorted by UTF-8 bytes at every level, as few escapes as possible.
  @Test func `a body is journaled in its canonical form`() throws {
    let ledger = try V1Fixtures.ledger()
    try ledger.ingest(try V1Fixtures.fixture("canonical.json"), at: 1)
    let body = try #require(try ledger.events().first).body
    let expected = try V1Fixtures.fixture("canonical-body.txt")
    #expect(String(decoding: body, as: UTF8.self) == expected)
    #expect(Array(expected.utf8) == body)
  }

  /// Nothing is normalised: a precomposed and a decomposed letter make two names.
  @Test func `member names are compared as bytes`() throws {
    let ledger = try V1Fixtures.ledger()
    for names in ["\"\u{E9}\":1,\"e\u{301}\":2,", "\"\\u00e9\":1,\"e\\u0301\":2,"] {
      let body = V1Fixtures.purchase.replacingOccurrences(of: "{\"bid\"", with: "{\(names)\"bid\"")
      #expect(body != V1Fixtures.purchase)
      // The second is the first, escaped.
      let answer = try ledger.ingest(body, at: 1)
      #expect(answer == .accepted(1) || answer == .duplicate(1))
    }
  }

  @Test func `a body with another layout is a duplicate`() throws {
    let ledger = try V1Fixtures.ledger()
    let spaced = V1Fixtures.purchase.replacingOccurrences(of: ",\"", with: " ,\r\n\t\"")
    #expect(try ledger.ingest(V1Fixtures.purchase, at: 1) == .accepted(1))
    #expect(try ledger.ingest(spaced, at: 2) == .duplicate(1))
    let escaped = V1Fixtures.purchase.replacingOccurrences(of: "basic.m", with: "b\\u0061sic.m")
    #expect(try ledger.ingest(escaped, at: 3) == .duplicate(1))
  }

  /// Apple's retries differ only in the receipts.
  @Test func `a body with another receipt is a duplicate`() throws {
    let ledger = try V1Fixtures.ledger()
    #expect(try ledger.ingest(V1Fixtures.purchase, at: 1) == .accepted(1))
    let again = V1Fixtures.purchase.replacingOccurrences(of: "cmVjZWlwdA==", with: "YW5vdGhlcg==")
    #expect(again != V1Fixtures.purchase)
    #expect(try ledger.ingest(again, at: 2) == .duplicate(1))
    #expect(try ledger.quarantine().isEmpty && ledger.events().count == 1)
    let older = try V1Fixtures.fixture("older-renewal.json")
    #expect(try ledger.ingest(older, at: 3) == .accepted(2))
    let retried = older.replacingOccurrences(of: "bGF0ZXN0", with: "c29tZXRoaW5n")
    #expect(try ledger.ingest(retried, at: 4) == .duplicate(2))
  }

  @Test func `a body with any other difference is another notification`() throws {
    let ledger = try V1Fixtures.ledger()
    #expect(try ledger.ingest(V1Fixtures.purchase, at: 1) == .accepted(1))
    for (old, new) in [
      ("basic.m", "basic.n"), ("INITIAL_BUY", "DID_RENEW"),
      ("Production", "Production\",\"x\":\""),
    ] {
      let other = V1Fixtures.purchase.replacingOccurrences(of: old, with: new)
      #expect(other != V1Fixtures.purchase)
      guard case .accepted = try ledger.ingest(other, at: 2) else {
        Issue.record("\(new): not another notification")
        continue
      }
    }
  }
}
