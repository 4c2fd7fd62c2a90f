/// Finds declarations that other modules see, that throw, and whose docstring does not say when.
struct PublicThrows {
  /// `line: declaration` of each.
  private(set) var undocumented: [String] = []

  init(_ lines: [Substring]) {
    for (index, line) in lines.enumerated() where Self.isDeclaration(line) {
      guard Self.signature(lines[index...]).contains(/\)\s*(async\s+)?throws\b|\bget\s+throws\b/)
      else { continue }
      let comment = Self.comment(above: index, lines)
      if !comment.contains("Throws") && !comment.contains("throws") {
        undocumented.append("\(index + 1): \(line.drop(while: \.isWhitespace).prefix(80))")
      }
    }
  }

  private static func isDeclaration(_ line: Substring) -> Bool {
    let text = line.drop { $0 == " " }
    return (text.hasPrefix("public ") || text.hasPrefix("package "))
      && line.contains(
        /^\s*(public|package)\s+((static|mutating|consuming|final|convenience)\s+)*(func|init)\b/)
  }

  /// From the declaration to the brace that opens its body, or to the end of a requirement.
  private static func signature(_ lines: ArraySlice<Substring>) -> String {
    var text = ""
    for line in lines.prefix(14) {
      text += line + " "
      if line.hasSuffix("{") || line.hasSuffix("}") { break }
    }
    return text
  }

  private static func comment(above index: Int, _ lines: [Substring]) -> String {
    var text = ""
    for line in lines[..<index].reversed() {
      let trimmed = line.drop(while: \.isWhitespace)
      if trimmed.hasPrefix("@") { continue }
      guard trimmed.hasPrefix("///") else { break }
      text += trimmed + " "
    }
    return text
  }
}
