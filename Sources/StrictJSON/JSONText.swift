/// Reads strings and integers of JSON text.
enum JSONText {
  /// The value of a hexadecimal digit; nil for any other byte.
  static func hexDigit(_ byte: UInt8) -> UInt16? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
  }

  /// The value of a number; nil if it has a fraction or an exponent, or does not fit in 64 bits.
  static func integer(_ node: Node, in bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
    var at = Int(node.start)
    let end = Int(node.end)
    let isNegative = bytes[at] == UInt8(ascii: "-")
    if isNegative { at += 1 }
    // Counts downwards, since -Int64.min does not fit.
    var value: Int64 = 0
    while at < end {
      let digit = bytes[at] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      let (tens, overflows) = value.multipliedReportingOverflow(by: 10)
      let (next, underflows) = tens.subtractingReportingOverflow(Int64(digit))
      if overflows || underflows { return nil }
      value = next
      at += 1
    }
    if isNegative { return value }
    return value == .min ? nil : -value
  }

  /// Whether a string without escapes has the bytes `wanted`.
  static func isText(
    _ node: Node, _ wanted: UnsafeBufferPointer<UInt8>, in bytes: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    let start = Int(node.start)
    guard wanted.count == Int(node.end) - start else { return false }
    for offset in 0..<wanted.count where bytes[start + offset] != wanted[offset] { return false }
    return true
  }

  /// The unescaped string of a node.
  static func string(_ node: Node, in bytes: UnsafeBufferPointer<UInt8>) -> String {
    let text = UnsafeBufferPointer(rebasing: bytes[Int(node.start)..<Int(node.end)])
    guard node.kind == .escapedString else { return String(decoding: text, as: UTF8.self) }
    var units: [UInt8] = []
    units.reserveCapacity(text.count)
    var at = 0
    while at < text.count {
      guard text[at] == UInt8(ascii: "\\") else {
        units.append(text[at])
        at += 1
        continue
      }
      at += 1
      if text[at] == UInt8(ascii: "u") {
        let scalar = unicode(text, after: &at)
        units.append(contentsOf: String(Character(scalar)).utf8)
      } else {
        units.append(plain(text[at]))
        at += 1
      }
    }
    return String(decoding: units, as: UTF8.self)
  }

  /// The scalar of `\uXXXX` or of a surrogate pair. `at` is the index of the `u`, and after the
  /// call the index after the escape.
  private static func unicode(
    _ text: UnsafeBufferPointer<UInt8>, after at: inout Int
  ) -> Unicode.Scalar {
    let high = unit(text, at + 1)
    at += 5
    guard high & 0xFC00 == 0xD800 else { return Unicode.Scalar(high) ?? "\u{FFFD}" }
    let low = unit(text, at + 2)
    at += 6
    let value = 0x10000 + (UInt32(high) - 0xD800) << 10 + (UInt32(low) - 0xDC00)
    return Unicode.Scalar(value) ?? "\u{FFFD}"
  }

  private static func unit(_ text: UnsafeBufferPointer<UInt8>, _ start: Int) -> UInt16 {
    var value: UInt16 = 0
    for index in start..<start + 4 { value = value << 4 | (hexDigit(text[index]) ?? 0) }
    return value
  }

  private static func plain(_ letter: UInt8) -> UInt8 {
    switch letter {
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "t"): 0x09
    default: letter
    }
  }
}
