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

  /// The bytes of a text with the standard alphabet and exact padding; nil for any other text.
  public static func decode(_ text: String) -> [UInt8]? {
    var text = ArraySlice(text.utf8)
    guard text.count % 4 == 0 else { return nil }
    for _ in 0..<2 where text.last == UInt8(ascii: "=") { text.removeLast() }
    var translated: [UInt8] = []
    translated.reserveCapacity(text.count)
    for byte in text {
      switch byte {
      case UInt8(ascii: "+"): translated.append(UInt8(ascii: "-"))
      case UInt8(ascii: "/"): translated.append(UInt8(ascii: "_"))
      case UInt8(ascii: "-"), UInt8(ascii: "_"): return nil
      default: translated.append(byte)
      }
    }
    return Base64URL.decode(translated[...])
  }
}
