import CPostgres

/// The rows that a statement returned, in binary format. Rows and columns are counted from 0.
public final class PostgresRows {
  private let result: OpaquePointer

  /// Takes the result over.
  init(_ result: OpaquePointer) { self.result = result }

  deinit { PQclear(result) }

  public var count: Int { Int(PQntuples(result)) }

  /// How many rows the statement inserted, changed, deleted or returned.
  public var affected: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

  /// The command that was run, as the server names it: `COMMIT`, `INSERT 0 1` …. A COMMIT of an SQL
  /// transaction that had failed is answered with `ROLLBACK`.
  public var command: String { String(cString: PQcmdStatus(result)) }

  public func isNull(_ row: Int, _ column: Int) -> Bool {
    PQgetisnull(result, Int32(row), Int32(column)) == 1
  }

  /// A smallint, integer or bigint; nil for null and for another width.
  public func integer(_ row: Int, _ column: Int) -> Int64? {
    field(row, column) { field in
      switch field.count {
      case 2: Int64(Int16(bigEndian: field.loadUnaligned(as: Int16.self)))
      case 4: Int64(Int32(bigEndian: field.loadUnaligned(as: Int32.self)))
      case 8: Int64(bigEndian: field.loadUnaligned(as: Int64.self))
      default: nil
      }
    }
  }

  public func boolean(_ row: Int, _ column: Int) -> Bool? {
    field(row, column) { $0.count == 1 ? $0[0] != 0 : nil }
  }

  /// A text of any type whose binary format is its characters; nil for null.
  public func text(_ row: Int, _ column: Int) -> String? {
    field(row, column) { String(decoding: $0, as: UTF8.self) }
  }

  /// A bytea or a uuid; nil for null.
  public func bytes(_ row: Int, _ column: Int) -> [UInt8]? {
    field(row, column) { Array($0) }
  }

  private func field<Value>(
    _ row: Int, _ column: Int, _ read: (UnsafeRawBufferPointer) -> Value?
  ) -> Value? {
    // libpq returns null, and prints a warning, for what is out of range.
    guard row < count, column < Int(PQnfields(result)), !isNull(row, column),
      let value = PQgetvalue(result, Int32(row), Int32(column))
    else { return nil }
    let length = Int(PQgetlength(result, Int32(row), Int32(column)))
    return read(UnsafeRawBufferPointer(start: value, count: length))
  }
}
