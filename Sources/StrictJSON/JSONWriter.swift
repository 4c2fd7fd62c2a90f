/// Writes a `JSONValue` as text.
///
/// It has a buffer of its own, because a row has a hundred short texts, and an array checks at each
/// whether it is shared.
struct JSONWriter: ~Copyable {
  private var buffer: UnsafeMutableBufferPointer<UInt8>
  private var count = 0

  init(capacity: Int) { buffer = .allocate(capacity: max(64, capacity)) }

  deinit { buffer.deallocate() }

  /// What was written.
  var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: buffer[..<count]) }

  /// - Parameter indent: the level of the value, for a text with line feeds; nil for a text without
  ///   white space.
  mutating func write(_ value: JSONValue, indent: Int?) {
    switch value {
    case .null: append("null")
    case .boolean(let value): append(value ? "true" : "false")
    case .integer(let value): append(String(value))
    case .number(let text): append(text)
    case .encoded(let text):
      reserve(text.count)
      text.withUnsafeBufferPointer { put($0) }
    case .string(let text): write(text)
    case .array(let values):
      append(UInt8(ascii: "["))
      for index in values.indices {
        separate(index, indent)
        write(values[index], indent: indent.map { $0 + 1 })
      }
      if !values.isEmpty { breakLine(indent) }
      append(UInt8(ascii: "]"))
    case .object(let members):
      append(UInt8(ascii: "{"))
      for index in members.indices {
        separate(index, indent)
        write(members[index].0)
        append(UInt8(ascii: ":"))
        if indent != nil { append(0x20) }
        write(members[index].1, indent: indent.map { $0 + 1 })
      }
      if !members.isEmpty { breakLine(indent) }
      append(UInt8(ascii: "}"))
    }
  }

  private mutating func separate(_ index: Int, _ indent: Int?) {
    if index > 0 { append(UInt8(ascii: ",")) }
    breakLine(indent.map { $0 + 1 })
  }

  private mutating func breakLine(_ indent: Int?) {
    guard let indent else { return }
    append(0x0A)
    for _ in 0..<indent * 2 { append(0x20) }
  }

  // MARK: Strings

  /// Writes a string. Escapes only `"`, `\` and control characters: in their short form if JSON has
  /// one, otherwise as `\u00xx` in lower case.
  private mutating func write(_ string: String) {
    var string = string
    string.withUTF8 { text in
      // The longest escape has six bytes.
      reserve(text.count * 6 + 2)
      put(UInt8(ascii: "\""))
      // Without a branch, so that several bytes are looked at together.
      var escapes: UInt8 = 0
      for byte in text { escapes |= Self.isEscaped(byte) ? 1 : 0 }
      if escapes != 0 {
        for byte in text { if Self.isEscaped(byte) { putEscaped(byte) } else { put(byte) } }
      } else {
        // Nearly always.
        put(text)
      }
      put(UInt8(ascii: "\""))
    }
  }

  private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private mutating func putEscaped(_ byte: UInt8) {
    put(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): put(byte)
    case 0x08: put(UInt8(ascii: "b"))
    case 0x0C: put(UInt8(ascii: "f"))
    case 0x0A: put(UInt8(ascii: "n"))
    case 0x0D: put(UInt8(ascii: "r"))
    case 0x09: put(UInt8(ascii: "t"))
    default:
      for digit in "u00".utf8 { put(digit) }
      put(UInt8(ascii: "0") + byte >> 4)
      put(byte & 15 < 10 ? UInt8(ascii: "0") + byte & 15 : UInt8(ascii: "a") + byte & 15 - 10)
    }
  }

  // MARK: Buffer

  private mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { text in
      reserve(text.count)
      put(text)
    }
  }

  private mutating func append(_ byte: UInt8) {
    reserve(1)
    put(byte)
  }

  /// Writes a byte for which there is room.
  private mutating func put(_ byte: UInt8) {
    buffer[count] = byte
    count += 1
  }

  /// Writes bytes for which there is room.
  private mutating func put(_ text: UnsafeBufferPointer<UInt8>) {
    guard let base = text.baseAddress, let end = buffer.baseAddress else { return }
    (end + count).update(from: base, count: text.count)
    count += text.count
  }

  private mutating func reserve(_ more: Int) {
    guard buffer.count - count < more else { return }
    let larger = UnsafeMutableBufferPointer<UInt8>.allocate(
      capacity: max(buffer.count * 2, count + more))
    _ = larger.update(fromContentsOf: buffer[..<count])
    buffer.deallocate()
    buffer = larger
  }
}
