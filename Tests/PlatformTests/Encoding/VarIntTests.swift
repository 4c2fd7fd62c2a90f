import Platform
import Testing

/// Groups of seven bits, the lowest first, at most four when read.
@Suite struct VarIntTests {
  private func bytes(_ value: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    VarInt.append(value, to: &bytes)
    return bytes
  }

  @Test(
    arguments: [
      (0, [0]), (1, [1]), (127, [0x7F]), (128, [0x80, 1]), (300, [0xAC, 2]),
      (16_383, [0xFF, 0x7F]), (16_384, [0x80, 0x80, 1]),
      (268_435_455, [0xFF, 0xFF, 0xFF, 0x7F]),
    ] as [(Int, [UInt8])])
  func `reads what it writes`(_ value: Int, _ expected: [UInt8]) {
    #expect(bytes(value) == expected)
    var rest = ([7] + expected + [9])[1...]
    #expect(VarInt.read(&rest) == value)
    #expect(Array(rest) == [9])
  }

  @Test func `any four groups come back`() {
    for _ in 0..<1000 {
      let value = Int.random(in: 0..<1 << 28)
      var rest = bytes(value)[...]
      #expect(VarInt.read(&rest) == value && rest.isEmpty)
    }
  }

  @Test(
    arguments: [
      [], [0x80], [0xFF, 0xFF], [0x80, 0x80, 0x80], [0x80, 0x80, 0x80, 0x80],
      [0x80, 0x80, 0x80, 0x80, 1],
    ] as [[UInt8]])
  func `refuses a count that is cut short or has five groups`(_ bytes: [UInt8]) {
    var rest = bytes[...]
    #expect(VarInt.read(&rest) == nil)
  }

  @Test func `a count of 256 MiB is written and not read`() {
    var rest = bytes(268_435_456)[...]
    #expect(rest.count == 5)
    #expect(VarInt.read(&rest) == nil)
  }
}
