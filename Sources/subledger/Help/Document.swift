/// A page of documentation, printed as text by `help` and as roff by `man`.
struct Document {
  enum Block {
    case heading(String)
    case paragraph(String)
    /// Lines that are printed as they are.
    case code(String)
    case entry(Entry)
  }

  /// A term and its explanation.
  struct Entry {
    let term: String
    let text: String
    /// Terms that belong to this one.
    var details: [Entry] = []
  }

  let blocks: [Block]

  /// The page for a terminal.
  var text: String {
    var lines = TextWrapper()
    for (index, block) in blocks.enumerated() {
      switch block {
      case .heading(let title):
        lines.add(title)
        continue
      case .paragraph(let text): lines.add(text, indent: 2)
      case .code(let text):
        for line in text.split(separator: "\n") { lines.addVerbatim(line, indent: 6) }
      case .entry(let entry): Self.add(entry, to: &lines)
      }
      if index + 1 < blocks.count { lines.addBlank() }
    }
    return lines.text
  }

  private static func add(_ entry: Entry, to lines: inout TextWrapper) {
    lines.add(entry.term, indent: 2)
    lines.add(entry.text, indent: 6)
    for detail in entry.details {
      lines.add(detail.term.padded(to: 20) + detail.text, indent: 6, hanging: 26)
    }
  }
}
