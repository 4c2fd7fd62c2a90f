import Platform
import Testing

/// Strict base64url (RFC 7515 section 2): every byte string has exactly one text.
@Suite struct Base64URLTests {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  private func decode(_ text: String) -> [UInt8]? { Base64URL.decode(Array(text.utf8)[...]) }

  @Test func `encoding then decoding gives the same bytes`() {
    for count in 0..<200 {
      let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max) }
      let text = Base64URL.encode(bytes)
      #expect(Base64URL.decode(text[...]) == bytes)
      #expect(text.allSatisfy(Self.alphabet.contains))
      #expect(text.count == (count * 4 + 2) / 3)
    }
  }

  @Test(arguments: [
    ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"),
    ("fooba", "Zm9vYmE"), ("foobar", "Zm9vYmFy"),
  ])
  func `the vectors of RFC 4648 hold`(_ plain: String, _ text: String) {
    #expect(Base64URL.encode(plain.utf8) == Array(text.utf8))
    #expect(decode(text) == Array(plain.utf8))
  }

  /// Every text of one to three characters that decodes is the text of the decoded bytes.
  @Test func `no byte string has two texts`() {
    for one in UInt8.min...UInt8.max {
      #expect(Base64URL.decode([one][...]) == nil)
      for two in UInt8.min...UInt8.max {
        let bytes = Base64URL.decode([one, two][...])
        #expect(bytes.map { Base64URL.encode($0) == [one, two] } ?? true)
        #expect(bytes == nil || bytes?.count == 1)
      }
    }
    let endings = Self.alphabet.filter { Base64URL.decode([65, 65, $0][...]) != nil }
    #expect(endings.count == 16)
    #expect(Self.alphabet.filter { Base64URL.decode([65, $0][...]) != nil }.count == 4)
  }

  @Test(arguments: [
    "Zg==", "Zm8=", "Zm9v=", "Zm 9v", " Zm9v", "Zm9v ", "Zm9v\n", "Zm9+", "Zm9/", "Zm9v.", "Zm9?",
    "Zm9vY", "Zh", "Zm9", "Zm9vé", "Z", "====", "Zm9v\u{0}AAA",
  ])
  func `refuses text that is not strict base64url`(_ text: String) {
    #expect(decode(text) == nil)
  }

  @Test func `refuses a byte outside the alphabet at every index`() {
    let text = Base64URL.encode((0..<48).map { UInt8($0) })
    for index in text.indices {
      for stray in UInt8.min...UInt8.max where !Self.alphabet.contains(stray) {
        var damaged = text
        damaged[index] = stray
        #expect(Base64URL.decode(damaged[...]) == nil)
      }
    }
  }

  @Test func `appending preserves the bytes before it`() {
    var bytes: [UInt8] = [1, 2]
    #expect(!Base64URL.append(decoding: Array("Zm9v!".utf8)[...], to: &bytes))
    #expect(bytes == [1, 2])
    #expect(Base64URL.append(decoding: Array("xZm9vx".utf8)[1..<5], to: &bytes))
    #expect(bytes == [1, 2] + Array("foo".utf8))
  }
}
