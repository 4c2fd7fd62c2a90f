import AppStore
import Ledger
import Platform
import Queries
import Store
import Support
import Testing

/// Read tokens and page cursors.
@Suite struct ReadAccessTests {
  private static func token(_ name: String, _ secret: String) -> Configuration.ReadToken {
    Configuration.ReadToken(
      name: name, sha256: Hexadecimal.decode(ReadAccess.digest(of: secret)) ?? [])
  }

  private let access = ReadAccess([token("one", "secret-1"), token("two", "secret-2")])

  @Test func `configured tokens are recognized`() {
    #expect(access.token(authorization: ["Bearer secret-1"])?.name == "one")
    #expect(access.token(authorization: ["bearer secret-2"])?.name == "two")
  }

  @Test(arguments: [
    [], [""], ["Bearer"], ["Bearer "], ["Bearer secret-3"], ["Bearer secret-1 "], ["secret-1"],
    ["Basic secret-1"], ["Bearer secret-"], ["Bearer secret-11"], ["Bearersecret-1"],
    ["Bearer secret-1", "Bearer secret-1"], ["Bearer Secret-1"],
    ["Bearer " + String(repeating: "a", count: 10_240)],
  ])
  func `any other authorization is refused`(_ fields: [String]) {
    #expect(access.token(authorization: fields) == nil)
  }

  @Test func `a token covers the spelling of its app alone`() {
    var token = Self.token("one", "secret-1")
    token.bundleIds = ["com.example.K"]
    #expect(token.covers(environment: .production, bundleId: "com.example.K"))
    #expect(!token.covers(environment: .production, bundleId: "com.example.\u{212A}"))
    #expect(!token.covers(environment: .production, bundleId: nil))
  }

  /// A comparison that accepted one guess in hundreds would only show among thousands.
  @Test func `no guess among 20,000 is accepted`() {
    let accepted = (0..<20_000).filter {
      access.token(authorization: ["Bearer guess \($0)"]) != nil
    }
    #expect(accepted == [])
  }

  @Test func `a cursor is only valid for its token and unchanged`() {
    let (one, two) = (Self.token("one", "1"), Self.token("two", "2"))
    for id in ["2000000000000001", "", "é😀", "a/b?c=d&e", String(repeating: "9", count: 400)] {
      let key = StreamKey(
        environment: "Production", bundleId: "com.example.app", originalTransactionId: id)
      let text = PageCursor.text(key, for: one)
      #expect(PageCursor.key(text, for: one) == key)
      #expect(PageCursor.key(text, for: two) == nil)
      #expect(PageCursor.key(String(text.dropLast(2)), for: one) == nil)
      #expect(PageCursor.key(String(text.dropLast()), for: one) == nil)
      #expect(PageCursor.key(text + "00", for: one) == nil)
      for index in stride(from: 0, to: text.utf8.count, by: 7) {
        var digits = Array(text.utf8)
        digits[index] = digits[index] == 0x30 ? 0x31 : 0x30
        #expect(PageCursor.key(String(decoding: digits, as: UTF8.self), for: one) == nil)
      }
    }
    for text in ["", "00", "zz", "abc", String(repeating: "00", count: 5000)] {
      #expect(PageCursor.key(text, for: one) == nil)
    }
  }
}
