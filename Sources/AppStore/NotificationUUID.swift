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
    var text = text
    guard let halves = text.withUTF8(Self.halves) else { return nil }
    self.init(high: halves.high, low: halves.low)
  }

  /// Reads a text that is this UUID's `description`, nothing else: letters in lower case.
  public init?(lowercase text: UnsafeBufferPointer<UInt8>) {
    guard text.count == 36, !text.contains(where: { (0x41...0x5A).contains($0) }),
      let halves = Self.halves(text)
    else { return nil }
    self.init(high: halves.high, low: halves.low)
  }

  private static func halves(_ text: UnsafeBufferPointer<UInt8>) -> (high: UInt64, low: UInt64)? {
    guard text.count == 36 else { return nil }
    var (high, low): (UInt64, UInt64) = (0, 0)
    var isOdd: UInt8 = 0
    for place in 0..<36 {
      let byte = text[place]
      if place == 8 || place == 13 || place == 18 || place == 23 {
        guard byte == UInt8(ascii: "-") else { return nil }
        continue
      }
      // Digits and letters come in no order that a processor could guess: there is no branch.
      let number = byte &- UInt8(ascii: "0")
      let letter = (byte | 0x20) &- UInt8(ascii: "a")
      let digit = number < 10 ? number : letter &+ 10
      isOdd |= number < 10 || letter < 6 ? 0 : 1
      // The first half ends with the second hyphen.
      if place < 18 { high = high << 4 | UInt64(digit) } else { low = low << 4 | UInt64(digit) }
    }
    return isOdd == 0 ? (high, low) : nil
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
}
