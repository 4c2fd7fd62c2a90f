/// The first 32 bytes of a -wal (sqlite.org/fileformat.html, section 4.1).
struct WALHeader {
  /// In bytes.
  static let size = 32
  /// In bytes.
  let pageSize: Int

  /// Returns nil if the bytes are not the header of a -wal that SQLite 3 can read.
  init?(_ bytes: [UInt8]) {
    let fields = stride(from: 0, to: 12, by: 4).map { start in
      bytes[start..<(start + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }
    guard fields[0] | 1 == 0x377F_0683, fields[1] == 3_007_000 else { return nil }
    pageSize = Int(fields[2])
  }
}
