/// A recursive descent parser of RFC 8259's grammar. The depth is bounded, and so is the stack.
struct JSONParser {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var at = 0
  private var nodes: [Node] = []
  private let limits: JSONLimits

  init(bytes: UnsafeBufferPointer<UInt8>, _ limits: JSONLimits = .none) {
    self.bytes = bytes
    self.limits = limits
    // Enough for Apple's objects, and below the 1 KB that malloc caches for each thread.
    nodes.reserveCapacity(60)
  }

  mutating func document() throws(JSONError) -> [Node] {
    guard bytes.count <= Int(UInt32.max) else { throw failure(.size) }
    skipSpace()
    try value(depth: 0)
    skipSpace()
    guard at == bytes.count else { throw failure(.trailing) }
    return nodes
  }

  private func failure(_ reason: JSONError.Reason) -> JSONError {
    JSONError(reason: reason, offset: at)
  }

  private var current: UInt8? { at < bytes.count ? bytes[at] : nil }

  private mutating func skipSpace() {
    while at < bytes.count {
      switch bytes[at] {
      case 0x20, 0x0A, 0x0D, 0x09: at += 1
      default: return
      }
    }
  }

  private mutating func expect(_ byte: UInt8) throws(JSONError) {
    guard current == byte else { throw failure(.syntax) }
    at += 1
  }

  @inline(__always)
  private mutating func append(_ kind: Node.Kind, from start: Int, to end: Int) {
    let next = UInt32(nodes.count + 1)
    nodes.append(Node(kind: kind, start: UInt32(start), end: UInt32(end), next: next))
  }

  private mutating func value(depth: Int) throws(JSONError) {
    guard let byte = current else { throw failure(.syntax) }
    guard nodes.count < limits.values else { throw failure(.members) }
    switch byte {
    case UInt8(ascii: "\""): try string()
    case UInt8(ascii: "{"): try object(depth: depth + 1)
    case UInt8(ascii: "["): try array(depth: depth + 1)
    case UInt8(ascii: "t"): try literal("true", .yes)
    case UInt8(ascii: "f"): try literal("false", .no)
    case UInt8(ascii: "n"): try literal("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
    default: throw failure(.syntax)
    }
  }

  private mutating func literal(_ word: StaticString, _ kind: Node.Kind) throws(JSONError) {
    let start = at
    for index in 0..<word.utf8CodeUnitCount {
      try expect(word.utf8Start[index])
    }
    append(kind, from: start, to: at)
  }

  // MARK: Arrays and objects

  private mutating func array(depth: Int) throws(JSONError) {
    guard depth <= JSONDocument.maximumDepth else { throw failure(.depth) }
    let node = nodes.count
    append(.array, from: at, to: at)
    at += 1
    skipSpace()
    if current != UInt8(ascii: "]") {
      while true {
        skipSpace()
        try value(depth: depth)
        skipSpace()
        guard current == UInt8(ascii: ",") else { break }
        at += 1
      }
    }
    try expect(UInt8(ascii: "]"))
    close(node)
  }

  private mutating func object(depth: Int) throws(JSONError) {
    guard depth <= JSONDocument.maximumDepth else { throw failure(.depth) }
    let node = nodes.count
    append(.object, from: at, to: at)
    at += 1
    skipSpace()
    var names = Names(object: node)
    if current != UInt8(ascii: "}") {
      while true {
        skipSpace()
        guard current == UInt8(ascii: "\"") else { throw failure(.syntax) }
        let name = nodes.count
        try string()
        if limits.refusesDuplicates { try refuseDuplicate(name, &names) }
        skipSpace()
        try expect(UInt8(ascii: ":"))
        skipSpace()
        try value(depth: depth)
        skipSpace()
        guard current == UInt8(ascii: ",") else { break }
        at += 1
      }
    }
    try expect(UInt8(ascii: "}"))
    close(node)
    if names.hasEscapes || names.count > Self.maximumPairs { try refuseDuplicates(names) }
  }

  private mutating func close(_ node: Int) {
    nodes[node].end = UInt32(at)
    nodes[node].next = UInt32(nodes.count)
  }

  /// What is known of the members of an object that is being parsed.
  private struct Names {
    let object: Int
    var count = 0
    /// Whether some name has escapes.
    var hasEscapes = false
    /// A bit for each hash that occurred. Most names have a new hash and need no comparison.
    var hashes: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    init(object: Int) { self.object = object }

    /// Records a hash; returns whether it had occurred before.
    mutating func insert(_ hash: UInt8) -> Bool {
      let bit: UInt64 = 1 &<< UInt64(hash & 63)
      switch hash >> 6 {
      case 0: return Self.insert(bit, &hashes.0)
      case 1: return Self.insert(bit, &hashes.1)
      case 2: return Self.insert(bit, &hashes.2)
      default: return Self.insert(bit, &hashes.3)
      }
    }

    private static func insert(_ bit: UInt64, _ word: inout UInt64) -> Bool {
      defer { word |= bit }
      return word & bit != 0
    }
  }

  /// Names are compared in pairs up to this number of members; Apple's objects have fewer.
  private static let maximumPairs = 32

  /// Compares a name with the earlier ones, unless its hash is new.
  private func refuseDuplicate(_ name: Int, _ names: inout Names) throws(JSONError) {
    names.count += 1
    guard names.count <= limits.members else { throw failure(.members) }
    let node = nodes[name]
    if node.kind == .escapedString { names.hasEscapes = true }
    guard !names.hasEscapes, names.count <= Self.maximumPairs else { return }
    let key = NameKey(bytes, from: Int(node.start), to: Int(node.end))
    guard names.insert(key.hash) else { return }
    var index = names.object + 1
    while index < name {
      if sameText(nodes[index], node) { throw failure(.duplicate) }
      index = Int(nodes[index + 1].next)
    }
  }

  /// Compares all names with a set, for objects with many members or names with escapes. Swift
  /// seeds the set's hash function in every process, so that an attacker cannot cause collisions.
  private func refuseDuplicates(_ names: Names) throws(JSONError) {
    // By bytes: Swift calls two spellings of the same letter equal, RFC 8259 section 8.3 does not.
    var seen = Set<[UInt8]>(minimumCapacity: names.count)
    var index = names.object + 1
    for _ in 0..<names.count {
      let node = nodes[index]
      let text =
        node.kind == .string
        ? Array(bytes[Int(node.start)..<Int(node.end)])
        : Array(JSONText.string(node, in: bytes).utf8)
      guard seen.insert(text).inserted else { throw failure(.duplicate) }
      index = Int(nodes[index + 1].next)
    }
  }

  private func sameText(_ one: Node, _ other: Node) -> Bool {
    let text = UnsafeBufferPointer(rebasing: bytes[Int(other.start)..<Int(other.end)])
    return JSONText.isText(one, text, in: bytes)
  }

  // MARK: Strings

  private mutating func string() throws(JSONError) {
    at += 1
    let start = at
    var kind = Node.Kind.string
    while true {
      skipPlain()
      guard let byte = current else { break }
      switch byte {
      case UInt8(ascii: "\""):
        append(kind, from: start, to: at)
        at += 1
        return
      case UInt8(ascii: "\\"):
        kind = .escapedString
        try escape()
      case 0..<0x20: throw failure(.syntax)
      case 0x20..<0x80: at += 1
      default: try multibyte(lead: byte)
      }
    }
    throw failure(.syntax)
  }

  /// Skips ASCII without quotes, backslashes and control characters: nearly all of a notification
  /// is one such string. Steps of eight bytes, then of 64.
  private mutating func skipPlain() {
    guard let start = bytes.baseAddress else { return }
    while at + 8 <= bytes.count {
      let word = UnsafeRawPointer(start + at).loadUnaligned(as: UInt64.self)
      let marks = Self.marks(UInt64(littleEndian: word))
      guard marks == 0 else {
        at += marks.trailingZeroBitCount / 8
        return
      }
      at += 8
      while at + 64 <= bytes.count, Self.isPlain(start + at) { at += 64 }
    }
  }

  /// Whether `skipPlain` may skip 64 bytes.
  ///
  /// Without an early exit, and with one bit for all conditions, the compiler makes a loop that
  /// tests sixteen bytes at once. Subtracting 1 from 0, or 0x20 from a smaller byte, sets the high
  /// bit.
  private static func isPlain(_ start: UnsafePointer<UInt8>) -> Bool {
    var found: UInt8 = 0
    for index in 0..<64 {
      let byte = start[index]
      found |= byte | (byte &- 0x20)
      found |= ((byte ^ UInt8(ascii: "\"")) &- 1) | ((byte ^ UInt8(ascii: "\\")) &- 1)
    }
    return found & 0x80 == 0
  }

  /// Sets the high bit of the first of eight bytes that is a quote, a backslash, a control
  /// character or not ASCII. The high bits of later bytes mean nothing.
  ///
  /// Subtracting a value from bytes below 0x80 sets the high bit of those that are smaller, and
  /// only these borrow from the next byte.
  private static func marks(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
    let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
    let found = (word &- ones &* 0x20) | (quotes &- ones) | (backslashes &- ones) | word
    return found & (ones &* 0x80)
  }

  private mutating func escape() throws(JSONError) {
    at += 1
    switch current {
    case UInt8(ascii: "u"):
      at += 1
      let unit = try hexadecimal()
      guard unit & 0xF800 == 0xD800 else { return }
      // A high surrogate must be followed by a low one (RFC 8259 section 8.2).
      guard unit < 0xDC00, current == UInt8(ascii: "\\") else { throw failure(.escape) }
      at += 1
      guard current == UInt8(ascii: "u") else { throw failure(.escape) }
      at += 1
      guard try hexadecimal() & 0xFC00 == 0xDC00 else { throw failure(.escape) }
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
      UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      at += 1
    default: throw failure(.escape)
    }
  }

  private mutating func hexadecimal() throws(JSONError) -> UInt16 {
    guard at + 4 <= bytes.count else { throw failure(.escape) }
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let digit = JSONText.hexDigit(bytes[at]) else { throw failure(.escape) }
      unit = unit << 4 | digit
      at += 1
    }
    return unit
  }

  /// One UTF-8 sequence of two to four bytes, by the table of RFC 3629 section 4.
  private mutating func multibyte(lead: UInt8) throws(JSONError) {
    let rest: Int
    let second: ClosedRange<UInt8>
    switch lead {
    case 0xC2...0xDF: (rest, second) = (1, 0x80...0xBF)
    case 0xE0: (rest, second) = (2, 0xA0...0xBF)
    case 0xED: (rest, second) = (2, 0x80...0x9F)
    case 0xE1...0xEF: (rest, second) = (2, 0x80...0xBF)
    case 0xF0: (rest, second) = (3, 0x90...0xBF)
    case 0xF1...0xF3: (rest, second) = (3, 0x80...0xBF)
    case 0xF4: (rest, second) = (3, 0x80...0x8F)
    default: throw failure(.encoding)
    }
    guard at + rest < bytes.count, second.contains(bytes[at + 1]) else {
      throw failure(.encoding)
    }
    for offset in 1...rest where bytes[at + offset] & 0xC0 != 0x80 { throw failure(.encoding) }
    at += rest + 1
  }

  // MARK: Numbers

  private mutating func number() throws(JSONError) {
    let start = at
    if current == UInt8(ascii: "-") { at += 1 }
    if current == UInt8(ascii: "0") {
      at += 1
    } else {
      try digits()
    }
    if current == UInt8(ascii: ".") {
      at += 1
      try digits()
    }
    if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
      at += 1
      if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { at += 1 }
      let exponent = at
      try digits()
      var size = 0
      for index in exponent..<at { size = min(size * 10 + Int(bytes[index] & 15), 1000) }
      guard size <= 300 else { throw failure(.number) }
    }
    guard at - start <= 64 else { throw failure(.number) }
    append(.number, from: start, to: at)
  }

  private mutating func digits() throws(JSONError) {
    let start = at
    while let byte = current, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { at += 1 }
    guard at > start else { throw failure(.syntax) }
  }
}
