import SignedData
import Testing

/// RFC 7515 section 2, and nothing more lenient: every byte string has exactly one text.
@Suite struct Base64URLTests {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  private func decode(_ text: String) -> [UInt8]? { Base64URL.decode(Array(text.utf8)[...]) }

  @Test func bytesComeBack() {
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
  func vectorsOfRFC4648(_ plain: String, _ text: String) {
    #expect(Base64URL.encode(plain.utf8) == Array(text.utf8))
    #expect(decode(text) == Array(plain.utf8))
  }

  /// Every text of one to three letters that decodes is the text of what it decodes to.
  @Test func noBytesHaveTwoTexts() {
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
  func refusesWhatIsNotStrict(_ text: String) {
    #expect(decode(text) == nil)
  }

  @Test func strayBytesAreSeenAnywhere() {
    let text = Base64URL.encode((0..<48).map { UInt8($0) })
    for index in text.indices {
      for stray in UInt8.min...UInt8.max where !Self.alphabet.contains(stray) {
        var damaged = text
        damaged[index] = stray
        #expect(Base64URL.decode(damaged[...]) == nil)
      }
    }
  }

  @Test func appendingLeavesWhatWasThere() {
    var bytes: [UInt8] = [1, 2]
    #expect(!Base64URL.append(decoding: Array("Zm9v!".utf8)[...], to: &bytes))
    #expect(bytes == [1, 2])
    #expect(Base64URL.append(decoding: Array("xZm9vx".utf8)[1..<5], to: &bytes))
    #expect(bytes == [1, 2] + Array("foo".utf8))
  }
}

/// FIPS 180-4, by NIST's example texts.
@Suite struct SHA256Tests {
  private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      String(repeating: "a", count: 1_000_000),
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    ),
  ])
  func vectors(_ text: String, _ digest: String) {
    #expect(hexadecimal(SHA256.hash(Array(text.utf8))) == digest)
    var hash = SHA256()
    for part in stride(from: 0, to: text.utf8.count, by: 77_777) {
      hash.update(Array(Array(text.utf8)[part..<min(part + 77_777, text.utf8.count)]))
    }
    let first = hash.finish()
    #expect(hexadecimal(first) == digest)
    hash.update(Array(text.utf8)[...])
    #expect(hash.finish() == first)
  }

  @Test func partsOfAnything() {
    let bytes = Array("xabcx".utf8)
    #expect(SHA256.hash(slice: bytes[1..<4]) == SHA256.hash(Array("abc".utf8)))
  }
}

/// X.690 section 10: one value, definite and shortest lengths, nothing after it.
@Suite struct DERShapeTests {
  @Test(
    arguments: [
      [0x05, 0x00], [0x30, 0x00], [0x02, 0x01, 0x05], [0x30, 0x03, 0x02, 0x01, 0x05],
      [0x30, 0x05, 0x31, 0x03, 0x02, 0x01, 0x05],
      [0x04, 0x81, 0x80] + [UInt8](repeating: 0, count: 128),
      [0x04, 0x82, 0x01, 0x00] + [UInt8](repeating: 0, count: 256),
    ] as [[UInt8]])
  func isStrict(_ bytes: [UInt8]) {
    #expect(DERShape.isStrict(bytes[...]))
    #expect(!DERShape.isStrict((bytes + [0])[...]))
    #expect(!DERShape.isStrict(bytes.dropLast()))
    #expect(DERShape.isStrict(([9] + bytes + [9])[1..<bytes.count + 1]))
  }

  @Test(
    arguments: [
      [], [0x30], [0x30, 0x80, 0x00, 0x00], [0x30, 0x01],
      [0x04, 0x81, 0x7F] + [UInt8](repeating: 0, count: 127),
      [0x04, 0x82, 0x00, 0x80] + [UInt8](repeating: 0, count: 128), [0x04, 0x81],
      [0x04, 0x84, 1, 0, 0, 0],
      [0x30, 0x03, 0x02, 0x02, 0x05], [0x30, 0x02, 0x02, 0x01],
      [0x30, 0x04, 0x02, 0x01, 0x05, 0x02],
      [0x1F, 0x81, 0x01, 0x00], [0x04, 0xFF, 0x00],
    ] as [[UInt8]])
  func isNot(_ bytes: [UInt8]) {
    #expect(!DERShape.isStrict(bytes[...]))
  }

  @Test func depthIsBounded() {
    var bytes: [UInt8] = [0x05, 0x00]
    for _ in 0..<20 { bytes = [0x30, UInt8(bytes.count)] + bytes }
    #expect(DERShape.isStrict(bytes[...]))
    for _ in 0..<10 { bytes = [0x30, UInt8(bytes.count)] + bytes }
    #expect(!DERShape.isStrict(bytes[...]))
    let deep = [UInt8](repeating: 0x30, count: 100_000)
    #expect(!DERShape.isStrict(deep[...]))
  }
}
