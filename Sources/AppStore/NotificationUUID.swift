/// Apple's notificationUUID: what deduplicates (promise 4). Ordered as its lower-case text is.
public struct NotificationUUID: Sendable, Hashable, Comparable, CustomStringConvertible {
  public let high: UInt64
  public let low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Reads `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` (RFC 9562 section 4), letters in either case.
  public init?(_ text: String) {
    var (high, low): (UInt64, UInt64) = (0, 0)
    var place = 0
    for byte in text.utf8 {
      defer { place += 1 }
      if place == 8 || place == 13 || place == 18 || place == 23 {
        guard byte == UInt8(ascii: "-") else { return nil }
        continue
      }
      guard let digit = Self.value(byte) else { return nil }
      // The first half ends with the second hyphen.
      if place < 18 { high = high << 4 | UInt64(digit) } else { low = low << 4 | UInt64(digit) }
    }
    guard place == 36 else { return nil }
    self.init(high: high, low: low)
  }

  /// The text in lower case.
  public var description: String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(36)
    for (half, shifts) in [(high, 0..<16), (low, 16..<32)] {
      for index in shifts {
        if [8, 12, 16, 20].contains(index) { text.append(UInt8(ascii: "-")) }
        text.append(digits[Int(half >> UInt64(60 - 4 * (index % 16)) & 15)])
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  public static func < (one: Self, other: Self) -> Bool {
    (one.high, one.low) < (other.high, other.low)
  }

  private static func value(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
