import LedgerEngine
import Observability

/// Lines for a terminal: none wider than `columns`, whatever is in them.
///
/// What came from outside is shown as it is, but for characters that would move the cursor, turn
/// the direction of text or take no room: those are shown by number. A word that is too long goes
/// on in the next line.
struct TextWrapper {
  static let columns = 100

  private(set) var lines: [String] = []

  var text: String { lines.joined(separator: "\n") }

  /// Adds words, broken between them where there is room for none.
  ///
  /// - Parameters:
  ///   - indent: columns before the first line.
  ///   - hanging: columns before the others.
  mutating func add(_ words: String, indent: Int = 0, hanging: Int? = nil) {
    var line = Line(indent)
    for word in words.split(separator: " ", omittingEmptySubsequences: false) {
      let cells = Self.cells(String(word))
      let width = cells.reduce(0) { $0 + $1.width }
      let gap = line.isEmpty ? 0 : 1
      if gap + width <= line.room {
        line.append(gap == 0 ? "" : " ", gap)
      } else if !line.isEmpty {
        lines.append(line.text)
        line = Line(hanging ?? indent)
      }
      for cell in cells {
        if cell.width > line.room {
          lines.append(line.text)
          line = Line(hanging ?? indent)
        }
        line.append(cell.text, cell.width)
      }
    }
    lines.append(line.text)
  }

  /// Adds one line as it is spaced, cut into several where it is too long.
  mutating func addVerbatim(_ text: Substring, indent: Int) {
    let spaces = text.prefix { $0 == " " }.count
    var line = Line(min(indent + spaces, Self.columns / 2))
    for cell in Self.cells(String(text.dropFirst(spaces))) {
      if cell.width > line.room {
        lines.append(line.text)
        line = Line(min(indent + spaces + 4, Self.columns / 2))
      }
      line.append(cell.text, cell.width)
    }
    lines.append(line.text)
  }

  mutating func addBlank() { lines.append("") }

  private struct Line {
    private(set) var text: String
    private var width: Int
    private let indent: Int

    init(_ indent: Int) {
      self.indent = indent
      text = String(repeating: " ", count: indent)
      width = indent
    }

    var isEmpty: Bool { width == indent }
    var room: Int { TextWrapper.columns - width }

    mutating func append(_ piece: String, _ columns: Int) {
      text += piece
      width += columns
    }
  }

  // MARK: Width

  /// What is not to be cut in two, with the columns it takes at most.
  private static func cells(_ text: String) -> [(text: String, width: Int)] {
    VisibleText.of(text).flatMap { character -> [(text: String, width: Int)] in
      let scalars = character.unicodeScalars
      // Marks upon marks: nobody knows how wide that is.
      guard scalars.count <= 3 else { return scalars.map { (number($0), 10) } }
      return [(String(character), scalars.reduce(0) { $0 + columns(of: $1) })]
    }
  }

  private static func number(_ scalar: Unicode.Scalar) -> String {
    "<U+\(String(scalar.value, radix: 16, uppercase: true))>"
  }

  /// Two for what East Asian scripts and pictures take (unicode.org/reports/tr11), else one.
  private static func columns(of scalar: Unicode.Scalar) -> Int {
    let isWide =
      switch scalar.value {
      case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
        0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF,
        0x1AFF0...0x1B2FF, 0x1F000...0x1FAFF, 0x20000...0x3FFFD:
        true
      default: scalar.properties.isEmojiPresentation
      }
    return isWide ? 2 : 1
  }
}
