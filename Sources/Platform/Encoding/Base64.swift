/// Base64 with padding (RFC 4648 section 4), as in `x5c` (RFC 7515 section 4.1.6), in PEM, and in
/// the keys and signatures of our own JSON.
public enum Base64 {
  /// The text of `bytes`, in ASCII, with padding.
  public static func encode(_ bytes: [UInt8]) -> [UInt8] {
    var text = Base64URL.encode(bytes)
    for index in text.indices {
      switch text[index] {
      case UInt8(ascii: "-"): text[index] = UInt8(ascii: "+")
      case UInt8(ascii: "_"): text[index] = UInt8(ascii: "/")
      default: break
      }
    }
    return text + [UInt8](repeating: UInt8(ascii: "="), count: (3 - bytes.count % 3) % 3)
  }

  /// The bytes of a text with the standard alphabet and exact padding; nil for any other text. As
  /// with `Base64URL`, every byte string has exactly one text.
  public static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8)[...]) }

  /// The bytes of a text with the standard alphabet and exact padding; nil for any other text.
  public static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var text = text
    guard text.count % 4 == 0 else { return nil }
    for _ in 0..<2 where text.last == UInt8(ascii: "=") { text.removeLast() }
    var bytes: [UInt8] = []
    return Base64URL.append(decoding: text, with: values, to: &bytes) ? bytes : nil
  }

  private static let values = Base64URL.values(
    of: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8))
}
