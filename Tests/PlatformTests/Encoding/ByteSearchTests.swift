import Platform
import Testing

/// Indices are those of the slice, and comparison is by bytes.
@Suite struct ByteSearchTests {
  private let bytes: [UInt8] = [9, 1, 2, 1, 3, 1, 9]

  @Test func `finds the first byte at or after an index`() {
    let slice = bytes[1..<6]
    #expect(ByteSearch.first(1, in: slice) == 1)
    #expect(ByteSearch.first(1, in: slice, from: 2) == 3)
    #expect(ByteSearch.first(1, in: slice, from: 3) == 3)
    #expect(ByteSearch.first(1, in: slice, from: 4) == 5)
    #expect(ByteSearch.first(3, in: slice) == 4)
  }

  @Test func `finds nothing outside the slice`() {
    #expect(ByteSearch.first(9, in: bytes[1..<6]) == nil)
    #expect(ByteSearch.first(1, in: bytes[1..<6], from: 6) == nil)
    #expect(ByteSearch.first(1, in: bytes[2..<3]) == nil)
    #expect(ByteSearch.first(1, in: []) == nil)
    #expect(ByteSearch.first(1, in: bytes[3..<3]) == nil)
  }

  @Test func `slices are equal when their bytes are`() {
    #expect(ByteSearch.areEqual(bytes[1..<2], bytes[3..<4]))
    #expect(ByteSearch.areEqual(bytes[1..<1], []))
    #expect(!ByteSearch.areEqual(bytes[1..<3], bytes[3..<5]))
    #expect(!ByteSearch.areEqual(bytes[1..<3], bytes[1..<2]))
    #expect(!ByteSearch.areEqual(bytes[1..<2], []))
  }

  @Test func `texts are ordered by their UTF-8`() {
    let ordered = ["", "Z", "a", "ab", "e\u{301}", "f", "\u{E9}", "\u{FFFD}", "\u{1F600}"]
    for (index, one) in ordered.enumerated() {
      for (place, other) in ordered.enumerated() {
        #expect(ByteSearch.precedes(one, other) == (index < place), "\(one) \(other)")
      }
    }
    #expect(ByteSearch.areEqual(nil, nil as String?) && !ByteSearch.areEqual(nil, ""))
  }

  @Test func `a key is the text with these bytes`() {
    // The last is the sign of the kelvin, which `String` calls equal to the letter.
    let pairs = [("caf\u{E9}", "cafe\u{301}"), ("K", "\u{212A}")]
    for (one, other) in pairs {
      #expect(one == other && ExactText(one) != ExactText(other))
      #expect(Set([one, other, one].map(ExactText.init)).count == 2)
      #expect([one: 1][exactly: one] == 1 && [one: 1][exactly: other] == nil)
      #expect(Set([one]).contains(exactly: one) && !Set([one]).contains(exactly: other))
    }
    #expect([String: Int]()[exactly: ""] == nil && !Set<String>().contains(exactly: ""))
  }

  @Test func `texts are equal when their UTF-8 is`() {
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    #expect(composed == decomposed && !ByteSearch.areEqual(composed, decomposed))
    #expect(ByteSearch.areEqual(composed, String(decoding: Array(composed.utf8), as: UTF8.self)))
    #expect(ByteSearch.areEqual("", "") && !ByteSearch.areEqual("a", ""))
    #expect(!ByteSearch.areEqual("abc", "abd"))
    let long = String(repeating: "é", count: 100)
    #expect(ByteSearch.areEqual(long, long + "") && !ByteSearch.areEqual(long, long + "é"))
  }
}
