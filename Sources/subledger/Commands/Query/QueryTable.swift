import Platform
import Store

/// Rows as a table with aligned columns. It holds the rows until they are printed, since the widest
/// value decides the width of a column.
struct QueryTable {
  /// Rows that are held at most.
  private static let maximumRows = 10_000
  /// Columns of the terminal that the rows take at most, all together: each row is as wide as the
  /// widest values.
  private static let maximumWidth = 16 << 20

  private typealias Cell = (text: String, width: Int)

  private let headers: [Cell]
  private var rows: [[Cell]] = []
  private var widths: [Int]
  /// Whether a column has numbers and nothing else, so that it is aligned to the right.
  private var isNumeric: [Bool]
  private var hasValue: [Bool]
  /// Whether a row was not added because there were too many.
  private(set) var isCut = false
  private var hasHeading = false

  init(_ columns: [String]) {
    headers = columns.map(TextWrapper.visible)
    widths = headers.map(\.width)
    isNumeric = columns.map { _ in true }
    hasValue = columns.map { _ in false }
  }

  /// Adds a row. Returns false if the table is full; a row has always room in an empty one.
  mutating func add(_ values: [QueryValue]) -> Bool {
    let row = values.map { TextWrapper.visible($0.text ?? "") }
    let widths = zip(widths, row).map { max($0, $1.width) }
    let width = widths.reduce(0, +) * (rows.count + 1)
    guard rows.isEmpty || (rows.count < Self.maximumRows && width <= Self.maximumWidth) else {
      isCut = true
      return false
    }
    self.widths = widths
    for (index, value) in values.enumerated() {
      if value != .null { hasValue[index] = true }
      if !value.isNullOrNumber { isNumeric[index] = false }
    }
    rows.append(row)
    return true
  }

  /// Adds a row. If there is no room, the rows before it are printed first.
  mutating func addOrPrint(_ values: [QueryValue]) {
    guard !add(values) else { return }
    print()
    _ = add(values)
  }

  /// Prints the rows with two spaces between columns, after the heading unless it was printed
  /// before. Rows that are added later are printed without it, aligned at least as wide.
  mutating func print() {
    if !hasHeading {
      let rule = widths.map { (text: String(repeating: "-", count: $0), width: $0) }
      Terminal.print(line(headers), .bold)
      Terminal.print(line(rule), .faint)
      hasHeading = true
    }
    if !rows.isEmpty { Terminal.print(rows.map(line).joined(separator: "\n")) }
    rows.removeAll(keepingCapacity: true)
  }

  private func line(_ cells: [Cell]) -> String {
    var line = ""
    for (index, cell) in cells.enumerated() {
      let space = String(repeating: " ", count: widths[index] - cell.width)
      let isRight = isNumeric[index] && hasValue[index]
      line += (index == 0 ? "" : "  ") + (isRight ? space + cell.text : cell.text + space)
    }
    while line.last == " " { line.removeLast() }
    return line
  }
}

extension QueryValue {
  fileprivate var isNullOrNumber: Bool {
    switch self {
    case .null, .integer, .real: true
    case .text, .blob: false
    }
  }
}
