/// Classes of bytes in HTTP.
///
/// Bit tables rather than switches, because they are used for every byte of every head.
enum Octet {
  static let tab: UInt8 = 0x09
  static let lineFeed: UInt8 = 0x0a
  static let carriageReturn: UInt8 = 0x0d
  static let space: UInt8 = 0x20

  /// A set of ASCII bytes; bytes from 128 on are never in it.
  struct Set {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    init(_ bytes: StaticString, alphanumeric: Bool = true) {
      bytes.withUTF8Buffer { for byte in $0 { insert(byte) } }
      guard alphanumeric else { return }
      for byte in UInt8(ascii: "0")...UInt8(ascii: "9") { insert(byte) }
      for byte in UInt8(ascii: "a")...UInt8(ascii: "z") {
        insert(byte)
        insert(byte - 0x20)
      }
    }

    private mutating func insert(_ byte: UInt8) {
      if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte & 63) }
    }

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
      byte < 64 ? low >> UInt64(byte) & 1 == 1 : byte < 128 && high >> UInt64(byte & 63) & 1 == 1
    }
  }

  /// tchar of RFC 9110 section 5.6.2.
  static let token = Set("!#$%&'*+-.^_`|~")
  /// Characters of a path and a query (RFC 3986 sections 3.3 and 3.4); `%` is not decoded.
  static let target = Set("-._~:/?@!$&'()*+,;=%")
  /// Characters of a Host: a name or an address, and a port (RFC 9110 section 7.2).
  static let host = Set("-._~:[]")

  /// Visible ASCII, space and tab. RFC 9110 section 5.5 also permits obs-text, which no client of
  /// this server needs.
  @inline(__always)
  static func isFieldValue(_ byte: UInt8) -> Bool {
    (byte >= 0x20 && byte < 0x7f) || byte == tab
  }

  @inline(__always)
  static func lowercased(_ byte: UInt8) -> UInt8 {
    byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte
  }

  static func hexValue(_ byte: UInt8) -> Int? {
    switch byte {
    case 0x30...0x39: Int(byte) - 0x30
    case 0x41...0x46: Int(byte) - 0x41 + 10
    case 0x61...0x66: Int(byte) - 0x61 + 10
    default: nil
    }
  }
}
