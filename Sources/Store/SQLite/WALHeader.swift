/// The first 32 bytes of a -wal (sqlite.org/fileformat.html, section 4.1).
struct WALHeader {
  /// In bytes.
  static let size = 32
  /// In bytes.
  let pageSize: Int
  /// Whether its checksum is that of its other bytes: none of them was cut off.
  let isIntact: Bool

  /// The size of a page with the header of its frame (section 4.2), in bytes.
  var frameSize: Int { pageSize + 24 }

  /// - Parameter bytes: `size` of them.
  /// - Returns: nil if the bytes are not the header of a -wal that SQLite 3 can read.
  init?(_ bytes: [UInt8]) {
    let fields = stride(from: 0, to: Self.size, by: 4).map { start in
      bytes[start..<(start + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }
    guard fields[0] | 1 == 0x377F_0683, fields[1] == 3_007_000 else { return nil }
    pageSize = Int(fields[2])
    let isBigEndian = fields[0] & 1 == 1
    isIntact = Self.checksum(fields[..<6], isBigEndian: isBigEndian) == [fields[6], fields[7]]
  }

  /// Section 4.2. The numbers are summed in the byte order of the machine that wrote the file.
  private static func checksum(_ fields: ArraySlice<UInt32>, isBigEndian: Bool) -> [UInt32] {
    var (even, odd): (UInt32, UInt32) = (0, 0)
    let numbers = fields.map { isBigEndian ? $0 : $0.byteSwapped }
    for index in stride(from: 0, to: numbers.count, by: 2) {
      even &+= numbers[index] &+ odd
      odd &+= numbers[index + 1] &+ even
    }
    return [even, odd]
  }
}
