import Testing

@testable import Platform

/// What a gzip file unpacks to. The bytes are those of gzip 1.12: `printf 'one\ntwo\n' | gzip -n9`.
@Suite struct GzipTests {
  private static let packed: [UInt8] =
    Base64.decode("H4sIAAAAAAACA8vPS+UqKc/nAgDmC7oSCAAAAA==") ?? []
  private static let text = Array("one\ntwo\n".utf8)

  /// Nil where a chunk is damaged, or the end.
  private func unpacked(_ chunks: [[UInt8]]) -> [UInt8]? {
    guard let unpack = Gzip.unpacker(chunks[0]) else { return nil }
    var text: [UInt8] = []
    for chunk in chunks + [[]] {
      guard let part = unpack(chunk) else { return nil }
      text += part
    }
    return text
  }

  @Test(arguments: [1, 2, 5, 27, 28]) func `a file is unpacked in chunks of any size`(_ size: Int) {
    let all = Self.packed
    let first = Array(all.prefix(max(2, size)))
    let rest = Array(all.dropFirst(first.count))
    let chunks =
      [first]
      + stride(from: 0, to: rest.count, by: size).map {
        Array(rest[$0..<min($0 + size, rest.count)])
      }
    #expect(unpacked(chunks) == Self.text)
  }

  @Test func `a file of several members is their content one after the other`() {
    #expect(unpacked([Self.packed + Self.packed]) == Self.text + Self.text)
    #expect(unpacked([Self.packed, Self.packed]) == Self.text + Self.text)
  }

  @Test func `a file that is cut anywhere is damaged`() {
    for count in 2..<Self.packed.count {
      #expect(unpacked([Array(Self.packed.prefix(count))]) == nil, "\(count) bytes")
    }
    #expect(unpacked([Self.packed + [0x1F, 0x8B, 8]]) == nil, "the second member is cut")
  }

  @Test func `each changed byte of the content and of its checksum is found`() {
    for index in 10..<Self.packed.count {
      var bytes = Self.packed
      bytes[index] ^= 0x55
      let text = unpacked([bytes])
      #expect(text == nil, "byte \(index): \(String(describing: text))")
    }
  }

  @Test func `what follows the end and is no member is damage`() {
    #expect(unpacked([Self.packed + Array("more".utf8)]) == nil)
  }

  @Test func `plain text is no gzip file`() {
    for text in ["", "a", "SKU\tUnits"] { #expect(Gzip.unpacker(Array(text.utf8)) == nil) }
  }
}
