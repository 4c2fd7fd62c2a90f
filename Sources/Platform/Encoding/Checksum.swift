/// A 64-bit checksum that finds damage, not forgery: it has no key.
///
/// Eight bytes at a time are mixed by a multiplication to 128 bits whose halves are combined, as
/// wyhash and rapidhash do. Its values are stored in projections: a change is another schema.
public struct Checksum: Sendable, Equatable {
  private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

  public init() {}

  /// Adds bytes, and their count, so that two parts never look like one.
  public mutating func add(_ bytes: UnsafeRawBufferPointer) {
    state = Self.mix(state, UInt64(bytes.count) &+ 1)
    var offset = 0
    while offset + 8 <= bytes.count {
      state = Self.mix(state, bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset += 8
    }
    var rest: UInt64 = 0
    while offset < bytes.count {
      rest = rest << 8 | UInt64(bytes[offset])
      offset += 1
    }
    state = Self.mix(state, rest)
  }

  mutating func add(_ bytes: [UInt8]) { bytes.withUnsafeBytes { add($0) } }

  /// Adds a text, which never looks like nil.
  public mutating func add(_ text: String?) {
    guard let text else {
      state = Self.mix(state, 0)
      return
    }
    let isAdded: Void? = text.utf8.withContiguousStorageIfAvailable {
      add(UnsafeRawBufferPointer($0))
    }
    if isAdded == nil { add(Array(text.utf8)) }
  }

  /// Adds a number, which never looks like nil.
  public mutating func add(_ value: Int64?) {
    state = Self.mix(state, value == nil ? 0 : 1)
    if let value { state = Self.mix(state, UInt64(bitPattern: value)) }
  }

  public var value: Int64 { Int64(bitPattern: state) }

  private static func mix(_ hash: UInt64, _ value: UInt64) -> UInt64 {
    let product = (hash ^ value).multipliedFullWidth(by: 0x9FB2_1C65_1E98_DF25)
    return product.high ^ product.low
  }
}
