import AppStore
import Platform

/// The bytes are not an encoded state: the projection that holds them is damaged and is rebuilt.
struct StateDamage: Error {}

/// Writes each member it is handed, or fills it, so that one description serves both directions.
///
/// Numbers are zigzag varints (LEB128), texts are UTF-8 after their length, a flag and the presence
/// of an optional member are one byte each. The store compresses the result.
///
/// Every member throws `StateDamage` if a reader finds that the bytes are not an encoded state. A
/// writer never throws.
protocol StateCoder: PayloadVisitor where Failure == StateDamage {
  mutating func integer(_ value: inout Int64) throws(StateDamage)
  mutating func flag(_ value: inout Bool) throws(StateDamage)
  mutating func text(_ value: inout String) throws(StateDamage)
  mutating func uuid(_ value: inout NotificationUUID) throws(StateDamage)
}

/// The members of Apple's payloads. One that every payload has needs no flag for its presence.
extension StateCoder {
  mutating func text(
    _ member: PayloadMember, _ value: inout String?
  ) throws(StateDamage) {
    guard member.isRequired, var text = value.take() else { return try string(&value) }
    try self.text(&text)
    value = text
  }

  mutating func number(
    _ member: PayloadMember, _ value: inout Int64?
  ) throws(StateDamage) {
    guard member.isRequired, var number = value else {
      return try optional(&value, from: member.base)
    }
    try integer(&number, from: member.base)
    value = number
  }

  mutating func flag(_ member: PayloadMember, _ value: inout Bool?) throws(StateDamage) {
    guard member.isRequired, var flag = value else {
      return try part(&value, false) { (flag, coder) throws(StateDamage) in
        try coder.flag(&flag)
      }
    }
    try self.flag(&flag)
    value = flag
  }

  mutating func object<Object: Payload>(
    _ name: String, _ value: inout Object?
  ) throws(StateDamage) {
    try part(&value, Object()) { (object, coder) throws(StateDamage) in
      try object.visit(&coder)
    }
  }

  mutating func objects<Object: Payload>(
    _ name: String, _ value: inout [Object]
  ) throws(StateDamage) {
    try list(&value, Object()) { (object, coder) throws(StateDamage) in try object.visit(&coder) }
  }

  mutating func texts(_ name: String, _ value: inout [String]) throws(StateDamage) {
    try list(&value, "") { (text, coder) throws(StateDamage) in try coder.text(&text) }
  }
}

extension StateCoder {
  mutating func integer(_ value: inout Int64, from base: Int64) throws(StateDamage) {
    var distance = value &- base
    try integer(&distance)
    value = distance &+ base
  }

  mutating func optional(_ value: inout Int64?, from base: Int64 = 0) throws(StateDamage) {
    try part(&value, 0) { (value, coder) throws(StateDamage) in
      try coder.integer(&value, from: base)
    }
  }

  mutating func string(_ value: inout String?) throws(StateDamage) {
    try part(&value, "") { (value, coder) throws(StateDamage) in try coder.text(&value) }
  }

  /// A list, preceded by its count. A reader fills a copy of the element before, with which it
  /// often shares texts, and for the first what `blank` makes.
  mutating func list<Part>(
    _ values: inout [Part], _ blank: @autoclosure () -> Part,
    _ visit: (inout Part, inout Self) throws(StateDamage) -> Void
  ) throws(StateDamage) {
    var count = Int64(values.count)
    try integer(&count)
    guard count >= 0 else { throw StateDamage() }
    for index in 0..<count {
      // Visited inside the array: a copy would retain every string of it once more.
      if index == values.count { values.append(values.last ?? blank()) }
      try visit(&values[Int(index)], &self)
    }
    // Of the element before, of which a reader fills a copy.
    values.removeSubrange(Int(count)...)
  }

  /// An optional member, preceded by a flag. `blank` makes the value that a reader fills.
  mutating func part<Part>(
    _ value: inout Part?, _ blank: @autoclosure () -> Part,
    _ visit: (inout Part, inout Self) throws(StateDamage) -> Void
  ) throws(StateDamage) {
    var isThere = value != nil
    try flag(&isThere)
    guard isThere else {
      value = nil
      return
    }
    // Moved out of the optional, so that its strings are not copied.
    var part = value.take() ?? blank()
    try visit(&part, &self)
    value = part
  }
}

/// Encodes members in the order in which they are visited.
struct StateWriter: StateCoder {
  typealias Failure = StateDamage

  private(set) var bytes: [UInt8] = []

  init() { bytes.reserveCapacity(2048) }

  mutating func flag(_ value: inout Bool) { bytes.append(value ? 1 : 0) }

  mutating func integer(_ value: inout Int64) {
    append(UInt64(bitPattern: value << 1 ^ value >> 63))
  }

  mutating func text(_ value: inout String) {
    value.withUTF8 { text in
      append(UInt64(text.count))
      bytes += text
    }
  }

  mutating func uuid(_ value: inout NotificationUUID) {
    withUnsafeBytes(of: value.high.bigEndian) { bytes += $0 }
    withUnsafeBytes(of: value.low.bigEndian) { bytes += $0 }
  }

  private mutating func append(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}

/// Fills members from an encoding. Any bytes are safe to read: it never reads past the end.
struct StateReader: StateCoder {
  typealias Failure = StateDamage

  private let bytes: [UInt8]
  /// The next byte.
  private var offset = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { offset == bytes.count }

  mutating func flag(_ value: inout Bool) throws(StateDamage) {
    let byte = try byte()
    guard byte < 2 else { throw StateDamage() }
    value = byte == 1
  }

  mutating func integer(_ value: inout Int64) throws(StateDamage) {
    let number = try number()
    value = Int64(bitPattern: number >> 1) ^ -Int64(number & 1)
  }

  mutating func text(_ value: inout String) throws(StateDamage) {
    let count = try number()
    guard count <= bytes.count - offset else { throw StateDamage() }
    let text = bytes[offset..<offset + Int(count)]
    offset += Int(count)
    // Mostly it is the text of the element before: to compare costs less than to make another.
    if !ByteSearch.areEqual(value, text) { value = String(decoding: text, as: UTF8.self) }
  }

  mutating func uuid(_ value: inout NotificationUUID) throws(StateDamage) {
    guard bytes.count - offset >= 16,
      let uuid = NotificationUUID(bytes: Array(bytes[offset..<offset + 16]))
    else { throw StateDamage() }
    value = uuid
    offset += 16
  }

  private mutating func byte() throws(StateDamage) -> UInt8 {
    guard offset < bytes.count else { throw StateDamage() }
    offset += 1
    return bytes[offset - 1]
  }

  private mutating func number() throws(StateDamage) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      let byte = try byte()
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
    }
    throw StateDamage()
  }
}
