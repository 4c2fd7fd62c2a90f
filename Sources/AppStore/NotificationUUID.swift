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

  private static func halves(_ text: UnsafeBufferPointer<UInt8>) -> (high: UInt64, low: UInt64)? {
    guard text.count == 36 else { return nil }
    var (high, low): (UInt64, UInt64) = (0, 0)
    var isOther: UInt8 = 0
    for place in 0..<36 {
      let byte = text[place]
      if isHyphen(place) {
        guard byte == UInt8(ascii: "-") else { return nil }
        continue
      }
      // Digits and letters come in no order that a processor could guess: there is no branch.
      let number = byte &- UInt8(ascii: "0")
      let letter = (byte | 0x20) &- UInt8(ascii: "a")
      let digit = number < 10 ? number : letter &+ 10
      isOther |= number < 10 || letter < 6 ? 0 : 1
      if place < 18 { high = high << 4 | UInt64(digit) } else { low = low << 4 | UInt64(digit) }
    }
    return isOther == 0 ? (high, low) : nil
  }

  /// Reads the 16 bytes that the journal stores; nil for any other length.
  public init?(bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    var (high, low): (UInt64, UInt64) = (0, 0)
    for index in 0..<8 {
      high = high << 8 | UInt64(bytes[index])
      low = low << 8 | UInt64(bytes[index + 8])
    }
    self.init(high: high, low: low)
  }

  /// Derives a UUID for what Apple gives none: RFC 9562 section 5.8, version 8; variant 10.
  ///
  /// - Parameter digest: SHA-256 of what identifies it.
  public init(digest: [UInt8]) {
    var halves: [UInt64] = [0, 0]
    for index in 0..<16 { halves[index / 8] = halves[index / 8] << 8 | UInt64(digest[index]) }
    self.init(high: halves[0] & ~0xF000 | 0x8000, low: halves[1] & ~(3 << 62) | 1 << 63)
  }

  /// The 16 bytes that the journal stores, most significant first.
  public var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(16)
    withUnsafeBytes(of: high.bigEndian) { bytes.append(contentsOf: $0) }
    withUnsafeBytes(of: low.bigEndian) { bytes.append(contentsOf: $0) }
    return bytes
  }

  /// The text in lower case.
  public var description: String {
    String(unsafeUninitializedCapacity: 36) { text in
      var (high, low) = (high, low)
      for place in 0..<36 {
        if Self.isHyphen(place) {
          text.initializeElement(at: place, to: UInt8(ascii: "-"))
        } else if place < 18 {
          text.initializeElement(at: place, to: Self.digits[Int(high >> 60)])
          high <<= 4
        } else {
          text.initializeElement(at: place, to: Self.digits[Int(low >> 60)])
          low <<= 4
        }
      }
      return 36
    }
  }

  private static let digits = Array("0123456789abcdef".utf8)

  /// The second half of the number begins behind the second of them.
  private static func isHyphen(_ place: Int) -> Bool {
    place == 8 || place == 13 || place == 18 || place == 23
  }

  public static func < (one: Self, other: Self) -> Bool {
    (one.high, one.low) < (other.high, other.low)
  }
}
