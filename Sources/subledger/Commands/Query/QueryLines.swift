import Queries
import Store
import StrictJSON

/// Prints rows one by one, as JSON or as CSV.
struct QueryLines {
  enum Format { case json, csv }

  private let format: Format
  private let columns: [String]
  private var buffer: [UInt8] = []

  /// Bytes that are written at once, at least.
  private static let bufferSize = 1 << 16

  /// In CSV the first line has the names of the columns.
  init(_ format: Format, _ columns: [String]) {
    self.format = format
    self.columns = columns
    if format == .csv { addCSV(columns) }
  }

  mutating func add(_ values: [QueryValue]) {
    switch format {
    case .json:
      JSONValue.object(Array(zip(columns, values.map(\.json)))).write(into: &buffer)
      buffer.append(0x0A)
    case .csv: addCSV(values.map { $0.text.map(CSV.cell) })
    }
    if buffer.count >= Self.bufferSize { flush() }
  }

  /// Writes what was added.
  mutating func flush() {
    Terminal.write(buffer)
    buffer.removeAll(keepingCapacity: true)
  }

  // MARK: CSV (RFC 4180, with the line ends of Unix)

  private mutating func addCSV(_ fields: [String?]) {
    for (index, field) in fields.enumerated() {
      if index > 0 { buffer.append(UInt8(ascii: ",")) }
      if let field { addCSV(field) }
    }
    buffer.append(0x0A)
  }

  /// An empty text has quotes, which distinguishes it from null.
  private mutating func addCSV(_ field: String) {
    let needsQuotes =
      field.isEmpty || field.utf8.contains { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }
    guard needsQuotes else {
      buffer += field.utf8
      return
    }
    buffer.append(0x22)
    for byte in field.utf8 { buffer += byte == 0x22 ? [byte, byte] : [byte] }
    buffer.append(0x22)
  }
}
