/// Base64url exactly as JWS requires it (RFC 7515 section 2, RFC 4648 section 5).
///
/// No padding, no white space, no other alphabet, and unused bits are zero. So every byte string
/// has exactly one text, and `encode(decode(text)) == text` if `decode` succeeds: what the journal
/// stores decoded can be restored byte for byte (promise 5).
public enum Base64URL {
  /// The bytes of `text`; nil if it is not strict base64url.
  public static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    return append(decoding: text, to: &bytes) ? bytes : nil
  }

  /// The bytes of `text`; nil if it is not strict base64url.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    decode(Array(text)[...])
  }

  /// The text of `bytes`, without padding.
  public static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    append(encoding: Array(bytes)[...], to: &text)
    return text
  }

  /// Decodes `text` and appends the bytes to `bytes`.
  ///
  /// - Returns: false, with `bytes` unchanged, if `text` is not strict base64url.
  public static func append(decoding text: ArraySlice<UInt8>, to bytes: inout [UInt8]) -> Bool {
    append(decoding: text, with: values, to: &bytes)
  }

  /// Decodes a text in the alphabet that `values` was made of.
  static func append(
    decoding text: ArraySlice<UInt8>, with values: [UInt32], to bytes: inout [UInt8]
  ) -> Bool {
    let (whole, rest) = text.count.quotientAndRemainder(dividingBy: 4)
    guard rest != 1 else { return false }
    let size = whole * 3 + (rest == 0 ? 0 : rest - 1)
    // An empty array has no memory of its own that could be written to.
    guard size > 0 else { return true }
    var isStrict = false
    bytes.append(addingCapacity: size) { added in
      added.withUnsafeMutableBufferPointer { target, count in
        isStrict = text.withUnsafeBufferPointer { source in
          values.withUnsafeBufferPointer { decode(source, target, $0) }
        }
        count = isStrict ? size : 0
      }
    }
    return isStrict
  }

  /// Encodes `bytes` and appends the text to `text`.
  public static func append(encoding bytes: ArraySlice<UInt8>, to text: inout [UInt8]) {
    let (whole, rest) = bytes.count.quotientAndRemainder(dividingBy: 3)
    let size = whole * 4 + (rest == 0 ? 0 : rest + 1)
    guard size > 0 else { return }
    text.append(addingCapacity: size) { added in
      added.withUnsafeMutableBufferPointer { target, count in
        bytes.withUnsafeBufferPointer { source in
          pairs.withUnsafeBufferPointer { encode(source, target, $0) }
        }
        count = size
      }
    }
  }

  /// Marks a byte outside the alphabet: a bit above the 24 that four values fill.
  private static let stray: UInt32 = 0x8000_0000

  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  private static let values = values(of: alphabet)

  /// Four tables of 256 entries: the value of each byte in an alphabet of 64 characters, shifted
  /// for the first to the fourth character of a group.
  static func values(of alphabet: [UInt8]) -> [UInt32] {
    var values = [UInt32](repeating: stray, count: 1024)
    for (value, character) in alphabet.enumerated() {
      for position in 0..<4 {
        values[position * 256 + Int(character)] = UInt32(value) << UInt32(18 - 6 * position)
      }
    }
    return values
  }

  /// Decodes whole groups of four characters and then the rest, whose unused bits must be zero.
  /// Bytes outside the alphabet are not looked for in the loop: their bit is collected in `found`
  /// and tested once at the end.
  private static func decode(
    _ source: UnsafeBufferPointer<UInt8>, _ target: UnsafeMutableBufferPointer<UInt8>,
    _ values: UnsafeBufferPointer<UInt32>
  ) -> Bool {
    guard let from = source.baseAddress, let to = target.baseAddress, let value = values.baseAddress
    else { return true }
    let whole = source.count / 4
    var found: UInt32 = 0
    for group in 0..<whole {
      let input = from + group &* 4
      let bits =
        value[Int(input[0])] | value[256 &+ Int(input[1])] | value[512 &+ Int(input[2])]
        | value[768 &+ Int(input[3])]
      found |= bits
      let out = to + group &* 3
      out[0] = UInt8(truncatingIfNeeded: bits &>> 16)
      out[1] = UInt8(truncatingIfNeeded: bits &>> 8)
      out[2] = UInt8(truncatingIfNeeded: bits)
    }
    let rest = source.count - whole * 4
    guard rest > 0 else { return found & stray == 0 }
    let input = from + whole * 4
    var bits = value[Int(input[0])] | value[256 + Int(input[1])]
    if rest == 3 { bits |= value[512 + Int(input[2])] }
    let unused: UInt32 = rest == 2 ? 0xFFFF : 0xFF
    to[whole * 3] = UInt8(truncatingIfNeeded: bits >> 16)
    if rest == 3 { to[whole * 3 + 1] = UInt8(truncatingIfNeeded: bits >> 8) }
    return (found | bits) & stray == 0 && bits & unused == 0
  }

  /// The two characters of each 12-bit value, the first in the lower byte: one lookup gives two.
  private static let pairs: [UInt16] = (0..<4096).map { bits in
    UInt16(alphabet[bits >> 6]) | UInt16(alphabet[bits & 63]) << 8
  }

  private static func encode(
    _ source: UnsafeBufferPointer<UInt8>, _ target: UnsafeMutableBufferPointer<UInt8>,
    _ pairs: UnsafeBufferPointer<UInt16>
  ) {
    guard let from = source.baseAddress, let to = target.baseAddress, let pair = pairs.baseAddress
    else { return }
    let whole = source.count / 3
    var group = 0
    // Two groups at once while eight bytes can be read; six of them make eight characters.
    while group &* 3 &+ 8 <= source.count {
      let bits = UnsafeRawPointer(from + group &* 3).loadUnaligned(as: UInt64.self).bigEndian
      let first = UInt64(pair[Int(bits &>> 52)]) | UInt64(pair[Int(bits &>> 40 & 4095)]) &<< 16
      let second =
        UInt64(pair[Int(bits &>> 28 & 4095)]) | UInt64(pair[Int(bits &>> 16 & 4095)]) &<< 16
      UnsafeMutableRawPointer(to + group &* 4)
        .storeBytes(of: (first | second &<< 32).littleEndian, as: UInt64.self)
      group &+= 2
    }
    while group < whole {
      let input = from + group &* 3
      let bits = UInt32(input[0]) &<< 16 | UInt32(input[1]) &<< 8 | UInt32(input[2])
      let characters = UInt32(pair[Int(bits &>> 12)]) | UInt32(pair[Int(bits & 4095)]) &<< 16
      UnsafeMutableRawPointer(to + group &* 4)
        .storeBytes(of: characters.littleEndian, as: UInt32.self)
      group &+= 1
    }
    let rest = source.count - whole * 3
    guard rest > 0 else { return }
    let input = from + whole * 3
    let bits = UInt32(input[0]) << 16 | (rest == 2 ? UInt32(input[1]) << 8 : 0)
    let out = to + whole * 4
    let first = pair[Int(bits >> 12)]
    out[0] = UInt8(truncatingIfNeeded: first)
    out[1] = UInt8(truncatingIfNeeded: first >> 8)
    if rest == 2 { out[2] = UInt8(truncatingIfNeeded: pair[Int(bits & 4095)]) }
  }
}
