/// Checks that bytes are one DER value (X.690 section 10). OpenSSL's parser also accepts BER, in
/// which one certificate has many encodings.
public enum DERShape {
  /// Whether every length in `bytes` is definite and in its shortest form, and nothing follows the
  /// value.
  package static func isStrict(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard let end = value(bytes, depth: 0) else { return false }
    return end == bytes.endIndex
  }

  /// More levels than a certificate has, few enough for the stack.
  private static let maximumDepth = 24

  /// The index after the value at the start of `bytes`; nil if it is not strict DER.
  private static func value(_ bytes: ArraySlice<UInt8>, depth: Int) -> Int? {
    guard depth < maximumDepth, bytes.count >= 2 else { return nil }
    let tag = bytes[bytes.startIndex]
    guard tag & 0x1F != 0x1F, let (start, count) = length(bytes.dropFirst()) else { return nil }
    guard count <= bytes.endIndex - start else { return nil }
    let end = start + count
    if tag & 0x20 != 0 {
      var at = start
      while at < end {
        guard let next = value(bytes[at..<end], depth: depth + 1) else { return nil }
        at = next
      }
    }
    return end
  }

  /// The index and the size in bytes of the contents; nil for an indefinite or a padded length.
  private static func length(_ bytes: ArraySlice<UInt8>) -> (start: Int, count: Int)? {
    guard let first = bytes.first else { return nil }
    if first < 0x80 { return (bytes.startIndex + 1, Int(first)) }
    let size = Int(first & 0x7F)
    let digits = bytes.dropFirst().prefix(size)
    guard (1...3).contains(size), digits.count == size, digits.first != 0 else { return nil }
    let count = digits.reduce(0) { $0 << 8 | Int($1) }
    return count < 0x80 ? nil : (bytes.startIndex + 1 + size, count)
  }
}
