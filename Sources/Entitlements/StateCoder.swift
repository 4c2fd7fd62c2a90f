import AppStore

/// The bytes are no state; the projection they come from is rebuilt.
struct StateDamage: Error {}

/// Writes a member, or fills it: numbers are zigzag varints, and a string is written once and then
/// referred to by number, since one customer's transactions repeat themselves.
protocol StateCoder {
  mutating func integer(_ value: inout Int64) throws(StateDamage)
  /// 0 for none, 1 for a new string that follows, else the number of one before, plus 1.
  mutating func string(_ value: inout String?) throws(StateDamage)
  mutating func uuid(_ value: inout NotificationUUID) throws(StateDamage)
}

extension StateCoder {
  mutating func integer(_ value: inout Int64, from base: Int64) throws(StateDamage) {
    var distance = value &- base
    try integer(&distance)
    value = distance &+ base
  }

  mutating func flag(_ value: inout Bool) throws(StateDamage) {
    var number: Int64 = value ? 1 : 0
    try integer(&number)
    value = number == 1
  }

  mutating func optional(_ value: inout Int64?, from base: Int64 = 0) throws(StateDamage) {
    try part(&value, 0) { (value, coder) throws(StateDamage) in
      try coder.integer(&value, from: base)
    }
  }

  mutating func text(_ value: inout String) throws(StateDamage) {
    var optional: String? = value
    try string(&optional)
    value = optional ?? ""
  }

  /// Any number of something; `blank` is what a reader fills.
  mutating func list<Part>(
    _ values: inout [Part], _ blank: @autoclosure () -> Part,
    _ visit: (inout Part, inout Self) throws(StateDamage) -> Void
  ) throws(StateDamage) {
    var count = Int64(values.count)
    try integer(&count)
    for index in 0..<max(0, count) {
      // In its place: a copy would hold every string of it once more.
      if index == values.count { values.append(blank()) }
      try visit(&values[Int(index)], &self)
    }
  }

  /// Something that may be absent; `blank` is what a reader fills.
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
    // Taken out, not copied.
    var part = value.take() ?? blank()
    try visit(&part, &self)
    value = part
  }
}

struct StateWriter: StateCoder {
  private(set) var bytes: [UInt8] = []
  private var strings = WrittenStrings()

  init() { bytes.reserveCapacity(2048) }

  mutating func integer(_ value: inout Int64) {
    var rest = UInt64(bitPattern: value << 1 ^ value >> 63)
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  mutating func string(_ value: inout String?) {
    guard var text = value else { return number(0) }
    text.withUTF8 { text in
      let hash = WrittenStrings.hash(text)
      if let known = strings.number(of: text, hash, in: bytes) { return number(Int64(known + 1)) }
      number(1)
      number(Int64(text.count))
      strings.add(from: bytes.count, count: text.count, hash)
      bytes += text
    }
  }

  mutating func uuid(_ value: inout NotificationUUID) {
    withUnsafeBytes(of: value.high.bigEndian) { bytes += $0 }
    withUnsafeBytes(of: value.low.bigEndian) { bytes += $0 }
  }

  private mutating func number(_ value: Int64) {
    var value = value
    integer(&value)
  }
}

/// Never reads past the end, whatever the bytes.
struct StateReader: StateCoder {
  private let bytes: [UInt8]
  private var at = 0
  private var strings: [String] = []

  init(bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { at == bytes.count }

  private mutating func byte() throws(StateDamage) -> UInt8 {
    guard at < bytes.count else { throw StateDamage() }
    at += 1
    return bytes[at - 1]
  }

  private mutating func number() throws(StateDamage) -> Int64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      let byte = try byte()
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return Int64(bitPattern: value >> 1) ^ -Int64(value & 1) }
    }
    throw StateDamage()
  }

  mutating func integer(_ value: inout Int64) throws(StateDamage) { value = try number() }

  mutating func string(_ value: inout String?) throws(StateDamage) {
    let known = try number()
    switch known {
    case 0: value = nil
    case 1:
      let count = try number()
      guard count >= 0, count <= bytes.count - at else { throw StateDamage() }
      let text = String(decoding: bytes[at..<at + Int(count)], as: UTF8.self)
      at += Int(count)
      strings.append(text)
      value = text
    default:
      guard known > 1, known - 2 < strings.count else { throw StateDamage() }
      value = strings[Int(known - 2)]
    }
  }

  mutating func uuid(_ value: inout NotificationUUID) throws(StateDamage) {
    var halves: [UInt64] = [0, 0]
    for index in 0..<16 { halves[index / 8] = halves[index / 8] << 8 | UInt64(try byte()) }
    value = NotificationUUID(high: halves[0], low: halves[1])
  }
}
