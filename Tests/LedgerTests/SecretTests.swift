import Foundation
import Ledger
import Queries
import Store
import StrictJSON
import Support
import Testing

/// The shared secret, V1's only proof: it is compared and then removed.
@Suite struct SecretTests {
  private static let untrusted = TestLedger.Answer.untrusted("v1_secret")

  private static func body(_ password: JSONValue?) -> String {
    V1Fixtures.body("INITIAL_BUY", [], [], top: ["password": password])
  }

  @Test func `both secrets of a rotation are accepted`() throws {
    let ledger = try TestLedger(secrets: ["the old one", "the new one"])
    #expect(try ledger.ingest(Self.body(.string("the old one")), at: 1) == .accepted(1))
    let new = V1Fixtures.body("DID_RENEW", [], [], top: ["password": .string("the new one")])
    #expect(try ledger.ingest(new, at: 2) == .accepted(2))
    // The same notification with the other secret.
    #expect(try ledger.ingest(Self.body(.string("the new one")), at: 3) == .duplicate(1))
  }

  @Test func `every other password is untrusted`() throws {
    let ledger = try V1Fixtures.ledger()
    let wrong: [JSONValue?] = [
      nil, .string(""), .string("wrong"), .string(String(V1Fixtures.secret.dropLast())),
      .string(V1Fixtures.secret + "x"), .string(V1Fixtures.secret + "\0"), .string("\0"),
      .string(V1Fixtures.secret.uppercased()), .string(V1Fixtures.secret + "\n"),
      .string(" " + V1Fixtures.secret), .array([.string(V1Fixtures.secret)]), .null, .integer(0),
      .boolean(true), .object([("a", .string(V1Fixtures.secret))]),
    ]
    for password in wrong {
      #expect(try ledger.ingest(Self.body(password), at: 1) == Self.untrusted)
    }
    #expect(try ledger.events().isEmpty && ledger.quarantine().isEmpty)
  }

  /// A wrong comparison of hashes that accepts one guess in a hundred is only found with thousands.
  @Test func `none of 3,000 guesses is accepted`() throws {
    let ledger = try V1Fixtures.ledger()
    let accepted = try (0..<3_000).filter {
      try ledger.ingest(Self.body(.string("guess \($0)")), at: 1) != Self.untrusted
    }
    #expect(accepted == [])
    #expect(try ledger.events().isEmpty && ledger.quarantine().isEmpty)
  }

  /// The whole hash is compared.
  @Test func `a guess whose hash begins or ends like the secret is untrusted`() throws {
    let ledger = try V1Fixtures.ledger()
    let first = ReadAccess.digest(of: V1Fixtures.secret).prefix(2)
    let last = ReadAccess.digest(of: V1Fixtures.secret).suffix(2)
    let guesses = (0..<4000).map { "guess \($0)" }
    let alike = try #require(guesses.first { ReadAccess.digest(of: $0).prefix(2) == first })
    let sameEnd = try #require(guesses.first { ReadAccess.digest(of: $0).suffix(2) == last })
    for guess in [alike, sameEnd] {
      #expect(try ledger.ingest(Self.body(.string(guess)), at: 1) == Self.untrusted)
    }
  }

  @Test func `every password is untrusted if no secret is configured`() throws {
    let ledger = try TestLedger()
    for password in [V1Fixtures.secret, "", "secret"] {
      #expect(try ledger.ingest(Self.body(.string(password)), at: 1) == Self.untrusted)
    }
  }

  @Test func `a password twice or below the top is malformed and not stored`() throws {
    let ledger = try V1Fixtures.ledger()
    let secret = V1Fixtures.secret
    let good = V1Fixtures.purchase
    let twice = good.replacingOccurrences(
      of: "\"password\":", with: "\"password\":\"\(secret)\",\"password\":")
    let escaped = good.replacingOccurrences(
      of: "\"password\":", with: "\"pass\\u0077ord\":\"\(secret)\",\"password\":")
    let nested = good.replacingOccurrences(
      of: "\"latest_receipt\":", with: "\"password\":\"\(secret)\",\"latest_receipt\":")
    let deep = good.replacingOccurrences(
      of: "\"transaction_id\":", with: "\"x\":[{\"password\":\"\(secret)\"}],\"transaction_id\":")
    for body in [twice, escaped, nested, deep] {
      #expect(body != good)
      guard case .malformed = try ledger.ingest(body, at: 1) else {
        Issue.record("not malformed")
        continue
      }
    }
    #expect(try ledger.events().isEmpty && ledger.quarantine().isEmpty)
  }

  @Test func `a body of both versions is malformed`() throws {
    let both = V1Fixtures.purchase.replacingOccurrences(
      of: "{\"bid\"", with: "{\"signedPayload\":\"a.b.c\",\"bid\"")
    #expect(try V1Fixtures.ledger().ingest(both, at: 1) == .malformed("envelope"))
  }

  /// After bodies were accepted, quarantined, refused, folded and listed.
  @Test func `the secret is in no file and in no answer`() throws {
    let ledger = try V1Fixtures.ledger()
    var answers = ""
    let odd = V1Fixtures.body("INITIAL_BUY", [], [], top: ["environment": .string("Elsewhere")])
    for body in [
      V1Fixtures.purchase, try V1Fixtures.fixture("modern.json"), odd,
      try V1Fixtures.fixture("canonical.json"), V1Fixtures.purchase + "x",
      V1Fixtures.body("INITIAL_BUY", [], [], top: ["bid": .string("com.example.foreign")]),
    ] {
      answers += "\(try ledger.ingest(body, at: 1_600_000_000_000))"
    }
    #expect(try ledger.quarantine().count == 2)
    answers += "\(try ledger.history("1000")?.json.text ?? "")\(try ledger.verify())"
    answers += "\(try ledger.events())\(try ledger.quarantine())"
    let canary = Array(V1Fixtures.secret.utf8)
    let written = try Scratch.allBytes(in: ledger.folder.path)
    #expect(!Self.contains(written, canary))
    #expect(!answers.contains(V1Fixtures.secret))
    let atRest = try ledger.whileStopped { try Scratch.allBytes(in: ledger.folder.path) }
    #expect(!Self.contains(atRest, canary))
    // Files hold compressed bodies, so the decompressed ones are searched too.
    for body in try ledger.events().map(\.body) + ledger.quarantine().map(\.body) {
      #expect(!Self.contains(body, canary) && !Self.contains(body, Array("password".utf8)))
    }
  }

  private static func contains(_ bytes: [UInt8], _ wanted: [UInt8]) -> Bool {
    guard let first = wanted.first, bytes.count >= wanted.count else { return false }
    var rest = bytes[...]
    while let at = rest.firstIndex(of: first) {
      if bytes[at...].starts(with: wanted) { return true }
      rest = bytes[(at + 1)...]
    }
    return false
  }
}
