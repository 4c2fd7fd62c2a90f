/// Checks that bytes are one DER value (X.690 section 10), and takes it apart. OpenSSL's parser
/// also accepts BER, in which one certificate has many encodings.
public enum DERShape {
  /// Whether every length in `bytes` is definite and in its shortest form, and nothing follows the
  /// value.
  ///
  /// - Parameter maximumValues: false for more values than this, those inside an OCTET STRING
  ///   included: there X.509 has the contents of extensions. In an OCTET STRING that is not DER
  ///   itself, four bytes count as a value.
  package static func isStrict(
    _ bytes: ArraySlice<UInt8>, maximumValues: Int = .max
  ) -> Bool {
    bytes.withUnsafeBufferPointer { buffer in
      var reader = Reader(bytes: buffer, remaining: maximumValues)
      return reader.value(from: 0, to: buffer.count) == buffer.count && reader.remaining >= 0
    }
  }

  /// The content of a value that is strict DER; nil if there is no value.
  static func content(of value: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    value.withUnsafeBufferPointer { buffer in
      Reader(bytes: buffer, remaining: 0).length(from: 1, to: buffer.count)
    }.map { value.dropFirst($0.start).prefix($0.count) }
  }

  /// The values inside a value that is strict DER; nil if there is no value, or it is not a
  /// constructed one.
  static func values(in value: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
    guard let tag = value.first, tag & 0x20 != 0, var rest = content(of: value) else { return nil }
    var values: [ArraySlice<UInt8>] = []
    while !rest.isEmpty {
      guard let content = content(of: rest) else { return nil }
      values.append(rest[..<content.endIndex])
      rest = rest[content.endIndex...]
    }
    return values
  }

  private struct Reader {
    /// More levels than a certificate has, few enough for the stack.
    private static let maximumDepth = 24

    let bytes: UnsafeBufferPointer<UInt8>
    /// How many values may still be read.
    var remaining: Int

    /// The index after the value at `start`; nil if it is not strict DER.
    mutating func value(from start: Int, to end: Int, depth: Int = 0) -> Int? {
      guard depth < Self.maximumDepth, start < end, remaining > 0 else { return nil }
      remaining -= 1
      let tag = bytes[start]
      guard tag & 0x1F != 0x1F, let (first, count) = length(from: start + 1, to: end),
        count <= end - first
      else { return nil }
      let last = first + count
      if tag & 0x20 != 0 {
        var at = first
        while at < last {
          guard let next = value(from: at, to: last, depth: depth + 1) else { return nil }
          at = next
        }
      } else if tag == 0x04, remaining < .max / 2 {
        countContent(from: first, to: last, depth: depth)
      }
      return last
    }

    /// Counts the values in an OCTET STRING.
    private mutating func countContent(from start: Int, to end: Int, depth: Int) {
      var inner = self
      if inner.value(from: start, to: end, depth: depth + 1) == end {
        remaining = inner.remaining
      } else if inner.remaining <= 0 {
        remaining = -1
      } else {
        remaining -= (end - start) / 4
      }
    }

    /// The index and the size in bytes of the contents; nil for an indefinite or a padded length.
    func length(from start: Int, to end: Int) -> (start: Int, count: Int)? {
      guard start < end else { return nil }
      let first = bytes[start]
      if first < 0x80 { return (start + 1, Int(first)) }
      let size = Int(first & 0x7F)
      guard (1...3).contains(size), start + size < end, bytes[start + 1] != 0 else { return nil }
      var count = 0
      for index in 1...size { count = count << 8 | Int(bytes[start + index]) }
      return count < 0x80 ? nil : (start + 1 + size, count)
    }
  }
}
