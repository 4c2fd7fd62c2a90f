/// Hexadecimal text.
public enum Hexadecimal {
  /// Two digits for each byte, in lower case.
  public static func encode(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// The bytes of a text with two digits, in either case, for each byte; nil for any other text.
  public static func decode(_ text: String) -> [UInt8]? {
    let digits = text.utf8.map {
      UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 ? $0 &- 48 : letter($0)
    }
    guard digits.count % 2 == 0, !digits.contains(255) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  private static func letter(_ byte: UInt8) -> UInt8 {
    let lower = byte | 0x20
    return UInt8(ascii: "a")...UInt8(ascii: "f") ~= lower ? lower - UInt8(ascii: "a") + 10 : 255
  }
}
