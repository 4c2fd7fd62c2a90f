/// A JSON value to write. Members are written in the given order, so that equal values have equal
/// bytes.
public enum JSONValue: Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  /// A number as text, written unchanged; the caller guarantees that it is valid.
  case number(String)
  case string(String)
  case array([JSONValue])
  case object([(String, JSONValue)])

  /// A string, or `null` for nil.
  public static func optional(_ string: String?) -> JSONValue { string.map(Self.string) ?? .null }
  /// An integer, or `null` for nil.
  public static func optional(_ integer: Int64?) -> JSONValue { integer.map(Self.integer) ?? .null }
  /// A boolean, or `null` for nil.
  public static func optional(_ boolean: Bool?) -> JSONValue { boolean.map(Self.boolean) ?? .null }

  /// The member of an object with that name; nil if there is none, and for any other kind.
  public subscript(_ name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.0.utf8.elementsEqual(name.utf8) }?.1
  }

  /// The text in UTF-8, without white space.
  public var bytes: [UInt8] {
    var bytes: [UInt8] = []
    // About the size of an entitlement row; growing would copy it several times.
    if case .object(let members) = self { bytes.reserveCapacity(members.count * 40) }
    write(into: &bytes)
    return bytes
  }

  /// Appends the text to `bytes`, without white space.
  public func write(into bytes: inout [UInt8]) { write(into: &bytes, indent: nil) }

  /// The text without white space.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The text for people, with line feeds and two spaces for each level.
  public var prettyText: String {
    var bytes: [UInt8] = []
    write(into: &bytes, indent: 0)
    return String(decoding: bytes, as: UTF8.self)
  }

  private func write(into bytes: inout [UInt8], indent: Int?) {
    switch self {
    case .null: bytes += "null".utf8
    case .boolean(let value): bytes += (value ? "true" : "false").utf8
    case .integer(let value): bytes += String(value).utf8
    case .number(let text): bytes += text.utf8
    case .string(let value): JSONText.write(value, into: &bytes)
    case .array(let values):
      list(values.count, UInt8(ascii: "["), UInt8(ascii: "]"), into: &bytes, indent: indent) {
        index, bytes, indent in
        values[index].write(into: &bytes, indent: indent)
      }
    case .object(let members):
      list(members.count, UInt8(ascii: "{"), UInt8(ascii: "}"), into: &bytes, indent: indent) {
        index, bytes, indent in
        JSONText.write(members[index].0, into: &bytes)
        bytes.append(UInt8(ascii: ":"))
        if indent != nil { bytes.append(UInt8(ascii: " ")) }
        members[index].1.write(into: &bytes, indent: indent)
      }
    }
  }

  private func list(
    _ count: Int, _ open: UInt8, _ close: UInt8, into bytes: inout [UInt8], indent: Int?,
    each: (Int, inout [UInt8], Int?) -> Void
  ) {
    bytes.append(open)
    let inner = indent.map { $0 + 1 }
    for index in 0..<count {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      breakLine(inner, into: &bytes)
      each(index, &bytes, inner)
    }
    if count > 0 { breakLine(indent, into: &bytes) }
    bytes.append(close)
  }

  private func breakLine(_ indent: Int?, into bytes: inout [UInt8]) {
    guard let indent else { return }
    bytes.append(0x0A)
    bytes.append(contentsOf: repeatElement(0x20, count: indent * 2))
  }
}
