/// A parameter of a statement, or a field of a copied row, in PostgreSQL's binary format.
public enum PostgresValue: Sendable, Equatable {
  case null
  /// bigint
  case integer(Int64)
  case boolean(Bool)
  case text(String)
  /// bytea
  case bytes([UInt8])
  /// uuid: 16 bytes
  case uuid([UInt8])
  /// bigint[]
  case integers([Int64?])
  /// text[]
  case texts([String?])
  /// bytea[]
  case byteStrings([[UInt8]?])
  /// uuid[]
  case uuids([[UInt8]])

  public static func integer(_ value: Int64?) -> PostgresValue {
    value.map { .integer($0) } ?? .null
  }

  public static func text(_ value: String?) -> PostgresValue { value.map { .text($0) } ?? .null }

  public static func bytes(_ value: [UInt8]?) -> PostgresValue {
    value.map { .bytes($0) } ?? .null
  }

  /// Numbers of types, fixed in the server's catalog (pg_type.dat).
  private enum TypeNumber {
    static let boolean: UInt32 = 16
    static let bytes: UInt32 = 17
    static let integer: UInt32 = 20
    static let text: UInt32 = 25
    static let uuid: UInt32 = 2950
    static let byteStrings: UInt32 = 1001
    static let texts: UInt32 = 1009
    static let integers: UInt32 = 1016
    static let uuids: UInt32 = 2951
  }

  /// 0 for null, whose type the server infers.
  var typeNumber: UInt32 {
    switch self {
    case .null: 0
    case .integer: TypeNumber.integer
    case .boolean: TypeNumber.boolean
    case .text: TypeNumber.text
    case .bytes: TypeNumber.bytes
    case .uuid: TypeNumber.uuid
    case .integers: TypeNumber.integers
    case .texts: TypeNumber.texts
    case .byteStrings: TypeNumber.byteStrings
    case .uuids: TypeNumber.uuids
    }
  }

  /// Appends the value without its length; nothing for null.
  func append(to bytes: inout [UInt8]) {
    switch self {
    case .null: break
    case .integer(let value): BigEndian.append(value, to: &bytes)
    case .boolean(let value): bytes.append(value ? 1 : 0)
    case .text(let value): bytes += value.utf8
    case .bytes(let value), .uuid(let value): bytes += value
    case .integers(let values):
      Self.appendArray(values, of: TypeNumber.integer, to: &bytes) { BigEndian.append($0, to: &$1) }
    case .texts(let values):
      Self.appendArray(values, of: TypeNumber.text, to: &bytes) { $1 += $0.utf8 }
    case .byteStrings(let values):
      Self.appendArray(values, of: TypeNumber.bytes, to: &bytes) { $1 += $0 }
    case .uuids(let values):
      Self.appendArray(values.map { $0 }, of: TypeNumber.uuid, to: &bytes) { $1 += $0 }
    }
  }

  /// The length, -1 for null, and the value, as in a copied row and in an array.
  func appendField(to bytes: inout [UInt8]) {
    guard self != .null else { return BigEndian.append(Int32(-1), to: &bytes) }
    Self.appendWithLength(to: &bytes) { append(to: &$0) }
  }

  /// The binary form of an array (`array_recv` in arrayfuncs.c): dimensions, whether there are
  /// nulls, the type; length and lower bound of each dimension; the elements. An empty array has no
  /// dimension.
  private static func appendArray<Element>(
    _ values: [Element?], of type: UInt32, to bytes: inout [UInt8],
    _ append: (Element, inout [UInt8]) -> Void
  ) {
    BigEndian.append(Int32(values.isEmpty ? 0 : 1), to: &bytes)
    BigEndian.append(Int32(values.contains { $0 == nil } ? 1 : 0), to: &bytes)
    BigEndian.append(type, to: &bytes)
    guard !values.isEmpty else { return }
    BigEndian.append(Int32(values.count), to: &bytes)
    BigEndian.append(Int32(1), to: &bytes)
    for value in values {
      guard let value else {
        BigEndian.append(Int32(-1), to: &bytes)
        continue
      }
      appendWithLength(to: &bytes) { append(value, &$0) }
    }
  }

  private static func appendWithLength(
    to bytes: inout [UInt8], _ append: (inout [UInt8]) -> Void
  ) {
    let start = bytes.count
    BigEndian.append(Int32(0), to: &bytes)
    append(&bytes)
    let length = UInt32(bytes.count - start - 4).bigEndian
    withUnsafeBytes(of: length) { bytes.replaceSubrange(start..<start + 4, with: $0) }
  }
}

/// Integers in network byte order.
enum BigEndian {
  static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }
}
