import Encoding
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
