/// Swift source, split into code, comments and string literals. Each view keeps the line numbers
/// and replaces what belongs to the others by spaces.
struct SwiftText {
  var code: String { String(decoding: codeBytes, as: UTF8.self) }
  var strings: String { String(decoding: stringBytes, as: UTF8.self) }

  private enum State { case code, lineComment, blockComment, string(hashes: Int, isLong: Bool) }

  private let bytes: [UInt8]
  private var codeBytes: [UInt8] = []
  private var stringBytes: [UInt8] = []
  private var offset = 0
  private var state = State.code
  /// The strings that an interpolation interrupts, with the count of its open brackets.
  private var interrupted: [(State, Int)] = []

  init(_ text: String) {
    bytes = Array(text.utf8)
    codeBytes.reserveCapacity(bytes.count)
    stringBytes.reserveCapacity(bytes.count)
    while offset < bytes.count { step() }
  }

  private func has(_ text: StaticString, after count: Int = 0) -> Bool {
    text.withUTF8Buffer { bytes[offset...].dropFirst(count).starts(with: $0) }
  }

  private mutating func consume(_ count: Int, asCode: Bool = false, asString: Bool = false) {
    for byte in bytes[offset..<min(offset + count, bytes.count)] {
      codeBytes.append(byte == 0x0A || asCode ? byte : 0x20)
      stringBytes.append(byte == 0x0A || asString ? byte : 0x20)
    }
    offset += count
  }

  private mutating func step() {
    switch state {
    case .code: stepInCode()
    case .lineComment:
      if bytes[offset] == 0x0A { state = .code }
      consume(1)
    case .blockComment:
      if has("*/") {
        state = .code
        consume(2)
      } else {
        consume(1)
      }
    case .string(let hashes, let isLong): stepInString(hashes, isLong)
    }
  }

  private mutating func stepInCode() {
    if has("//") {
      state = .lineComment
      return consume(2)
    }
    if has("/*") {
      state = .blockComment
      return consume(2)
    }
    let hashes = hashes(after: 0)
    if has("\"", after: hashes) {
      let isLong = has("\"\"\"", after: hashes)
      state = .string(hashes: hashes, isLong: isLong)
      return consume(hashes + (isLong ? 3 : 1))
    }
    followInterpolation()
    consume(1, asCode: true)
  }

  private func hashes(after count: Int) -> Int {
    bytes[offset...].dropFirst(count).prefix { $0 == UInt8(ascii: "#") }.count
  }

  private mutating func followInterpolation() {
    guard let (string, depth) = interrupted.last else { return }
    if has("(") { interrupted[interrupted.count - 1].1 = depth + 1 }
    guard has(")") else { return }
    interrupted[interrupted.count - 1].1 = depth - 1
    if depth == 1 {
      interrupted.removeLast()
      state = string
    }
  }

  private mutating func stepInString(_ hashes: Int, _ isLong: Bool) {
    let quotes = isLong ? 3 : 1
    if has(isLong ? "\"\"\"" : "\""), self.hashes(after: quotes) >= hashes {
      state = .code
      return consume(hashes + quotes)
    }
    if has("\\"), self.hashes(after: 1) >= hashes, has("(", after: 1 + hashes) {
      interrupted.append((state, 1))
      state = .code
      return consume(hashes + 2)
    }
    consume(has("\\") && hashes == 0 ? 2 : 1, asString: true)
  }
}

/// The first line and the length of each function, found by its braces.
struct FunctionLengths {
  struct Function { let line: Int, count: Int }

  private(set) var functions: [Function] = []

  init(_ code: String) {
    let lines = code.split(separator: "\n", omittingEmptySubsequences: false)
    for (number, line) in lines.enumerated() where Self.begins(line) {
      var depth = 0
      var hasBody = false
      body: for (offset, inside) in lines[number...].enumerated() {
        for byte in inside.utf8 {
          if byte == UInt8(ascii: "{") { (depth, hasBody) = (depth + 1, true) }
          if byte == UInt8(ascii: "}") { depth -= 1 }
          if hasBody, depth == 0 {
            functions.append(Function(line: number + 1, count: offset + 1))
            break body
          }
        }
      }
    }
  }

  private static func begins(_ line: Substring) -> Bool {
    Repository.words(line).contains("func")
      || line.contains("init(") && line.hasSuffix("{") && !line.contains("=")
  }
}
