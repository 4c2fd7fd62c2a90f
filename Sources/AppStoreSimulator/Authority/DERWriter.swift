/// Encodes the DER elements (X.690) that a certificate consists of. Each function gives one
/// element.
package enum DERWriter {
  /// An element with any tag.
  package static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    [tag] + length(content.count) + content
  }

  /// A SEQUENCE. An empty part adds nothing, so that an optional field can be left out.
  package static func sequence(_ parts: [UInt8]...) -> [UInt8] {
    element(0x30, parts.flatMap(\.self))
  }
  package static func set(_ part: [UInt8]) -> [UInt8] { element(0x31, part) }
  package static func octets(_ bytes: [UInt8]) -> [UInt8] { element(0x04, bytes) }
  package static func text(_ string: String) -> [UInt8] { element(0x0C, Array(string.utf8)) }
  package static func printable(_ string: String) -> [UInt8] { element(0x13, Array(string.utf8)) }
  package static func ia5(_ string: String) -> [UInt8] { element(0x16, Array(string.utf8)) }
  /// TRUE is all ones in DER (section 11.1).
  static func boolean(_ value: Bool) -> [UInt8] { element(0x01, [value ? 0xFF : 0]) }

  /// A BIT STRING.
  ///
  /// - Parameter unused: the number of bits at the end of the last byte that do not belong to it.
  package static func bits(_ bytes: [UInt8], unused: UInt8 = 0) -> [UInt8] {
    element(0x03, [unused] + bytes)
  }

  /// An INTEGER that is not negative, from its magnitude, most significant byte first.
  package static func integer(_ magnitude: [UInt8]) -> [UInt8] {
    let digits = magnitude.drop { $0 == 0 }
    guard let first = digits.first else { return element(0x02, [0]) }
    return element(0x02, (first >= 0x80 ? [0] : []) + digits)
  }

  /// An OBJECT IDENTIFIER from its dotted form, which must be well-formed.
  package static func oid(_ dotted: String) -> [UInt8] {
    let arcs = dotted.split(separator: ".").compactMap { UInt64($0) }
    precondition(arcs.count >= 2, "an object identifier has at least two arcs")
    var content: [UInt8] = []
    for arc in [arcs[0] * 40 + arcs[1]] + arcs.dropFirst(2) {
      var groups = [UInt8(arc & 0x7F)]
      var rest = arc >> 7
      while rest > 0 {
        groups.append(UInt8(rest & 0x7F) | 0x80)
        rest >>= 7
      }
      content += groups.reversed()
    }
    return element(0x06, content)
  }

  /// The short form below 128, else the number of digits and the digits (X.690 section 8.1.3).
  private static func length(_ count: Int) -> [UInt8] {
    guard count >= 0x80 else { return [UInt8(count)] }
    var digits: [UInt8] = []
    var rest = count
    while rest > 0 {
      digits.insert(UInt8(rest & 0xFF), at: 0)
      rest >>= 8
    }
    return [0x80 | UInt8(digits.count)] + digits
  }
}
