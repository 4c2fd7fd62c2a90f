/// A notification's UUID between its text (lower case, with hyphens) and its 16 stored bytes.
enum NotificationUUID {
  /// The 16 bytes; nil where the text is not in the one form the journal knows.
  static func bytes(_ text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(16)
    var high: UInt8?
    var place = 0
    for character in text.utf8 {
      defer { place += 1 }
      if place == 8 || place == 13 || place == 18 || place == 23 {
        guard character == 0x2D else { return nil }
        continue
      }
      guard let digit = digit(character) else { return nil }
      if let first = high {
        bytes.append(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
    return place == 36 ? bytes : nil
  }

  private static func digit(_ character: UInt8) -> UInt8? {
    switch character {
    case 0x30...0x39: character - 0x30
    case 0x61...0x66: character - 0x57
    default: nil
    }
  }

  /// The 16 bytes as two big-endian numbers; nil for any other length.
  static func halves(_ bytes: [UInt8]) -> (high: UInt64, low: UInt64)? {
    guard bytes.count == 16 else { return nil }
    var (high, low): (UInt64, UInt64) = (0, 0)
    for place in 0..<8 {
      high = high << 8 | UInt64(bytes[place])
      low = low << 8 | UInt64(bytes[place + 8])
    }
    return (high, low)
  }

  private static let digits = Array("0123456789abcdef".utf8)

  static func text(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(36)
    for (place, byte) in bytes.enumerated() {
      if place == 4 || place == 6 || place == 8 || place == 10 { text.append(0x2D) }
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}
