/// Swift source, split into code, comments and string literals. Each view keeps the line numbers
/// and replaces what belongs to the others by spaces.
struct SwiftText {
  private(set) var code = ""
  private(set) var strings = ""

  private enum State { case code, lineComment, blockComment, string(hashes: Int, isLong: Bool) }

  private let characters: [Character]
  private var offset = 0
  private var state = State.code
  /// The strings that an interpolation interrupts, with the count of its open brackets.
  private var interrupted: [(State, Int)] = []

  init(_ text: String) {
    characters = Array(text)
    while offset < characters.count { step() }
  }

  private func has(_ text: String) -> Bool {
    let expected = Array(text)
    return offset + expected.count <= characters.count
      && characters[offset..<offset + expected.count].elementsEqual(expected)
  }

  private mutating func consume(_ count: Int, asCode: Bool = false, asString: Bool = false) {
    for character in characters[offset..<min(offset + count, characters.count)] {
      code.append(character == "\n" || asCode ? character : " ")
      strings.append(character == "\n" || asString ? character : " ")
    }
    offset += count
  }

  private mutating func step() {
    switch state {
    case .code: stepInCode()
    case .lineComment:
      if characters[offset] == "\n" { state = .code }
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
    let hashes = characters[offset...].prefix { $0 == "#" }.count
    if characters[offset...].dropFirst(hashes).first == "\"" {
      let isLong = characters[offset...].dropFirst(hashes).starts(with: "\"\"\"")
      state = .string(hashes: hashes, isLong: isLong)
      return consume(hashes + (isLong ? 3 : 1))
    }
    followInterpolation()
    consume(1, asCode: true)
  }

  private mutating func followInterpolation() {
    guard let (string, depth) = interrupted.last else { return }
    if characters[offset] == "(" { interrupted[interrupted.count - 1].1 = depth + 1 }
    guard characters[offset] == ")" else { return }
    interrupted[interrupted.count - 1].1 = depth - 1
    if depth == 1 {
      interrupted.removeLast()
      state = string
    }
  }

  private mutating func stepInString(_ hashes: Int, _ isLong: Bool) {
    let marks = String(repeating: "#", count: hashes)
    if has((isLong ? "\"\"\"" : "\"") + marks) {
      state = .code
      return consume(hashes + (isLong ? 3 : 1))
    }
    if has("\\" + marks + "(") {
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
        for character in inside {
          if character == "{" { (depth, hasBody) = (depth + 1, true) }
          if character == "}" { depth -= 1 }
          if hasBody, depth == 0 {
            functions.append(Function(line: number + 1, count: offset + 1))
            break body
          }
        }
      }
    }
  }

  private static func begins(_ line: Substring) -> Bool {
    line.split(whereSeparator: { !$0.isLetter && !$0.isNumber }).contains { $0 == "func" }
      || line.contains("init(") && line.hasSuffix("{") && !line.contains("=")
  }
}
