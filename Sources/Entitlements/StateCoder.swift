import AppStore

/// The bytes are not an encoded state: the projection that holds them is damaged and is rebuilt.
struct StateDamage: Error {}

/// Writes each member it is handed, or fills it, so that one description serves both directions.
///
/// Flags take one bit each and precede everything else, because most optional members are absent.
/// Numbers are varints, zigzag-encoded where they have a sign. A string that was written before, or
/// that is one of `PredefinedStrings`, is written as its number: a customer's transactions repeat
/// most of their strings.
///
/// Every member throws `StateDamage` if a reader finds that the bytes are not an encoded state. A
/// writer never throws.
protocol StateCoder {
  mutating func integer(_ value: inout Int64) throws(StateDamage)
  mutating func flag(_ value: inout Bool) throws(StateDamage)
  mutating func text(_ value: inout String) throws(StateDamage)
  mutating func uuid(_ value: inout NotificationUUID) throws(StateDamage)
}

/// The first number of an encoded string: how it is written. From `known` on, the number of a known
/// string is added to it.
enum StringForm {
  /// Its length in bytes, and the bytes in UTF-8.
  static let text: UInt64 = 0
  /// A text of digits alone, as the difference to the previous such number: Apple's transaction ids
  /// increase in small steps.
  static let number: UInt64 = 1
  /// A UUID in lower case, as 16 bytes.
  static let uuid: UInt64 = 2
  /// A predefined string or one that was written before.
  static let known: UInt64 = 3
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

  /// A list, preceded by its count. `blank` makes the element that a reader fills.
  mutating func list<Part>(
    _ values: inout [Part], _ blank: @autoclosure () -> Part,
    _ visit: (inout Part, inout Self) throws(StateDamage) -> Void
  ) throws(StateDamage) {
    var count = Int64(values.count)
    try integer(&count)
    guard count >= 0 else { throw StateDamage() }
    for index in 0..<count {
      // Visited inside the array: a copy would retain every string of it once more.
      if index == values.count { values.append(blank()) }
      try visit(&values[Int(index)], &self)
    }
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
  private var flags: [UInt8] = []
  private var flagCount = 0
  private var bytes: [UInt8] = []
  private var strings = StringTable.predefined
  private var lastNumber: Int64 = 0
  private var firstUUID: NotificationUUID?

  init() {
    flags.reserveCapacity(128)
    bytes.reserveCapacity(2048)
  }

  /// The whole encoding: the format number, the count of flag bytes, the flags, everything else.
  func finished(format: UInt8) -> [UInt8] {
    var all: [UInt8] = [format]
    all.reserveCapacity(flags.count + bytes.count + 4)
    Self.append(UInt64(flags.count), to: &all)
    all += flags
    all += bytes
    return all
  }

  mutating func flag(_ value: inout Bool) {
    if flagCount % 8 == 0 { flags.append(0) }
    if value { flags[flagCount / 8] |= 1 << UInt8(flagCount % 8) }
    flagCount += 1
  }

  mutating func integer(_ value: inout Int64) {
    Self.append(UInt64(bitPattern: value << 1 ^ value >> 63), to: &bytes)
  }

  mutating func text(_ value: inout String) {
    value.withUTF8 { text in
      let hash = StringTable.hash(text)
      if let known = strings.number(of: text, hash) {
        return number(StringForm.known + UInt64(known - 1))
      }
      strings.add(text, hash)
      if let value = Self.value(of: text) {
        number(StringForm.number)
        var distance = value - lastNumber
        integer(&distance)
        lastNumber = value
      } else if let uuid = NotificationUUID(lowercase: text) {
        number(StringForm.uuid)
        append(uuid)
      } else {
        number(StringForm.text)
        number(UInt64(text.count))
        bytes += text
      }
    }
  }

  /// Most objects of a stream with one event carry the same UUID: a repetition of the first UUID is
  /// a single flag.
  mutating func uuid(_ value: inout NotificationUUID) {
    var isFirst = value == firstUUID
    flag(&isFirst)
    if isFirst { return }
    firstUUID = firstUUID ?? value
    append(value)
  }

  private mutating func append(_ uuid: NotificationUUID) {
    withUnsafeBytes(of: uuid.high.bigEndian) { bytes += $0 }
    withUnsafeBytes(of: uuid.low.bigEndian) { bytes += $0 }
  }

  private mutating func number(_ value: UInt64) { Self.append(value, to: &bytes) }

  private static func append(_ value: UInt64, to bytes: inout [UInt8]) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// The number that a text of 1 to 18 digits stands for; nil unless decoding the number gives the
  /// same text, so the first digit must not be 0.
  private static func value(of text: UnsafeBufferPointer<UInt8>) -> Int64? {
    guard (1...18).contains(text.count), text[0] != UInt8(ascii: "0") else { return nil }
    var value: Int64 = 0
    for byte in text {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      value = value * 10 + Int64(byte - UInt8(ascii: "0"))
    }
    return value
  }
}

/// Fills members from an encoding. Any bytes are safe to read: it never reads past the end.
struct StateReader: StateCoder {
  private let bytes: [UInt8]
  private var flagsEnd = 0
  /// The next flag, in bits from the start of the bytes.
  private var flagOffset = 0
  /// The next byte that is not a flag.
  private var offset = 1
  /// The strings read so far that are not predefined.
  private var strings: [String] = []
  private var lastNumber: Int64 = 0
  private var firstUUID: NotificationUUID?

  /// Returns nil if the bytes do not begin with this format's number and a valid count of flags.
  init?(bytes: [UInt8], format: UInt8) {
    guard bytes.first == format else { return nil }
    self.bytes = bytes
    guard let count = try? number(), count <= bytes.count - offset else { return nil }
    flagOffset = offset * 8
    offset += Int(count)
    flagsEnd = offset
  }

  /// Whether all bytes and flags were read, and the unused bits of the last flag byte are 0.
  var isAtEnd: Bool {
    guard offset == bytes.count, (flagOffset + 7) / 8 == flagsEnd else { return false }
    return flagOffset % 8 == 0 || bytes[flagsEnd - 1] >> UInt8(flagOffset % 8) == 0
  }

  mutating func flag(_ value: inout Bool) throws(StateDamage) {
    guard flagOffset < flagsEnd * 8 else { throw StateDamage() }
    value = bytes[flagOffset / 8] >> UInt8(flagOffset % 8) & 1 == 1
    flagOffset += 1
  }

  mutating func integer(_ value: inout Int64) throws(StateDamage) {
    let number = try number()
    value = Int64(bitPattern: number >> 1) ^ -Int64(number & 1)
  }

  mutating func text(_ value: inout String) throws(StateDamage) {
    let form = try number()
    if form >= StringForm.known {
      value = try known(form - StringForm.known)
      return
    }
    switch form {
    case StringForm.number: value = try digits()
    case StringForm.uuid: value = try uuid().description
    default:
      let count = try number()
      guard count <= bytes.count - offset else { throw StateDamage() }
      value = String(decoding: bytes[offset..<offset + Int(count)], as: UTF8.self)
      offset += Int(count)
    }
    strings.append(value)
  }

  mutating func uuid(_ value: inout NotificationUUID) throws(StateDamage) {
    var isFirst = false
    try flag(&isFirst)
    guard isFirst else {
      value = try uuid()
      firstUUID = firstUUID ?? value
      return
    }
    guard let firstUUID else { throw StateDamage() }
    value = firstUUID
  }

  private func known(_ number: UInt64) throws(StateDamage) -> String {
    let predefined = PredefinedStrings.all
    guard number < UInt64(predefined.count + strings.count) else { throw StateDamage() }
    let index = Int(number)
    return index < predefined.count ? predefined[index] : strings[index - predefined.count]
  }

  private mutating func digits() throws(StateDamage) -> String {
    var distance: Int64 = 0
    try integer(&distance)
    lastNumber &+= distance
    guard lastNumber > 0 else { throw StateDamage() }
    return String(lastNumber)
  }

  private mutating func uuid() throws(StateDamage) -> NotificationUUID {
    var halves: (UInt64, UInt64) = (0, 0)
    for _ in 0..<8 { halves.0 = halves.0 << 8 | UInt64(try byte()) }
    for _ in 0..<8 { halves.1 = halves.1 << 8 | UInt64(try byte()) }
    return NotificationUUID(high: halves.0, low: halves.1)
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
