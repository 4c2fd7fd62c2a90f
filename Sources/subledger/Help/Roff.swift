/// Text and documents as roff with the macros of man(7).
enum Roff {
  /// Characters that roff interprets or replaces by typographic ones (groff_char(7)). Text must
  /// stay what can be pasted into a shell.
  private static let escapes: [Character: String] = [
    "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti",
  ]

  /// The text as roff prints it unchanged; no line of it is a request.
  static func escaped(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      (line.hasPrefix(".") ? "\\&" : "") + line.map { escapes[$0] ?? String($0) }.joined()
    }.joined(separator: "\n")
  }

  static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }

  static func italic(_ text: String) -> String { "\\fI\(escaped(text))\\fR" }

  /// A term that is roff already, and its explanation.
  static func entry(_ term: String, _ text: String) -> [String] { [".TP", term, escaped(text)] }

  /// Lines that are printed as they are.
  static func code(_ text: String) -> [String] {
    [".PP", ".in +4n", ".nf", escaped(text), ".fi", ".in"]
  }

  static func lines(_ document: Document) -> [String] {
    var lines: [String] = []
    for block in document.blocks {
      switch block {
      case .heading(let title): lines.append(".SH \(escaped(title.uppercased()))")
      case .paragraph(let text):
        // A heading starts a paragraph by itself.
        if lines.last?.hasPrefix(".SH") == false { lines.append(".PP") }
        lines.append(escaped(text))
      case .code(let text): lines += code(text)
      case .entry(let item):
        lines += entry(bold(item.term), item.text)
        if !item.details.isEmpty { lines += nested(item.details) }
      }
    }
    return lines
  }

  private static func nested(_ entries: [Document.Entry]) -> [String] {
    [".RS"] + entries.flatMap { entry(bold($0.term), $0.text) } + [".RE"]
  }
}
