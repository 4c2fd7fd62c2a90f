import AppStore
import AppStoreSimulator
import Entitlements
import Support

@testable import Store

/// A projection's file that is damaged row by row.
final class DamagedProjection {
  private let connection: SQLiteConnection
  /// The tables that rows are read from, and their columns with their types.
  private let columns: [(table: String, name: String, type: String)]

  init(_ path: String) throws {
    connection = try SQLiteConnection.open(path, .write)
    columns = try connection.statement(
      """
      SELECT m.name, c.name, c.type FROM sqlite_schema m, pragma_table_info(m.name) c
      WHERE m.name IN ('entitlement', 'entitlement_span', 'transaction_line', 'product', 'app')
      ORDER BY 1, c.cid
      """
    ).all { ($0.text(0), $0.text(1), $0.text(2)) }
  }

  func close() throws {
    try connection.checkpointTruncate()
    connection.close()
  }

  /// Damages a row: its state under a checksum that fits, so that the bytes are decoded; or any
  /// columns of it; or it is gone, or its spans are.
  func damage(_ row: FoldedStream, _ generator: inout SeededGenerator) throws {
    switch Int.random(in: 0..<10, using: &generator) {
    case 0..<5: try damageState(of: row, &generator)
    case 5: try connection.execute("DELETE FROM entitlement WHERE \(Self.selects(row))")
    case 6: try connection.execute("DELETE FROM entitlement_span WHERE \(Self.spans(row))")
    default:
      for _ in 0..<Int.random(in: 1...3, using: &generator) { damageColumn(of: row, &generator) }
    }
  }

  private func damageState(
    of row: FoldedStream, _ generator: inout SeededGenerator
  ) throws {
    let state = try stateBytes(of: row, &generator)
    let checksum = state.withUnsafeBytes {
      RowSums.checksum(
        RowSums(row.row, row.lines, row.key).columns, row.key, row.row.lastEvent?.seq,
        broken: row.broken, state: $0)
    }
    try connection.statement(
      "UPDATE entitlement SET state = ?, checksum = ? WHERE \(Self.selects(row))"
    ).bind(1, state).bind(2, checksum).run()
  }

  private func damageColumn(of row: FoldedStream, _ generator: inout SeededGenerator) {
    guard let column = columns.randomElement(using: &generator) else { return }
    let value = Self.value(of: column.type, &generator)
    let rows =
      switch column.table {
      case "entitlement": Self.selects(row)
      case "entitlement_span", "transaction_line": Self.spans(row)
      default: "id % 3 = 0"
      }
    // Some values are refused by the schema.
    try? connection.execute(
      "UPDATE \(column.table) SET \(column.name) = \(value) WHERE \(rows)")
  }

  private static func selects(_ row: FoldedStream) -> String {
    "original_transaction_id = '\(row.key.originalTransactionId)'"
  }

  private static func spans(_ row: FoldedStream) -> String {
    "entitlement_id = (SELECT id FROM entitlement WHERE \(selects(row)))"
  }

  /// Damaged bytes of a state: as they are stored, or the state's own.
  private func stateBytes(
    of row: FoldedStream, _ generator: inout SeededGenerator
  ) throws -> [UInt8] {
    // After a length of 0 a state is not compressed.
    guard Bool.random(using: &generator) else { return [0] + Self.damaged(row.state, &generator) }
    let stored = try connection.statement(
      "SELECT state FROM entitlement WHERE \(Self.selects(row))"
    ).first { $0.bytes(0) }
    return Self.damaged(stored ?? [], &generator)
  }

  private static func value(of type: String, _ generator: inout SeededGenerator) -> String {
    let text = String(repeating: "9", count: Int.random(in: 0...20, using: &generator))
    let bytes = (0..<Int.random(in: 0...60, using: &generator)).map { _ in
      UInt8.random(in: 0...255, using: &generator)
    }
    let number = [
      Int64.min, -1, 0, 1, 7, .max, .random(in: .min ... .max, using: &generator),
    ].randomElement(using: &generator)
    switch Int.random(in: 0..<6, using: &generator) {
    case 0: return "NULL"
    case 1 where type == "TEXT" || type == "ANY": return "CAST(x'\(hexadecimal(bytes))' AS TEXT)"
    default: break
    }
    switch type {
    case "TEXT", "ANY": return "'\(text)'"
    case "BLOB": return "x'\(hexadecimal(bytes))'"
    // The least integer as a literal would be a real number.
    default: return number == .min ? "(-9223372036854775807 - 1)" : "\(number ?? 0)"
    }
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  /// Damages a byte string with length prefixes: flipped bits, huge lengths, truncation.
  private static func damaged(_ state: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
    var bytes = state
    for _ in 0..<Int.random(in: 1...3, using: &generator) where !bytes.isEmpty {
      let index = Int.random(in: 0..<bytes.count, using: &generator)
      switch Int.random(in: 0..<5, using: &generator) {
      case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      case 1: bytes[index] = .random(in: 0...255, using: &generator)
      case 2: bytes.insert(contentsOf: [UInt8](repeating: 0xFE, count: 9) + [1], at: index)
      case 3: bytes.removeSubrange(index...)
      default: bytes.remove(at: index)
      }
    }
    return bytes
  }
}
