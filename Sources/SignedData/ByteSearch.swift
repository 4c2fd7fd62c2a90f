import Glibc

/// memchr and memcmp on slices: bodies are searched and compared at every proof and append, and a
/// loop over a Swift collection costs ten times as much.
public enum ByteSearch {
  /// The index of the first such byte at or after `from`, in the slice's own indices.
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

  /// Whether both are the same bytes.
  public static func areEqual(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    return left.withUnsafeBytes { left in
      right.withUnsafeBytes { right in
        guard let one = left.baseAddress, let other = right.baseAddress else { return true }
        return memcmp(one, other, left.count) == 0
      }
    }
  }
}
