/// A JSON value to write. Members are written in the given order, so that equal values have equal
/// bytes.
public enum JSONValue: Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  /// A number as text, written unchanged; the caller guarantees that it is valid.
  case number(String)
  case string(String)
  /// A value as text in UTF-8, written unchanged; the caller guarantees that it is valid. Takes a
  /// tenth of the memory of the value itself.
  case encoded([UInt8])
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

  /// The object without some of its members; any other value as it is.
  public func without(_ names: Set<String>) -> JSONValue {
    guard case .object(let members) = self else { return self }
    return .object(members.filter { !names.contains($0.0) })
  }

  /// The value with the members of all objects in the order of their names' UTF-8 bytes.
  public func sorted() -> JSONValue {
    switch self {
    case .array(let values): .array(values.map { $0.sorted() })
    case .object(let members):
      .object(
        members.sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
          .map { ($0.0, $0.1.sorted()) })
    default: self
    }
  }

  /// The text in UTF-8, without white space.
  public var bytes: [UInt8] {
    var bytes: [UInt8] = []
    write(into: &bytes)
    return bytes
  }

  /// Appends the text to `bytes`, without white space.
  public func write(into bytes: inout [UInt8]) { write(indent: nil) { bytes += $0 } }

  /// The text without white space.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The text for people, with line feeds and two spaces for each level.
  public var prettyText: String {
    write(indent: 0) { String(decoding: $0, as: UTF8.self) }
  }

  private func write<Result>(
    indent: Int?, _ body: (UnsafeBufferPointer<UInt8>) -> Result
  ) -> Result {
    // More than most customers need.
    var writer = JSONWriter(capacity: 4096)
    writer.write(self, indent: indent)
    return body(writer.bytes)
  }
}

/// Equal values have equal bytes.
extension JSONValue: Equatable {
  public static func == (one: JSONValue, other: JSONValue) -> Bool {
    switch (one, other) {
    case (.null, .null): true
    case (.boolean(let one), .boolean(let other)): one == other
    case (.integer(let one), .integer(let other)): one == other
    case (.string(let one), .string(let other)): one.utf8.elementsEqual(other.utf8)
    case (.array(let one), .array(let other)): one == other
    case (.object(let one), .object(let other)):
      one.elementsEqual(other) { $0.0.utf8.elementsEqual($1.0.utf8) && $0.1 == $1.1 }
    case (.encoded(let one), .encoded(let other)): one == other
    case (.number(let one), .number(let other)): one.utf8.elementsEqual(other.utf8)
    default: false
    }
  }
}
