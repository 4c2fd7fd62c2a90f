import Support
import Testing

/// Reads CSV (RFC 4180, but LF alone ends a line), independently of the code that wrote it.
struct CSVText {
  /// The lines after the first one, each field under the name of its column.
  private(set) var rows: [[String: String]] = []
  private(set) var columns: [String] = []

  init(_ text: String) throws {
    var records: [[String]] = []
    var record: [String] = []
    var field: [UInt8] = []
    var isQuoted = false
    var bytes = text.utf8.makeIterator()
    var next = bytes.next()
    while let byte = next {
      next = bytes.next()
      switch (byte, isQuoted) {
      case (0x22, true) where next == 0x22:
        field.append(byte)
        next = bytes.next()
      case (0x22, _): isQuoted.toggle()
      case (0x2C, false):
        record.append(String(decoding: field, as: UTF8.self))
        field = []
      case (0x0A, false):
        records.append(record + [String(decoding: field, as: UTF8.self)])
        (record, field) = ([], [])
      case (0x0D, false): throw TestFailure("a CSV line must end with LF")
      default: field.append(byte)
      }
    }
    guard field.isEmpty, record.isEmpty, !isQuoted else {
      throw TestFailure("CSV ends within a line")
    }
    columns = records.first ?? []
    for record in records.dropFirst() {
      guard record.count == columns.count else { throw TestFailure("\(record) for \(columns)") }
      rows.append(Dictionary(zip(columns, record)) { $1 })
    }
  }
}
