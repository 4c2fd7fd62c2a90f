import Platform
import Testing

/// Two digits for each byte, in either case, and nothing else.
@Suite struct HexadecimalTests {
  @Test func `decodes every byte in either case`() {
    let bytes = Array(UInt8.min...UInt8.max)
    let text = Hexadecimal.encode(bytes)
    #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff") && text.utf8.count == 512)
    #expect(Hexadecimal.decode(text) == bytes)
    #expect(Hexadecimal.decode(text.uppercased()) == bytes)
    #expect(Hexadecimal.decode("") == [] && Hexadecimal.encode([]).isEmpty)
  }

  @Test func `refuses every other character`() {
    for byte in UInt8.min...0x7F {
      let isDigit = "0123456789abcdefABCDEF".utf8.contains(byte)
      #expect((Hexadecimal.decode("0" + String(UnicodeScalar(byte))) != nil) == isDigit, "\(byte)")
    }
    for text in ["0", "000", " 00", "0x00", "００", "0é"] { #expect(Hexadecimal.decode(text) == nil) }
  }
}
