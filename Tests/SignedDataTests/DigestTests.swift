import Platform
import SignedData
import Testing

/// SHA-256 (FIPS 180-4) against NIST's examples.
@Suite struct SHA256Tests {
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
  func `the vectors of NIST hold, whole and incrementally`(_ text: String, _ digest: String) {
    #expect(Hexadecimal.encode(SHA256.hash(Array(text.utf8))) == digest)
    var hash = SHA256()
    for part in stride(from: 0, to: text.utf8.count, by: 77_777) {
      hash.update(Array(Array(text.utf8)[part..<min(part + 77_777, text.utf8.count)]))
    }
    let first = hash.finish()
    #expect(Hexadecimal.encode(first) == digest)
    hash.update(Array(text.utf8)[...])
    #expect(hash.finish() == first)
  }

  @Test func `a slice is hashed without what surrounds it`() {
    let bytes = Array("xabcx".utf8)
    #expect(SHA256.hash(slice: bytes[1..<4]) == SHA256.hash(Array("abc".utf8)))
  }
}

/// DER (X.690 section 10): one value, definite and shortest lengths, nothing after it.
@Suite struct DERShapeTests {
  @Test(
    arguments: [
      [0x05, 0x00], [0x30, 0x00], [0x02, 0x01, 0x05], [0x30, 0x03, 0x02, 0x01, 0x05],
      [0x30, 0x05, 0x31, 0x03, 0x02, 0x01, 0x05],
      [0x04, 0x81, 0x80] + [UInt8](repeating: 0, count: 128),
      [0x04, 0x82, 0x01, 0x00] + [UInt8](repeating: 0, count: 256),
    ] as [[UInt8]])
  func `accepts one strict DER value`(_ bytes: [UInt8]) {
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
  func `refuses anything else`(_ bytes: [UInt8]) {
    #expect(!DERShape.isStrict(bytes[...]))
  }

  @Test func `refuses values nested too deeply`() {
    var bytes: [UInt8] = [0x05, 0x00]
    for _ in 0..<20 { bytes = [0x30, UInt8(bytes.count)] + bytes }
    #expect(DERShape.isStrict(bytes[...]))
    for _ in 0..<10 { bytes = [0x30, UInt8(bytes.count)] + bytes }
    #expect(!DERShape.isStrict(bytes[...]))
    let deep = [UInt8](repeating: 0x30, count: 100_000)
    #expect(!DERShape.isStrict(deep[...]))
  }
}
