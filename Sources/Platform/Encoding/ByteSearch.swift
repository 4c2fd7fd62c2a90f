import Glibc

/// Searches and compares bytes with memchr(3) and memcmp(3).
///
/// Every proof and every append searches or compares whole bodies, and a loop over a Swift
/// collection takes ten times as long.
public enum ByteSearch {
  /// The index of the first `byte` at or after the index `from`; nil if there is none.
  public static func first(
    _ byte: UInt8, in bytes: ArraySlice<UInt8>, from: Int? = nil
  ) -> Int? {
    let skipped = (from ?? bytes.startIndex) - bytes.startIndex
    return bytes.withUnsafeBytes { buffer -> Int? in
      guard let start = buffer.baseAddress, skipped < buffer.count,
        let found = memchr(start + skipped, Int32(byte), buffer.count - skipped)
      else { return nil }
      return bytes.startIndex + (UnsafeRawPointer(found) - start)
    }
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  /// The bytes without spaces, tabs and line ends, as of base64 in lines.
  public static func packed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    bytes.filter { !isSpace($0) }
  }

  /// The bytes without the spaces, tabs and line ends around them.
  public static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard let first = bytes.firstIndex(where: { !isSpace($0) }),
      let last = bytes.lastIndex(where: { !isSpace($0) })
    else { return [] }
    return bytes[first...last]
  }

  /// Whether both slices hold the same bytes.
  public static func areEqual(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    return left.withUnsafeBytes { left in
      right.withUnsafeBytes { right in
        guard let one = left.baseAddress, let other = right.baseAddress else { return true }
        return memcmp(one, other, left.count) == 0
      }
    }
  }

  /// Whether the UTF-8 of a text is these bytes.
  public static func areEqual(_ text: String, _ bytes: ArraySlice<UInt8>) -> Bool {
    guard text.utf8.count == bytes.count else { return false }
    let isSame = text.utf8.withContiguousStorageIfAvailable { text in
      bytes.withUnsafeBytes { bytes in
        guard let one = text.baseAddress, let other = bytes.baseAddress else { return true }
        return memcmp(one, other, bytes.count) == 0
      }
    }
    return isSame ?? text.utf8.elementsEqual(bytes)
  }

  /// As of two texts; nil equals nothing but nil.
  public static func areEqual(_ left: String?, _ right: String?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    return areEqual(left, right)
  }

  /// Whether the UTF-8 of a text comes before that of another, as SQL orders texts (BINARY in
  /// sqlite.org/datatype3.html#collation).
  public static func precedes(_ one: String, _ other: String) -> Bool {
    one.utf8.lexicographicallyPrecedes(other.utf8)
  }

  /// Whether both texts have the same UTF-8. `String` also calls two texts equal that spell an
  /// accent in different ways.
  public static func areEqual(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    let isSame = left.utf8.withContiguousStorageIfAvailable { left in
      right.utf8.withContiguousStorageIfAvailable { right in
        guard let one = left.baseAddress, let other = right.baseAddress else { return true }
        return memcmp(one, other, left.count) == 0
      }
    }
    return (isSame ?? nil) ?? left.utf8.elementsEqual(right.utf8)
  }
}
