/// Counts in seven-bit groups, the lowest first, the top bit meaning that another follows.
public enum VarInt {
  /// `value` is not negative.
  public static func append(_ value: Int, to bytes: inout [UInt8]) {
    var rest = UInt64(value)
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// nil at the end of the bytes, and for more than four groups (256 MiB).
  public static func take(_ bytes: inout ArraySlice<UInt8>) -> Int? {
    var value = 0
    for shift in [0, 7, 14, 21] {
      guard let byte = bytes.popFirst() else { return nil }
      value |= Int(byte & 0x7F) << shift
      if byte & 0x80 == 0 { return value }
    }
    return nil
  }
}
