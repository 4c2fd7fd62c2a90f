package import AppStoreSimulator

extension SeededGenerator {
  /// Flips, overwrites, removes, repeats or inserts bytes, one to three times.
  package mutating func changed(_ bytes: [UInt8]) -> [UInt8] {
    let marks = Array("\"\\{}[]:,.=%&?\r\n\0 0-".utf8)
    var bytes = bytes
    for _ in 0..<number(in: 1...3) {
      guard !bytes.isEmpty else { return [0x20] }
      let index = Int(number(in: 0...Int64(bytes.count - 1)))
      let end = min(bytes.count, index + Int(number(in: 1...8)))
      switch number(in: 0...6) {
      case 0: bytes[index] ^= 1 << UInt8(number(in: 0...7))
      case 1: bytes[index] = UInt8(number(in: 0...255))
      case 2: bytes.removeSubrange(index..<end)
      case 3: bytes.insert(contentsOf: bytes[index..<end], at: index)
      case 4: bytes[index] = pick(marks)
      case 5: bytes.insert(pick(marks), at: index)
      default: bytes.removeLast(bytes.count - index)
      }
    }
    return bytes
  }
}
