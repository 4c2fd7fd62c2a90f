/// Reads the values of strict DER (X.690 section 10) one after the other, without recursion.
///
/// Tags have one byte, and lengths are definite, in their shortest form and below 16 MiB. Who reads
/// a nested value makes another reader for its content, so that the depth is that of the caller's
/// grammar, whatever the input says.
public struct DERReader: Sendable {
  /// The tags that the formats read here use (X.690 section 8; RFC 5652 section 3).
  public enum Tag {
    public static let integer: UInt8 = 0x02
    public static let octets: UInt8 = 0x04
    public static let identifier: UInt8 = 0x06
    public static let utf8Text: UInt8 = 0x0C
    public static let ia5Text: UInt8 = 0x16
    public static let sequence: UInt8 = 0x30
    public static let set: UInt8 = 0x31
    /// [0], constructed.
    public static let first: UInt8 = 0xA0
  }

  public struct Value: Sendable {
    public let tag: UInt8
    public let content: ArraySlice<UInt8>
    /// Tag, length and content.
    public let encoded: ArraySlice<UInt8>
  }

  private var rest: ArraySlice<UInt8>

  /// - Parameter bytes: values without anything between them.
  public init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  public var isAtEnd: Bool { rest.isEmpty }
  /// The tag of the next value; nil at the end.
  public var nextTag: UInt8? { rest.first }

  /// The next value; nil at the end, and for bytes that are not strict DER.
  public mutating func next() -> Value? {
    guard let tag = rest.first, tag & 0x1F != 0x1F, let (header, count) = length() else {
      return nil
    }
    let start = rest.startIndex + header
    guard count <= rest.endIndex - start else { return nil }
    let value = Value(
      tag: tag, content: rest[start..<start + count], encoded: rest[rest.startIndex..<start + count]
    )
    rest = rest[(start + count)...]
    return value
  }

  /// The content of the next value; nil if it has another tag.
  public mutating func content(_ tag: UInt8) -> ArraySlice<UInt8>? {
    guard nextTag == tag else { return nil }
    return next()?.content
  }

  /// The content of the only value in `bytes`; nil if it has another tag, or more follows.
  public static func only(_ tag: UInt8, in bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var reader = DERReader(bytes)
    let content = reader.content(tag)
    return reader.isAtEnd ? content : nil
  }

  /// The number in the content of an INTEGER (section 8.3); nil for more than eight bytes, and for
  /// a form that is not the shortest.
  public static func integer(_ content: ArraySlice<UInt8>) -> Int64? {
    guard let first = content.first, content.count <= 8 else { return nil }
    if content.count > 1, first == 0 || first == 0xFF {
      guard (first ^ content[content.startIndex + 1]) & 0x80 != 0 else { return nil }
    }
    return content.reduce(first & 0x80 == 0 ? 0 : -1) { $0 << 8 | Int64($1) }
  }

  /// The size of tag and length, and the length of the content.
  private func length() -> (header: Int, count: Int)? {
    guard rest.count >= 2 else { return nil }
    let first = rest[rest.startIndex + 1]
    if first < 0x80 { return (2, Int(first)) }
    let size = Int(first & 0x7F)
    guard (1...3).contains(size), rest.count >= 2 + size, rest[rest.startIndex + 2] != 0 else {
      return nil
    }
    var count = 0
    for index in 0..<size { count = count << 8 | Int(rest[rest.startIndex + 2 + index]) }
    return count < 0x80 ? nil : (2 + size, count)
  }
}
