import Ledger
import Platform

/// Wraps text into lines for a terminal, none wider than `columns`, whatever the text contains.
///
/// Text from outside is printed unchanged except for characters that would move the cursor, change
/// the direction of text or have no width: those are printed by number. A word that is longer than
/// a line is broken.
struct TextWrapper {
  static let columns = 100

  private(set) var lines: [String] = []

  var text: String { lines.joined(separator: "\n") }

  /// Adds text, with line breaks at spaces.
  ///
  /// - Parameters:
  ///   - indent: columns of space before the first line.
  ///   - hanging: columns of space before the other lines; as `indent` if nil.
  mutating func add(_ text: String, indent: Int = 0, hanging: Int? = nil) {
    var line = Line(indent)
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
      let cells = Self.cells(String(word))
      let width = cells.reduce(0) { $0 + $1.width }
      let gap = line.isEmpty ? 0 : 1
      if gap + width <= line.columnsLeft {
        line.append(gap == 0 ? "" : " ", gap)
      } else if !line.isEmpty {
        lines.append(line.text)
        line = Line(hanging ?? indent)
      }
      for cell in cells {
        if cell.width > line.columnsLeft {
          lines.append(line.text)
          line = Line(hanging ?? indent)
        }
        line.append(cell.text, cell.width)
      }
    }
    lines.append(line.text)
  }

  /// Adds one line with its spaces unchanged, broken into several if it is too long.
  mutating func addVerbatim(_ text: Substring, indent: Int) {
    let spaces = text.prefix { $0 == " " }.count
    var line = Line(min(indent + spaces, Self.columns / 2))
    for cell in Self.cells(String(text.dropFirst(spaces))) {
      if cell.width > line.columnsLeft {
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
    var columnsLeft: Int { TextWrapper.columns - width }

    mutating func append(_ cell: String, _ columns: Int) {
      text += cell
      width += columns
    }
  }

  // MARK: Width

  /// The text as `add` would print it on one line, with the most columns it can take.
  static func visible(_ text: String) -> (text: String, width: Int) {
    var (whole, width) = ("", 0)
    for character in VisibleText.of(text) {
      for cell in cells(character) {
        whole += cell.text
        width += cell.width
      }
    }
    return (whole, width)
  }

  private static func cells(_ text: String) -> [(text: String, width: Int)] {
    VisibleText.of(text).flatMap { cells($0) }
  }

  /// A character in units that must not be broken, each with the most columns it can take.
  private static func cells(_ character: Character) -> [(text: String, width: Int)] {
    let scalars = character.unicodeScalars
    // The width of a character with many combining marks depends on the terminal.
    guard scalars.count <= 3 else { return scalars.map { (number($0), 10) } }
    return [(String(character), scalars.reduce(0) { $0 + columns(of: $1) })]
  }

  private static func number(_ scalar: Unicode.Scalar) -> String {
    "<U+\(String(scalar.value, radix: 16, uppercase: true))>"
  }

  /// Two columns for wide characters of East Asian scripts and emoji (unicode.org/reports/tr11),
  /// one for others. `wcwidth` is not used: its answer depends on the locale of the process.
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
