/// Swift source, cut into code, comments and string literals; each view keeps every line where it
/// was and blanks what is not its own.
struct SwiftText {
  private(set) var code = ""
  private(set) var strings = ""

  private enum Place { case code, lineComment, blockComment, string(hashes: Int, isLong: Bool) }

  private let letters: [Character]
  private var at = 0
  private var place = Place.code
  /// Strings that an interpolation interrupts, with the brackets open inside it.
  private var interrupted: [(Place, Int)] = []

  init(_ text: String) {
    letters = Array(text)
    while at < letters.count { step() }
  }

  private func has(_ text: String) -> Bool {
    let wanted = Array(text)
    return at + wanted.count <= letters.count
      && letters[at..<at + wanted.count].elementsEqual(wanted)
  }

  private mutating func take(_ count: Int, asCode: Bool = false, asString: Bool = false) {
    for letter in letters[at..<min(at + count, letters.count)] {
      code.append(letter == "\n" || asCode ? letter : " ")
      strings.append(letter == "\n" || asString ? letter : " ")
    }
    at += count
  }

  private mutating func step() {
    switch place {
    case .code: stepInCode()
    case .lineComment:
      if letters[at] == "\n" { place = .code }
      take(1)
    case .blockComment:
      if has("*/") {
        place = .code
        take(2)
      } else {
        take(1)
      }
    case .string(let hashes, let isLong): stepInString(hashes, isLong)
    }
  }

  private mutating func stepInCode() {
    if has("//") {
      place = .lineComment
      return take(2)
    }
    if has("/*") {
      place = .blockComment
      return take(2)
    }
    let hashes = letters[at...].prefix { $0 == "#" }.count
    if letters[at...].dropFirst(hashes).first == "\"" {
      let isLong = letters[at...].dropFirst(hashes).starts(with: "\"\"\"")
      place = .string(hashes: hashes, isLong: isLong)
      return take(hashes + (isLong ? 3 : 1))
    }
    followInterpolation()
    take(1, asCode: true)
  }

  private mutating func followInterpolation() {
    guard let (string, depth) = interrupted.last else { return }
    if letters[at] == "(" { interrupted[interrupted.count - 1].1 = depth + 1 }
    guard letters[at] == ")" else { return }
    interrupted[interrupted.count - 1].1 = depth - 1
    if depth == 1 {
      interrupted.removeLast()
      place = string
    }
  }

  private mutating func stepInString(_ hashes: Int, _ isLong: Bool) {
    let marks = String(repeating: "#", count: hashes)
    if has((isLong ? "\"\"\"" : "\"") + marks) {
      place = .code
      return take(hashes + (isLong ? 3 : 1))
    }
    if has("\\" + marks + "(") {
      interrupted.append((place, 1))
      place = .code
      return take(hashes + 2)
    }
    take(has("\\") && hashes == 0 ? 2 : 1, asString: true)
  }
}

/// Where functions begin and how long they are, by their brackets.
struct FunctionLengths {
  struct Function { let line: Int, count: Int }

  private(set) var functions: [Function] = []

  init(_ code: String) {
    let lines = code.split(separator: "\n", omittingEmptySubsequences: false)
    for (number, line) in lines.enumerated() where Self.begins(line) {
      var depth = 0
      var hasBody = false
      body: for (offset, inside) in lines[number...].enumerated() {
        for letter in inside {
          if letter == "{" { (depth, hasBody) = (depth + 1, true) }
          if letter == "}" { depth -= 1 }
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
