/// Variable-length counts: groups of seven bits, the lowest first; the top bit of a byte says that
/// another one follows (LEB128).
public enum VarInt {
  /// Appends `value`, which must not be negative.
  public static func append(_ value: Int, to bytes: inout [UInt8]) {
    append(UInt64(value), to: &bytes)
  }

  public static func append(_ value: UInt64, to bytes: inout [UInt8]) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// Removes a count from the start of `bytes`.
  ///
  /// - Returns: nil if the bytes end too early, or for more than four groups (256 MiB and above).
  public static func read(_ bytes: inout ArraySlice<UInt8>) -> Int? {
    var value = 0
    for shift in [0, 7, 14, 21] {
      guard let byte = bytes.popFirst() else { return nil }
      value |= Int(byte & 0x7F) << shift
      if byte & 0x80 == 0 { return value }
    }
    return nil
  }
}
