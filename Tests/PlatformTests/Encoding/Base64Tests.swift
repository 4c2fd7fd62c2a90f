import Foundation
import Platform
import Testing

/// Base64 with the standard alphabet and exact padding (RFC 4648 section 4).
@Suite struct Base64Tests {
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
    ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
  ])
  func `the vectors of RFC 4648 hold`(_ plain: String, _ text: String) {
    #expect(Base64.encode(Array(plain.utf8)) == Array(text.utf8))
    #expect(Base64.decode(text) == Array(plain.utf8))
  }

  @Test func `encodes and decodes as Foundation does`() {
    for count in 0..<200 {
      let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max) }
      let text = Data(bytes).base64EncodedString()
      #expect(Base64.encode(bytes) == Array(text.utf8))
      #expect(Base64.decode(text) == bytes)
    }
  }

  @Test(arguments: [
    "Zg", "Zg=", "Zg===", "Zm8", "Zm8==", "Zm9v=", "Zm9v====", "====", "=", "Z===", "Zg==Zg==",
    "Zm9-", "Zm9_", "Zm 9", "Zm9v\n", " Zm9v", "Zh==", "Zm9=", "Zm9vé",
  ])
  func `refuses wrong padding, other characters and unused bits`(_ text: String) {
    #expect(Base64.decode(text) == nil)
  }
}
